"""The task k-gram retrieval, whose task state is the token at a retrieved position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, Law, Task, TaskError
from workbench.tasks.sampling import integers, outer_margin
from workbench.tasks.sequences.sequence_task import symbol_names

__all__ = ["KGramRetrieval"]

REPAIR_ROUNDS = 256
"""Rounds of redrawing after which to give up a sequence that still has further occurrences of the key."""


class KGramRetrieval(Task):
    """Report the token that followed the last k tokens when they occurred before.

    The last k tokens, the key, occurred exactly once earlier in the sequence; the answer is the token that followed
    there. Only the end is supervised. For k = 1 an induction head solves this.

    Distributions: all three draw independent uniform symbols and put a copy of the key at an admissible position,
    uniformly. Then they redraw tokens until the key does not occur again. The copy and its answer come before the key.
    *training* and *matched* admit every such position. *challenge* admits those at which the copy and its answer are
    outside the first and the last N tokens (N = the longest training length). Up to length 2N there are none, and it
    admits all.

    ``meta`` contains ``key_position``, the position of the copy's last token, and ``answer_position``, the next one.
    Both count from 1, so they are indices on the position axis of a batch with BOS.

    Task states: ``output_summary`` is the answer at every prefix, or the number ``symbols`` if the key of that prefix
    did not occur exactly once before. There is no ``update_summary``, because any key may become the query.

    Example: with k = 2, in ``a b c d a b`` the earlier ``a b`` was followed by ``c``.

        >>> KGramRetrieval(k=2, symbols=4).reference([1, 2, 3, 4, 1, 2])
        [None, None, None, None, None, 2]
    """

    name: ClassVar[str] = "kgram_retrieval"
    family: ClassVar[str] = "retrieval"
    question: ClassVar[str] = "Which token followed the last k tokens when they occurred before?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the token that followed the earlier occurrence"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    k: int = Field(1, ge=1, le=8)
    """Length of the key in tokens."""
    symbols: int = Field(16, ge=2, le=128)
    """Size of the alphabet."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the symbols: letters if they suffice, else ``s0``, ``s1``, ..."""
        return (BOS, *self.output_names)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Return the names of the symbols, which are the answer classes."""
        return symbol_names(self.symbols)

    def admissible(self, length: int) -> bool:
        """Whether copy, answer and key fit."""
        return length >= 2 * self.k + 1

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        low, high = self._copy_starts(length, law, window)
        start = low + integers(high - low + 1, (batch, 1), generator)
        copy = start + torch.arange(self.k, device=generator.device)
        strings = 1 + integers(self.symbols, (batch, length), generator)
        strings.scatter_(1, copy, strings[:, -self.k :].clone())
        fixed = torch.zeros_like(strings, dtype=torch.bool).scatter_(1, copy, True)
        fixed[:, -self.k :] = True
        strings = self._without_further_occurrences(strings, start, fixed, generator)
        answer = start[:, 0] + self.k + 1
        return strings, {"key_position": answer - 1, "answer_position": answer}

    def _copy_starts(self, length: int, law: Law, window: int | None) -> tuple[int, int]:
        """Return the first and last admissible index (from 0) of the copy's first token, both included."""
        last = length - 2 * self.k - 1
        if law != "challenge":
            return 0, last
        room = (length - self.k - 1) // 2  # with a larger margin no position is left for copy and answer
        margin = min(outer_margin(length, window), room, last)
        return margin, min(last, length - margin - self.k - 1)

    def _without_further_occurrences(
        self,
        strings: Int[Tensor, "batch length"],
        start: Int[Tensor, "batch 1"],
        fixed: Bool[Tensor, "batch length"],
        generator: torch.Generator,
    ) -> Int[Tensor, "batch length"]:
        """Redraw the free tokens of every further occurrence of the key until there is none.

        Every such occurrence has a free token, because there is one between copy and key.
        """
        windows = strings.shape[1] - self.k + 1
        for _ in range(REPAIR_ROUNDS):
            codes = self._codes(strings)
            further = (codes == codes[:, -1:]).scatter_(1, start, False)
            further[:, -1] = False
            if not bool(further.any()):
                return strings
            redraw = torch.zeros_like(fixed)
            for offset in range(self.k):
                redraw[:, offset : offset + windows] |= further
            fresh = 1 + integers(self.symbols, tuple(strings.shape), generator)
            strings = torch.where(redraw & ~fixed, fresh, strings)
        raise TaskError(
            f"kgram_retrieval found no sequences of length {strings.shape[1]} in which a key of k = {self.k} "
            f"tokens over {self.symbols} symbols occurs just twice; give it more symbols"
        )

    def _codes(self, strings: Int[Tensor, "batch length"]) -> Int[Tensor, "batch windows"]:
        """Return one number for each k-gram, by the index of its first token (exact: at most 128^8 = 2^56)."""
        codes = strings[:, : strings.shape[1] - self.k + 1] - 1
        for offset in range(1, self.k):
            codes = codes * self.symbols + strings[:, offset : offset + codes.shape[1]] - 1
        return codes

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        summary = torch.full_like(strings, self.symbols)
        if strings.shape[1] > self.k:
            earlier, times = earlier_occurrence(self._codes(strings))
            follower = strings.gather(1, (earlier + self.k).clamp(max=strings.shape[1] - 1)) - 1
            summary[:, self.k - 1 :] = follower.where(times == 1, self.symbols)
        supervised = summary < self.symbols
        mask = torch.zeros_like(supervised)
        mask[:, -1:] = supervised[:, -1:]
        return summary.where(supervised, 0), mask, summary, None

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the votes of all visible earlier occurrences of the last k visible tokens; uniform if none."""
        votes = torch.zeros(len(tokens), self.symbols, dtype=torch.float64, device=tokens.device)
        if tokens.shape[1] > self.k:
            codes = self._codes(tokens)
            same = (codes[:, :-1] == codes[:, -1:]).double()
            votes.scatter_add_(1, tokens[:, self.k :] - 1, same)
        return torch.where(votes.sum(1, keepdim=True) > 0, votes, 1.0)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        answers: list[int | None] = [None] * len(tokens)
        key = list(tokens[-self.k :])
        starts = [s for s in range(len(tokens) - self.k) if list(tokens[s : s + self.k]) == key]
        if len(starts) == 1:
            answers[-1] = self.output_names.index(self.tokens_names[tokens[starts[0] + self.k]])
        return answers


def earlier_occurrence(
    codes: Int[Tensor, "batch windows"],
) -> tuple[Int[Tensor, "batch windows"], Int[Tensor, "batch windows"]]:
    """Return for each entry the index of the last equal entry before it, and the number of equal entries before it.

    A stable sort makes equal entries adjacent in their old order, so that this takes n log n steps, not n^2. The index
    is 0 if there is no such entry.
    """
    ordered, order = codes.sort(dim=1, stable=True)
    position = torch.arange(codes.shape[1], device=codes.device).expand_as(codes)
    fresh = torch.ones_like(ordered, dtype=torch.bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rank = position - torch.where(fresh, position, 0).cummax(1).values
    before = torch.where(rank > 0, order.roll(1, 1), 0)
    return torch.zeros_like(order).scatter_(1, order, before), torch.zeros_like(order).scatter_(1, order, rank)
