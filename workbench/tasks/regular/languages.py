"""The regular languages of the literature on length generalization, each a task of its own.

The suite is that of Bhattamishra et al. 2020 ("On the Ability and Limitations of Transformers to Recognize
Formal Languages", 2009.11264), taken up by Huang et al. 2024 (2410.02140) and Sarrof et al. 2024
(2405.17394). What is asked differs there from language to language; here each can be asked all three ways.
Format and summaries are those of :class:`workbench.tasks.regular.regular_task.RegularTask`, and so are the laws, of
which each class says what they come to when membership is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.tasks.base import SMALL_SSM
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
    """Is the string so far in one of Tomita's seven languages over 0 and 1?

    1: only ones. 2: (10)*. 3: no odd run of ones has an odd run of zeros right after it (a later one may be
    odd: 100110 is in the language, 10 is not, and 100 is again). 4: no 000. 5: evenly many zeros and evenly
    many ones. 6: the numbers of zeros and of ones agree modulo 3. 7: 0*1*0*1*. From Tomita 1982 ("Dynamic
    Construction of Finite-State Automata from Examples Using Hill-Climbing").

    Laws (those of :class:`RegularTask`): half the strings are in the language, uniform among those of their
    length. The others end outside of it, or broke its rule at one place, where a symbol was replaced or two
    were exchanged. *challenge*: neither the first nor the last N tokens, nor both together, tell. ``ask`` may
    be *member*, *next* or *state*; with *next*, the first language would always have the same answer, so it
    is refused.

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
    """Which of the seven."""

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
    """Is the string so far balanced, and never more than n deep? D_n = (a D_{n-1} b)*, D_0 the empty string.

    ``a`` opens and ``b`` closes. Star-free, of dot-depth n; the literature has n = 2, 3, 4 and 12.

    Laws (those of :class:`RegularTask`): half the strings are in the language, uniform among those of their
    length, which is even. The others are still open at the end, or are one of them with two symbols exchanged
    (``misses`` *replaced*: with a wrong symbol, so that counts tell them all), so that something closes that
    is not open or opens too deep. *challenge*: neither the first nor the last N tokens, nor both together,
    tell. Under ``ask`` *next* the answer is a function of counts: of how many more a than b there are,
    whatever their order. The last symbols of a string tell much of it, for n = 2 the last one everything.

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
    """Is the number of symbols even? (aa)*

    There is one string of each length, and the answer hangs on the length alone: so it is asked at every
    prefix, and the last two queries must both be right, of which no constant answer is capable (chance 0).
    All laws are the same. Not star-free.

    Example:

        >>> AaStar().reference([1, 1, 1, 1])
        [0, 1, 0, 1]
    """

    name: ClassVar[str] = "aa_star"
    summary: ClassVar[str] = "membership in (aa)*, or what may follow, or the state"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_SSM

    @property
    def expression(self) -> str:
        return "(aa)*"


class AaaaStar(RegularTask):
    """Does four divide the number of symbols? (aaaa)*

    There is one string of each length, and the answer hangs on the length alone: so it is asked at every
    prefix, and the last four queries must all be right, of which no constant answer is capable (chance 0).
    All laws are the same. Not star-free.

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
    """Is the string so far a repetition of abab? (abab)*

    Laws (those of :class:`RegularTask`): four divides the length. Half the strings are the one in the
    language, a quarter are it with one wrong symbol, a quarter with two neighbours exchanged (``misses``
    *replaced*: half with one wrong symbol, so that counts tell them all), which under *challenge* lie outside
    the first and the last N tokens. The last four queries must all be right: after the string, and after the
    three prefixes that break off inside a repetition. Not star-free.

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
    """Is the string so far one block each of a, b, c, d and e, in this order? aa*bb*cc*dd*ee*

    Laws (those of :class:`RegularTask`): half the strings are in the language, uniform among those of their
    length. The others have blocks missing at the end, or are one of them with two symbols exchanged (where
    that breaks it; else, or with ``misses`` *replaced*, with a wrong symbol). *challenge*: neither the first
    nor the last N tokens, nor both together, tell.

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
    """Is there one d, with a and b only before it, b and c only after it? {a,b}*d{b,c}*

    Laws (those of :class:`RegularTask`): half the strings are in the language, uniform among those of their
    length. The others have no d yet, or are one of them with two symbols exchanged (where that breaks it,
    which under *challenge* it hardly ever does; else, or with ``misses`` *replaced*, with a wrong symbol).
    *challenge*: neither the first nor the last N tokens, nor both together, tell.

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
    """Was the last symbol that is not 2 a 0? {0,1,2}*02*

    A flip-flop: 0 sets, 1 resets, 2 keeps. Star-free, but not in C-RASP.

    Laws (those of :class:`RegularTask`): half the strings are in the language; both halves are uniform
    among such strings of their length. *challenge*: the last N tokens are all 2, and neither they nor the
    first N tell.

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
    """Was the last symbol that is not e an a? (a|b|e)*ae*

    The same map as :class:`ZeroTwo`, with a neutral letter: the form in which the literature shows what
    no C-RASP program does (Huang et al. 2024, 2410.02140).

    Laws (those of :class:`RegularTask`): half the strings are in the language; both halves are uniform
    among such strings of their length. *challenge*: the last N tokens are all e, and neither they nor the
    first N tell.

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
    """Are there exactly k blocks, of a and of b by turns, the first of a? a+b+a+...

    Transformers without positions of depth d learn k = d + 2 blocks so that they generalize to longer
    strings, and not k = d + 3 (Yang et al. 2025, "Knee-Deep in C-RASP", 2506.16055). As there, on a string
    of the language the answer is no up to the last block, and yes from there on.

    Laws (those of :class:`RegularTask`): half the strings are in the language, uniform among those of their
    length. The others have fewer blocks, or are one of them with two symbols exchanged (``misses``
    *replaced*: with another symbol in its last block, or a b in front). *challenge*: neither the first nor
    the last N tokens, nor both together, tell.

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
