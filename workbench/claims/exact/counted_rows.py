"""Bits that the second half of a string needs, and how much one bit of a string matters: exact counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction

from workbench.claims.claim import Row
from workbench.claims.exact.language_oracles import ORACLES
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.average_sensitivity import average_sensitivity
from workbench.theory.communication import growth, regular_rows, rows

Halves = Callable[[tuple[str, ...], tuple[str, ...]], Hashable]
MOST = 7
"""Longest half that is enumerated over two letters."""
LENGTHS = (3, 5, 7, 9, 11)


def few_bits() -> list[Row]:
    """Rows of what limit transformers compute, per half length N, and bits per log2(N + 1)."""
    languages: dict[str, tuple[Halves, str, int]] = {
        "majority": (lambda x, y: (x + y).count("a") > (x + y).count("b"), "ab", MOST),
        "dyck_1": (lambda x, y: ORACLES["bounded_dyck_12"](x + y) == {"accept"}, "ab", MOST),
        "contains 101": (lambda x, y: "101" in "".join(x + y), "01", MOST),
        "a^n b^n": (lambda x, y: ORACLES["anbn"](x + y) == {"accept"}, "ab", MOST),
        "right neighbour of the last letter": (lambda x, y: frozenset(ORACLES["unique_right_2"](x + y)), "ab", MOST),
    }
    found = []
    for name, (answer, alphabet, most) in languages.items():
        grown = growth(lambda half, a=answer, s=alphabet: rows(a, s, half), range(1, most + 1))  # type: ignore[misc]
        found += _rows(name, grown.halves, grown.rows)
        # Counts go up in steps, so the ratio saws; where it is bounded the longest half brings no new largest one.
        *before, last = grown.bits_per_log
        found.append(Row("bits per log2(N+1), the last over the largest before", name, last - max(before)))
    return found


def many_bits() -> list[Row]:
    """Rows of copying and addition: as many as there are first halves."""
    languages: dict[str, Halves] = {
        "w w": lambda x, y: x == y,
        "palindromes": lambda x, y: x == y[::-1],
        "addition": lambda x, y: int("".join(x), 2) + int("".join(y), 2),
    }
    found = []
    for name, answer in languages.items():
        alphabet = "01"
        for half in range(1, MOST + 1):
            found.append(Row("rows", f"{name}, N {half}", float(rows(answer, alphabet, half)), expected=float(2**half)))
    return found


def parity_bits() -> list[Row]:
    """Rows of parity at any length: two."""
    parity = Automaton.from_regex("(0|10*1)*")
    return [Row("rows", f"N {half}", float(regular_rows(parity, half)), expected=2.0) for half in (1, 2, 3, 7, 50, 500)]


def sensitivities() -> list[Row]:
    """Average sensitivity of parity, majority and OR beside their closed forms."""
    found = []
    for n in LENGTHS:
        majority = Fraction(n * math.comb(n - 1, (n - 1) // 2), 2 ** (n - 1))
        either = Fraction(2 * n, 2**n)
        for name, function, wanted in (
            ("parity", lambda x: x.sum(1) % 2, Fraction(n)),
            ("majority", lambda x: 2 * x.sum(1) > x.shape[1], majority),
            ("OR", lambda x: x.any(1), either),
        ):
            value = average_sensitivity(function, n)
            found.append(Row("average sensitivity", f"{name}, n {n}", float(value), expected=float(wanted)))
        ratio = float(majority) / math.sqrt(2 * n / math.pi)
        found.append(Row("majority over sqrt(2 n / pi)", f"n {n}", ratio))
    return found


def _rows(name: str, halves: tuple[int, ...], counts: tuple[int, ...]) -> list[Row]:
    return [Row("rows", f"{name}, N {half}", float(count)) for half, count in zip(halves, counts, strict=True)]
