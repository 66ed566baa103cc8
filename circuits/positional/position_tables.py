"""Mean attention scores by position at the end of a length, with what noise estimates and intervals need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.attention.score_observer import LayerReducer
from circuits.positional.translation_fit import Floats, positional_share, row_residual

if TYPE_CHECKING:
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch

PARTS = 4
"""Groups of sequences in each half. Leaving out each of them in turn shows the spread of the estimates."""


@dataclass(frozen=True)
class PositionTables:
    """Sums of the attention scores of one layer at one length, by position.

    Attributes:
        sums: ``[2, part, head, n, n]`` scores of query i and key j, summed over the sequences of a part of a half.
        counts: ``[2, part]`` number of sequences in each part of each half.
        within: ``[2, part, head]`` sums of squares within queries, summed over sequences.
        reach: ``[sequence, head]`` lag within which the last query has nearly all its attention.
    """

    sums: Floats
    counts: NDArray[np.int64]
    within: Floats
    reach: Floats

    @property
    def heads(self) -> int:
        return int(self.sums.shape[2])

    @property
    def size(self) -> int:
        """The number of positions n."""
        return int(self.sums.shape[-1])

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Half and part of all groups that can be left out; empty where a half has only one."""
        halves, parts = self.counts.shape
        return [(half, part) for half in range(halves) for part in range(parts)] if parts > 1 else []

    def halves(self, head: int, leave: tuple[int, int] | None = None) -> tuple[Floats, Floats]:
        """Return mean tables of the two halves of the sequences, without one group if ``leave`` is given."""
        kept = self._group_mask(leave)
        count = np.maximum((self.counts * kept).sum(1), 1)
        first, second = np.einsum("hp,hpij->hij", kept, self.sums[:, :, head]) / count[:, None, None]
        return first, second

    def share(self, head: int, leave: tuple[int, int] | None = None) -> float | None:
        """Return the share of the score variance within queries that position explains; None without variance."""
        first, second = (row_residual(table) for table in self.halves(head, leave))
        kept = self._group_mask(leave)
        within = float((self.within[:, :, head] * kept).sum() / (self.counts * kept).sum())
        return positional_share(within, float((first * second).sum()))

    def _group_mask(self, leave: tuple[int, int] | None) -> Floats:
        kept = np.ones(self.counts.shape)
        if leave is not None:
            kept[leave] = 0.0
        return kept


class TableSums(LayerReducer[PositionTables]):
    """An observer that sums attention scores among the last ``span`` positions of a batch of one length, without BOS.

    Args:
        batch: all its sequences.
        span: number of positions; at most the width of an attention window.
        eps: maximum share of attention beyond the reach.
    """

    def __init__(self, batch: Batch, span: int, eps: float) -> None:
        self._end, self._eps, half = batch.tokens.shape[1], eps, len(batch) // 2
        self._first = max(int(batch.bos), self._end - span)
        self._parts = max(1, min(PARTS, half))
        groups = [_shared_out(half, self._parts), self._parts + _shared_out(len(batch) - half, self._parts)]
        self._group = torch.as_tensor(np.concatenate(groups))
        self._done = 0
        self._sums: Tensor | None = None
        self._within = torch.zeros(0)
        self._reach: list[Tensor] = []

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        if inputs.window is not None:  # beyond it there is no score
            self._first = max(self._first, self._end - inputs.window)
        queries = range(self._first, self._end)
        size, heads = len(queries), inputs.q.shape[2]
        if self._sums is None:
            self._sums = torch.zeros(2 * self._parts, heads, size, size, dtype=torch.float64)
            self._within = torch.zeros(2 * self._parts, heads, dtype=torch.float64)
        mask = torch.ones(size, size, dtype=torch.float64).tril()
        step = max(1, (1 << 21) // (size * self._end * heads))
        for start in range(0, len(part), step):
            chosen = inputs.select(slice(start, start + step))
            whole = scores_at(chosen, queries)
            self._reach.append(_reach(chosen.pattern(whole[:, :, -1:].double())[:, :, 0], self._eps))
            scores = whole[..., self._first :].double().masked_fill(mask == 0, 0.0)
            centred = (scores - (scores.sum(-1) / mask.sum(-1))[..., None]) * mask
            own = self._group[self._done : self._done + len(scores)]
            self._done += len(scores)
            # Added one by one, in the order of the sequences, so that the chunk size does not matter.
            self._sums.index_add_(0, own, scores)
            self._within.index_add_(0, own, centred.pow(2).sum((2, 3)))

    def result(self) -> PositionTables:
        assert self._sums is not None
        halves, counts = (2, self._parts), torch.bincount(self._group, minlength=2 * self._parts)
        return PositionTables(
            self._sums.unflatten(0, halves).numpy(),
            counts.unflatten(0, halves).numpy(),
            self._within.unflatten(0, halves).numpy(),
            torch.cat(self._reach).numpy(force=True),
        )


def position_tables(inputs: ScoreInputs, batch: Batch, span: int, eps: float) -> PositionTables:
    """Return the sums of one layer from the score inputs of a whole batch; see :class:`TableSums`."""
    sums = TableSums(batch, span, eps)
    sums.add(inputs, batch, {})
    return sums.result()


def _shared_out(count: int, parts: int) -> NDArray[np.int64]:
    """Return the part of each of ``count`` sequences: neighbours together, parts as equal as possible."""
    made: NDArray[np.int64] = np.arange(count, dtype=np.int64) * parts // max(1, count)
    return made


def _reach(pattern: Tensor, eps: float) -> Tensor:
    """Return ``[batch, head]``, the smallest lag within which a query has all but ``eps`` of its attention."""
    by_lag = pattern.flip(-1).cumsum(-1)
    return (by_lag < 1 - eps).sum(-1).double()
