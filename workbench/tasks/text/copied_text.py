"""Markov text that repeats earlier segments, forwards or backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, Law
from workbench.tasks.sampling import coins, integers, outer_places, uniforms
from workbench.tasks.sequences.sequence_task import EOS, SEP, symbol_names
from workbench.tasks.text.next_symbol import NextSymbol

__all__ = ["CopiedText"]

SHORTEST, LONGEST_SEGMENT = 4, 12
"""Shortest and longest segment, in symbols."""
SHOWN = 3
"""Number of symbols of the copy that a challenge sequence contains before the query."""


class CopiedText(NextSymbol):
    """Predict the next symbol of text that repeats earlier segments.

    This text is for pretraining before retrieval and copying. Its symbols have the names of those tasks' symbols. Its
    vocabulary also has their separator and end, which no text contains, so that ``train --start`` can reuse its
    weights.

    The text is a chain of segments of 4 to 12 symbols, uniformly, with nothing between them. With probability
    ``copied`` a segment repeats a span of the text so far, uniform among those of its length (or the whole text, if
    that is shorter). The span is written forwards, or backwards with probability ``backward``. Otherwise the segment is
    fresh: a random walk over the symbols in a circle. With probability ``near`` the walk goes to one of the two
    neighbours of the symbol before, and otherwise anywhere, uniformly. The walk has the same distribution when read
    backwards. So only ``backward`` distinguishes the directions: with 1/2, a symbol is as often followed by the left
    neighbour of an earlier occurrence as by the right one.

    Distributions: *training* and *matched* are this text. *challenge* supervises only the end: a fresh text ends in the
    first three symbols of a copy of four uniform ones, and the fourth is the answer. These four are outside the first
    and the last N tokens (N = the longest training length). Up to length 2N that is impossible, and they are anywhere
    before the copy.

    All symbols are equally likely at every position, so chance is 1 / ``symbols``. Accuracy never comes near 1, because
    fresh segments begin at random positions with random content. The best loss has no closed form, because which
    segments are copies has to be inferred. The window oracle looks for what followed earlier occurrences, as in
    ``text``, only forwards. For sequences from elsewhere (``label``) the end is not supervised, because the next symbol
    is unknown.

    Task states: ``output_summary`` is the next symbol itself.

    Example: after ``a``, ``b`` and ``a`` come ``b``, ``a``, and an unknown symbol.

        >>> CopiedText(symbols=5).reference([1, 2, 1])
        [1, 0, None]
    """

    name: ClassVar[str] = "copied_text"
    question: ClassVar[str] = "Which symbol comes next, in text in which earlier segments come again?"
    summary: ClassVar[str] = "the next symbol"
    following: ClassVar[str] = "next_symbol"
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "4-32", "steps": 10_000}

    symbols: int = Field(26, ge=4, le=256)
    """Size of the alphabet."""
    copied: float = Field(0.5, ge=0, le=1)
    """Probability that a segment is a copy, and not fresh."""
    backward: float = Field(0.0, ge=0, le=1)
    """Probability that a copy is written backwards."""
    near: float = Field(0.5, ge=0, le=1)
    """Probability that a fresh symbol is a neighbour, in the circle of symbols, of the one before."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *symbol_names(self.symbols), SEP)

    @property
    def output_names(self) -> tuple[str, ...]:
        return (*symbol_names(self.symbols), SEP, EOS)

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def chance(self, law: Law, length: int) -> float:
        return 1 / self.symbols

    # ---- drawing -------------------------------------------------------------------------------------
    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        if law == "challenge" and length >= 2 * SHOWN + 1:
            return self._far_copy(batch, length, generator, window)
        text = self._text(batch, length + 1, generator)
        return 1 + text[:, :-1], {self.following: text[:, -1]}

    def _far_copy(
        self, batch: int, length: int, generator: torch.Generator, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        """Draw fresh text with four uniform symbols somewhere in it, and three symbols of their copy at the end."""
        text = self._fresh(batch, length, generator)
        span = torch.arange(SHOWN + 1, device=text.device)
        first, last = outer_places(0, length - 2 * SHOWN - 1, length, window, (0, SHOWN))
        position = first + integers(last - first + 1, (batch, 1), generator)
        planted = integers(self.symbols, (batch, SHOWN + 1), generator)
        text.scatter_(1, position + span, planted)
        copy = torch.where(self._turned(batch, generator)[:, None], planted.flip(1), planted)
        text[:, length - SHOWN :] = copy[:, :SHOWN]
        return 1 + text, {self.following: copy[:, SHOWN], "first_query": torch.full_like(copy[:, 0], length)}

    def _turned(self, count: int, generator: torch.Generator) -> Bool[Tensor, " count"]:
        """Draw which of some copies are written backwards."""
        return coins((count,), self.backward, generator)

    def _fresh(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "batch length"]:
        """Draw random walks over the circle of symbols."""
        return self._steps(batch, length, generator).cumsum(1) % self.symbols

    def _steps(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "batch length"]:
        """Draw the step in the circle from each symbol to the next fresh one; the first symbol is anywhere."""
        side = 2 * integers(2, (batch, length), generator) - 1
        anywhere = integers(self.symbols, (batch, length), generator)
        near = coins((batch, length), self.near, generator)
        near[:, 0] = False
        return torch.where(near, side, anywhere)

    def _text(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "batch length"]:
        """Draw text, segment after segment.

        Every symbol is that of an earlier position (its source) plus a step in the circle, which is 0 in a copy. The
        sources do not depend on the symbols, so that all of them are computed together.
        """
        steps = self._steps(batch, length, generator)
        # The properties of a segment that begins at each position; few positions begin one.
        size = SHORTEST + integers(LONGEST_SEGMENT - SHORTEST + 1, (length, batch), generator)
        copies = coins((length, batch), self.copied, generator)
        turned = coins((length, batch), self.backward, generator)
        start = uniforms((length, batch), generator)
        copies[0] = False
        index = torch.arange(length, device=steps.device)[:, None]
        span = torch.where(copies, torch.minimum(size, index.clamp(min=1)), size)
        first = (start * (index - span + 1)).long().clamp(min=0)
        way = torch.where(copies, 1 - 2 * turned.long(), 0)  # 0: fresh
        first = torch.where(way < 0, first + span - 1, first)
        begun = _begun(span)
        way = way.gather(0, begun)
        source = torch.where(way == 0, index - 1, first.gather(0, begun) + way * (index - begun))
        return (_followed(source, torch.where(way == 0, steps.T, 0)).T % self.symbols).contiguous()


def _begun(span: Int[Tensor, "length batch"]) -> Int[Tensor, "length batch"]:
    """Return the index at which the segment of each position begins, given the span of a segment from each index."""
    length = len(span)
    spans = torch.cat([span, torch.zeros_like(span[:1])])  # no segment continues beyond the end
    begins = torch.zeros_like(spans)
    index = torch.zeros_like(span[:1])
    while bool((index < length).any()):
        begins.scatter_(0, index, index)
        index = (index + spans.gather(0, index)).clamp(max=length)
    begun: Tensor = begins[:length].cummax(0).values
    return begun


def _followed(source: Int[Tensor, "length batch"], steps: Int[Tensor, "length batch"]) -> Int[Tensor, "length batch"]:
    """Return the sum of the steps of each position, of its source, of the source's source, down to the first position.

    Args:
        source: an earlier position for each; -1 for the first.
        steps: at each position.
    """
    nothing = torch.zeros_like(source[:1])  # stands before the first position, and is its own source
    source, total = torch.cat([nothing, source + 1]), torch.cat([nothing, steps])
    for _ in range(len(steps).bit_length()):
        total = total + total.gather(0, source)
        source = source.gather(0, source)
    return total[1:]
