"""Correct answers to every built-in C-RASP program, in plain Python: regular expressions and counters.

An oracle takes a string as a tuple of symbols and returns the names of the outputs that are true at its end. It shares
no code with the programs: no abstract syntax, no evaluator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

SEP = "<sep>"
Oracle = Callable[[tuple[str, ...]], set[str]]


def _regular(pattern: str) -> Oracle:
    compiled = re.compile(pattern)
    return lambda w: {"accept"} if compiled.fullmatch("".join(w)) else set()


def _accepting(test: Callable[[tuple[str, ...]], bool]) -> Oracle:
    return lambda w: {"accept"} if test(w) else set()


def _balanced(w: tuple[str, ...], opening: str, closing: str, limit: float = float("inf")) -> bool:
    height = 0
    for symbol in w:
        height += {opening: 1, closing: -1}.get(symbol, 0)
        if not 0 <= height <= limit:
            return False
    return height == 0


def _blocks(letters: str) -> Oracle:
    def test(w: tuple[str, ...]) -> bool:
        size, rest = divmod(len(w), len(letters))
        return size > 0 and rest == 0 and "".join(w) == "".join(letter * size for letter in letters)

    return _accepting(test)


def _expression(w: tuple[str, ...]) -> bool:
    """Recursive descent over prefix notation: an operator is followed by its operands."""
    place = 0

    def skip() -> bool:
        nonlocal place
        if place == len(w):
            return False
        head, place = w[place], place + 1
        return head in "01" or all(skip() for _ in range("~+>*^".index(head) + 1))

    return skip() and place == len(w)


def _most_frequent(w: tuple[str, ...]) -> set[str]:
    (best, most), *others = Counter(w).most_common()
    return set() if others and others[0][1] == most else {f"NEXT_{best}"}


def _neighbour(side: int, first: bool, letters: str) -> Oracle:
    """Symbols next to the occurrences (or the first one) of the last symbol; separators do not count."""

    def found(w: tuple[str, ...]) -> set[str]:
        places = [i for i, symbol in enumerate(w) if symbol == w[-1] and w[-1] in letters]
        beside = [i + side for i in (places[:1] if first else places)]
        return {f"NEXT_{w[i]}" for i in beside if 0 <= i < len(w) and w[i] in letters}

    return found


def _copy(w: tuple[str, ...], backward: bool) -> set[str]:
    """Symbols that follow (precede) the last symbol within x; <sep> stands at both ends of x."""
    cut = w.index(SEP) if SEP in w else len(w)
    x = [SEP, *w[:cut], *([SEP] if SEP in w else [])]
    if w[-1] == SEP:
        first = (w[-2:-1] if backward else w[:1]) if len(w) > 1 else ()
        return {f"NEXT_{a}" for a in first if a != SEP}
    pairs = [(b, a) if backward else (a, b) for a, b in pairwise(x)]
    return {"NEXT_end" if b == SEP else f"NEXT_{b}" for a, b in pairs if a == w[-1]}


def _sort(w: tuple[str, ...]) -> set[str]:
    later = sorted(set(w) - {SEP})
    if w[-1] != SEP:
        later = [a for a in later if a > w[-1]]
        return {f"NEXT_{later[0]}"} if later else {"NEXT_end"}
    return {f"NEXT_{later[0]}"} if later else set()


def _interleaved(w: tuple[str, ...]) -> set[str]:
    if SEP not in w:
        return set()
    cut = w.index(SEP)
    written = len(w) - cut - 1
    if written >= 3:
        return {"NEXT_end"} if written == 3 else set()
    turn = (len(w) - 1) % 3
    string = w[:cut][turn::3]
    ones, zeros = string.count("1"), string.count("0")
    return set() if ones == zeros else {"NEXT_1" if ones > zeros else "NEXT_0"}


ORACLES: dict[str, Oracle] = {
    "majority": _accepting(lambda w: w.count("1") > w.count("0")),
    "dyck_1": _accepting(lambda w: _balanced(w, "(", ")")),
    "bounded_dyck_1": _regular("(ab)*"),
    "bounded_dyck_2": _regular("(a(ab)*b)*"),
    "bounded_dyck_3": _accepting(lambda w: _balanced(w, "a", "b", 3)),
    "bounded_dyck_4": _accepting(lambda w: _balanced(w, "a", "b", 4)),
    "bounded_dyck_12": _accepting(lambda w: _balanced(w, "a", "b", 12)),
    "shuffle_dyck_2": _accepting(lambda w: _balanced(w, "(1", ")1") and _balanced(w, "(2", ")2")),
    "anbn": _blocks("ab"),
    "anbncn": _blocks("abc"),
    "anbncndn": _blocks("abcd"),
    "boolean_3": _accepting(_expression),
    "boolean_5": _accepting(_expression),
    "tomita_1": _regular("1*"),
    "tomita_2": _regular("(10)*"),
    "tomita_2_local": _regular("(10)*"),
    "tomita_4": _accepting(lambda w: "000" not in "".join(w)),
    "tomita_7": _regular("0*1*0*1*"),
    "abd_bc": _regular("[ab]*d[bc]*"),
    "blocks_abcde": _regular("aa*bb*cc*dd*ee*"),
    "even_as": _regular("(aa)*"),
    "aa_star": _regular("(aa)*"),
    "aaaa_star": _regular("(aaaa)*"),
    "abab_star": _regular("(abab)*"),
    "contains_ab": _accepting(lambda w: "ab" in "".join(w)),
    "contains_ab_3": _accepting(lambda w: "ab" in "".join(w)),
    "subsequence_ab": _regular(".*a.*b.*"),
    "most_frequent": _most_frequent,
    "unique_right_2": _neighbour(1, False, "ab"),
    "ur": _neighbour(1, False, "abc"),
    "ul": _neighbour(-1, False, "abc"),
    "nr_first": _neighbour(1, True, "abc"),
    "nl_first": _neighbour(-1, True, "abc"),
    "uf": lambda w: _copy(w, backward=False),
    "ub": lambda w: _copy(w, backward=True),
    "sort": _sort,
    "interleaved_majority": _interleaved,
}
