"""Strings of a stratum, drawn on purpose: counted here by hand, and compared with the law given the stratum."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
import torch

from tests.support.tasks.hard_strings import BOTH
from workbench.tasks import Task, TaskError, make_task
from workbench.tasks.rejection import by_rejection

DRAWN = 2_000


def symbols(task: Task, batch) -> list[list[str]]:
    return [[task.tokens_names[t] for t in row] for row in batch.tokens[:, 1:].tolist()]


def lead_of(bits) -> int:
    return sum(1 if bit == "1" else -1 for bit in bits)


def drawn(task: Task, name: str, length: int, law: str, seeded, number: int = DRAWN):
    batch = task.sample_stratum(name, number, length, seeded(length), law, window=16)
    assert batch is not None
    assert len(batch) == number
    assert (batch.length, batch.law) == (length, law)
    assert [task.reference(row)[-1] for row in batch.tokens[:50, 1:].tolist()] == batch.targets[:50, -1].tolist()
    return batch


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize(
    ("name", "length", "leads"),
    [
        ("lead 1", 33, [-1, 1]),
        ("lead 1", 1, [-1, 1]),
        ("lead 3 to 5", 249, [-5, -3, 3, 5]),
        ("lead 3 to 5", 3, [-3, 3]),
    ],
)
def test_majority_leads_are_uniform_over_the_stratum_and_its_signs(name, length, leads, law, seeded, assert_law):
    task = make_task("majority")
    strings = symbols(task, drawn(task, name, length, law, seeded))
    assert_law(torch.tensor([leads.index(lead_of(s)) for s in strings]), [1 / len(leads)] * len(leads))
    if length < 5:
        return
    ones = torch.tensor([[bit == "1" for bit in s] for s in strings])
    if law == "challenge":  # sorted
        assert (ones[:, 1:] != ones[:, :-1]).sum(1).max() <= 1
        assert_law(ones[:, 0].long(), [0.5, 0.5])
    else:
        assert (ones.double().mean(0) - 0.5).abs().max() < 0.06


def by_law(task, name, law, generator):
    """What draws strings of a task's law, and what says which of them are of a stratum."""
    return lambda rows: task.sample(rows, 33, generator, law), lambda drawn: task.strata(drawn)[name]


@pytest.mark.parametrize("law", BOTH)
def test_majority_strata_are_the_law_given_the_stratum(law, seeded):
    """Against rejection, which knows the law and not the sampler: shares of each lead, and of each first symbol."""
    task = make_task("majority")
    for name in task.strata_names:
        on_purpose = drawn(task, name, 33, law, seeded, 4_000)
        rejected = by_rejection(*by_law(task, name, law, seeded(7)), 4_000, 33)
        for batch_of in (lambda b: [lead_of(s) for s in symbols(task, b)], lambda b: [s[0] for s in symbols(task, b)]):
            one, other = Counter(batch_of(on_purpose)), Counter(batch_of(rejected))
            assert one.keys() == other.keys()
            assert all(abs(one[key] - other[key]) / 4_000 < 0.04 for key in one)


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize(("name", "low", "high"), [("lead 1", 1, 1), ("lead 2 to 5", 2, 5)])
def test_letters_lead_by_what_the_stratum_says(name, low, high, law, seeded):
    task = make_task("letter_majority", letters=5)
    leads = []
    for string in symbols(task, drawn(task, name, 60, law, seeded, 300)):
        first, second = [count for _, count in (Counter(string) + Counter()).most_common(2)]
        leads.append(first - second)
    assert set(leads) == set(range(low, high + 1))


def test_two_letters_of_an_even_number_never_lead_by_one(seeded):
    task = make_task("letter_majority", letters=2)
    assert task.sample_stratum("lead 1", 8, 64, seeded(0), "matched") is None
    leads = [abs(2 * s.count("a") - 64) for s in symbols(task, drawn(task, "lead 2 to 5", 64, "matched", seeded, 200))]
    assert set(leads) == {2, 4}


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize(("size", "name", "sizes"), [(8, "closest lead 1 to 2", {2}), (9, "closest lead 1 to 2", {1}),
                                                     (8, "closest lead 3 to 5", {4}), (9, "closest lead 3 to 5", {3, 5})])  # fmt: skip
