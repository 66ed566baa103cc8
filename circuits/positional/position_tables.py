"""Mean attention scores by position at the end of a length, kept so that noise and intervals can be told from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.positional.translation_fit import Floats, positional_share, row_residual

if TYPE_CHECKING:
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch

PARTS = 4
"""Groups of sequences in each half; without each of them in turn, the estimates show how far they scatter."""


@dataclass(frozen=True)
class PositionTables:
    """One layer at one length.

    Attributes:
        sums: ``[2, part, head, n, n]`` scores of query i and key j, summed over the sequences of a part of a half.
        counts: ``[2, part]`` sequences.
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
        """Number of positions n."""
        return int(self.sums.shape[-1])

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Half and part of all groups that can be left out; none where a half has but one."""
        halves, parts = self.counts.shape
        return [(half, part) for half in range(halves) for part in range(parts)] if parts > 1 else []

    def halves(self, head: int, leave: tuple[int, int] | None = None) -> tuple[Floats, Floats]:
        """Mean tables of the two halves of the sequences, or of what is left without one group."""
        kept = self._kept(leave)
        count = np.maximum((self.counts * kept).sum(1), 1)
        first, second = np.einsum("hp,hpij->hij", kept, self.sums[:, :, head]) / count[:, None, None]
        return first, second

    def share(self, head: int, leave: tuple[int, int] | None = None) -> float:
        """Share of the score variance within queries that position explains."""
        first, second = (row_residual(table) for table in self.halves(head, leave))
        kept = self._kept(leave)
        within = float((self.within[:, :, head] * kept).sum() / (self.counts * kept).sum())
        return positional_share(within, float((first * second).sum()))

    def _kept(self, leave: tuple[int, int] | None) -> Floats:
        kept = np.ones(self.counts.shape)
        if leave is not None:
            kept[leave] = 0.0
        return kept


def position_tables(inputs: ScoreInputs, batch: Batch, span: int, eps: float) -> PositionTables:
    """Scores among the last ``span`` positions of a batch, BOS left out.

    Args:
        inputs: one layer's.
        batch: strings of one length.
        span: number of positions.
        eps: attention beyond the reach is at most this share.
    """
    end = batch.tokens.shape[1]
    first = max(int(batch.bos), end - span)
    queries = range(first, end)
    size, heads, half = len(queries), inputs.q.shape[2], len(batch) // 2
    parts = max(1, min(PARTS, half))
    group = torch.as_tensor(np.concatenate([_shared_out(half, parts), parts + _shared_out(len(batch) - half, parts)]))
    mask = torch.ones(size, size, dtype=torch.float64).tril()
    sums = torch.zeros(2 * parts, heads, size, size, dtype=torch.float64)
    within, reach = torch.zeros(2 * parts, heads, dtype=torch.float64), []
    step = max(1, (1 << 21) // (size * end * heads))
    for start in range(0, len(batch), step):
        chosen = inputs.select(slice(start, start + step))
        whole = scores_at(chosen, queries)
        reach.append(_reach(chosen.pattern(whole[:, :, -1:].double())[:, :, 0], eps))
        scores = whole[..., first:].double().masked_fill(mask == 0, 0.0)
        centred = (scores - (scores.sum(-1) / mask.sum(-1))[..., None]) * mask
        own = group[start : start + step]
        sums.index_add_(0, own, scores)
        within.index_add_(0, own, centred.pow(2).sum((2, 3)))
    counts = torch.bincount(group, minlength=2 * parts)
    return PositionTables(
        sums.unflatten(0, (2, parts)).numpy(),
        counts.unflatten(0, (2, parts)).numpy(),
        within.unflatten(0, (2, parts)).numpy(),
        torch.cat(reach).numpy(force=True),
    )


def _shared_out(count: int, parts: int) -> NDArray[np.int64]:
    """Part of each of ``count`` sequences: neighbours together, parts as equal as can be."""
    made: NDArray[np.int64] = np.arange(count, dtype=np.int64) * parts // max(1, count)
    return made


def _reach(pattern: Tensor, eps: float) -> Tensor:
    """``[batch, head]`` smallest lag within which a query has all but ``eps`` of its attention."""
    by_lag = pattern.flip(-1).cumsum(-1)
    return (by_lag < 1 - eps).sum(-1).double()
