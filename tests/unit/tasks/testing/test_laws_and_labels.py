"""The kit's checks of laws, floors, labels and memory: each condition by itself, at both sides of its bounds."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.tasks.stub_subject import StubSubject
from tests.support.tasks.task_facts import drawn, stated
from workbench.tasks import TaskError, make_task
from workbench.tasks.regular.state_machines import Parity
from workbench.tasks.testing import CHECKS, TaskCheckError, brief, check_cost, check_labels, check_laws, refuse_unsound
from workbench.tasks.testing.kit import Finding
from workbench.tasks.testing.subject import TaskSubject
from workbench.tasks.testing.template_task import TemplateTask

SMALL = 1e-3


def agree(found: list[str], parts: list[str]) -> None:
    assert len(found) == len(parts), found
    assert all(part in line for part, line in zip(parts, found, strict=True)), found


# ---- laws ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("p", "reason", "parts"), [
    (1e-6, "", ["the matched and the challenge test set do not differ"]),
    (0.99e-6, "", []),
    (1e-6, "bits are fair", []),
    (0.99e-6, "bits are fair", ["challenge_is_matched is set (bits are fair), but the two test sets differ in its end"]),
])  # fmt: skip
def test_laws(p: float, reason: str, parts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_laws, "_statistics", lambda one, batch: batch)
    monkeypatch.setattr(
        check_laws, "_smallest_p", lambda *laws: (p, "its end") if laws == ("matched", "challenge") else None
    )
    one = StubSubject(task=SimpleNamespace(challenge_is_matched=reason), large_batch=lambda law: law, length=9)
    agree(list(CHECKS["laws"](one)), parts)


@pytest.mark.parametrize(("p", "closed", "parts"), [
    (1e-6, ("matched", "challenge"), []),
    (0.99e-6, ("matched",), ["prefix_closed('matched') is True"]),
    (0.99e-6, ("challenge",), ["prefix_closed('challenge') is True"]),
    (0.0, (), []),
])  # fmt: skip
def test_prefix_closed(p: float, closed: tuple[str, ...], parts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_laws, "_statistics", lambda one, batch: {"batch": batch})
    monkeypatch.setattr(check_laws, "_smallest_p", lambda *laws: (p, "its end"))
    task = make_task("parity")
    batch = task.label(torch.ones(2, 9, dtype=torch.long))
    one = StubSubject(
        task=SimpleNamespace(prefix_closed=lambda law: law in closed), window=3,
        large_batch=lambda law: batch, draw=lambda law, length, count: batch.prefix(length),
    )  # fmt: skip
    agree(list(CHECKS["prefix-closed"](one)), parts)


@pytest.mark.parametrize(("listed", "weights", "parts"), [
    ([1, 2], [0.5, 0.5], []),
    ([1, 2, 3], [0.5, 0.5, 0.0], []),
    ([1, 2, 3], [0.4, 0.6, 0.0], ["have different probabilities"]),
    ([1], [1.0], ["lacks a sequence"]),
    ([1, 2], [0.4, 0.6], ["have different probabilities"]),
])  # fmt: skip
def test_support(listed: list[int], weights: list[float], parts: list[str]) -> None:
    """Strings of one token, half of which are 1; of the length of the window nothing is listed."""
    asked = []

    def support(law: str, length: int, window: int) -> Any:
        asked.append((law, length, window))
        if (law, length) != ("challenge", 1):
            return None
        return SimpleNamespace(
            batch=SimpleNamespace(tokens=torch.tensor(listed)[:, None]), probabilities=torch.tensor(weights)
        )

    tokens = torch.tensor([[1], [2]]).repeat(1000, 1)
    task = SimpleNamespace(support=support, next_length=lambda length: length)
    one = StubSubject(task=task, window=8, draw=lambda *_: SimpleNamespace(tokens=tokens))
    agree(list(CHECKS["support"](one)), parts)
    assert asked == [(law, length, 8) for law in ("matched", "challenge") for length in (1, 8)]


def test_one_listed_string_has_no_other_probability() -> None:
    tokens = torch.ones(2000, 1, dtype=torch.long)
    listed = SimpleNamespace(batch=SimpleNamespace(tokens=tokens[:1]), probabilities=torch.tensor([0.2]))
    task = SimpleNamespace(support=lambda *_: listed, next_length=lambda length: length)
    assert (
        list(CHECKS["support"](StubSubject(task=task, window=1, draw=lambda *_: SimpleNamespace(tokens=tokens)))) == []
    )


# ---- floors --------------------------------------------------------------------------------------
def slack(classes: int, stated: float) -> float:
    """Five standard errors of a fair coin over 2,000 strings, and what the best constant gains by being chosen."""
    return 2.5 / math.sqrt(2000) + math.sqrt(2 * math.log(classes) * max(stated, 0.0005) / 2000)


@pytest.mark.parametrize(("real", "outputs", "stated", "classes"), [
    (False, 2, 0.5, 2), (False, 5, 0.2, 5), (True, 3, 0.3, 2), (False, 1, 0.5, 2), (False, 4, 0.0, 4), (False, 2, 1.0, 2),
])  # fmt: skip
def test_how_far_chance_may_be_off(real: bool, outputs: int, stated: float, classes: int) -> None:
    sides = [-1, 1] if 0 < stated < 1 else [1] if stated == 0 else [-1]
    for side in sides:
        for off, taken in ((-SMALL, True), (SMALL, False)):
            best = stated + side * (slack(classes, stated) + off)
            asked = []

            def shortcuts(batch: Any, window: int, best: float = best) -> Any:
                return {"position_only": torch.full((9,), best, dtype=torch.float64)}

            def draw(law: str, length: int, count: int, window: int, asked: list[Any] = asked) -> None:
                asked.append((law, length, count, window))

            task = SimpleNamespace(
                chance=lambda law, length: stated, real=real, d_vocab_out=outputs, shortcuts=shortcuts
            )
            found = list(CHECKS["chance"](StubSubject(task=task, window=8, length=32, draw=draw)))
            assert [f"chance() returns {stated:.3f}" in line for line in found] == [True] * (0 if taken else 4), (
                side,
                off,
            )
            laws = ("matched", "challenge")
            assert asked == [(law, length, 2000, length // 8) for law in laws for length in (8, 32)]


@pytest.mark.parametrize(("chance", "parts"), [(-0.01, 4), (1.01, 4), (0.0, 0), (1.0, 0)])
def test_chance_is_a_share(chance: float, parts: int) -> None:
    task = SimpleNamespace(
        chance=lambda *_: chance,
        real=False,
        d_vocab_out=2,
        shortcuts=lambda *_: {"position_only": torch.tensor([chance])},
    )
    found = list(CHECKS["chance"](StubSubject(task=task, window=8, length=32, draw=lambda *_, **__: None)))
    agree(found, ["return a share of sequences between 0 and 1"] * parts)


def hits(value: float) -> torch.Tensor:
    return torch.full((2000,), value, dtype=torch.float64)


GOOD = {"position_only": hits(0.0), "last_token": hits(1.0) * 0.95}
NEAR = torch.cat([hits(0.5)[:-1], torch.tensor([1.5], dtype=torch.float64)])


@pytest.mark.parametrize(("matched", "challenge", "short", "parts"), [
    (GOOD, GOOD, {}, []),
    ({"last_token": hits(0.5)}, GOOD, {}, ["shortcuts() lacks position_only"]),
    (GOOD, {"position_only": hits(0.5)}, {}, ["shortcuts() lacks last_token"]),
    ({**GOOD, "mine": hits(0.5)[1:]}, GOOD, {}, ["the shortcut mine has shape (1999,)"]),
    ({**GOOD, "mine": NEAR}, GOOD, {}, ["the shortcut mine has shape (2000,) or values outside 0 to 1"]),
    ({**GOOD, "mine": NEAR - 0.6}, GOOD, {}, ["the shortcut mine has shape (2000,) or values outside 0 to 1"]),
    ({**GOOD, "mine": hits(1.0)}, {**GOOD, "mine": hits(0.95)}, {}, []),
    (GOOD, {**GOOD, "mine": hits(0.951)}, {}, ["the shortcut mine is right for 0.951 of the sequences; at most 0.95"]),
    (GOOD, {**GOOD, "outside": hits(1.0)}, {}, []),
    (GOOD, GOOD, {"last_token": 1, "last_window": 2}, ["shortcuts() returns last_window at length N"] * 2),
    (GOOD, GOOD, {"windows": 1, "first_window": 1, "last_window": 2}, ["returns first_window and last_window at"] * 2),
])  # fmt: skip
def test_shortcuts(matched: Any, challenge: Any, short: Any, parts: list[str]) -> None:
    known = {"matched": matched, "challenge": challenge}
    task = SimpleNamespace(
        shortcuts=lambda batch, window: known.get(batch, short), outside_floor=frozenset(["outside"])
    )
    one = StubSubject(
        task=task, large_batch=lambda law: law, window=8, length=32, draw=lambda law, length: f"short {law}"
    )
    agree(list(CHECKS["shortcuts"](one)), parts)


@pytest.mark.parametrize(("kinds", "chance", "refused", "parts"), [
    ({"odd": torch.tensor([True, True])}, 0.0, True, []),
    ({"even": torch.tensor([False, False])}, 1.0, True, []),
    ({"odd": torch.tensor([True, False])}, 0.5, True, ["that strata() does not mark as odd"]),
    ({}, 1.01, True, ["stratum_chance('odd') is 1.01; return a share"]),
    ({}, -0.01, True, ["stratum_chance('odd') is -0.01; return a share"]),
    ({}, 0.5, False, ["accepts the unknown kind of hard input"]),
    (None, 7.0, True, []),
])  # fmt: skip
def test_strata(kinds: Any, chance: float, refused: bool, parts: list[str]) -> None:
    asked = []

    def sample(name: str, count: int, length: int, generator: Any, law: str, window: int | None) -> Any:
        asked.append((name, count, length, law, window))
        if name != "odd" and refused:
            raise TaskError("no")
        return None if kinds is None else "drawn"

    task = SimpleNamespace(
        strata_names=("odd",), sample_stratum=sample, strata=lambda batch: kinds, stratum_chance=lambda *_: chance
    )
    agree(list(CHECKS["strata"](StubSubject(task=task, length=32, window=8))), parts)
    assert asked == [("odd", 8, 32, "matched", 8), ("no such", 1, 32, "matched", None)]


# ---- statistics ----------------------------------------------------------------------------------
def of_counts(*counts: int) -> torch.Tensor:
    """So many of 0, of 1, ..."""
    return torch.cat([torch.full((count,), value) for value, count in enumerate(counts)])


def one_free(statistic: float) -> float:
    """The p of a chi-squared statistic with one degree of freedom."""
    return math.erfc(math.sqrt(statistic / 2))


@pytest.mark.parametrize(("one", "other", "p"), [
    ((50, 50), (70, 30), one_free(25 / 3)),
    ((50, 15, 5), (50, 5, 15), math.exp(-5)),
    ((50, 15, 4), (50, 4, 15), 1.0),  # less than twenty of both together are rare, and put together
    ((50, 19), (40, 0), one_free(109 * 760**2 / (69 * 40 * 90 * 19))),
    ((50, 0, 50), (70, 0, 30), one_free(25 / 3)),
    ((9,), (9,), 1.0),
    ((9, 3), (3, 4), 1.0),
])  # fmt: skip
def test_two_samples(one: tuple[int, ...], other: tuple[int, ...], p: float) -> None:
    assert check_laws._two_samples(of_counts(*one), of_counts(*other)) == pytest.approx(p)


def test_values_are_binned_where_there_are_more_than_twelve() -> None:
    """Of twelve each counts by itself; of thirteen two that are neighbours are one bin, and may change places."""
    unlike = [[60, 60], [10, 110]]
    one, other = (of_counts(*[30] * 10, *two) for two in unlike)
    assert check_laws._two_samples(one, other) < 1e-4
    one, other = (of_counts(*two, *[30] * 11) for two in unlike)
    assert check_laws._two_samples(one, other) == pytest.approx(1)
    assert check_laws._two_samples(one, other, bins=13) < 1e-4


def test_laws_differ_by_the_statistic_with_the_least_p(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"a": 0.3, "b": 0.02, "c": 0.001}
    monkeypatch.setattr(check_laws, "_two_samples", lambda one, other: min(float(one), float(other)))
    one = {name: torch.tensor(p, dtype=torch.float64) for name, p in given.items()}
    assert check_laws._smallest_p(one, {"a": one["a"], "b": one["b"], "d": one["c"]}) == (0.04, "b")
    assert check_laws._smallest_p({"a": one["a"]}, one) == (0.3, "a")
    high = {name: torch.tensor(0.6, dtype=torch.float64) for name in "ab"}
    assert check_laws._smallest_p(high, high) == (1.0, "a")


@pytest.mark.parametrize(("counts", "expected", "p"), [
    ([10, 90], [5.0, 95.0], one_free(5 + 25 / 95)),
    ([9, 1, 90], [4.9, 0.1, 95.0], one_free(5 + 25 / 95)),
    ([100, 0], [99.5, 0.5], one_free(0.25 / 99.5 + 0.5)),
    ([60, 40, 0], [50.0, 50.0, 0.0], one_free(4)),
    ([100, 1], [101.0, 0.0], 0.0),
    ([120, 80], [50.0, 50.0], one_free(8)),
    ([60, 30, 10], [50.0, 30.0, 20.0], math.exp(-3.5)),
    ([9], [7.0], 1.0), ([3, 1], [2.0, 2.0], 1.0),
])  # fmt: skip
def test_misfits(counts: list[int], expected: list[float], p: float) -> None:
    with np.errstate(divide="ignore"):
        assert check_laws._misfit(np.array(counts), np.array(expected)) == pytest.approx(p)


def test_a_shortcut_may_be_as_good_as_the_highest_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    for floor, said in ((0.5, 0), (0.49, 1)):
        monkeypatch.setattr(check_laws, "HIGHEST_FLOOR", floor)
        known = {"position_only": hits(0.5), "last_token": hits(0.0)}
        task = SimpleNamespace(
            shortcuts=lambda batch, _, known=known: known if batch else {}, outside_floor=frozenset()
        )
        one = StubSubject(task=task, large_batch=lambda law: True, window=8, length=32, draw=lambda *_: False)
        assert len(list(CHECKS["shortcuts"](one))) == said


# ---- memory --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("small", "large", "kinds"), [
    ((1, 1), (1 << 18, 1 << 21), []),
    ((1, 1), ((1 << 18) + 1, 1 << 21), ["tensor"]),
    ((1, 1), (1 << 18, (1 << 21) + 1), ["array"]),
    ((1, 1), ((1 << 18) + 1, (1 << 21) + 1), ["tensor", "array"]),
    ((1 << 15, 1 << 18), ((1 << 18) + 8, (1 << 21) + 8), ["tensor", "array"]),
    (((1 << 15) + 1, (1 << 18) + 1), ((1 << 18) + 8, (1 << 21) + 8), []),
])  # fmt: skip
def test_memory_that_grows(
    small: tuple[int, int], large: tuple[int, int], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At four times the length eight times as much is allowed, and a quarter of its square, or two bytes of each."""
    monkeypatch.setattr(check_cost, "_peak", lambda one, law, length: {256: small, 1024: large}[length])
    found = list(CHECKS["memory"](TaskSubject(make_task("parity"))))
    units = {"tensor": f"{large[0]:,} numbers in one tensor", "array": f"{large[1]:,} bytes"}
    start = "drawing 2 sequences of the {} test set at length 1024 allocates {},"
    agree(found, [start.format(law, units[kind]) for law in ("matched", "challenge") for kind in kinds])


