"""Balanced brackets that counters recognise: Dyck-1 and shuffles of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, SMALL_SSM
from workbench.tasks.counting.counter_language import LESS, ORDER, WORD, CounterLanguage, Trace, event_places
from workbench.tasks.counting.shuffles import shuffled_words
from workbench.tasks.sampling import integers

__all__ = ["Dyck1", "ShuffleDyck"]


class BracketCounts(CounterLanguage):
    """Base: strings in which the brackets of each type, taken alone, are balanced.

    The deciding event is one pair of brackets of one type between two balanced strings: ``( )`` in words,
    ``) (`` in the wrong order, ``( (`` and ``) )`` out of balance. Its place is uniform over the
    admissible ones, the two balanced strings are uniform given their lengths, its type is uniform.
    """

    @property
    def types(self) -> int:
        """Number of types of brackets."""
        return 1

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, then the opening and the closing bracket of each type."""
        if self.types == 1:
            return (BOS, "(", ")")
        return (BOS, *(side + str(j + 1) for j in range(self.types) for side in "()"))

    @property
    def following_names(self) -> tuple[str, ...]:
        """By the set of types that are open, type j counting 2^j: every opening bracket, and theirs closing."""
        names = self.tokens_names
        openings, closings = names[1::2], names[2::2]
        sets = []
        for code in range(2**self.types):
            closing = [name for j, name in enumerate(closings) if code >> j & 1]
            sets.append(" ".join([*openings, *(closing or ["<eos>"])]))
        return tuple(sets)

    def admissible(self, length: int) -> bool:
        return length >= 2 and length % 2 == 0

    def _draw(
        self, kind: Int[Tensor, " batch"], length: int, clear: int | None, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
        position = event_places(range(0, length - 1, 2), length, clear, len(kind), generator)
        around = shuffled_words(torch.stack([position, length - 2 - position], 1) // 2, self.types, generator)
        pair = 2 * integers(self.types, (len(kind), 1), generator) + _closing(kind)
        index = torch.arange(length, device=position.device) - position[:, None]
        source = torch.where(index < 0, index + position[:, None], index + position[:, None] - 2)
        event = (index == 0) | (index == 1)
        source = torch.where(event, length - 2 + index, source)
        return 1 + torch.cat([around, pair], 1).gather(1, source), position

    def _trace(self, strings: Int[Tensor, "batch length"]) -> Trace:
        symbol = strings - 1
        step = 1 - 2 * (symbol % 2)
        types = torch.arange(self.types, device=strings.device)[:, None]
        depth = torch.where((symbol // 2)[:, None] == types, step[:, None], 0).cumsum(2)  # [batch, type, length]
        violated = (depth < 0).any(1).long().cummax(1).values.bool()
        following = ((depth > 0) << types).sum(1)
        return Trace(depth.transpose(1, 2), violated, following)

    def _ends_a_word(self, tokens: Int[Tensor, "batch window"]) -> Bool[Tensor, " batch"]:
        """Read backwards, with the sides of the brackets exchanged, the end of a word begins one."""
        return ~self._trace(_mirrored(tokens)).violated[:, -1]

    def may_follow(self, symbols: Sequence[str]) -> set[str] | None:
        unclosed: dict[str, int] = {}
        for symbol in symbols:
            side, kind = symbol[0], symbol[1:]
            unclosed[kind] = unclosed.get(kind, 0) + (1 if side == "(" else -1)
            if unclosed[kind] < 0:
                return None
        openings = {name for name in self.tokens_names if name[0] == "("}
        closings = {")" + kind for kind, number in unclosed.items() if number}
        return openings | (closings or {"<eos>"})


class Dyck1(BracketCounts):
    """Are the brackets balanced? One type of brackets, as deep as they like: Dyck-1.

    Laws: a fair coin says whether the string is balanced (:class:`CounterLanguage`). Strings are u p v, u and
    v uniform among the balanced strings of their lengths, p a pair of brackets: ``( )`` in balanced
    strings; else ``) (``, which leaves the counts right, ``( (`` or ``) )``. The place of p is uniform, under
    *challenge* outside the first and the last N tokens. The grammar of the literature (S -> ( S ) with
    probability 1/2, S S with 1/4, else empty) has no fixed length; here every balanced string of a length
    is equally likely.

    The update summary is (depth, whether a bracket was closed that was not open).

    Example: ``( ) ) (`` has the right counts, but closes too early.

        >>> Dyck1().reference([1, 2, 2, 1])
        [0, 1, 0, 0]
        >>> [Dyck1(ask="next").output_names[i] for i in Dyck1(ask="next").reference([1, 2])]
        ['( )', '( <eos>']
    """

    name: ClassVar[str] = "dyck_1"
    summary: ClassVar[str] = "membership in Dyck-1, or what may follow"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_SSM

    @property
    def language(self) -> str:
        return "Dyck-1"


class ShuffleDyck(BracketCounts):
    """Is each of several types of brackets balanced, whatever stands between them? The shuffle of k Dyck-1.

    ``(1 (2 )1 )2`` is a word: brackets of different types may cross. k counters recognise it.

    Laws: as for Dyck-1, with u and v uniform among the words of their lengths and p a pair of one type, which
    is uniform. Asked for *next*, the sets of all types that are open are asked for, 2^k of them; at the
    last query no bracket is open in half of the strings, one type in the others.

    The update summary is (depth of each type, whether a bracket was closed that was not open).

    Example: with k = 2, ``(1 (2 )1 )2`` is a word, and so is no prefix of it.

        >>> ShuffleDyck(k=2).reference([1, 3, 2, 4])
        [0, 0, 0, 1]
        >>> task = ShuffleDyck(k=2, ask="next")
        >>> [task.output_names[i] for i in task.reference([1, 3, 2])]
        ['(1 (2 )1', '(1 (2 )1 )2', '(1 (2 )2']
    """

    name: ClassVar[str] = "shuffle_dyck"
    summary: ClassVar[str] = "membership in the shuffle of k Dyck-1, or what may follow"

    k: int = Field(2, ge=2, le=8)
    """Number of types of brackets."""

    @property
    def types(self) -> int:
        return self.k

    @property
    def language(self) -> str:
        return f"Shuffle-{self.k}"


def _closing(kind: Int[Tensor, " batch"]) -> Int[Tensor, "batch 2"]:
    """1 where the two brackets of the deciding pair close."""
    first, second = (kind == ORDER) | (kind == LESS), (kind == WORD) | (kind == LESS)
    return torch.stack([first, second], 1).long()


def _mirrored(tokens: Int[Tensor, "batch window"]) -> Int[Tensor, "batch window"]:
    """Backwards, openings closing and closings opening."""
    flipped = tokens.flip(1) - 1
    return 1 + flipped + 1 - 2 * (flipped % 2)
