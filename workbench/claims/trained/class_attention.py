"""Attention to the class of tokens that determines the answer: the share outside the class, and the distance from
uniform attention on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.attention.score_observer import LayerReducer, reduced_layers
from circuits.attention.target_keys import counted_keys
from workbench.claims.errors import ClaimError
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun

if TYPE_CHECKING:
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch

STRINGS = 64
WINDOW = 16
"""Queries at the end of each string that are looked at."""
OFF, APART = "mass off the class", "total variation on the class"


class ClassAttention(LayerReducer["Float[Tensor, 'figure sequence head']"]):
    """For each sequence and head of a layer: attention to tokens outside the class, and total variation from uniform
    attention on the class.

    Means over the supervised ones of the last :data:`WINDOW` queries that have a key of the class.
    """

    def __init__(self) -> None:
        self._parts: list[Tensor] = []

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        queries = torch.arange(part.index(max(1, part.length - WINDOW + 1)), part.index(part.length) + 1)
        counted = counted_keys(part, queries)
        if counted is None:
            raise ClaimError(
                "attention on the averaged keys needs a task that names the keys that it averages, such as mean"
            )
        weights = inputs.pattern(scores_at(inputs, queries.tolist()).double())
        size = counted.sum(-1, keepdim=True).double()
        uniform = (counted / size.clamp(min=1))[:, None]
        off = 1 - (weights * counted[:, None]).sum(-1)
        apart = (weights - uniform).abs().sum(-1) / 2
        used = (size[..., 0] > 0).double()[:, None]
        figures = torch.stack([off, apart])
        self._parts.append((figures * used).sum(-1) / used.sum(-1))

    def result(self) -> Float[Tensor, "figure sequence head"]:
        return torch.cat(self._parts, 1)


@statistic("class attention", version=1)
def class_rows(run: TrainedRun, factors: Sequence[float] = (1, 4, 16)) -> StatisticRows:
    """Return both values for the head with most attention on the class at N; the head is chosen only on trained
    lengths.
    """
    at_n = _seen(run, run.task.next_length(run.longest))
    layer, head = divmod(int(at_n[:, 0].mean(1).argmin()), at_n.shape[-1])
    for factor in factors:
        n = run.task.next_length(factor * run.longest)
        for told, values in zip((OFF, APART), _seen(run, n)[layer, :, :, head], strict=True):
            half = 1.96 * float(values.std()) / math.sqrt(len(values))
            mean = float(values.mean())
            yield {
                "quantity": f"{told} at {factor:g} N",
                "length": n,
                "value": mean,
                "low": max(0.0, mean - half),
                "high": min(1.0, mean + half),
                "n": len(values),
                "label": f"L{layer}H{head}",
            }


def _seen(run: TrainedRun, length: int) -> Float[Tensor, "layer figure sequence head"]:
    batch = run.strings(STRINGS, length, "matched", "class attention")
    with torch.no_grad():
        return torch.stack(reduced_layers(run.model, batch, ClassAttention))