@pytest.mark.parametrize(("most", "longest"), [(1024, 1024), (1023, 512), (511, 256), (255, 40)])
def test_the_longest_length_at_which_memory_is_looked_at(most: int, longest: int) -> None:
    class Short(Parity):
        def next_length(self, length: int | float) -> int:
            if length > most:
                raise TaskError("no")
            return super().next_length(length)

    assert check_cost._longest(Short()) == longest


def test_the_largest_tensor_is_noted_of_those_that_come_together_too() -> None:
    with check_cost._LargestTensor() as largest:
        torch.zeros(3)
        torch.zeros(12).split([7, 5])
        torch.ones(6).topk(2)
    assert largest.numbers == 12
    with check_cost._LargestTensor() as largest:
        torch.stack([torch.tensor(1.0), torch.tensor(2.0)]).sort()
    assert largest.numbers == 2


def test_what_memory_is_looked_at_of() -> None:
    """Two strings, drawn twice with windows of an eighth: once for what is kept, and once that counts."""
    asked = []

    class Noted(TaskSubject):
        def draw(self, law: str, length: int, count: int = 24, seed: int = 0, window: int | None = None) -> Any:
            asked.append((law, length, count, window))
            return super().draw(law, length, count, seed, window)

    numbers, held = check_cost._peak(Noted(make_task("parity")), "matched", 64)
    assert asked == [("matched", 64, 2, 8)] * 2
    assert 130 <= numbers < 2000
    assert held > 0