def test_the_closest_of_three_leads_as_the_stratum_says(size, name, sizes, law, seeded, assert_law):
    task = make_task("interleaved_majority")
    closest, who, answers = set(), [], []
    for string in symbols(task, drawn(task, name, 3 * size + 4, law, seeded)):
        leads = [lead_of(string[j : 3 * size : 3]) for j in range(3)]
        sized = [abs(lead) for lead in leads]
        closest.add(min(sized))
        answers.append(sum(2**j * (lead > 0) for j, lead in enumerate(leads)))
        if sized.count(min(sized)) == 1:
            who.append(sized.index(min(sized)))
    assert closest == sizes
    assert_law(torch.tensor(who), [1 / 3] * 3)
    assert_law(torch.tensor(answers), [task.stratum_chance(name, law, 3 * size + 4)] * 8)


KINDS = {"word": (0, 1), "right counts, wrong order": (0, 0), "too much opened": (2, 0), "too much closed": (-2, 0)}


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize("kind", list(KINDS))
def test_brackets_of_each_kind(kind, law, seeded):
    """Opened less closed, and the answer."""
    task = make_task("dyck_1")
    batch = drawn(task, kind, 64, law, seeded, 200)
    for string, answer in zip(symbols(task, batch), batch.targets[:, -1].tolist(), strict=True):
        assert (string.count("(") - string.count(")"), answer) == KINDS[kind]
    if law == "challenge":
        places = batch.meta["deciding_position"]
        assert ((places > 16) & (places < 64 - 16)).all()


@pytest.mark.parametrize("name", ["shuffle_dyck", "boolean"])
def test_kinds_of_other_counters_are_all_words_or_none(name, seeded):
    task = make_task(name)
    for kind in task.strata_names:
        for law in BOTH:
            assert set(drawn(task, kind, 40, law, seeded, 100).targets[:, -1].tolist()) == {int(kind == "word")}
    assert set(task.strata_names) == set(KINDS)
    assert make_task(name, ask="next").strata_names == ()


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("off by 1, wrong order", "aaabaabbbb"),
        ("off by 1, too long", "aaaaaabbbb"),
        ("off by 1, too short", "aaaabbbbbb"),
    ],
)
def test_equal_blocks_miss_by_one_token(kind, expected, law, seeded):
    task = make_task("a_n_b_n")
    expected = expected if "order" not in kind else "aaaababbbb"
    assert {"".join(s) for s in symbols(task, drawn(task, kind, 10, law, seeded, 20))} == {expected}


def test_the_floor_of_a_stratum_is_that_of_a_constant_answer():
    chances = {"majority": 0.5, "letter_majority": 1 / 26, "interleaved_majority": 1 / 8, "dyck_1": 0.5, "a_n_b_n": 0.5}
    for name, chance in chances.items():
        task = make_task(name)
        assert [task.stratum_chance(one, "matched", 33) for one in task.strata_names] == [chance] * len(
            task.strata_names
        )


def test_what_is_no_stratum_is_refused_by_name(seeded):
    with pytest.raises(TaskError, match="'lead 7'"):
        make_task("majority").sample_stratum("lead 7", 4, 33, seeded(0), "matched")
    with pytest.raises(TaskError, match="'lead 1'"):
        make_task("parity").sample_stratum("lead 1", 4, 33, seeded(0), "matched")
    with pytest.raises(TaskError, match="length 32"):
        make_task("majority").sample_stratum("lead 1", 4, 32, seeded(0), "matched")


def test_what_is_too_rare_is_none(seeded, monkeypatch):
    monkeypatch.setattr("workbench.tasks.rejection.MOST_TOKENS", 2**16)
    task = make_task("letter_majority", letters=128)
    assert task.sample_stratum("lead 2 to 5", 10**5, 4, seeded(0), "matched") is None


def test_equal_blocks_have_as_many_strings_as_events():
    """One word, and three kinds of misses at each boundary by each number of tokens."""
    task = make_task("a_n_b_n")
    for length in (48, 64, 96, 256):
        assert len(task.support("challenge", length, 32).batch) == 4
    assert len(task.support("matched", 64, 32).batch) == 1 + 3 * 32
    assert task.support("matched", 256, 32).probabilities.max() == 0.5
    assert len(task.support("matched", 340, 32).batch) == 511
    assert task.support("matched", 342, 32) is None  # 514
    three = make_task("a_n_b_n", letters=3).support("challenge", 96, 8)
    assert sorted(map(Fraction, three.probabilities.tolist())) == [
        *[Fraction(1, 16)] * 4,
        *[Fraction(1, 8)] * 2,
        Fraction(1, 2),
    ]
