"""Languages of the literature with what is published or derived about each, as one table."""

from __future__ import annotations

from typing import NamedTuple

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.regular.automaton_queries import automaton


class Known(NamedTuple):
    """What is known: minimal states, monoid size, and yes or no for each property."""

    language: Automaton
    states: int
    monoid: int
    star_free: bool
    r_trivial: bool
    r_omega: bool
    crasp: bool


def bounded_dyck(depth: int) -> Automaton:
    """Balanced words of depth at most ``depth``, from its counter."""
    dead = depth + 1
    rows = [[d + 1 if d < depth else dead, d - 1 if d else dead] for d in range(depth + 1)]
    return automaton([*rows, [dead, dead]], 0, [0], "ab")


PARITY = automaton([[0, 1], [1, 0]], 0, [1], "01")
TOMITA = {
    1: automaton([[1, 0], [1, 1]], 0, [0], "01"),
    2: Automaton.from_regex("(10)*", "01"),
    # an odd run of ones, then an odd run of zeros, makes it dead at the next one
    3: automaton([[0, 1], [2, 0], [3, 4], [2, 1], [4, 4]], 0, [0, 1, 3], "01"),
    4: automaton([[1, 0], [2, 0], [3, 0], [3, 3]], 0, [0, 1, 2], "01"),
    5: automaton([[1, 2], [0, 3], [3, 0], [2, 1]], 0, [0], "01"),
    6: automaton([[1, 2], [2, 0], [0, 1]], 0, [0], "01"),
    7: Automaton.from_regex("0*1*0*1*", "01"),
}


def _regex(expression: str, alphabet: str | None = None) -> Automaton:
    return Automaton.from_regex(expression, alphabet)


KNOWN = {
    "tomita 1": Known(TOMITA[1], 2, 2, True, True, True, True),
    "tomita 2": Known(TOMITA[2], 3, 6, True, False, True, True),
    "tomita 3": Known(TOMITA[3], 5, 26, False, False, False, False),
    "tomita 4": Known(TOMITA[4], 4, 12, True, False, False, False),
    "tomita 5": Known(TOMITA[5], 4, 4, False, False, False, False),
    "tomita 6": Known(TOMITA[6], 3, 3, False, False, False, False),
    "tomita 7": Known(TOMITA[7], 5, 9, True, True, True, True),
    "D_2": Known(bounded_dyck(2), 4, 15, True, False, True, True),
    "D_3": Known(bounded_dyck(3), 5, 31, True, False, True, True),
    "D_4": Known(bounded_dyck(4), 6, 56, True, False, True, True),
    "D_12": Known(bounded_dyck(12), 14, 820, True, False, True, True),
    "aa*bb*cc*dd*ee*": Known(_regex("aa*bb*cc*dd*ee*"), 7, 17, True, True, True, True),
    "{a,b}*d{b,c}*": Known(_regex("(a|b)*d(b|c)*"), 3, 5, True, True, True, True),
    "{0,1,2}*02*": Known(_regex("(0|1|2)*02*"), 2, 3, True, False, False, False),
    "(aa)*": Known(_regex("(aa)*"), 2, 2, False, False, False, False),
    "(aaaa)*": Known(_regex("(aaaa)*"), 4, 4, False, False, False, False),
    "(abab)*": Known(_regex("(abab)*"), 5, 10, False, False, False, False),
    "(a+b)*b": Known(_regex("(a|b)*b"), 2, 3, True, False, False, False),
    "S*be*": Known(_regex("(a|b|e)*be*"), 2, 3, True, False, False, False),
    "S*bbS*": Known(_regex("(a|b)*bb(a|b)*"), 3, 6, True, False, False, False),
    "S*aS*bS*": Known(_regex("(a|b)*a(a|b)*b(a|b)*"), 3, 5, True, True, True, True),
    "aS*": Known(_regex("a(a|b)*"), 3, 3, True, True, True, True),
}
"""Convention: the last symbol is not readable (neutral symbols)."""

IN = (
    "(aa(ba)*abb(ab)*b)*",
    "aa*bb*aa*bb*aa*bb*",
    "aa*bb*aa*bb*aa*bb*aa*bb*",
    "(ab)(ab)*aa*",
    "(ab)(ab)*aa*bb*",
    "(ab)(ab)*b(ab)(ab)*",
    "(ab)(ab)*bb*(ab)(ab)*",
    "(ab)(ab)*bb*(ab)(ab)*bb*(ab)(ab)*bb*",
    "(ab|ba)*",
    "(ab|bbaa)*",
)
OUT = (
    "(a|b)*bb(a|b)*",
    "(a|b)*b",
    "(aa*bb*)(aa*bb*)*",
    "((ab)(ab)*bb*)*",
    "(ab|bba)*",
    "(ab|aabb)*",
)
"""Unit vectors of the published decider (state tracking in C-RASP, arXiv 2608.13433)."""
