"""What tasks are made of, by value: draws they share, floors, batches, typed tokens, sentences, and the kit's statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held, digest
from tests.support.tasks.presenting import put
from tests.support.tasks.task_facts import code
from workbench.tasks import TaskError, describe, find_task, make_task, sampling
from workbench.tasks.base import Batch, Support, refuse_endless
from workbench.tasks.best_constant import best_constant, in_best_reach
from workbench.tasks.presented.presentation import PRESETS, TEMPLATES, presentation
from workbench.tasks.random_generator import generator
from workbench.tasks.random_tokens import repeat_twice, repeats
from workbench.tasks.registry import BUILT_IN, allowed_values
from workbench.tasks.rejection import MOST_TOKENS, TOKENS_AT_ONCE, by_rejection
from workbench.tasks.testing import check_laws
from workbench.tasks.testing.subject import TaskSubject
from workbench.tasks.tokens import TaskTokenizer, parse_tokens, write_tokens

PRIORS = (0.3, 1.0, 2.5)


# ---- draws that tasks share ----------------------------------------------------------------------
DRAWS = {
    "coins": lambda g: sampling.coins((4, 6), 0.3, g),
    "coins of their own": lambda g: sampling.coins((2, 3), torch.tensor([0.1, 0.5, 0.9]), g),
    "integers": lambda g: sampling.integers(7, (3, 5), g),
    "uniforms": lambda g: sampling.uniforms((2, 3), g),
    "distinct": lambda g: sampling.distinct(9, 3, 4, g),
    "flat shares": lambda g: sampling.flat_shares((2, 4), g),
    "urn counts": lambda g: torch.stack([sampling.urn_counts(6, prior) for prior in PRIORS]),
    "biases": lambda g: torch.stack([sampling.biases((3, 1), prior, g).double() for prior in PRIORS]),
    "urn bits": lambda g: torch.stack([sampling.urn_bits(3, 8, g, prior) for prior in PRIORS]),
    "sorted bits": lambda g: torch.stack([sampling.sorted_bits(4, 7, g, prior) for prior in PRIORS]),
    "urn numbers": lambda g: torch.stack([sampling.urn_numbers((2, 4), 6, prior, g) for prior in PRIORS]),
    "near leads": lambda g: sampling.near_leads((1, 4), 9, (3, 5), g),
    "leads of a short string": lambda g: sampling.near_leads((2, 9), 4, (3, 5), g),
    "bits with a lead": lambda g: sampling.bits_with(torch.tensor([[3], [-1], [5]]), 7, "matched", g),
    "sorted bits with a lead": lambda g: sampling.bits_with(torch.tensor([[3], [-1], [5], [7]]), 7, "challenge", g),
    "accepted": lambda g: sampling.sample_by_rejection(5, lambda n: sampling.integers(10, (n,), g), lambda x: x > 7),
    "accepted of few": lambda g: sampling.sample_by_rejection(3, lambda n: sampling.integers(60, (n,), g), lambda x: x == 7),
    "last alone": lambda g: sampling.last_alone(sampling.coins((5, 4), 0.5, g)),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str, held: Held) -> None:
    found = DRAWS[name](generator("draws", name))
    assert isinstance(found, torch.Tensor)
    held([str(found.dtype), found.double().tolist() if found.is_floating_point() else found.long().tolist()])


def test_a_coin_is_true_below_its_probability_and_not_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.tensor([0.25, 0.5, 0.75]))
    assert sampling.coins((3,), 0.5, torch.Generator()).tolist() == [True, False, False]


def test_leads_that_strings_cannot_have() -> None:
    g = generator("none")
    assert sampling.near_leads((2, 2), 5, (3,), g) is None, "of the other parity"
    assert sampling.near_leads((7, 9), 6, (3,), g) is None, "longer than the string"
    assert {abs(int(x)) for x in sampling.near_leads((5, 9), 5, (9,), g)} == {5}


def test_how_many_rows_are_drawn_until_enough_are_kept() -> None:
    """Twice as many at first, then by the share that was kept, and never more than sixteen times."""
    asked: list[int] = []

    def draw(count: int) -> torch.Tensor:
        asked.append(count)
        return torch.arange(count) + 100 * len(asked)

    found = sampling.sample_by_rejection(4, draw, lambda rows: rows % 100 == (0 if len(asked) > 1 else 3))
    assert found.tolist() == [103, 200, 300, 400]
    assert asked == [8, 49, 64, 64]
    asked.clear()
    assert sampling.sample_by_rejection(4, draw, lambda rows: rows > 0).tolist() == [100, 101, 102, 103]
    assert asked == [8]


@pytest.mark.parametrize(("length", "window", "margin"), [
    (1, None, 0), (7, None, 0), (8, None, 1), (64, None, 8), (10, 5, 0), (11, 5, 4), (13, 5, 4), (14, 5, 5), (40, 5, 5),
    (3, 1, 1), (2, 1, 0),
])  # fmt: skip
def test_outer_margin(length: int, window: int | None, margin: int) -> None:
    assert sampling.outer_margin(length, window) == margin


@pytest.mark.parametrize(("low", "high", "length", "window", "span", "places"), [
    (0, 19, 20, 5, (0, 0), (5, 14)),
    (0, 19, 20, 5, (-1, 2), (6, 12)),
    (0, 6, 20, 5, (0, 0), (5, 6)),
    (0, 5, 20, 5, (0, 0), (5, 5)),
    (0, 4, 20, 5, (0, 0), (0, 4)),
    (14, 19, 20, 5, (0, 0), (14, 14)),
    (15, 19, 20, 5, (0, 0), (15, 19)),
    (2, 9, 10, 5, (0, 0), (2, 9)),
])  # fmt: skip
def test_outer_places(low: int, high: int, length: int, window: int, span: tuple[int, int], places: Any) -> None:
    assert sampling.outer_places(low, high, length, window, span) == places


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(TaskError, match="must be at least 1, not 0"):
        sampling.outer_margin(9, 0)


def test_strings_by_rejection_and_none_where_they_are_too_rare() -> None:
    """As many as are wanted of the first that are of the stratum; the budget of tokens ends the search."""
    task, calls = make_task("parity"), []

    def draw(rows: int) -> Batch:
        calls.append(rows)
        return task.label(torch.arange(rows)[:, None] % 2 + 1)

    found = by_rejection(draw, lambda drawn: drawn.tokens[:, 1] == 2, 3, 1)
    assert found is not None
    assert found.tokens.tolist() == [[0, 2]] * 3
    assert calls == [TOKENS_AT_ONCE]
    calls.clear()
    one = by_rejection(lambda rows: draw(rows), lambda drawn: torch.arange(len(drawn)) < 1, 3, 1 << 14)
    assert one is not None
    assert calls == [4, 4, 4], "65,536 tokens at once"
    assert len(one) == 3
    calls.clear()
    assert by_rejection(draw, lambda drawn: drawn.tokens[:, 1] < 0, 1, MOST_TOKENS) is None
    assert calls == [1]
    calls.clear()
    assert by_rejection(draw, lambda drawn: drawn.tokens[:, 1] < 0, 1, MOST_TOKENS // 2) is None
    assert calls == [1, 1]


# ---- floors --------------------------------------------------------------------------------------
def test_best_constants(held: Held) -> None:
    """Of classes by group, of numbers at the edge of their tolerance, of weighted numbers, and of vectors."""
    task = make_task("mod_p_mean", tolerance=0.25)
    classes, group = torch.tensor([0, 1, 1, 2, 2, 2, 0]), torch.tensor([0, 0, 0, 1, 1, 1, 1])
    numbers = torch.tensor([[0.0], [0.5], [1.0], [1.75], [2.0], [2.25]])
    weights = torch.tensor([0.1, 0.1, 0.1, 0.6, 0.05, 0.05])
    vectors = torch.rand((40, 3), generator=generator("vectors"))
    held([
        best_constant(classes, group).tolist(),
        best_constant(numbers, torch.tensor([0, 0, 0, 1, 1, 0]), 0.25, task._within).tolist(),
        in_best_reach(numbers, 0.25, task._within).tolist(),
        in_best_reach(numbers, 0.12, task._within, weights).tolist(),
        in_best_reach(numbers, 0.124, task._within).tolist(),
        in_best_reach(vectors, 0.25, lambda guess, target: ((guess - target).abs() <= 0.3).all(-1)).tolist(),
    ])  # fmt: skip


# ---- batches -------------------------------------------------------------------------------------
@pytest.fixture
def batch() -> Batch:
    return make_task("uf", symbols=9).sample(4, 7, generator("batch"), "matched")


def test_parts_of_a_batch(batch: Batch) -> None:
    assert [batch.index(length) for length in (1, 7)] == [1, 7]
    for wrong in (0, 8):
        with pytest.raises(TaskError, match=f"{wrong}"):
            batch.index(wrong)
    assert batch.prefix_lengths().tolist() == list(range(8))
    cut = batch.prefix(3)
    assert (cut.length, cut.tokens.shape, cut.targets.shape) == (3, (4, 4), (4, 4))
    assert batch.rows(1, 3).tokens.tolist() == batch.tokens[1:3].tolist()
    assert Batch.join([batch.rows(0, 1), batch.rows(1, 4)]).tokens.equal(batch.tokens)
    taken = batch.take(torch.tensor([3, 0]))
    assert taken.tokens.tolist() == batch.tokens[[3, 0]].tolist()
    assert batch.led
    assert len(batch) == 4
    assert batch.categorical


def test_what_strings_are_of_where_nobody_says() -> None:
    """Drawn ones of the training law, given ones of none; both are led by BOS where the task has one."""
    task = make_task("parity")
    assert task.sample(1, 3, generator("law")).law == "training"
    assert task.sample_blocks(1, 3, [generator("law")]).law == "training"
    assert task.label(torch.tensor([[1, 2]])).law == "given"
    told = put("uf", "bare", 9, (4,))
    assert told.prompt_batch(told._question(1, 4, generator("law"), "matched")).law == "given"
    assert told.sample(1, 4, generator("law")).law == "training"
    assert not told.sample(1, 4, generator("law")).bos
    assert TaskSubject(task).draw("matched", 5).tokens.shape == (24, 6)


def test_equal_strings_of_a_support_become_one() -> None:
    task = make_task("parity")
    found = Support.of(task.label(torch.tensor([[2, 1], [1, 1], [2, 1], [1, 2]])), torch.tensor([0.1, 0.2, 0.3, 0.4]))
    assert found.batch.tokens.tolist() == [[0, 1, 1], [0, 1, 2], [0, 2, 1]]
    assert found.probabilities.tolist() == pytest.approx([0.2, 0.4, 0.4])


@pytest.mark.parametrize("name", ["parity", "mod_p_mean", "needle", "uf"])
def test_blocks_are_labelled_together_as_they_are_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many fit together: one, all, or a number that leaves a rest."""
    from workbench.tasks import base

    task = make_task(name)
    length = task.next_length(9)
    streams = lambda: [generator("blocks", i) for i in range(5)]  # noqa: E731
    alone = Batch.join([task.sample(3, length, one, "matched") for one in streams()])
    for at_once in (1, 3 * length * 2, 3 * length * 5, 1 << 17):
        monkeypatch.setattr(base, "LABELLED_AT_ONCE", at_once)
        together = task.sample_blocks(3, length, streams(), "matched")
        assert torch.equal(together.tokens, alone.tokens)
        assert torch.equal(together.targets, alone.targets)
        assert together.update_summary is None


