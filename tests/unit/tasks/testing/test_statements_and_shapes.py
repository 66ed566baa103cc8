"""The kit's checks of what a task states, of its lengths and of the shapes it gives: each condition by itself."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.tasks.stub_subject import StubSubject
from workbench.tasks import TaskError, make_task
from workbench.tasks.base import BOS, Batch
from workbench.tasks.testing import CHECKS, subject
from workbench.tasks.testing.subject import TaskSubject

SOUND: dict[str, Any] = {
    "name": "x", "question": "x?", "summary": "an x", "family": "mine", "kind": "state", "bos": True, "d_vocab": 3,
    "tokens_names": (BOS, "a", "b"), "output_names": ("no", "yes"), "neutral_tokens": (0, 2),
}  # fmt: skip
PLAIN = {"bos": False, "tokens_names": ("a", "b", "c")}


def test_constants_of_the_kit() -> None:
    given = (subject.P, subject.MANY, subject.SOME, subject.LONGEST_LISTED, subject.LONG, subject.MOST_LENGTHS)
    assert given == (1e-6, 2000, 24, 40, 1024, 12)
    one = TaskSubject(make_task("k_hop", k=4))
    assert (one.window, one.length) == (9, 36)
    assert one.draw("training", 9).tokens.equal(one.draw("training", 9, 24, 0, 9).tokens)
    assert [(what, batch.length) for what, batch in one.small_batches()] == [
        (f"{law} sequences of length {length}", length)
        for law in ("training", "matched", "challenge")
        for length in (9, 36)
    ]
    assert one.large_batch("matched") is one.large_batch("matched")
    assert len(one.large_batch("matched")) == 2000


# ---- what it states ------------------------------------------------------------------------------
@pytest.mark.parametrize(("changed", "highest", "sentences"), [
    ({}, 2, []),
    ({}, 9, []),
    ({"question": 3}, 2, ["the class variable question is empty"]),
    ({"name": ""}, 2, ["the class variable name is empty"]),
    ({"summary": None}, 2, ["the class variable summary is empty"]),
    ({"family": ""}, 2, ["the class variable family is empty"]),
    ({"kind": "sum"}, 2, ["kind is 'sum'"]),
    ({"tokens_names": (BOS, "a", "a")}, 2, ["have the same name: a; give"]),
    ({**PLAIN, "tokens_names": ("a", BOS, "b")}, 2, ["<bos> has id 1 in tokens_names"]),
    ({**PLAIN, "tokens_names": ("a", "b", BOS)}, 2, ["<bos> has id 2 in tokens_names"]),
    ({"output_names": None}, 2, []),
    ({"output_names": ("yes",)}, 2, ["output_names is yes; give"]),
    ({"output_names": ("yes", "yes")}, 2, ["output_names is yes, yes; give"]),
    ({"output_names": ("no", "yes", "yes")}, 2, ["output_names is no, yes, yes; give"]),
    ({"output_names": ("a", "b", "c")}, 2, []),
    ({"neutral_tokens": (3,)}, 2, ["neutral_tokens is 3; give"]),
    ({"neutral_tokens": (1, -1)}, 2, ["neutral_tokens is 1, -1; give"]),
    (PLAIN, 2, []),
    (PLAIN, 3, ["draws ids up to 3"]),
    (PLAIN, None, []),
], ids=str)  # fmt: skip
def test_what_a_task_states(changed: dict[str, Any], highest: int | None, sentences: list[str]) -> None:
    def draw(law: str, length: int) -> Any:
        assert (law, length) == ("training", 8)
        if highest is None:
            raise ValueError
        return SimpleNamespace(tokens=torch.tensor([[0, highest], [1, 0]]))

    stub = StubSubject(task=SimpleNamespace(**{**SOUND, **changed}), draw=draw, window=8)
    found = list(CHECKS["statement"](stub))
    assert len(found) == len(sentences)
    assert all(part in line for part, line in zip(sentences, found, strict=True))


# ---- lengths -------------------------------------------------------------------------------------
class Lengths(StubSubject):
    """A stub of a task and of its subject, which notes what is drawn."""

    def __init__(
        self, length: int = 20, admits: Callable[[int], bool] = lambda n: n >= 1, refuses: bool = True, **other: Any
    ) -> None:
        super().__init__(task=self, length=length)
        self.refuses, self.admissible, self.other = refuses, admits, other
        self.drawn: list[tuple[str, int, int]] = []

    def lengths(self, low: int, high: int) -> list[int]:
        found = [n for n in range(low, high + 1) if self.admissible(n)]
        return [n for n in found if n != self.other.get("unlisted")]

    def next_length(self, length: int) -> int:
        if length in self.other.get("next", {}):
            return int(self.other["next"][length])
        return next(n for n in range(length, 999) if self.admissible(n))

    def draw(self, law: str, length: int, count: int = 24, seed: int = 0, window: int | None = None) -> Any:
        unknown = law not in ("training", "matched", "challenge")
        if (unknown and not self.other.get("any_law")) or (self.refuses and not self.admissible(length)):
            raise TaskError("no")
        self.drawn.append((law, length, count))
        shape = self.other.get("shapes", {}).get(length, (count, length))
        return SimpleNamespace(length=self.other.get("said", {}).get(length, length), tokens=torch.zeros(shape))

    def strings(self, batch: Any) -> torch.Tensor:
        return torch.as_tensor(batch.tokens)


EVEN: Callable[[int], bool] = lambda n: n > 0 and n % 2 == 0  # noqa: E731
FIRST = "which is not the first admissible length from"


@pytest.mark.parametrize(("stub", "sentences"), [
    (Lengths(), []),
    (Lengths(admits=EVEN), []),
    (Lengths(admits=lambda n: n >= 0), ["admissible(0) is True"]),
    (Lengths(unlisted=40), ["differs from the lengths for which admissible() is True"]),
    (Lengths(unlisted=41), []),
    (Lengths(50, unlisted=50), ["differs from the lengths for which admissible() is True"]),
    (Lengths(50, unlisted=51), []),
    (Lengths(unlisted=1), ["differs from the lengths for which admissible() is True"]),
    (Lengths(admits=EVEN, next={1: 4}), [f"next_length(1) is 4, {FIRST}"]),
    (Lengths(admits=EVEN, next={1: 3}), [f"next_length(1) is 3, {FIRST}"]),
    (Lengths(admits=EVEN, next={1: 0}), [f"next_length(1) is 0, {FIRST}"]),
    (Lengths(admits=EVEN, next={2: 4}), [f"next_length(2) is 4, {FIRST}"]),
    (Lengths(admits=EVEN, next={40: 42}), [f"next_length(40) is 42, {FIRST}"]),
    (Lengths(admits=EVEN, next={41: 40}), [f"next_length(41) is 40, {FIRST}"]),
    (Lengths(said={6: 7}), [f"the {law} distribution at length 6" for law in ("training", "matched", "challenge")]),
    (Lengths(shapes={40: (3, 39)}), ["gives token ids of shape (3, 39), not (3, 40)"] * 3),
    (Lengths(shapes={1: (2, 1)}), ["gives token ids of shape (2, 1), not (3, 1)"] * 3),
    (Lengths(admits=EVEN, refuses=False), ["sample() draws sequences of length 1, but admissible(1) is False"]),
    (Lengths(admits=lambda n: n > 0 and n != 39, refuses=False), ["sample() draws sequences of length 39"]),
    (Lengths(any_law=True), ["sample() accepts the unknown distribution"]),
])  # fmt: skip
def test_lengths(stub: Lengths, sentences: list[str]) -> None:
    found = list(CHECKS["lengths"](stub))
    assert len(found) == len(sentences), found
    assert all(part in line for part, line in zip(sentences, found, strict=True)), found


def test_the_shortest_and_the_longest_listed_lengths_are_drawn() -> None:
    stub = Lengths()
    assert list(CHECKS["lengths"](stub)) == []
    ends = [*range(1, 7), *range(35, 41)]
    assert stub.drawn == [(law, n, 3) for law in ("training", "matched", "challenge") for n in ends]


# ---- shapes --------------------------------------------------------------------------------------
ASKED = make_task("parity").label(torch.tensor([[1, 2, 2], [2, 1, 1]]))
REAL = make_task("mod_p_mean").label(torch.tensor([[1, 2, 2, 1], [2, 1, 1, 2]]))


def changed(batch: Batch, **values: Any) -> Batch:
    """Another batch, which need not be one that can be made."""
    made = copy(batch)
    vars(made).update(values)
    return made


def with_one(name: str, at: tuple[int, int], value: float) -> Batch:
    """The batch with another number at one place of one of its tensors."""
    values = getattr(ASKED, name).clone()
    values[at] = value
    return changed(ASKED, **{name: values})


@pytest.mark.parametrize(("batch", "sentences"), [
    (ASKED, []),
    (changed(ASKED, tokens=ASKED.tokens.int()), ["tokens are torch.int32 of shape (2, 4); return torch.int64 of shape (2, 4)"]),
    (changed(ASKED, length=4), ["tokens are torch.int64 of shape (2, 4); return torch.int64 of shape (2, 5)"]),
    (with_one("tokens", (1, 2), 3), ["token ids run from 0 to 3; draw indices of tokens_names, from 0 to 2"]),
    (with_one("tokens", (1, 2), -1), ["token ids run from -1 to 2; draw"]),
    (with_one("tokens", (1, 2), 0), ["BOS is missing at the start"]),
    (with_one("tokens", (1, 0), 1), ["BOS is missing at the start, or occurs later"]),
    (changed(ASKED, bos=False), ["BOS is missing at the start, or occurs later"]),
    (changed(ASKED, mask=ASKED.mask.long()), ["the mask is torch.int64 of shape (2, 4); return torch.bool"]),
    (changed(ASKED, mask=ASKED.mask[:, 1:]), ["the mask is torch.bool of shape (2, 3); return torch.bool"]),
    (with_one("mask", (1, 0), 1), ["the mask is True at BOS"]),
    (with_one("mask", (1, 3), 0), ["the mask is False at the last position"]),
    (with_one("targets", (0, 1), 2), ["a target is outside 0..1"]),
    (with_one("targets", (0, 1), -1), ["a target is outside 0..1"]),
    (changed(ASKED, targets=ASKED.targets.int()), ["targets are torch.int32 of shape (2, 4); return torch.int64 of shape (2, 4)"]),
    (changed(ASKED, targets=ASKED.targets[:, 1:]), ["targets are torch.int64 of shape (2, 3); return torch.int64 of shape (2, 4)"]),
    (changed(ASKED, output_summary=ASKED.output_summary[:, 1:]), ["the output summary has shape (2, 3)"]),
    (changed(ASKED, update_summary=torch.full((2, 4), torch.inf)), ["the update summary has shape (2, 4)"]),
    (changed(ASKED, update_summary=torch.zeros(2, 4, 3)), []),
    (changed(ASKED, update_summary=None), []),
])  # fmt: skip
def test_shapes(batch: Batch, sentences: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a task answers to tensors of a wrong shape is another check's."""
    monkeypatch.setattr("workbench.tasks.testing.check_statement._answers", lambda *_: [])
    one = TaskSubject(make_task("parity"))
    monkeypatch.setattr(one, "small_batches", lambda: [("some", batch), ("others", ASKED)])
    found = list(CHECKS["shapes"](one))
    assert len(found) == len(sentences), found
    assert all(f"some: {part}" in line for part, line in zip(sentences, found, strict=True)), found