# ---- labels --------------------------------------------------------------------------------------
def test_how_exactly_answers_agree() -> None:
    def same(target: torch.Tensor, wanted: Any) -> bool:
        return check_labels._first_wrong(target[None], [wanted]) is None

    assert same(torch.tensor([0.5, 0.25]), [0.5, 0.25])
    assert same(torch.tensor([0.5, 0.25, 9.0]), [0.5, 0.25])
    assert same(torch.tensor(0.0), 0.99e-4)
    assert not same(torch.tensor(0.0), 1.05e-4)
    assert same(torch.tensor(100.0), 100.0099)
    assert not same(torch.tensor(100.0), 100.0105)
    assert not same(torch.tensor(1), 0)
    assert check_labels._first_wrong(torch.tensor([1, 7, 0, 0, 0]), [1, None, 0, 1, 1]) == 3
    assert check_labels._first_wrong(torch.tensor([[1.0, 0], [0, 1]]), [(1, 0), (0, 2)]) == 1
    assert check_labels._first_wrong(torch.tensor([1, 7]), [None, None]) is None


def test_a_string_is_named_up_to_24_tokens() -> None:
    task = make_task("parity")
    assert check_labels._named(task, [1] * 3 + [2]) == "'0 0 0 1'"
    assert check_labels._named(task, [2] * 24) == repr(" ".join("1" * 24))
    assert check_labels._named(task, [2] * 25) == repr(" ".join("1" * 24) + " ..")