def test_lengths_have_an_end() -> None:
    from workbench.core.limits import LONGEST

    refuse_endless(LONGEST)
    with pytest.raises(TaskError, match="is beyond"):
        refuse_endless(LONGEST + 1)
    task = make_task("parity")
    assert task.lengths(-3, 2) == [1, 2]
    assert task.lengths(2, 2) == [2]
    with pytest.raises(TaskError, match="parity"):
        task.lengths(3, 2)
    assert [task.next_length(n) for n in (0, 0.2, 1, 1.5, 7)] == [1, 1, 1, 2, 7]


# ---- words and tokens ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_said_of_a_task(name: str, held: Held) -> None:
    """Its line, what its parameters take, and its card in a notebook, as far as they hang on no text of this machine."""
    fields = {field: allowed_values(info) for field, info in find_task(name).model_fields.items()}
    if name in ("text", "next_token"):
        return held(fields)
    task = make_task(name)
    return held([fields, describe(task), code(task._repr_html_())])


NAMES = ("<bos>", "a", "ab", "b", ",", "s10")


@pytest.mark.parametrize(("text", "expected"), [
    ("a b", [1, 3]), ("ab", [2]), ("aab", [1, 2]), ("a,b", [1, 3]), ("a, b", [1, 3]), ("a , b", [1, 4, 3]),
    ("s10a", [5, 1]), (" b ", [3]), ("ab b,", [2, 3]), ("", "type at least one"), ("<bos> a", "(token 1)"),
    ("a c", "(token 2)"), ("abc", "(character 3)"), ("a  b\tab", [1, 3, 2]), (",", [4]),
])  # fmt: skip
def test_typed_tokens(text: str, expected: Any) -> None:
    def act() -> Any:
        try:
            return parse_tokens(text, NAMES, bos=True)
        except TaskError as error:
            return str(error)

    found = act()
    assert expected in found if isinstance(expected, str) else found == expected


