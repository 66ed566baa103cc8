"""The answers of an automaton that occur at each length, and their period."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.tasks.automata.dfa import Automaton, Ints
from workbench.tasks.batch import TaskError

LONGEST_RHYTHM = 4096
"""Longest length up to which to look for a repetition of the set of reachable states."""


class Rhythm(NamedTuple):
    """The answers that occur at each length.

    Attributes:
        answers: the set of answers, by length from 0 on.
        repeats: the length from which on the sets of answers repeat.
        period: the number of lengths after which the same answers occur again.
    """

    answers: tuple[frozenset[int], ...]
    repeats: int
    period: int

    def at(self, length: int) -> frozenset[int]:
        """Return the answers that occur at this length."""
        if length < len(self.answers):
            return self.answers[length]
        return self.answers[self.repeats + (length - self.repeats) % (len(self.answers) - self.repeats)]


def rhythm_of(automaton: Automaton, answers: Ints, language: str) -> Rhythm:
    """Return the rhythm of the answers in each state (-1 = not supervised); ``language`` is its name in a sentence.

    Raises:
        TaskError: if the set of reachable states does not repeat within :data:`LONGEST_RHYTHM` symbols.
    """
    table, supervised = automaton.table, answers >= 0
    met: dict[bytes, int] = {}
    reached = np.arange(len(table)) == automaton.start
    occurring: list[frozenset[int]] = []
    while reached.tobytes() not in met:
        met[reached.tobytes()] = len(occurring)
        occurring.append(frozenset(answers[reached & supervised].tolist()))
        reached = np.isin(np.arange(len(table)), table[reached])
        if len(occurring) > LONGEST_RHYTHM:
            raise TaskError(f"the states of {language} do not repeat within {LONGEST_RHYTHM} symbols")
    repeats = met[reached.tobytes()]
    turn = occurring[repeats:]
    period = next(p for p in range(1, len(turn) + 1) if turn == turn[p:] + turn[:p])
    return Rhythm(tuple(occurring), repeats, period)
