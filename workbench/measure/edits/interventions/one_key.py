"""Family K, one key: the weight of one key, or the scale of a head's output, is kept at its value at N."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from workbench.measure.edits.interventions.intervention import (
    Family,
    HeadOutputEdit,
    Inside,
    Intervention,
    LastQuery,
    ScoreEdit,
    ScoresContext,
    no_attention,
)

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from workbench.models.base.architecture import Architecture

SINK_LOG = math.log(4.0)
"""Increase of the key's score in the trial of ``K.sink`` at N. Without it, the edit would change nothing there."""


class HoldSink(ScoreEdit):
    """The score of a head's sink rises by the log of the growth in keys. With the wrong constant it falls."""

    family: ClassVar[Family] = "K"
    order: ClassVar[int] = 1

    def no_effect(self, inside: Inside) -> str:
        every = all(bool((sinks < 0).all()) for sinks in inside.sinks.values())
        return "no key takes the most weight in every string" if every else ""

    def edit(self, scores: Tensor, at: ScoresContext) -> Tensor:
        import torch

        by = (at.visible_keys(scores) / at.inside.keys).clamp(min=1.0).log()
        if at.trial:
            by = torch.full_like(by, SINK_LOG)
        keys = torch.arange(scores.shape[-1], device=scores.device)
        sink = (keys == at.inside.sinks[at.layer].to(keys)[:, None])[:, None].to(scores.dtype)
        return scores + sink * (-by if self.wrong else by)[:, None]


class HoldScale(HeadOutputEdit):
    """The intervention that scales a head's output to its root mean square at N; the control scales it the opposite
    way.
    """

    family: ClassVar[Family] = "K"
    order: ClassVar[int] = 2
    fitted: ClassVar[bool] = True

    def no_place(self, cfg: Architecture) -> str:
        return no_attention(cfg)

    def fit(self, outputs: Tensor, at: LastQuery) -> None:
        at.outside.rms[at.layer] = root_mean_square(outputs)

    def edit(self, outputs: Tensor, at: LastQuery) -> Tensor:
        import torch

        tiny = torch.finfo(outputs.dtype).tiny
        inside, outside = at.inside.rms[at.layer], at.outside.rms[at.layer]
        ratio = torch.where(outside > 0, inside / outside.clamp(min=tiny), 1.0)
        return outputs * (1.0 / ratio.clamp(min=tiny) if self.wrong else ratio)[:, None]


ONE_KEY: tuple[Intervention, ...] = (
    HoldSink("K.sink", "first key held", "weights of the first key held as at N"),
    HoldScale("K.scale", "scale held", "head outputs held at their scale at N"),
)


def root_mean_square(outputs: Float[Tensor, "batch head d_head"]) -> Float[Tensor, " head"]:
    """Return the root mean square of each head's output, over sequences and dimensions."""
    return outputs.pow(2).mean((0, 2)).sqrt()