def test_automata_and_randomness() -> None:
    """Numpy's own generator is another source too; where there is one string of each length, seeds may agree."""

    class Numpys(Parity):
        def draw_strings(self, *given: Any) -> Any:
            np.random.random()
            return super().draw_strings(*given)

    class Uncertain(Parity):
        def draw_strings(self, batch: int, length: int, *given: Any) -> Any:
            return 1 + torch.tensor([[random.getrandbits(1) for _ in range(length)] for _ in range(batch)]), {}

    class Only(Parity):
        @property
        def one_string_per_length(self) -> bool:
            return True

        def draw_strings(self, batch: int, length: int, *given: Any) -> Any:
            return torch.ones(batch, length, dtype=torch.long), {}

    beyond = ["use other random numbers than those of the given generator"] * 3
    state = np.random.get_state()
    agree(list(CHECKS["seeds"](TaskSubject(Numpys()))), beyond)
    np.random.set_state(state)
    agree(list(CHECKS["seeds"](TaskSubject(Uncertain()))), beyond)
    assert list(CHECKS["seeds"](TaskSubject(Only()))) == []


def unlike(kind: str) -> TaskSubject:
    """Parity, with one thing wrong."""

    class Wrong(Parity):
        def label_strings(self, strings: Any, meta: Any) -> Any:
            parity, mask, output, update = super().label_strings(strings, meta)
            if kind == "mask":
                mask = mask & (torch.arange(mask.shape[1]) != 1)
            if kind == "third":
                parity = torch.where(torch.arange(parity.shape[1]) == 2, 1 - parity, parity)
            if kind == "output" and len(strings) > 1:
                output = output + (torch.arange(len(strings)) == 3)[:, None].long()
            if kind == "update" and len(strings) > 1:
                update = update + 2
            if kind == "fifth" and len(strings) > 1:
                parity = torch.where(torch.arange(len(strings))[:, None] == 4, 1 - parity, parity)
            return parity, mask, output, update

    return TaskSubject(Wrong())


