"""Second opinions on regular languages, for the references of their tasks: no transition table in sight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.tasks.automata.dfa import DEAD
from workbench.tasks.automata.regex import NOTHING, Expression, derivative, equivalent, nullable, parse

Known = Any
"""What an oracle carries on from symbol to symbol; its own business."""


class Oracle(ABC):
    """The exact online algorithm for a regular language."""

    start: Known
    """What is known of the empty string."""

    @abstractmethod
    def step(self, known: Known, symbol: str) -> Known:
        """What is known after one more symbol."""

    @abstractmethod
    def accepts(self, known: Known) -> bool:
        """Whether the string so far is in the language."""

    @abstractmethod
    def viable(self, known: Known) -> bool:
        """Whether the string so far can be continued to one in the language."""

    @abstractmethod
    def name(self, known: Known, names: Sequence[str]) -> str:
        """Which of the states of these names the string so far leads to."""


class ByDerivatives(Oracle):
    """Follows a regular expression through its derivatives: what is known is what may still follow."""

    def __init__(self, expression: str, alphabet: Sequence[str]) -> None:
        self.start, self.alphabet = parse(expression), tuple(alphabet)

    def step(self, known: Expression, symbol: str) -> Expression:
        return derivative(known, symbol)

    def accepts(self, known: Expression) -> bool:
        return nullable(known)

    def viable(self, known: Expression) -> bool:
        return known != NOTHING

    def name(self, known: Expression, names: Sequence[str]) -> str:
        """The state called after a word that the same continuations complete (Myhill and Nerode)."""
        return next(name for name in names if equivalent(known, self._called(name), self.alphabet))

    def _called(self, name: str) -> Expression:
        if name == DEAD:
            return NOTHING
        found: Expression = self.start
        for symbol in name.removeprefix("start").removeprefix("after "):
            found = derivative(found, symbol)
        return found


class ByTransitions(Oracle):
    """Follows an automaton as it was written down, by the names of its states; None once nothing is written."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.start = data["start"]
        self.transitions: Mapping[str, Mapping[str, str]] = data["transitions"]
        self.accepting = frozenset(data["accepting"])

    def step(self, known: str | None, symbol: str) -> str | None:
        return None if known is None else self.transitions.get(known, {}).get(symbol)

    def accepts(self, known: str | None) -> bool:
        return known in self.accepting

    def viable(self, known: str | None) -> bool:
        met = {known} - {None}
        waiting = list(met)
        while waiting:
            fresh = set(self.transitions.get(waiting.pop() or "", {}).values()) - met
            met |= fresh
            waiting += fresh
        return bool(met & self.accepting)

    def name(self, known: str | None, names: Sequence[str]) -> str:
        if known is not None:
            return known
        written = {state for row in self.transitions.values() for state in row.values()}
        return next(name for name in names if name not in written and name != self.start)