def test_tokens_are_written_and_read_back(held: Held) -> None:
    assert write_tokens([1, 3], ("<bos>", "a", "x", "b")) == "ab"
    assert write_tokens([1, 2], NAMES) == "a ab"
    assert write_tokens([0, 1], ("<bos>", "a")) == "<bos>a"
    assert TaskTokenizer.of(make_task("parity")).encode("0110") == [1, 2, 2, 1]
    many = tuple(f"t{i}" for i in range(30))
    sentences = []
    for names in (many, many[:24], many[:25], many[:3]):
        with pytest.raises(TaskError) as caught:
            parse_tokens("zz", names, bos=False)
        sentences.append(str(caught.value))
    held(sentences)


def test_tokens_that_recur(held: Held) -> None:
    """Odd and even, with BOS and without, of weights and of given strings; blocks where strings are short."""
    found = {}
    weights = torch.tensor([0.0, 1.0, 0.0, 3.0, 1.0])
    given = torch.arange(26).view(2, 13) % 5
    for bos in (True, False):
        for positions in (2, 3, 8, 13):
            for law, more in (
                ("plain", {}),
                ("weights", {"weights": weights}),
                ("given", {"strings": given[:, :positions]}),
            ):
                key = f"{bos} {positions} {law}"
                found[key] = code(repeat_twice(2, positions, 5, generator(key), bos, **more))
        found[f"{bos} defaults"] = [
            code(repeat_twice(2, 9, 5, generator("d"))),
            code(repeats(2, 120, 5, generator("d"))),
        ]
        for positions in (5, 30):
            found[f"{bos} {positions} block"] = code(repeats(2, positions, 5, generator("r"), bos))
            found[f"{bos} {positions} small"] = code(repeats(2, positions, 5, generator("r"), bos, block=2, lag=3))
    held(found)


