"""One-way communication: how many bits about the first half of a string its second half needs.

A limit transformer can compute every answer on a string of 2N tokens from O(log N) bits about the first half (Huang et
al., arXiv 2410.02140, theorem 12). So for a map that such a transformer computes, the number of first halves that
behave differently before some second half is at most polynomial in N. A small number proves nothing: parity needs one
bit, but is not in C-RASP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError

LARGEST_MATRIX = 5_000_000
"""Largest number of pairs of halves that :func:`rows` enumerates."""
THEOREM = "theorem 12 of Huang et al., arXiv 2410.02140"


def rows(answer: Callable[[tuple[str, ...], tuple[str, ...]], Hashable], alphabet: Sequence[str], half: int) -> int:
    """Return the number of distinct rows of the matrix ``answer(first half, second half)``.

    Args:
        answer: the function of the whole string; any values that can be compared.
        alphabet: symbols.
        half: N.

    Raises:
        TheoryError: for more pairs than :data:`LARGEST_MATRIX`.
    """
    if len(alphabet) ** (2 * half) > LARGEST_MATRIX:
        raise TheoryError(f"{len(alphabet)}^{2 * half} strings are too many to go through; take a smaller half")
    halves = list(product(alphabet, repeat=half))
    return len({tuple(answer(first, second) for second in halves) for first in halves})


def regular_rows(language: Automaton, half: int) -> int:
    """Return the same for membership in a regular language, at any length: at most the number of states.

    It is the number of classes among the states that words of length N reach. Two states are in one class if no word of
    length N distinguishes them.
    """
    reached = np.unique([language.start])
    behaviour = np.isin(np.arange(len(language)), list(language.accepting)).astype(np.int64)
    for _ in range(half):
        reached = np.unique(language.table[reached])
        _, behaviour = np.unique(behaviour[language.table], axis=0, return_inverse=True)
        behaviour = behaviour.ravel()
    return len(np.unique(behaviour[reached]))


@dataclass(frozen=True)
class Growth:
    """How the number of distinct rows of a communication matrix grows with half the length.

    Attributes:
        halves: N, ascending.
        rows: number of rows at each N.
        bits: log2 of the rows: bits about the first half that are needed.
        bits_per_log: bits / log2(N + 1) at each N: bounded if the theorem does not exclude the map.
    """

    halves: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def bits(self) -> tuple[float, ...]:
        return tuple(math.log2(r) for r in self.rows)

    @property
    def bits_per_log(self) -> tuple[float, ...]:
        return tuple(b / math.log2(n + 1) for n, b in zip(self.halves, self.bits, strict=True))


def growth(count: Callable[[int], int], halves: Sequence[int]) -> Growth:
    """Return the number of rows at several half lengths; finitely many lengths exclude nothing by themselves."""
    return Growth(tuple(halves), tuple(count(n) for n in halves))
