"""Tasks about the neighbour of the only, the first or the last occurrence of a symbol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import Law
from workbench.tasks.retrieval.query_task import QueryTask
from workbench.tasks.sampling import integers, outer_places, uniforms
from workbench.tasks.sequences.sequence_task import symbol_names

__all__ = ["UL", "UR", "NLFirst", "NLLast", "NRFirst", "NRLast"]


class _Neighbour(QueryTask):
    """Base class of the six tasks.

    ``meta`` contains ``key_position``, the position of the queried occurrence, and ``answer_position``, that of its
    neighbour. Both count from 1, so they are indices on the position axis.
    """

    side: ClassVar[int]
    """+1: the right neighbour, -1: the left one."""
    which: ClassVar[Literal["only", "first", "last"]]
    """The occurrence of the query whose neighbour is the answer."""

    symbols: int = Field(5, ge=2, le=256)
    """Size of the alphabet."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        return symbol_names(self.symbols)

    @property
    def answer_alphabet(self) -> tuple[str, ...]:
        return symbol_names(self.symbols)

    @property
    def shortest_context(self) -> int:
        return 2 if self.which == "only" else 3

    def _key_places(self, context: int) -> tuple[int, int]:
        """Return the first and last index (from 0) of the occurrence such that its neighbour, and another one, fit."""
        before, after = (0, 1) if self.side > 0 else (1, 0)
        if self.which == "first":
            after += 1
        if self.which == "last":
            before += 1
        return before, context - 1 - after

    def _draw(
        self, batch: int, context: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch context"], Int[Tensor, " batch"], dict[str, Tensor]]:
        low, high = self._key_places(context)
        if law == "challenge":
            span = (min(0, self.side), max(0, self.side))
            low, high = outer_places(low, high, context + 2, window, span)
        key = self._key(batch, low, high, generator, law)
        query = integers(self.symbols, (batch, 1), generator)
        other = (query + 1 + integers(self.symbols - 1, (batch, context), generator)) % self.symbols
        strings = other
        if self.which != "only":
            index = torch.arange(context, device=generator.device)
            free = index > key if self.which == "first" else index < key
            strings = torch.where(free, integers(self.symbols, (batch, context), generator), other)
            strings.scatter_(1, self._another(key, context, generator), query)
        strings.scatter_(1, key, query)
        position = key[:, 0] + 1
        return 1 + strings, 1 + query[:, 0], {"key_position": position, "answer_position": position + self.side}

    def _key(self, batch: int, low: int, high: int, generator: torch.Generator, law: Law) -> Int[Tensor, "batch 1"]:
        """Draw the index of the queried occurrence, within ``low..high``."""
        positions = high - low + 1
        if self.which == "only" or law == "challenge":
            return low + integers(positions, (batch, 1), generator)
        # The first of independent uniform symbols that is the query: geometric, cut off at the last index.
        stay = math.log1p(-1 / self.symbols)
        coin = uniforms((batch, 1), generator)
        steps = (torch.log1p(coin * math.expm1(positions * stay)) / stay).long().clamp(max=positions - 1)
        return low + steps if self.which == "first" else high - steps

    def _another(self, key: Int[Tensor, "batch 1"], context: int, generator: torch.Generator) -> Int[Tensor, "batch 1"]:
        """Draw a further occurrence, uniform over the indices after the first one, or before the last one.

        It is never the neighbour to report, so that this neighbour is as uniform as the other tokens.
        """
        forward = self.which == "first"
        gap = 2 if (self.side > 0) == forward else 1
        room = (context - key if forward else key + 1) - gap
        coin = uniforms(tuple(key.shape), generator)
        step = gap + (coin * room).long().clamp(max=room - 1)
        return key + step if forward else key - step

    def _retrieve(
        self, context: Int[Tensor, "batch context"], query: Int[Tensor, " batch"]
    ) -> tuple[Int[Tensor, " batch"], Bool[Tensor, " batch"]]:
        hits = (context == query[:, None]).long()
        last = context.shape[1] - 1
        key = last - hits.flip(1).argmax(1) if self.which == "last" else hits.argmax(1)
        index = key + self.side
        exists = (hits.sum(1) == 1 if self.which == "only" else hits.any(1)) & (index >= 0) & (index <= last)
        return context.gather(1, index.clamp(0, last)[:, None])[:, 0] - 1, exists

    def look_up(self, context: Sequence[str], query: str) -> str | None:
        positions = [index for index, symbol in enumerate(context) if symbol == query]
        if not positions or (self.which == "only" and len(positions) > 1):
            return None
        neighbour = (positions[-1] if self.which == "last" else positions[0]) + self.side
        return context[neighbour] if 0 <= neighbour < len(context) else None


class UL(_Neighbour):
    """Report the symbol before the only occurrence of the query.

    UL of Jobanputra et al. 2025 ("Born a Transformer - Always a Transformer?", 2505.21785): ``<bos> context <sep>
    query``. The query occurs exactly once in the context, not at its start.

    Distributions: the query is a uniform symbol, and its occurrence is at a uniform admissible position. All other
    tokens are independent and uniform over the other symbols. *challenge* admits only positions at which occurrence and
    answer are outside the first and the last N tokens (N = the longest training length). Up to length 2N there are
    none, and it admits all positions.

    Example: ``c a b a <sep> b`` is answered ``a``.

        >>> UL(symbols=3).reference([3, 1, 2, 1, 4, 2])
        [None, None, None, None, None, 0]
    """

    name: ClassVar[str] = "ul"
    question: ClassVar[str] = "Which symbol stands before the only occurrence of the query?"
    summary: ClassVar[str] = "the left neighbour of the query's occurrence"
    side: ClassVar[int] = -1
    which: ClassVar[Literal["only", "first", "last"]] = "only"


class UR(_Neighbour):
    """Report the symbol after the only occurrence of the query.

    UR of Jobanputra et al. 2025 (2505.21785): as ``ul``, with the right neighbour; the query does not occur at the end
    of the context.

    Example: ``c a b a <sep> b`` is answered ``a``.

        >>> UR(symbols=3).reference([3, 1, 2, 1, 4, 2])
        [None, None, None, None, None, 0]
    """

    name: ClassVar[str] = "ur"
    question: ClassVar[str] = "Which symbol stands behind the only occurrence of the query?"
    summary: ClassVar[str] = "the right neighbour of the query's occurrence"
    side: ClassVar[int] = 1
    which: ClassVar[Literal["only", "first", "last"]] = "only"


class NLFirst(_Neighbour):
    """Report the symbol before the first of several occurrences of the query.

    NLFirst of Jobanputra et al. 2025 (2505.21785): ``<bos> context <sep> query``; the query occurs at least twice in
    the context.

    Distributions: *training* and *matched* draw independent uniform symbols, with a further occurrence of the query at
    a uniform position after the first one. So the first one is near the start, however long the context. *challenge*
    admits only positions of the first one at which it and the answer are outside the first and the last N tokens (N =
    the longest training length), uniformly. Up to length 2N there are none, and it admits all positions. No token
    before the first occurrence is the query.

    Example: ``c a b a <sep> a`` is answered ``c``.

        >>> NLFirst(symbols=3).reference([3, 1, 2, 1, 4, 1])
        [None, None, None, None, None, 2]
    """

    name: ClassVar[str] = "nl_first"
    question: ClassVar[str] = "Which symbol stands before the first occurrence of the query?"
    summary: ClassVar[str] = "the left neighbour of the query's first occurrence"
    side: ClassVar[int] = -1
    which: ClassVar[Literal["only", "first", "last"]] = "first"


class NRFirst(_Neighbour):
    """Report the symbol after the first of several occurrences of the query.

    NRFirst of Jobanputra et al. 2025 (2505.21785). The distributions are those of ``nl_first``.

    Example: ``c a b a <sep> a`` is answered ``b``.

        >>> NRFirst(symbols=3).reference([3, 1, 2, 1, 4, 1])
        [None, None, None, None, None, 1]
    """

    name: ClassVar[str] = "nr_first"
    question: ClassVar[str] = "Which symbol stands behind the first occurrence of the query?"
    summary: ClassVar[str] = "the right neighbour of the query's first occurrence"
    side: ClassVar[int] = 1
    which: ClassVar[Literal["only", "first", "last"]] = "first"


class NLLast(_Neighbour):
    """Report the symbol before the last of several occurrences of the query.

    NLLast of Jobanputra et al. 2025 (2505.21785): ``<bos> context <sep> query``; the query occurs at least twice in the
    context.

    Distributions: *training* and *matched* draw independent uniform symbols, with a further occurrence of the query at
    a uniform position before the last one. So the last one is near the end, however long the context. *challenge*
    admits only positions of the last one at which it and the answer are outside the first and the last N tokens (N =
    the longest training length), uniformly. Up to length 2N there are none, and it admits all positions. No token after
    the last occurrence is the query.

    Example: ``c a b a <sep> a`` is answered ``b``.

        >>> NLLast(symbols=3).reference([3, 1, 2, 1, 4, 1])
        [None, None, None, None, None, 1]
    """

    name: ClassVar[str] = "nl_last"
    question: ClassVar[str] = "Which symbol stands before the last occurrence of the query?"
    summary: ClassVar[str] = "the left neighbour of the query's last occurrence"
    side: ClassVar[int] = -1
    which: ClassVar[Literal["only", "first", "last"]] = "last"


class NRLast(_Neighbour):
    """Report the symbol after the last of several occurrences of the query.

    NRLast of Jobanputra et al. 2025 (2505.21785), a close relative of the flip-flop. The distributions are those of
    ``nl_last``.

    Example: ``a c a b <sep> a`` is answered ``b``.

        >>> NRLast(symbols=3).reference([1, 3, 1, 2, 4, 1])
        [None, None, None, None, None, 1]
    """

    name: ClassVar[str] = "nr_last"
    question: ClassVar[str] = "Which symbol stands behind the last occurrence of the query?"
    summary: ClassVar[str] = "the right neighbour of the query's last occurrence"
    side: ClassVar[int] = 1
    which: ClassVar[Literal["only", "first", "last"]] = "last"
