"""The kit for tasks: every task that is registered passes, and for each check there is a task that fails it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from pydantic import field_serializer

from tests.support.held import Held
from workbench.tasks import make_task, task_names
from workbench.tasks.base import Batch, Support
from workbench.tasks.registry import find_task
from workbench.tasks.regular.state_machines import EvenPairs, Parity
from workbench.tasks.testing import CHECKS, TaskCheckError, check_task, findings
from workbench.tasks.testing.kit import CHECK_TITLES
from workbench.tasks.testing.subject import TaskSubject


@pytest.mark.parametrize("name", task_names())
def test_every_task_keeps_what_a_task_promises(name: str) -> None:
    check_task(make_task(name))


@pytest.mark.parametrize("name", task_names())
def test_a_challenge_law_that_is_the_matched_law_is_refused(name: str) -> None:
    cls = find_task(name)

    def strings(self: Any, batch: int, length: int, generator: Any, law: str, window: Any) -> Any:
        return cls.draw_strings(self, batch, length, generator, "matched" if law == "challenge" else law, window)

    task = type("Alike", (cls,), {"draw_strings": strings, "__module__": __name__})()
    found = list(CHECKS["laws"](TaskSubject(task)))
    if make_task(name).challenge_is_matched:
        assert found == []
    else:
        assert len(found) == 1
        assert "the matched and the challenge test set do not differ" in found[0]


# ---- one task or more for each check -------------------------------------------------------------
class NoSummary(Parity):
    summary = ""


class UnknownKind(Parity):
    kind = "number"


class Forgetful(Parity):
    size: int = 3

    @field_serializer("size")
    def _lose(self, size: int) -> int:
        return size + 1


class AdmitsNothing(Parity):
    def admissible(self, length: int) -> bool:
        return length >= 0


class SkipsLengths(Parity):
    def next_length(self, length: int | float) -> int:
        return int(length) + 1


class Unasked(Parity):
    def label_strings(self, strings: Any, meta: Any) -> Any:
        parity, mask, output, update = super().label_strings(strings, meta)
        return parity, mask & (torch.arange(mask.shape[1]) < mask.shape[1] - 1), output, update


class WithBOS(Parity):
    def draw_strings(self, *given: Any) -> Any:
        strings, meta = super().draw_strings(*given)
        strings[:, 0] = 0
        return strings, meta


class OtherOracle(Parity):
    def reference(self, tokens: Any) -> Any:
        return [1 - answer for answer in super().reference(tokens)]


class LooksAhead(Parity):
    def label_strings(self, strings: Any, meta: Any) -> Any:
        parity, mask, output, update = super().label_strings(strings, meta)
        return parity[:, -1:].expand_as(parity), mask, output, update


class OtherAutomaton(Parity):
    def automaton(self) -> Any:
        return EvenPairs().automaton()


class WrongAnswers(Parity):
    def automaton(self) -> Any:
        from dataclasses import replace

        right = super().automaton()
        return replace(right, answers=1 - right.labels)


class OnesAreNeutral(Parity):
    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        return (2,)


class OwnRandomness(Parity):
    def draw_strings(self, batch: int, length: int, *given: Any) -> Any:
        return 1 + torch.randint(2, (batch, length)), {}


class OneDraw(Parity):
    def draw_strings(self, batch: int, length: int, generator: Any, law: str, window: Any) -> Any:
        return super().draw_strings(batch, length, torch.Generator().manual_seed(7), law, window)


class Together(Parity):
    def label_strings(self, strings: Any, meta: Any) -> Any:
        parity, mask, output, update = super().label_strings(strings, meta)
        return (parity + len(strings)) % 2, mask, output, update


class SameLaws(Parity):
    def draw_strings(self, batch: int, length: int, generator: Any, law: str, window: Any) -> Any:
        return super().draw_strings(batch, length, generator, "matched", window)


class SaysSameLaws(Parity):
    @property
    def challenge_is_matched(self) -> str:
        return "bits are fair"


class ClosedNot(Parity):
    def prefix_closed(self, law: str) -> bool:
        return True


class FewerListed(Parity):
    def support(self, law: str, length: int, window: int | None = None) -> Support | None:
        return Support.of(self.label(torch.ones(1, length, dtype=torch.long)), torch.ones(1))


class OtherOdds(Parity):
    def support(self, law: str, length: int, window: int | None = None) -> Support | None:
        if length > 1:
            return None
        return Support.of(self.label(torch.tensor([[1], [2]])), torch.tensor([0.2, 0.8]))


class NoChance(Parity):
    def chance(self, law: str, length: int) -> float:
        return 0.3


class FirstDecides(Parity):
    def draw_strings(self, batch: int, length: int, generator: Any, law: str, window: Any) -> Any:
        strings, meta = super().draw_strings(batch, length, generator, law, window)
        if law == "challenge":
            strings[:, 4:] = 1
        return strings, meta


class EarlyWindows(Parity):
    def shortcuts(self, batch: Batch, window: int) -> Any:
        found = super().shortcuts(batch, window)
        return {**found, "last_window": found["last_token"]}


class OtherStratum(Parity):
    strata_names = ("all ones",)

    def strata(self, batch: Batch) -> dict[str, torch.Tensor]:
        return {"all ones": (batch.tokens[:, 1:] == 2).all(1)}

    def draw_stratum(self, name: str, batch: int, length: int, *given: Any) -> Batch | None:
        return self.label(torch.ones(batch, length, dtype=torch.long))


class Square(Parity):
    def label_strings(self, strings: Any, meta: Any) -> Any:
        below = torch.ones(strings.shape[1], strings.shape[1]).tril()
        parity = ((strings == 2).float() @ below.T).long() % 2
        return parity, torch.ones_like(strings, dtype=torch.bool), parity, parity


class Raising(Parity):
    def answer(self, tokens: Any) -> Any:
        return tokens.no_such_thing


FAILING = [
    ("statement", NoSummary, "the class variable summary is empty"),
    ("statement", UnknownKind, "kind is 'number'; set kind to one of state, average, counter, pointer"),
    ("settings", Forgetful, "change when they are written as JSON"),
    ("lengths", AdmitsNothing, "admissible(0) is True"),
    ("lengths", SkipsLengths, "is 2, which is not the first admissible length"),
    ("shapes", Unasked, "the mask is False at the last position"),
    ("shapes", WithBOS, "BOS is missing at the start"),
    ("oracle", OtherOracle, "label() returns 0 and reference() returns 1; correct one of them"),
    ("prefixes", LooksAhead, "compute it only from the prefix"),
    ("automaton", OtherAutomaton, "the alphabet of automaton() is a b; use all tokens except BOS"),
    ("automaton", WrongAnswers, "automaton() and label() give different answers"),
    ("neutral tokens", OnesAreNeutral, "the neutral token 1 changes the answer"),
    ("seeds", OwnRandomness, "use other random numbers than those of the given generator"),
    ("seeds", OneDraw, "are equal for two seeds"),
    ("batches", Together, "depend on the other sequences of the batch"),
    ("laws", SameLaws, "draw challenge sequences on which shortcuts fail"),
    ("laws", SaysSameLaws, "but the two test sets differ in"),
    ("prefix-closed", ClosedNot, "prefix_closed('challenge') is True, but prefixes"),
    ("support", FewerListed, "lacks a sequence that sample() draws"),
    ("support", OtherOdds, "and sample() have different probabilities"),
    ("chance", NoChance, "but chance() returns 0.300; return the share of the best constant answer"),
    ("shortcuts", FirstDecides, "the shortcut first_window is right for 1.000"),
    ("shortcuts", EarlyWindows, "returns last_window at length N"),
    ("strata", OtherStratum, "draws sequences that strata() does not mark as all ones"),
    ("memory", Square, "grows like the square of the length"),
    ("shapes", Raising, "raises an error in this check (AttributeError"),
]


def test_every_check_has_a_task_that_fails_it() -> None:
    assert {check for check, _, _ in FAILING} == set(CHECKS) == set(CHECK_TITLES)
    assert findings(Parity()) == []


@pytest.mark.parametrize(("check", "cls", "sentence"), FAILING, ids=lambda one: getattr(one, "__name__", None))
def test_what_a_task_does_not_keep_is_named_with_the_way_out(
    check: str, cls: type[Parity], sentence: str, held: Held
) -> None:
    found = [str(one) for one in findings(cls())]
    held([re.sub(r" \(at [^()]+\)", "", line) for line in found])  # a place in this very file
    assert any(line.startswith(f"{CHECK_TITLES[check]}: ") and sentence in line for line in found), found


def test_a_failing_task_is_refused_with_all_that_is_wrong() -> None:
    with pytest.raises(TaskCheckError) as caught:
        check_task(NoChance())
    lines = str(caught.value).split("\n")
    assert lines[0] == "the task parity fails:"
    assert all(
        re.match("  chance accuracy: on the (matched|challenge) test set at length ", line) for line in lines[1:]
    )
    assert len(lines) > 1