@pytest.mark.parametrize(("check", "kind", "part"), [
    ("oracle", "mask", "require answers at different positions"),
    ("oracle", "third", ": after prefix length 3 of '"), ("batches", "output", "the values of the output summary"),
    ("batches", "update", "the values of the update summary"), ("batches", "fifth", None), ("batches", "", None),
])  # fmt: skip
def test_labels(check: str, kind: str, part: str | None) -> None:
    agree(list(CHECKS[check](unlike(kind))), [] if part is None else [part])


@pytest.mark.parametrize(("name", "place", "meta", "parts"), [
    ("mask", 3, False, ["sample() and label() give different answers"]),
    ("mask", 6, False, ["sample() and label() give different answers"]),
    ("mask", 6, True, []),
    ("mask", 3, True, ["sample() and label() give different answers"]),
    ("both", 6, True, []),
    ("targets", 2, True, ["sample() and label() give different answers"]),
    ("targets", 6, False, ["sample() and label() give different answers"]),
])  # fmt: skip
def test_what_is_sampled_and_what_is_labelled(name: str, place: int, meta: bool, parts: list[str]) -> None:
    """Where facts are drawn along, what is asked at the end may be beyond what strings show."""

    class Unasked(Parity):
        def label_strings(self, strings: Any, meta: Any) -> Any:
            parity, mask, output, update = super().label_strings(strings, meta)
            return parity, mask & ~torch.tensor([p + 1 in (3, 6) for p in range(mask.shape[1])]), output, update

        def reference(self, tokens: Any) -> Any:
            return [None if p + 1 in (3, 6) else a for p, a in enumerate(super().reference(tokens))]

    task = (Parity if name == "targets" else Unasked)()
    batch = task.label(torch.ones(2, 6, dtype=torch.long), meta={"first": torch.zeros(2)} if meta else None)
    for one_name in ("mask", "targets") if name == "both" else (name,):
        getattr(batch, one_name)[1, place] = True
    one = StubSubject(task=task, small_batches=lambda: [("some", batch)])
    agree(list(CHECKS["oracle"](one)), parts)


