"""Family P, position encoding: ids or lags are replaced by values from inside the trained range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.measure.edits.interventions.intervention import (
    Family,
    IdEdit,
    Intervention,
    ScoreEdit,
    ScoresContext,
    TrainedIds,
    no_ids,
)

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture


class Interpolate(IdEdit):
    """The intervention that scales position ids so that the last one is that at N. Ids are rounded down if the encoding
    needs integers.
    """

    def inside(self, ids: Tensor, end: Tensor, trained: TrainedIds) -> Tensor:
        if trained.between:
            return ids.double() * trained.last / end
        return (ids * trained.last).div(end, rounding_mode="floor")


class Clip(IdEdit):
    """The intervention that replaces position ids beyond the last one at N by this id."""

    def inside(self, ids: Tensor, end: Tensor, trained: TrainedIds) -> Tensor:
        return ids.clamp(max=trained.last)


class KeepLast(IdEdit):
    """The last tokens get the ids of a sequence of length N; all earlier tokens get id 0."""

    def inside(self, ids: Tensor, end: Tensor, trained: TrainedIds) -> Tensor:
        return (ids - (end - trained.last)).clamp(min=0)


class TrainedRows(IdEdit):
    """The intervention that moves position ids beyond the trained part of the position table into this part, in the
    same order.
    """

    def no_place(self, cfg: Architecture) -> str:
        encoding = cfg.positions
        if (why := no_ids(cfg)) or (encoding.table and encoding.absolute):
            return why
        return f"positions {encoding.name} have no table of rows"

    def inside(self, ids: Tensor, end: Tensor, trained: TrainedIds) -> Tensor:
        moved = (ids * trained.top).div(end, rounding_mode="floor")
        return moved.where(ids > trained.top, ids)


@dataclass(frozen=True)
class ClipLags(ScoreEdit):
    """Lags from N on are replaced by N - 1; with the wrong constant, by the longest lag."""

    family: ClassVar[Family] = "P"
    order: ClassVar[int] = 0
    reads_raw: ClassVar[bool] = True

    def no_place(self, cfg: Architecture) -> str:
        if (why := no_ids(cfg)) or not cfg.positions.before_attention:
            return why
        return f"positions {cfg.positions.name} enter before queries meet keys, so that scores have no lags"

    def edit(self, scores: Tensor, at: ScoresContext) -> Tensor:
        import torch

        encoding, inputs, ids, keys = at.encoding, at.inputs, at.ids, at.queries.stop
        rows = slice(at.queries.start, at.queries.stop)
        lags = ids[:, rows, None] - ids[:, None, :keys]
        beyond = (lags >= at.last)[:, None]
        lag = int(ids.max() - ids.min()) if self.wrong else at.last - 1
        factor = 1.0 if inputs.factor is None else inputs.factor[:, rows].transpose(1, 2)[..., None]
        if encoding.turns:
            q, k = at.raw
            turn = encoding.turn(torch.tensor([[lag]]), q.shape[-1], q.dtype)
            assert turn is not None
            far = torch.einsum("bqhe,bkhe->bhqk", encoding.rotate(q[:, rows], turn), k[:, :keys])
            far = far / math.sqrt(q.shape[-1])
            if encoding.biased:
                bias = inputs.bias(at.queries, keys)
                assert bias is not None
                far = far + bias
            scores = torch.where(beyond & (scores > -math.inf), far * factor, scores)
        if encoding.biased:
            assert inputs.bias_weights is not None
            bias_weights = inputs.bias_weights
            bias_weights = bias_weights if bias_weights.shape[1] == 1 else bias_weights[:, rows]
            changed = torch.where(lags >= at.last, torch.full_like(lags, lag), lags)
            change = encoding.bias_at(bias_weights, changed) - encoding.bias_at(bias_weights, lags)
            scores = scores + change * factor
        return scores


POSITION: tuple[Intervention, ...] = (
    Interpolate("P.int", "ids interpolated", "ids interpolated into the trained range"),
    Clip("P.clip", "ids clipped", "ids clipped at the trained range"),
    KeepLast("P.low", "last ids alone", "trained ids for the last tokens alone"),
    ClipLags("P.lag", "lags clipped", "lags clipped at the trained range"),
    TrainedRows("P.row", "trained rows", "trained rows in place of untrained rows"),
)
