"""Sparse parity and planted correlations: every string, the laws, and which tokens decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
import torch

from workbench.tasks import TaskError, make_task


def parity_of(names, values):
    """The bits behind small numbers, by pairs of neighbours."""
    counted = [b for a, b in pairwise(names) if a.isdigit() and int(a) <= values // 2]
    return counted.count("t1") % 2


@pytest.mark.parametrize("length", [5], ids=["3125-strings"])
def test_sparse_parity_of_every_string(length, every_string):
    task = make_task("sparse_parity", values=2, k=1)
    strings = every_string(5, length)
    batch = task.label(strings)
    for tokens, mask, target, summary in zip(
        strings.tolist(), batch.mask[:, 1:].tolist(), batch.targets[:, 1:].tolist(), batch.output_summary[:, 1:].tolist(),
        strict=True,
    ):  # fmt: skip
        names = [task.tokens_names[t] for t in tokens]
        parities = [parity_of(names[:n], 2) for n in range(1, length + 1)]
        assert summary == target == parities
        assert mask == [name == "<sep>" for name in names]
        assert task.reference(tokens) == [p if asked else None for p, asked in zip(parities, mask, strict=True)]


@pytest.mark.parametrize("length", [6], ids=["4096-strings"])
def test_planted_sums_of_every_string(length, every_string):
    task = make_task("planted", modulus=4, k=1, fillers=1, span=1)
    strings = every_string(4, length)
    batch = task.label(strings)
    assert torch.equal(batch.mask[0], torch.arange(length + 1) == length)
    value = [None, 1, 2, 3, 0]
    for tokens, sums in zip(strings.tolist(), batch.output_summary[:, 1:].tolist(), strict=True):
        assert sums == [sum(value[t] for t in tokens[:n]) % 4 for n in range(1, length + 1)]
        assert task.reference(tokens) == [None] * (length - 1) + [sums[-1]]
    assert torch.equal(batch.targets[:, -1], batch.output_summary[:, -1])


@pytest.mark.parametrize(
    ("name", "parameters", "letters"),
    [("sparse_parity", {"values": 2, "k": 1}, 5), ("planted", {"modulus": 3, "k": 1, "fillers": 1, "span": 1}, 3)],
    ids=["sparse_parity-3125-strings", "planted-243-strings"],
)
def test_summaries_can_be_carried_on(name, parameters, letters, every_string):
    """s(xw) = F(s(x), w), and s says what is answered, over all strings of 5."""
    batch = make_task(name, **parameters).label(every_string(letters, 5))
    carried, answered = {}, {}
    for tokens, states, answers in zip(
        batch.tokens.tolist(), batch.update_summary.tolist(), batch.output_summary.tolist(), strict=True
    ):
        for i in range(2, 6):
            state = states[i - 1], tokens[i]
            assert carried.setdefault(state, states[i]) == states[i]
            assert answered.setdefault(states[i], answers[i]) == answers[i]


# ---- sparse parity ---------------------------------------------------------------------------------
@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
def test_sparse_parity_has_its_format(law, seeded):
    task = make_task("sparse_parity", values=6, k=3)
    for length in (9, 11, 41):
        batch = task.sample(80, length, seeded(length), law, window=8)
        rows = [[task.tokens_names[t] for t in row] for row in batch.tokens.tolist()]
        for row, names in enumerate(rows):
            assert names[0] == "<bos>"
            assert names[-1] == "<sep>"
            assert set(names[1:-1:2]) <= set("123456")
            assert set(names[2:-1:2]) <= {"t0", "t1"}
            small = [i for i in range(1, length, 2) if int(names[i]) <= 3]
            assert 1 <= len(small) <= 3
            assert batch.meta["planted"][row].tolist() == small + [0] * (3 - len(small))
            assert batch.targets[row, -1] == sum(names[i + 1] == "t1" for i in small) % 2
        assert batch.mask.sum(1).eq(1).all()
        assert batch.mask[:, -1].all()
    assert task.lengths(1, 13) == [9, 11, 13]


def test_all_bits_seen_means_answered(seeded):
    task = make_task("sparse_parity")
    batch = task.sample(64, 41, seeded(4), "matched")
    weights = task.answer(batch.tokens[:, 1:])
    assert torch.equal(weights.argmax(1), batch.targets[:, -1])
    assert task.answer(torch.tensor([[22, 3, 22, 11, 22]])).tolist() == [[0, 1]]  # t1 of a hidden number: not counted


# ---- planted correlations --------------------------------------------------------------------------
@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize(("k", "modulus"), [(1, 3), (3, 5), (4, 4)])
def test_leaving_one_out_finds_the_planted_tokens(k, modulus, law, seeded):
    task = make_task("planted", k=k, modulus=modulus, span=6)
    for length in (6, 9, 40):
        batch = task.sample(10, length, seeded(length), law, window=11)
        for tokens, planted in zip(batch.tokens[:, 1:].tolist(), batch.meta["planted"].tolist(), strict=True):
            whole = task.reference(tokens)[-1]
            found = [i for i in range(length) if task.reference(tokens[:i] + tokens[i + 1 :])[-1] != whole]
            assert [i + 1 for i in found] == planted
            assert planted[-1] - planted[0] < 6


@pytest.mark.parametrize(("k", "modulus"), [(1, 3), (2, 3), (3, 5), (4, 3), (2, 7)])
def test_chance_of_planted_sums_by_enumeration(k, modulus):
    sums = Counter(sum(z) % modulus for z in product(range(1, modulus), repeat=k))
    exact = max(sums.values()) / (modulus - 1) ** k
    assert make_task("planted", k=k, modulus=modulus).chance("matched", 20) == pytest.approx(exact)


@pytest.mark.parametrize(
    ("tokens", "weights"),
    [
        ([5, 5, 5], [1, 0, 0, 0, 0]),  # both hidden: 0 in 4 of 16 pairs, all others in 3
        ([5, 3, 5], [1, 1, 1, 0, 1]),  # one hidden, never 0
        ([2, 5, 4], [0, 1, 0, 0, 0]),
    ],
)
def test_windows_guess_the_likeliest_sum(tokens, weights):
    task = make_task("planted", k=2, modulus=5, fillers=1, span=3)
    assert task.answer(torch.tensor([tokens])).tolist() == [weights]


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("sparse_parity", {"k": 3, "least": 4}, "sparse_parity: least must be an integer from 1 to k = 3, not 4"),
        ("sparse_parity", {"values": 7}, "sparse_parity: values must be even, so that half of the numbers are small, not 7"),
        ("planted", {"k": 9, "span": 8}, "planted: k must be an integer from 1 to span = 8, not 9"),
        ("planted", {"modulus": 2}, "planted: modulus must be an integer at least 3 and at most 64, not 2"),
    ],
)  # fmt: skip
def test_impossible_plantings_are_refused(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence


def test_a_string_too_short_for_k_is_refused(seeded):
    with pytest.raises(TaskError, match="length 9"):
        make_task("sparse_parity").sample(2, 9, seeded(0))


# ---- gaps, and numbers that grow with the string ---------------------------------------------------
@pytest.mark.parametrize("law", ["matched", "challenge"])
def test_planted_tokens_lie_a_gap_apart(law, seeded):
    task = make_task("planted", k=3, span=8, gap=2)
    places = task.sample(4000, 30, seeded(2), law, window=8).meta["planted"]
    assert places.diff(dim=1).eq(2).all()
    assert places.min() >= 1
    assert places.max() <= 30
    if law == "challenge":
        assert places.min() > 8
        assert places.max() <= 22
    else:
        assert places[:, 0].unique().tolist() == list(range(1, 27))


def test_the_largest_number_of_small_numbers_grows_with_the_string(seeded):
    """Three at length 24, so one for eight tokens, and one at least."""
    task = make_task("sparse_parity", k=3, k_at=24)
    assert [task.largest_count(n) for n in (5, 15, 25, 49, 101)] == [1, 1, 3, 6, 12]
    assert task.lengths(1, 9) == [5, 7, 9]
    batch = task.sample(500, 49, seeded(5), "matched")
    number = (batch.meta["planted"] > 0).sum(1)
    assert number.unique().tolist() == [1, 2, 3, 4, 5, 6]
    small = (batch.tokens[:, 1:] >= 1) & (batch.tokens[:, 1:] <= 10)
    assert torch.equal(small.sum(1), number)
    automaton = task.automaton()
    states = automaton.run(batch.tokens[:20, 1:].sub(1).numpy())[:, -1]
    assert automaton.labels[states].tolist() == batch.targets[:20, -1].tolist()


@pytest.mark.parametrize(("gap", "most"), [(4, 3), (9, 3)])
def test_a_gap_that_the_span_cannot_hold_is_refused(gap, most):
    with pytest.raises(TaskError, match=f"{most}"):
        make_task("planted", k=3, span=8, gap=gap)


def refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except TaskError:
        return True
    return False


@pytest.mark.parametrize(("name", "taken", "other"), [
    ("mod_p_mean", {"p": 4, "k": 3}, {"k": 4}),
    ("needle", {"keys": 4, "distractors": 3}, {"distractors": 4}),
    ("flip_flop", {"write_probability": 0.5, "read_probability": 0.5}, {"read_probability": 0.5001}),
    ("mod_count", {"m": 4, "increments": (1, 3)}, {"increments": (1, 1)}),
    ("mod_count", {"m": 4, "increments": (0, 5)}, {"increments": (0, 4)}),
    ("letter_majority", {"letters": 4, "half": "first"}, {"letters": 3}),
    ("dyck_k", {"k": 3, "depth": 30}, {"k": 4}),
    ("sparse_parity", {"k": 3, "least": 3}, {"least": 4}),
    ("sparse_parity", {"values": 6}, {"values": 7}),
    ("planted", {"k": 4, "span": 4}, {"k": 5}),
    ("planted", {"k": 3, "span": 9, "gap": 4}, {"span": 8}),
    ("variable_assignment", {"depth": 2, "variables": 3}, {"variables": 2}),
    ("regular", {"regex": "a*b", "alphabet": "ab"}, {"alphabet": "a"}),
    ("mixture", {"weights": (1.0, 0.5), "only": 2}, {"only": 3}),
])  # fmt: skip
def test_parameters_that_go_together_just_so(name: str, taken: dict[str, Any], other: dict[str, Any]) -> None:
    made = make_task(name, **taken)
    assert made.next_length(1) >= 1
    assert refused(lambda: make_task(name, **{**taken, **other}))
