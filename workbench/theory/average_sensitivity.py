"""Average sensitivity: how many single-bit changes of a random string change the answer.

as_n(f) = E_x |{i : f(x) != f(x with bit i flipped)}|, x uniform on n bits. Transformers that compute functions of high
average sensitivity are in sharp minima of the loss (Hahn and Rofin 2024, "Why are Sensitive Functions Hard for
Transformers?"). The numbers are exact: by enumeration for any function, by dynamic programming for a regular language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError

LARGEST_CUBE = 20
"""Largest number of bits for which a function is enumerated."""


def average_sensitivity(function: Callable[[NDArray[np.int64]], NDArray[np.int64]], n: int) -> Fraction:
    """Return the average sensitivity of any function, by enumerating all strings.

    Args:
        function: maps strings ``[string, position]`` of bits to answers ``[string]``.
        n: number of bits.

    Raises:
        TheoryError: unless 1 <= n <= :data:`LARGEST_CUBE`.
    """
    if not 1 <= n <= LARGEST_CUBE:
        raise TheoryError(f"average sensitivity is enumerated for 1 to {LARGEST_CUBE} bits, not {n}")
    codes = np.arange(1 << n)
    answers = np.asarray(function((codes[:, None] >> np.arange(n)) & 1))
    changed = sum(int((answers != answers[codes ^ (1 << i)]).sum()) for i in range(n))
    return Fraction(changed, 1 << n)


def regular_sensitivity(language: Automaton, n: int) -> Fraction:
    """Return the average sensitivity of membership in a language over two symbols, exactly and at any length.

    The algorithm counts the ways to reach a state, to branch there into the two states after the two symbols, and to
    end with exactly one of the two accepting.

    Raises:
        TheoryError: for an alphabet of other than two symbols, or n below 1.
    """
    if len(language.alphabet) != 2:
        raise TheoryError(
            f"average sensitivity needs an alphabet of two symbols; this one has {len(language.alphabet)}"
        )
    if n < 1:
        raise TheoryError(f"average sensitivity needs at least one bit, not {n}")
    step = language.table.tolist()
    reached: Counter[int] = Counter({language.start: 1})
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(n):
        further: Counter[tuple[int, int]] = Counter()
        for (a, b), ways in pairs.items():
            for symbol in range(2):
                further[step[a][symbol], step[b][symbol]] += ways
        after: Counter[int] = Counter()
        for state, ways in reached.items():
            further[step[state][0], step[state][1]] += ways
            for symbol in range(2):
                after[step[state][symbol]] += ways
        pairs, reached = further, after
    differing = sum(ways for (a, b), ways in pairs.items() if (a in language.accepting) != (b in language.accepting))
    # Each unordered pair of neighbours was met once, and stands for both of its strings.
    return Fraction(2 * differing, 1 << n)
