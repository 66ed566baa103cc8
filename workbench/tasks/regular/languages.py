"""The regular languages of the literature on length generalization, each as a task of its own.

The suite is that of Bhattamishra et al. 2020 ("On the Ability and Limitations of Transformers to Recognize Formal
Languages", 2009.11264). Huang et al. 2024 (2410.02140) and Sarrof et al. 2024 (2405.17394) use it too. The queries
differ there from language to language; here every language has all three. Format, task states and distributions are
those of :class:`workbench.tasks.regular.regular_task.RegularTask`. The docstring of each class describes what the
distributions amount to for membership.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.tasks.base import SMALL_RECURRENT
from workbench.tasks.regular.regular_task import RegularTask

__all__ = [
    "AaStar",
    "AaaaStar",
    "AbabStar",
    "AbdBc",
    "AlternatingBlocks",
    "BlocksAbcde",
    "BoundedDyck",
    "LastNonneutralA",
    "Tomita",
    "ZeroTwo",
]


class Tomita(RegularTask):
    """Decide whether the string so far is in one of Tomita's seven languages over 0 and 1.

    The languages are those of Tomita 1982 ("Dynamic Construction of Finite-State Automata from Examples Using
    Hill-Climbing"):

    - 1: only ones;
    - 2: (10)*;
    - 3: no odd run of ones is followed directly by an odd run of zeros. Runs count when they have ended: 10 is not in
      the language, but 100 is;
    - 4: no 000;
    - 5: even numbers of zeros and of ones;
    - 6: the numbers of zeros and of ones agree modulo 3;
    - 7: 0*1*0*1*.

    Distributions (those of :class:`RegularTask`): half of the strings are in the language, uniform among those of their
    length. The others end outside of it, or a single edit put them out of it: one symbol was replaced, or two were
    exchanged. Under *challenge*, the first and the last N tokens together do not determine the answer. ``ask`` may be
    *member*, *next* or *state*. For the first language *next* is refused, because its answer would never change.

    Example: the fourth language forbids 000.

        >>> Tomita(n=4).reference([1, 1, 2, 1, 1, 1, 2])
        [1, 1, 1, 1, 1, 0, 0]
        >>> Tomita(n=7, ask="next").output_names
        ('0 1 <eos>', '1 <eos>')
    """

    name: ClassVar[str] = "tomita"
    summary: ClassVar[str] = "membership in Tomita 1 to 7, or what may follow, or the state"
    EXPRESSIONS: ClassVar[tuple[str, ...]] = (
        "1*",
        "(10)*",
        "0*((11)+0+|1(11)*(00)+)*1*",
        "0?0?(10?0?)*",
        "(00|11|(01|10)(00|11)*(01|10))*",
        "(10|(0|11)(01)*(1|00))*",
        "0*1*0*1*",
    )

    n: int = Field(4, ge=1, le=7)
    """Number of the language, 1 to 7."""

    @property
    def expression(self) -> str:
        return self.EXPRESSIONS[self.n - 1]

    @property
    def symbols(self) -> str:
        return "01"

    @property
    def language(self) -> str:
        return f"Tomita {self.n}"


class BoundedDyck(RegularTask):
    """Decide whether the string so far is balanced and never more than n deep: D_n = (a D_{n-1} b)*, D_0 is empty.

    ``a`` opens and ``b`` closes. The language is star-free, of dot-depth n. The literature uses n = 2, 3, 4 and 12.

    Distributions (those of :class:`RegularTask`): half of the strings are in the language, uniform among those of their
    length, which is even. The others have open brackets at the end, or are a string of the language with two symbols
    exchanged. A bracket then closes before it opens, or opens too deep. With ``misses`` *replaced* one symbol is wrong
    instead, so that counts of symbols identify all near misses. Under *challenge*, the first and the last N tokens
    together do not determine the answer.

    Under ``ask`` *next* the answer depends only on how many more a than b there are, in any order. The last symbols of
    a string contain much of that information. For n = 2 the last symbol determines it.

    Example: n = 2; ``a b`` and ``a b a a b b`` are balanced.

        >>> BoundedDyck(n=2).reference([1, 2, 1, 1, 2, 2])
        [0, 1, 0, 0, 0, 1]
        >>> BoundedDyck(n=2, ask="state").output_names
        ('start', 'after a', 'dead', 'after aa')
    """

    name: ClassVar[str] = "bounded_dyck"
    summary: ClassVar[str] = "membership in D_n = (a D_{n-1} b)*, or what may follow, or the state"

    n: int = Field(2, ge=1, le=24)
    """The greatest depth."""

    @property
    def expression(self) -> str:
        return "(a" * self.n + "b)*" * self.n

    @property
    def language(self) -> str:
        return f"D_{self.n}"


class AaStar(RegularTask):
    """Decide whether the number of symbols is even: (aa)*.

    There is one string of each length, so the answer depends only on the length. Every prefix is supervised, and a
    sequence counts as right if its last two queries are right. No constant answer achieves that, so chance is 0. All
    distributions are equal. The language is not star-free.

    Example:

        >>> AaStar().reference([1, 1, 1, 1])
        [0, 1, 0, 1]
    """

    name: ClassVar[str] = "aa_star"
    summary: ClassVar[str] = "membership in (aa)*, or what may follow, or the state"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_RECURRENT

    @property
    def expression(self) -> str:
        return "(aa)*"


class AaaaStar(RegularTask):
    """Decide whether four divides the number of symbols: (aaaa)*.

    There is one string of each length, so the answer depends only on the length. Every prefix is supervised, and a
    sequence counts as right if its last four queries are right. No constant answer achieves that, so chance is 0. All
    distributions are equal. The language is not star-free.

    Example:

        >>> AaaaStar().reference([1, 1, 1, 1, 1])
        [0, 0, 0, 1, 0]
    """

    name: ClassVar[str] = "aaaa_star"
    summary: ClassVar[str] = "membership in (aaaa)*, or what may follow, or the state"

    @property
    def expression(self) -> str:
        return "(aaaa)*"


class AbabStar(RegularTask):
    """Decide whether the string so far is a repetition of abab: (abab)*.

    Distributions (those of :class:`RegularTask`): four divides the length. Half of the strings are the one in the
    language. A quarter have one wrong symbol, and a quarter have two neighbours exchanged. With ``misses`` *replaced*,
    half have one wrong symbol, so that counts of symbols identify all near misses. Under *challenge* these symbols are
    outside the first and the last N tokens. The last four queries must all be right: after the string, and after the
    three prefixes that end inside a repetition. The language is not star-free.

    Example:

        >>> AbabStar().reference([1, 2, 1, 2, 1, 2])
        [0, 0, 0, 1, 0, 0]
    """

    name: ClassVar[str] = "abab_star"
    summary: ClassVar[str] = "membership in (abab)*, or what may follow, or the state"

    @property
    def expression(self) -> str:
        return "(abab)*"


class BlocksAbcde(RegularTask):
    """Decide whether the string so far is one block each of a, b, c, d and e, in this order: aa*bb*cc*dd*ee*.

    Distributions (those of :class:`RegularTask`): half of the strings are in the language, uniform among those of their
    length. The others lack blocks at the end, or have two symbols exchanged. If no exchange leaves the language, or
    with ``misses`` *replaced*, one symbol is wrong instead. Under *challenge*, the first and the last N tokens together
    do not determine the answer.

    Example:

        >>> BlocksAbcde().reference([1, 1, 2, 3, 4, 5, 5, 4])
        [0, 0, 0, 0, 0, 1, 1, 0]
    """

    name: ClassVar[str] = "blocks_abcde"
    summary: ClassVar[str] = "membership in aa*bb*cc*dd*ee*, or what may follow, or the state"

    @property
    def expression(self) -> str:
        return "aa*bb*cc*dd*ee*"


class AbdBc(RegularTask):
    """Decide whether there is one d, with only a and b before it and only b and c after it: {a,b}*d{b,c}*.

    Distributions (those of :class:`RegularTask`): half of the strings are in the language, uniform among those of their
    length. The others have no d yet, or have two symbols exchanged. If no exchange leaves the language (the usual case
    under *challenge*), or with ``misses`` *replaced*, one symbol is wrong instead. Under *challenge*, the first and the
    last N tokens together do not determine the answer.

    Example: in ``b d b a`` the last symbol is on the wrong side.

        >>> AbdBc().reference([2, 4, 2, 1])
        [0, 1, 1, 0]
    """

    name: ClassVar[str] = "abd_bc"
    summary: ClassVar[str] = "membership in {a,b}*d{b,c}*, or what may follow, or the state"

    @property
    def expression(self) -> str:
        return "(a|b)*d(b|c)*"


class ZeroTwo(RegularTask):
    """Decide whether the last symbol other than 2 was a 0: {0,1,2}*02*.

    This is a flip-flop: 0 sets, 1 resets, 2 keeps. It is star-free, but not in C-RASP.

    Distributions (those of :class:`RegularTask`): half of the strings are in the language. Both halves are uniform
    among such strings of their length. Under *challenge* the last N tokens are all 2. Neither they nor the first N
    tokens determine the answer.

    Example:

        >>> ZeroTwo().reference([1, 3, 2, 3, 1])
        [1, 1, 0, 0, 1]
    """

    name: ClassVar[str] = "zero_two"
    summary: ClassVar[str] = "membership in {0,1,2}*02*, or what may follow, or the state"

    @property
    def expression(self) -> str:
        return "(0|1|2)*02*"


class LastNonneutralA(RegularTask):
    """Decide whether the last symbol other than e was an a: (a|b|e)*ae*.

    This is the map of :class:`ZeroTwo` with a neutral letter. In this form the literature shows that no C-RASP program
    computes it (Huang et al. 2024, 2410.02140).

    Distributions (those of :class:`RegularTask`): half of the strings are in the language. Both halves are uniform
    among such strings of their length. Under *challenge* the last N tokens are all e. Neither they nor the first N
    tokens determine the answer.

    Example:

        >>> LastNonneutralA().reference([1, 3, 2, 3, 1])
        [1, 1, 0, 0, 1]
    """

    name: ClassVar[str] = "last_nonneutral_a"
    summary: ClassVar[str] = "membership in (a|b|e)*ae*, or what may follow, or the state"

    @property
    def expression(self) -> str:
        return "(a|b|e)*ae*"


class AlternatingBlocks(RegularTask):
    """Decide whether there are exactly k alternating blocks of a and of b, the first of a: a+b+a+...

    Transformers of depth d without positions generalize to longer strings for k = d + 2 blocks, but not for k = d + 3
    (Yang et al. 2025, "Knee-Deep in C-RASP", 2506.16055). As in that paper, the answer turns from no to yes where the
    last block of a word begins.

    Distributions (those of :class:`RegularTask`): half of the strings are in the language, uniform among those of their
    length. The others have fewer blocks, or have two symbols exchanged. With ``misses`` *replaced*, they have one wrong
    symbol in the last block, or a b in front. Under *challenge*, the first and the last N tokens together do not
    determine the answer.

    Example: k = 3.

        >>> AlternatingBlocks(k=3).reference([1, 1, 2, 1, 1, 2])
        [0, 0, 0, 1, 1, 0]
    """

    name: ClassVar[str] = "alternating_blocks"
    summary: ClassVar[str] = "membership in k blocks a+b+a+..., or what may follow, or the state"

    k: int = Field(3, ge=1, le=24)
    """Number of blocks."""

    @property
    def expression(self) -> str:
        return "".join("ab"[i % 2] + "+" for i in range(self.k))

    @property
    def symbols(self) -> str:
        return "ab"

    @property
    def language(self) -> str:
        return self.expression if self.k <= 6 else f"{self.k} alternating blocks a+b+..."
