"""Blocks of equal length, one for each letter: a^n b^n, a^n b^n c^n, a^n b^n c^n d^n."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, SMALL_RECURRENT, Batch, Law, Support
from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.counting.counter_language import (
    LESS,
    MORE,
    ORDER,
    WORD,
    CounterLanguage,
    Trace,
    clear_places,
    event_places,
)
from workbench.tasks.sampling import integers

__all__ = ["EqualBlocks"]

OFF_BY_ONE = {"off by 1, wrong order": ORDER, "off by 1, too long": MORE, "off by 1, too short": LESS}
"""Near misses by one token: a swap of two tokens at a boundary, or a block before it that is too long or too short."""


class EqualBlocks(CounterLanguage):
    """Decide whether a sequence is one block of each letter, in order and of equal lengths: a^n b^n, a^n b^n c^n, ...

    Distributions (those of :class:`CounterLanguage`): half of the sequences are the word of their length. For *member*,
    the event of a near miss is at the boundary of two blocks, uniform over the boundaries. Either the last s tokens of
    one block and the first s of the next are swapped, or the boundary moves by s tokens to the right or left. For
    *next*, the block of a is s tokens longer than in the word of this length, and the rest follows from it. Under
    *training* and *matched*, s is uniform over the possible values (for *next*, those with which the last letter still
    occurs). Under *challenge* s is 1, and the boundary is outside the first and the last N tokens if there is such a
    boundary. With up to four letters there is one from length 4 N on.

    Task states: ``update_summary`` is (count of each letter, whether no word begins so).

    Example: ``a a b b`` is a word. For *next*, its prefixes still need b, b, and nothing more.

        >>> EqualBlocks().reference([1, 1, 2, 2])
        [0, 0, 0, 1]
        >>> task = EqualBlocks(ask="next")
        >>> [task.output_names[i] for i in task.reference([1, 1, 2, 2])]
        ['a b', 'a b', 'b', '<eos>']
    """

    name: ClassVar[str] = "a_n_b_n"
    summary: ClassVar[str] = "membership in a^n b^n, a^n b^n c^n, ..., or what may follow"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_RECURRENT

    letters: int = Field(2, ge=2, le=8)
    """Number of letters, each with a block of its own."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the letters."""
        return (BOS, *string.ascii_lowercase[: self.letters])

    @property
    def language(self) -> str:
        return " ".join(f"{letter}^n" for letter in self.tokens_names[1:])

    @property
    def following_names(self) -> tuple[str, ...]:
        """Names of the sets of symbols that may follow: only the end; a or b, after a; only one other letter."""
        return ("<eos>", "a b", *self.tokens_names[2:])

    def admissible(self, length: int) -> bool:
        return length >= self.letters and length % self.letters == 0

    @property
    def strata_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The near misses by one token."""
        return tuple(OFF_BY_ONE) if self.ask == "member" else ()

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        kind = torch.full((batch,), OFF_BY_ONE[name], device=generator.device)
        position = event_places(self._boundaries(length), length, self._clear(length, law, window), batch, generator)
        strings = self._at_boundary(length, kind, position, torch.ones_like(position))
        return self._batch(strings, law, {"deciding_position": position + 1})

    def _draw(
        self, kind: Int[Tensor, " batch"], length: int, clear: int | None, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
        size = length // self.letters
        if self.ask == "next":
            longer = 1 + integers(self._longest(length, clear), (len(kind),), generator)
            return self._with_first(size + longer * (kind == MORE), length), torch.full_like(kind, size - 1)
        position = event_places(self._boundaries(length), length, clear, len(kind), generator)
        moved = 1 + integers(size if clear is None else 1, (len(kind), 1), generator)
        return self._at_boundary(length, kind, position, moved[:, 0]), position

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        """Return the word and the result of every possible event, with their probabilities."""
        self._refuse(length, law)
        clear, size = self._clear(length, law, window), length // self.letters
        if self.ask == "next":
            longer = torch.arange(self._longest(length, clear) + 1)
            if len(longer) > MOST_LISTED:
                return None
            misses = self._with_first(size + longer, length)
            shares = torch.full((len(longer),), 0.5 / max(1, len(longer) - 1), dtype=torch.float64)
            shares[0] = 0.5
            return Support.of(self._batch(misses, law, {}), shares)
        positions = clear_places(self._boundaries(length), length, clear)
        moved = range(1, 1 + (size if clear is None else 1))
        misses_by = [(kind, position, by) for kind in (ORDER, MORE, LESS) for position in positions for by in moved]
        if len(misses_by) >= MOST_LISTED:
            return None
        events = torch.tensor([(WORD, positions[0], 1), *misses_by])
        odds = {WORD: 0.5, ORDER: 0.25, MORE: 0.125, LESS: 0.125}
        each = [odds[kind] / (1 if kind == WORD else len(positions) * len(moved)) for kind in events[:, 0].tolist()]
        strings = self._at_boundary(length, *events.unbind(1))
        return Support.of(self._batch(strings, law, {}), torch.tensor(each, dtype=torch.float64))

    def _boundaries(self, length: int) -> range:
        """Return the last index (from 0) of every block of a word except the last block."""
        size = length // self.letters
        return range(size - 1, length - 1, size)

    def _longest(self, length: int, clear: int | None) -> int:
        """Return the largest excess of the first block, for *next*."""
        return max(1, (length - 1) // (self.letters - 1) - length // self.letters) if clear is None else 1

    def _with_first(self, first: Int[Tensor, " batch"], length: int) -> Int[Tensor, "batch length"]:
        """Return sequences that continue as they must after this many a."""
        return 1 + torch.arange(length, device=first.device) // first[:, None]

    def _at_boundary(
        self, length: int, kind: Int[Tensor, " batch"], position: Int[Tensor, " batch"], moved: Int[Tensor, " batch"]
    ) -> Int[Tensor, "batch length"]:
        """Return the word with an event of a kind at a boundary, of this many tokens."""
        size, index = length // self.letters, torch.arange(length, device=kind.device)
        kind, moved = kind[:, None], moved[:, None]
        block, past = (position // size)[:, None], index - position[:, None]
        grows = (kind == MORE) | (kind == ORDER)
        shrinks = (kind == LESS) | (kind == ORDER)
        grows, shrinks = grows & (past > 0) & (past <= moved), shrinks & (past <= 0) & (past > -moved)
        return 1 + torch.where(grows, block, torch.where(shrinks, block + 1, index // size))

    def _trace(self, strings: Int[Tensor, "batch length"]) -> Trace:
        letters = torch.arange(1, self.letters + 1, device=strings.device)[:, None]
        counts = (strings[:, None] == letters).cumsum(2)  # [batch, letter, length]
        latest = strings.cummax(1).values
        first, others = counts[:, :1], counts[:, 1:]
        unordered = (strings < latest).long().cummax(1).values.bool()
        uneven = (others > first) | (others < first) & (letters[1:] < latest[:, None])
        needs_more = counts.gather(1, latest[:, None] - 1)[:, 0] < first[:, 0]
        following = torch.where(needs_more, latest, latest + 1) % (self.letters + 1)
        following = following.where(latest > 1, 1)
        return Trace(counts.transpose(1, 2), unordered | uneven.any(1), following)

    def _ends_a_word(self, tokens: Int[Tensor, "batch window"]) -> Bool[Tensor, " batch"]:
        """Whether some word ends with these tokens: read backwards with reversed letters, they must begin a word."""
        return ~self._trace(self.letters + 1 - tokens.flip(1)).violated[:, -1]

    def may_follow(self, symbols: Sequence[str]) -> set[str] | None:
        alphabet = self.tokens_names[1:]
        blocks = [(letter, len(list(run))) for letter, run in groupby(symbols)]
        if [letter for letter, _ in blocks] != list(alphabet[: len(blocks)]):
            return None
        sizes = [size for _, size in blocks]
        if any(size != sizes[0] for size in sizes[:-1]) or sizes[-1] > sizes[0]:
            return None
        if len(blocks) == 1:
            return {"a", "b"}
        if sizes[-1] < sizes[0]:
            return {blocks[-1][0]}
        return {"<eos>"} if len(blocks) == len(alphabet) else {alphabet[len(blocks)]}
