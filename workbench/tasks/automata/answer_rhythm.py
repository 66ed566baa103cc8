"""Which answers about an automaton's strings occur at which length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.tasks.automata.dfa import Automaton, Ints
from workbench.tasks.batch import TaskError

LONGEST_RHYTHM = 4096
"""Lengths within which the states that can be reached must have come around."""


class Rhythm(NamedTuple):
    """Which answers occur at which length.

    Attributes:
        answers: by length from 0 on.
        repeats: the length from which on the answers come around, with the period of what follows it.
        period: after how many lengths the answers that occur are the same again.
    """

    answers: tuple[frozenset[int], ...]
    repeats: int
    period: int

    def at(self, length: int) -> frozenset[int]:
        """The answers that occur at this length."""
        if length < len(self.answers):
            return self.answers[length]
        return self.answers[self.repeats + (length - self.repeats) % (len(self.answers) - self.repeats)]


def rhythm_of(automaton: Automaton, answers: Ints, language: str) -> Rhythm:
    """The rhythm of the answers in each state (-1 where nothing is asked); ``language`` is its name in a sentence.

    Raises:
        TaskError: where the states do not come around within :data:`LONGEST_RHYTHM` symbols.
    """
    table, asked = automaton.table, answers >= 0
    met: dict[bytes, int] = {}
    reached = np.arange(len(table)) == automaton.start
    found: list[frozenset[int]] = []
    while reached.tobytes() not in met:
        met[reached.tobytes()] = len(found)
        found.append(frozenset(answers[reached & asked].tolist()))
        reached = np.isin(np.arange(len(table)), table[reached])
        if len(found) > LONGEST_RHYTHM:
            raise TaskError(f"the states of {language} do not come around within {LONGEST_RHYTHM} symbols")
    repeats = met[reached.tobytes()]
    turn = found[repeats:]
    period = next(p for p in range(1, len(turn) + 1) if turn == turn[p:] + turn[:p])
    return Rhythm(tuple(found), repeats, period)
