"""Oracles for regular languages, independent of the tasks' transition tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.tasks.automata.dfa import DEAD
from workbench.tasks.automata.regex import NOTHING, Expression, derivative, equivalent, nullable, parse

Known = Any
"""What an oracle carries from symbol to symbol; each oracle has a form of its own."""


class Oracle(ABC):
    """An exact online algorithm for a regular language."""

    start: Known
    """The oracle's state for the empty string."""

    @abstractmethod
    def step(self, known: Known, symbol: str) -> Known:
        """Return the oracle's state after one more symbol."""

    @abstractmethod
    def accepts(self, known: Known) -> bool:
        """Whether the string so far is in the language."""

    @abstractmethod
    def viable(self, known: Known) -> bool:
        """Whether the string so far can be continued to one in the language."""

    @abstractmethod
    def name(self, known: Known, names: Sequence[str]) -> str:
        """Return which of the states with these names the string so far leads to."""


class ByDerivatives(Oracle):
    """Decides membership by derivatives of the regular expression: the state is the expression of what may still
    follow.
    """

    def __init__(self, expression: str, alphabet: Sequence[str]) -> None:
        self.start, self.alphabet = parse(expression), tuple(alphabet)

    def step(self, known: Expression, symbol: str) -> Expression:
        return derivative(known, symbol)

    def accepts(self, known: Expression) -> bool:
        return nullable(known)

    def viable(self, known: Expression) -> bool:
        return known != NOTHING

    def name(self, known: Expression, names: Sequence[str]) -> str:
        """Return the state named after a word with the same continuations (Myhill and Nerode)."""
        return next(name for name in names if equivalent(known, self._language_after(name), self.alphabet))

    def _language_after(self, name: str) -> Expression:
        if name == DEAD:
            return NOTHING
        expression: Expression = self.start
        for symbol in name.removeprefix("start").removeprefix("after "):
            expression = derivative(expression, symbol)
        return expression


class ByTransitions(Oracle):
    """Decides membership by an automaton given as JSON data, by the names of its states; None after a missing
    transition.
    """

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
        successors = {state for row in self.transitions.values() for state in row.values()}
        return next(name for name in names if name not in successors and name != self.start)