# ---- presented and mixed -------------------------------------------------------------------------
WORDS: dict[str, Any] = {"between": (1,), "mark": (2,), "ask": (3, 4), "answer": (5,)}
PRESENTED = {
    "bare copy": ("uf", "bare", {}), "copy with a mark": ("uf", "bare", {"answer": (1,)}), "pairs": ("ur", "pairs", WORDS),
    "shots": ("ul", "shots", {**WORDS, "before": (6, 7), "after": (8,), "template": 7, "shots": 2, "shot_items": 3}),
    "shots of a copy": ("ub", "shots", {"ask": (3,), "answer": (5,), "after": (8,), "shots": 1}),
    "bare neighbour": ("nr_last", "bare", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PRESENTED)
def test_a_presented_task(name: str, held: Held) -> None:
    inner, how, parts = PRESENTED[name]
    task = put(inner, how, 9, (4, 6), window=60, **parts)
    found = [task.fitting, [task.positions(n) for n in (2, 3, 4, 6)], [task.affordable(n, 3000) for n in (4, 6)]]
    found += [[task.admissible(n) for n in range(1, 9)], [task.beyond_window(n) for n in range(2, 30, 2)]]
    for law in ("matched", "challenge"):
        batch = task.sample(3, 4, generator("presented"), law)
        found.append([code(one) for one in (batch.tokens, batch.targets, batch.mask, batch.output_summary)])
        found.append([list(batch.numbers), list(batch.item_places), batch.supervised_positions.tolist(), batch.led])
        found.append([[batch.index(n) for n in range(1, 5)], {key: one.tolist() for key, one in batch.meta.items()}])
    held(found)


def test_presentations(held: Held) -> None:
    told = [presentation("shots", place, shots, items, words=words).model_dump()
            for place, shots, items, words in ((0, None, 0, 0), (19, 1, 4, 7), (5, 0, 0, 0))]  # fmt: skip
    titles = [presentation("shots", 3, 2, 4, words=1000).title, *(one.title for one in PRESETS.values())]
    slots = {key: [list(slot) for slot in one.slots(4, True, 2, example=True)] for key, one in PRESETS.items()}
    held([code(told), titles, code([dict(one) for one in TEMPLATES]), slots, presentation("bare", words=9).title])
    for wrong in (-1, len(TEMPLATES)):
        with pytest.raises(TaskError, match="templates"):
            presentation("shots", wrong)


@pytest.mark.parametrize("fields", [
    {"components": ("ur", "majorty")}, {"components": ()}, {"components": ("ur",) * 17}, {"components": ("ur", "mixture")},
    {"components": ("ur", "mod_p_mean")}, {"components": ("ur", "uf")}, {"components": ("ur", "copied_text")},
    {"weights": (1.0,)}, {"weights": (1.0, 0.0)}, {"only": 3}, {"components": ("ur symbols", "ul")},
], ids=str)  # fmt: skip
def test_what_no_mixture_can_be(fields: dict[str, Any], held: Held) -> None:
    with pytest.raises(TaskError) as caught:
        make_task("mixture", **fields)
    held(str(caught.value))


# ---- the kit's statistics ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["parity", "needle", "mod_p_mean", "uf"])
def test_statistics_of_strings(name: str, held: Held) -> None:
    """By what two laws may differ, and how much they do; of strings of one token too."""
    task = make_task(name)
    one = TaskSubject(task)
    batches = [one.draw(law, one.length, 60) for law in ("matched", "challenge")]
    found = [check_laws._statistics(one, batch) for batch in batches]

    def told(of: dict[str, torch.Tensor]) -> dict[str, Any]:
        return {key: code(x) if x.double().equal(x.double().round()) else digest(x.double()) for key, x in of.items()}

    p, where = check_laws._smallest_p(*found)
    short = check_laws._statistics(one, one.draw("matched", task.next_length(1), 9))
    held([told(found[0]), p, where, one.window, one.length, told(short)])


def test_chi_squared_tests(held: Held) -> None:
    """Two samples, of few values and of many, and a fit, with rare strings taken together and with few left."""
    g = generator("chi")
    few = [sampling.integers(5, (300,), g) for _ in range(2)]
    many = [sampling.uniforms((300,), g) * scale for scale in (1.0, 1.3)]
    rare = torch.cat([torch.zeros(200), torch.arange(12)])
    tests = [check_laws._two_samples(*few), check_laws._two_samples(*many), check_laws._two_samples(rare, 2 * rare)]
    tests.append(check_laws._two_samples(torch.zeros(9), torch.zeros(9)))
    tests.append(check_laws._two_samples(torch.arange(9), torch.arange(9)))
    counts, expected = np.array([30, 50, 4, 6, 10]), np.array([40.0, 45.0, 4.9, 5.0, 5.1])
    fits = [check_laws._misfit(counts, expected), check_laws._misfit(counts[:3], np.array([50.0, 4.0, 3.0]))]
    fits.append(check_laws._misfit(counts[:2], np.array([4.0, 3.0])))
    held([tests, fits, check_laws._chi_squared(np.array([3.0, 7.0]), np.array([5.0, 5.0]), 1)])
