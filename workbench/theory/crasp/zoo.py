"""One table of programs, replayed by evaluator, oracle, compiled transformer and trained models alike.

>>> from workbench.theory.crasp.zoo import ZOO
>>> ZOO["dyck_1"].language
'balanced words of one pair of brackets'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.theory.crasp import near_misses as near
from workbench.theory.crasp import programs as p
from workbench.theory.crasp.program import Program

__all__ = ["ZOO", "Case", "Fragment"]

Fragment = Literal["C-RASP[]", "C-RASP[periodic]", "C-RASP[local]", "C-RASP[periodic, local]"]


@dataclass(frozen=True)
class Case:
    """A program of the zoo, with the facts that are known about it.

    Attributes:
        name: key in the table.
        language: what is accepted or answered, in words or as an expression.
        program: a program for it.
        fragment: the smallest class known to contain it, which may be smaller than what the program uses.
        length: all strings up to this length are few enough to try.
        accepted: over all strings of 1 to ``length`` symbols, how often an output is true at the end.
        strings: long strings of a given length close to the language's edge.
        task: name and parameters of the task with the same tokens and the same answers, if there is one.
    """

    name: str
    language: str
    program: Program
    fragment: Fragment
    length: int
    accepted: int
    strings: near.Strings = field(repr=False)
    task: tuple[str, Mapping[str, Any]] | None = None

    def near_misses(self, length: int) -> NDArray[np.int64]:
        """Return token ids ``[batch, length]`` of strings that are barely inside or barely outside the language. The
        length is a multiple of 12.
        """
        found = near.variants(self.strings(length), self.program.alphabet)
        return np.array([self.program.ids(string) for string in found])


EMPTY: Fragment = "C-RASP[]"
PERIODIC: Fragment = "C-RASP[periodic]"
LOCAL: Fragment = "C-RASP[local]"

_TIES = near.combine(near.parts("ab", "ba"), near.repeats("ab", "aab", "abb"))
_NO_AB = near.combine(near.parts("ba", "b"), near.far_parts(("ab", "b", ""), ("", "b", "ab"), ("", "b", "ba")))
_BRACKETS = (("(1", ")1"), ("(2", ")2"))
_SHUFFLES = near.combine(near.repeats("acbd", "ab", "acdb", "cabd"), near.parts("abcd", "acbd", "badc"))
_RETRIEVAL = near.combine(
    near.far_parts(
        ("ab", "c", (p.SEP, "a")), ("ab", "c", (p.SEP, "b")), ("ba", "cb", "a"), ("abc", "cb", (p.SEP, "c"))
    ),
    near.blocks(p.SEP, ("ab", "c"), ("aab", "ba")),
)
_COPYING = near.combine(
    near.blocks(p.SEP, ("abccc", "abc"), ("cba", "bca"), ("a", "a"), ("acb", "acb")),
    near.repeats("abc"),
)
_INTERLEAVED = near.combine(
    near.blocks(p.SEP, ("001110", "010"), ("01", "1"), ("110100", "0")), near.repeats("01")
)  # fmt: skip

_COUNTING = [
    Case("majority", "more 1 than 0", p.majority("1", "0"), EMPTY, 12, 3458,
         near.combine(near.parts("01", "10"), near.repeats("01", "001", "011")), ("majority", {})),
    Case("dyck_1", "balanced words of one pair of brackets", p.dyck_1("(", ")"), EMPTY, 12, 196,
         near.balanced_words("(", ")"), ("dyck_1", {})),
    Case("shuffle_dyck_2", "shuffles of balanced words of two pairs of brackets", p.shuffle_dyck(_BRACKETS), EMPTY,
         7, 82, near.rename_symbols(_SHUFFLES, dict(zip("abcd", _BRACKETS[0] + _BRACKETS[1], strict=True))),
         ("shuffle_dyck", {"k": 2})),
    Case("anbn", "a^n b^n", p.equal_blocks("ab"), EMPTY, 12, 6, _TIES, ("a_n_b_n", {"letters": 2})),
    Case("anbncn", "a^n b^n c^n", p.equal_blocks("abc"), EMPTY, 8, 2, near.parts("abc", "acb", "bac"),
         ("a_n_b_n", {"letters": 3})),
    Case("anbncndn", "a^n b^n c^n d^n", p.equal_blocks("abcd"), EMPTY, 8, 2, near.parts("abcd", "abdc", "bacd"),
         ("a_n_b_n", {"letters": 4})),
    Case("boolean_3", "prefix expressions with operators of 1 to 3 operands", p.boolean_expression(3), EMPTY, 6, 388,
         near.combine(near.parts("+0", "~1", ">1"), near.far_parts(("++", "~", "010"))), ("boolean", {"n": 3})),
    Case("boolean_5", "prefix expressions with operators of 1 to 5 operands", p.boolean_expression(5), EMPTY, 5, 122,
         near.combine(near.parts("+0", "~1", "^1"), near.far_parts(("+^", "~", "010101"))), ("boolean", {"n": 5})),
]  # fmt: skip

_REGULAR = [
    *(
        Case(f"bounded_dyck_{n}", f"balanced words over a( and b) of depth at most {n}", p.bounded_dyck(n), EMPTY, 12,
             accepted, near.words_up_to_depth(n, "a", "b"), ("bounded_dyck", {"n": n}))
        for n, accepted in ((1, 6), (2, 63), (3, 144), (4, 185), (12, 196))
    ),
    Case("tomita_1", "1*", p.tomita_1(), EMPTY, 12, 12, near.repeats("1"), ("tomita", {"n": 1})),
    Case("tomita_2", "(10)*", p.bounded_dyck(1, "1", "0"), EMPTY, 12, 6, near.repeats("10"), ("tomita", {"n": 2})),
    Case("tomita_2_local", "(10)*, by neighbours", p.tomita_2_local(), EMPTY, 12, 6, near.repeats("10", "01"),
         ("tomita", {"n": 2})),
    Case("tomita_4", "no 000", p.tomita_4(), LOCAL, 12, 3734, near.repeats("001", "1", "010"), ("tomita", {"n": 4})),
    Case("tomita_7", "0*1*0*1*", p.tomita_7(), EMPTY, 12, 1091,
         near.combine(near.parts("0101", "1010", "01", "0"), near.far_parts(("01", "0", "1"), ("10", "1", "0"))),
         ("tomita", {"n": 7})),
    Case("aa_star", "(aa)* over a", p.repeated_letter(2, "a"), PERIODIC, 12, 6, near.repeats("a"), ("aa_star", {})),
    Case("aaaa_star", "(aaaa)* over a", p.repeated_letter(4, "a"), PERIODIC, 12, 3, near.repeats("a"),
         ("aaaa_star", {})),
    Case("even_as", "(aa)* over a, b", p.repeated_letter(2), PERIODIC, 12, 6, near.repeats("a")),
    Case("abab_star", "(abab)*", p.abab(), PERIODIC, 12, 3, near.repeats("ab", "ba"), ("abab_star", {})),
    Case("blocks_abcde", "aa*bb*cc*dd*ee*", p.blocks(), EMPTY, 6, 6, near.parts("abcde", "abced", "bacde", "abcd"),
         ("blocks_abcde", {})),
    Case("abd_bc", "{a,b}*d{b,c}*", p.around_d(), EMPTY, 7, 769,
         near.combine(near.blocks("d", ("ab", "bc"), ("b", "b"), ("ba", "ca")), near.repeats("ab")), ("abd_bc", {})),
    Case("contains_ab", "S*abS* over a, b", p.contains_ab(), EMPTY, 12, 8100, _NO_AB,
         ("regular", {"regex": "(a|b)*ab(a|b)*"})),
    Case("contains_ab_3", "S*abS* over a, b, c", p.contains_ab("abc"), LOCAL, 8, 5661,
         near.combine(_NO_AB, near.repeats("acb")), ("regular", {"regex": "(a|b|c)*ab(a|b|c)*"})),
    Case("subsequence_ab", "S*aS*bS* over a, b, c", p.subsequence_ab("abc"), EMPTY, 8, 7537,
         near.combine(near.parts("ba", "bca", "b"), near.far_parts(("a", "c", "b"), ("b", "c", "a"))),
         ("regular", {"regex": "(a|b|c)*a(a|b|c)*b(a|b|c)*"})),
]  # fmt: skip

_RETRIEVING = [
    Case("most_frequent", "the letter that occurs most often", p.most_frequent("abc"), EMPTY, 8, 7260,
         near.combine(near.parts("abc", "cba"), near.repeats("abc", "aabb")), ("letter_majority", {"letters": 3})),
    Case("unique_right_2", "the letter after another occurrence of the last one, over a, b", p.unique_right("ab"),
         LOCAL, 10, 3696, near.combine(near.parts("ab", "ba"), near.far_parts(("ab", "b", "a"), ("a", "b", "a")))),
    Case("ur", "the letter after the only other occurrence of the last one", p.unique_right("abc", p.SEP),
         LOCAL, 6, 3255, _RETRIEVAL, ("ur", {"symbols": 3})),
    Case("ul", "the letter before the only other occurrence of the last one", p.unique_left("abc", p.SEP),
         LOCAL, 6, 4965, _RETRIEVAL, ("ul", {"symbols": 3})),
    Case("nr_first", "the letter after the first occurrence of the last one", p.first_right("abc", p.SEP),
         LOCAL, 6, 2343, _RETRIEVAL, ("nr_first", {"symbols": 3})),
    Case("nl_first", "the letter before the first occurrence of the last one", p.first_left("abc", p.SEP),
         LOCAL, 6, 2046, _RETRIEVAL, ("nl_first", {"symbols": 3})),
]  # fmt: skip

_WRITING = [
    Case("uf", "x <sep> x, letters all different", p.unique_copy_forward("abc"), LOCAL, 6, 3663, _COPYING,
         ("uf", {"symbols": 3})),
    Case("ub", "x <sep> x backwards, letters all different", p.unique_copy_backward("abc"), LOCAL, 6, 4557, _COPYING,
         ("ub", {"symbols": 3})),
    Case("sort", "x <sep> x in alphabetical order, letters all different", p.unique_sort("abc"), EMPTY, 6, 5454,
         _COPYING, ("sort", {"symbols": 3})),
    Case("interleaved_majority", "the majority bit of each of three interleaved strings", p.interleaved_majority(),
         PERIODIC, 8, 1559, _INTERLEAVED, ("interleaved_majority", {})),
]  # fmt: skip

ZOO: Mapping[str, Case] = {case.name: case for case in (*_COUNTING, *_REGULAR, *_RETRIEVING, *_WRITING)}
"""All cases by name."""
