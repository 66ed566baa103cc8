"""Balanced brackets that counters recognise: Dyck-1 and shuffles of Dyck-1 languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, SMALL_RECURRENT
from workbench.tasks.counting.counter_language import LESS, ORDER, WORD, CounterLanguage, Trace, event_places
from workbench.tasks.counting.shuffles import shuffled_words
from workbench.tasks.sampling import integers

__all__ = ["Dyck1", "ShuffleDyck"]


class BracketCounts(CounterLanguage):
    """Base class: a sequence is a word if the brackets of each type are balanced, ignoring the other types.

    The deciding event is one pair of brackets of one type between two balanced sequences. It is ``( )`` in words, ``)
    (`` in the wrong order, ``( (`` if too much is opened, and ``) )`` if too much is closed. Its position is uniform
    over the admissible ones, and its type is uniform. The two balanced sequences are uniform given their lengths.
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
        """Names of the sets of symbols that may follow, by the set of types that are open.

        Type j counts 2^j. Each set contains every opening bracket, and the closing brackets of the open types.
        """
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
        """Whether some word ends with these tokens: read backwards with sides exchanged, they must begin a word."""
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
    """Decide whether brackets of one type are balanced, at any depth: Dyck-1.

    Distributions (those of :class:`CounterLanguage`): half of the sequences are balanced. A sequence is u p v, where u
    and v are uniform among the balanced sequences of their lengths, and p is a pair of brackets. The pair is ``( )`` in
    balanced sequences; else ``) (``, which has the right counts, ``( (`` or ``) )``. The position of p is uniform,
    under *challenge* outside the first and the last N tokens. The grammar of the literature (S -> ( S ) with
    probability 1/2, S S with 1/4, else empty) has no fixed length. Here every balanced sequence of a length is equally
    likely.

    Task states: ``update_summary`` is (depth, whether a bracket was closed that was not open).

    Example: ``( ) ) (`` has the right counts, but closes too early.

        >>> Dyck1().reference([1, 2, 2, 1])
        [0, 1, 0, 0]
        >>> [Dyck1(ask="next").output_names[i] for i in Dyck1(ask="next").reference([1, 2])]
        ['( )', '( <eos>']
    """

    name: ClassVar[str] = "dyck_1"
    summary: ClassVar[str] = "membership in Dyck-1, or what may follow"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_RECURRENT

    @property
    def language(self) -> str:
        return "Dyck-1"


class ShuffleDyck(BracketCounts):
    """Decide whether each of several types of brackets is balanced, ignoring the other types: a shuffle of k Dyck-1.

    ``(1 (2 )1 )2`` is a word: brackets of different types may cross. k counters recognise the language.

    Distributions: those of Dyck-1. Here u and v are uniform among the words of their lengths, and p is a pair of one
    random type. For *next*, the answers are the 2^k sets of open types. At the last query no bracket is open in half of
    the sequences, and one type is open in the others.

    Task states: ``update_summary`` is (depth of each type, whether a bracket was closed that was not open).

    Example: with k = 2, ``(1 (2 )1 )2`` is a word, but none of its proper prefixes is one.

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
    """Return 1 for each bracket of the deciding pair that closes."""
    first, second = (kind == ORDER) | (kind == LESS), (kind == WORD) | (kind == LESS)
    return torch.stack([first, second], 1).long()


def _mirrored(tokens: Int[Tensor, "batch window"]) -> Int[Tensor, "batch window"]:
    """Return the tokens backwards, with openings and closings exchanged."""
    flipped = tokens.flip(1) - 1
    return 1 + flipped + 1 - 2 * (flipped % 2)
