"""Markov text in which earlier segments are written out again, forwards or backwards."""

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
"""Symbols of a segment."""
SHOWN = 3
"""Symbols of the copy that a challenge string shows before it asks for the next one."""


class CopiedText(NextSymbol):
    """Which symbol comes next, in text in which earlier segments come again?

    A law of text to train on before retrieval and copying: its symbols have the names of theirs, and it has their
    separator and end too, which no text contains, so that ``train --start`` carries its weights over to them.

    The text is a chain of segments of 4 to 12 symbols, uniformly, with nothing between them. With probability
    ``copied`` a segment is a span of the text so far, uniform among those of its length (of all that there is, if that
    is shorter), written out again: forwards, or backwards with probability ``backward``. Else it is fresh: a random
    walk over the symbols in a circle, which with probability ``near`` goes to one of the two neighbours of the symbol
    before, and otherwise anywhere, uniformly. This walk is the same law read backwards, so what tells forwards from
    backwards is ``backward`` alone: with 1/2 every symbol is as often followed by its left neighbour of an earlier
    occurrence as by its right one.

    Laws: *training* and *matched* are this text. *challenge* asks at the end only: a fresh text ends in the first three
    symbols of a copy of four uniform ones, and the fourth is asked for. These four stand outside the first and the last
    N tokens (N = the longest training length; up to length 2N, where there is no room, anywhere before the copy).

    Every symbol is as likely as any other at every place, so chance is 1 / ``symbols``. Accuracy never comes near 1,
    for where a fresh segment begins and what it says is not told; the best loss has no closed form, as which segments
    are copies has to be guessed. The window oracle looks for what followed before, as in ``text``, forwards only.
    Given strings (``label``) are not asked at the end, since the symbol after it is not known.

    The output summary is the next symbol itself.

    Example: after ``a``, ``b`` and ``a`` come ``b``, ``a``, and what is not shown.

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
    """Probability that a segment is written out again, and not fresh."""
    backward: float = Field(0.0, ge=0, le=1)
    """Probability that it is written backwards."""
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
        """Fresh text, four uniform symbols somewhere in it, and three of a copy of them at the end."""
        text = self._fresh(batch, length, generator)
        span = torch.arange(SHOWN + 1, device=text.device)
        first, last = outer_places(0, length - 2 * SHOWN - 1, length, window, (0, SHOWN))
        place = first + integers(last - first + 1, (batch, 1), generator)
        planted = integers(self.symbols, (batch, SHOWN + 1), generator)
        text.scatter_(1, place + span, planted)
        copy = torch.where(self._turned(batch, generator)[:, None], planted.flip(1), planted)
        text[:, length - SHOWN :] = copy[:, :SHOWN]
        return 1 + text, {self.following: copy[:, SHOWN], "first_query": torch.full_like(copy[:, 0], length)}

    def _turned(self, count: int, generator: torch.Generator) -> Bool[Tensor, " count"]:
        """Which of some copies are written backwards."""
        return coins((count,), self.backward, generator)

    def _fresh(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "batch length"]:
        """Random walks over the circle of symbols."""
        return self._steps(batch, length, generator).cumsum(1) % self.symbols

    def _steps(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "batch length"]:
        """How far each fresh symbol lies behind the one before it in the circle; the first is anywhere."""
        side = 2 * integers(2, (batch, length), generator) - 1
        anywhere = integers(self.symbols, (batch, length), generator)
        near = coins((batch, length), self.near, generator)
        near[:, 0] = False
        return torch.where(near, side, anywhere)

    def _text(self, batch: int, length: int, generator: torch.Generator) -> Int[Tensor, "batch length"]:
        """Segments one after another.

        Every symbol is that of an earlier place, further on in the circle by a step that a copy does not take: where
        these places lie does not hang on the symbols, so all are found together.
        """
        steps = self._steps(batch, length, generator)
        # What a segment that begins at a place would be; it begins at few of them.
        size = SHORTEST + integers(LONGEST_SEGMENT - SHORTEST + 1, (length, batch), generator)
        copies = coins((length, batch), self.copied, generator)
        turned = coins((length, batch), self.backward, generator)
        where = uniforms((length, batch), generator)
        copies[0] = False
        places = torch.arange(length, device=steps.device)[:, None]
        span = torch.where(copies, torch.minimum(size, places.clamp(min=1)), size)
        first = (where * (places - span + 1)).long().clamp(min=0)
        way = torch.where(copies, 1 - 2 * turned.long(), 0)  # 0: fresh
        first = torch.where(way < 0, first + span - 1, first)
        begun = _begun(span)
        way = way.gather(0, begun)
        source = torch.where(way == 0, places - 1, first.gather(0, begun) + way * (places - begun))
        return (_followed(source, torch.where(way == 0, steps.T, 0)).T % self.symbols).contiguous()


def _begun(span: Int[Tensor, "length batch"]) -> Int[Tensor, "length batch"]:
    """Where the segment of each place begins, if one that begins at a place is so long."""
    length = len(span)
    spans = torch.cat([span, torch.zeros_like(span[:1])])  # beyond the end nothing goes on
    begins = torch.zeros_like(spans)
    here = torch.zeros_like(span[:1])
    while bool((here < length).any()):
        begins.scatter_(0, here, here)
        here = (here + spans.gather(0, here)).clamp(max=length)
    begun: Tensor = begins[:length].cummax(0).values
    return begun


def _followed(source: Int[Tensor, "length batch"], steps: Int[Tensor, "length batch"]) -> Int[Tensor, "length batch"]:
    """The sum of the steps of each place, of its source, of the source of that one, and so on to the first place.

    Args:
        source: an earlier place for each; -1 for the first.
        steps: at each place.
    """
    nothing = torch.zeros_like(source[:1])  # stands before the first place, and is its own source
    source, total = torch.cat([nothing, source + 1]), torch.cat([nothing, steps])
    for _ in range(len(steps).bit_length()):
        total = total + total.gather(0, source)
        source = source.gather(0, source)
    return total[1:]