NOT_FINITE = "targets have shape {} or values that are not finite; return finite numbers of shape (2, 5, 1)"


@pytest.mark.parametrize(("targets", "sentences"), [
    (REAL.targets, []),
    (REAL.targets[:, 1:], [NOT_FINITE.format("(2, 4, 1)")]),
    (REAL.targets.expand(-1, -1, 2), [NOT_FINITE.format("(2, 5, 2)")]),
    (torch.full_like(REAL.targets, torch.nan), [NOT_FINITE.format("(2, 5, 1)")]),
])  # fmt: skip
def test_shapes_of_real_targets(targets: torch.Tensor, sentences: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.tasks.testing.check_statement._answers", lambda *_: [])
    one = TaskSubject(make_task("mod_p_mean"))
    monkeypatch.setattr(one, "small_batches", lambda: [("some", changed(REAL, targets=targets))])
    assert [line.removeprefix("some: ") for line in CHECKS["shapes"](one)] == sentences


RIGHT = torch.ones(2, 4, dtype=torch.bool)
ONE_WRONG = torch.tensor([[True, True, True, True], [True, True, False, True]])
UNASKED_WRONG = torch.tensor([[False, True, True, True], [True, True, True, True]])


@pytest.mark.parametrize(("real", "guess", "right", "answered", "sentences"), [
    (False, [[1.0, 0.0], [0.5, 0.5]], RIGHT, [True, True], []),
    (False, [[1.0], [0.5]], RIGHT, [True, True], ["answer() returns shape (2, 1) or values"]),
    (False, [[1.0, 0.0], [torch.inf, 0.5]], RIGHT, [True, True], ["answer() returns shape (2, 2) or values"]),
    (False, [[1.0, 0.0], [2.0, -0.1]], RIGHT, [True, True], ["answer() returns a negative weight, or only zeros"]),
    (False, [[1.0, 0.0], [0.0, 0.0]], RIGHT, [True, True], ["answer() returns a negative weight, or only zeros"]),
    (True, [[1.0, 0.0], [2.0, -0.1]], ONE_WRONG, [True, True], []),
    (False, [[1.0, 0.0], [0.5, 0.5]], ONE_WRONG, [True, True], ["correct() is False for the targets"]),
    (False, [[1.0, 0.0], [0.5, 0.5]], UNASKED_WRONG, [True, True], []),
    (False, [[1.0, 0.0], [0.5, 0.5]], RIGHT, [True, False], ["sequence_correct() is False for a sequence"]),
])  # fmt: skip
def test_answers(
    real: bool, guess: list[list[float]], right: torch.Tensor, answered: list[bool], sentences: list[str]
) -> None:
    from workbench.tasks.testing.check_statement import _answers

    task = SimpleNamespace(
        answer=lambda strings: torch.tensor(guess), d_vocab_out=2, real=real, correct=lambda *_: right,
        sequence_correct=lambda *_: torch.tensor(answered),
    )  # fmt: skip
    stub = StubSubject(task=task, strings=lambda batch: batch.tokens[:, 1:])
    found = list(_answers(stub, "some", ASKED))
    assert len(found) == len(sentences), found
    assert all(f"some: {part}" in line for part, line in zip(sentences, found, strict=True)), found


# ---- settings ------------------------------------------------------------------------------------
class Made:
    """Equal to all of its kind; its second copy may have other parameters or another vocabulary."""

    made = 0

    def __init__(self, **given: Any) -> None:
        type(self).made += 1
        self.number, self.parameters, self.tokens_names = self.made, {"k": 1}, ("a",)

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


class OtherParameters(Made):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.parameters = {"k": min(self.made, 2)}


class OtherWords(Made):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.tokens_names = ("a", "b")[: min(self.made, 2)]


class Unequal(Made):
    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__


@pytest.mark.parametrize(("cls", "sentences"), [
    (Made, []), (OtherParameters, ["change when they are written as JSON"]), (OtherWords, ["another vocabulary"]), (Unequal, ["change when they are written as JSON"]),
])  # fmt: skip
def test_settings(cls: type[Made], sentences: list[str]) -> None:
    cls.made = 0
    stub = StubSubject(task=cls())
    found = list(CHECKS["settings"](stub))
    assert len(found) == len(sentences)
    assert all(part in line for part, line in zip(sentences, found, strict=True))