@pytest.mark.parametrize(("length", "ends"), [(12, [1, 4, 6, 11]), (3, [1, 2]), (2, [1]), (1, [1])])
def test_after_how_many_tokens_labels_are_compared(length: int, ends: list[int]) -> None:
    seen = []

    class Noted(Parity):
        def label_strings(self, strings: Any, meta: Any) -> Any:
            seen.append(strings.shape[1])
            return super().label_strings(strings, meta)

    batch = make_task("parity").label(torch.ones(2, length, dtype=torch.long))
    assert list(CHECKS["prefixes"](StubSubject(task=Noted(), small_batches=lambda: [("some", batch)]))) == []
    assert seen == [length, *ends]


# ---- in brief ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("count", "more"), [(1, ""), (2, " (and 1 more)"), (3, " (and 2 more)")])
def test_how_many_more_findings_there_are(count: int, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Parity):
        name = "mine"
        size: int = 3

    monkeypatch.setattr(brief, "findings", lambda *_: [Finding("laws", f"wrong {i}") for i in range(count)])
    with pytest.raises(TaskCheckError) as caught:
        refuse_unsound(Mine())
    assert f"the task mine (size 3) is not trained, because it fails the check test sets: wrong 0{more}; run " in str(
        caught.value
    )


def test_a_sound_task_is_looked_at_once_for_each_of_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Parity):
        size: int = 3

    looked: list[int] = []
    monkeypatch.setattr(brief, "findings", lambda task, checks: looked.append(task.size) or [])
    for size in (3, 4, 3, 4):
        refuse_unsound(Mine(size=size))
    assert looked == [3, 4]


# ---- the template --------------------------------------------------------------------------------
def test_the_template(held: Any) -> None:
    task = TemplateTask()
    batch = task.sample(200, 24, torch.Generator().manual_seed(0), "challenge")
    assert set(batch.tokens[:, 1:].flatten().tolist()) == {1, 2, 3}
    places = (batch.tokens[:, 1:] == 3).nonzero()[:, 1]
    assert (int(places.min()), int(places.max())) == (3, 20)
    assert 70 < len(places) < 130
    assert (TemplateTask(share=0.3).chance("matched", 5), task.chance("matched", 5)) == (0.7, 0.5)
    held(
        [
            stated(task).held(),
            *(drawn(task, law, [1, 2, 9, 10, 16]).held() for law in ("training", "matched", "challenge")),
        ]
    )
