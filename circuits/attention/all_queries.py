"""Statistics of every query's attention in one sweep over its scores, within a memory budget.

A block of queries holds its scores over the visible keys, and their exponentials. Every reducer works on these two
arrays. No n x n array exists, so n = 65,536 fits in little memory. Time grows as n squared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from circuits.attention.score_observer import LayerReducer, reduced_layers
from workbench.measure.measurement import join_parts
from workbench.models.transformer.scores import ScoreInputs

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch

BUDGET = 8 << 20
"""Maximum bytes of a block: about the size of a CPU cache, because a block is read several times."""
COPIES = 3
"""Number of score-sized arrays in memory at once."""
HIDDEN = -1e4
"""Log weight of later keys. It is finite, so that weight times log weight is 0 there and not NaN."""


@dataclass(frozen=True)
class ScoreBlock:
    """The attention scores of some consecutive queries, over the keys up to the last of them.

    Attributes:
        queries: indices on the position axis.
        log_weight: score minus the row's top score; :data:`HIDDEN` at later keys.
        weight: its exponential, 0 at later keys.
        total: sum of the weights of each row; 1 / total is the largest attention weight.
    """

    queries: range
    log_weight: Float[Tensor, "batch head query key"]
    weight: Float[Tensor, "batch head query key"]
    total: Float[Tensor, "batch head query"]

    @cached_property
    def index(self) -> Tensor:
        """The indices of the queries, ``[query]``."""
        return torch.arange(self.queries.start, self.queries.stop)

    def at(self, keys: Tensor) -> Float[Tensor, "batch head query"]:
        """Return the attention on one key per query; 0 where its index is negative."""
        index = keys.clamp(min=0)[:, None].expand(*self.weight.shape[:2], -1, -1)
        found = self.weight.gather(-1, index)[..., 0] / self.total
        return torch.where(keys >= 0, found, torch.zeros_like(found))


Reducer = Callable[[ScoreBlock], Float[Tensor, "batch head query"]]
"""Maps a block of rows to one number per query."""


def top_weight(block: ScoreBlock) -> Float[Tensor, "batch head query"]:
    """Return p_(1), the largest weight; its inverse is support_inf."""
    return 1.0 / block.total


def entropy(block: ScoreBlock) -> Float[Tensor, "batch head query"]:
    """Return the entropy in nats: log Z - mean log weight."""
    cost = torch.einsum("bhqk,bhqk->bhq", block.weight, block.log_weight)
    return block.total.log() - cost / block.total


def previous_token(block: ScoreBlock) -> Float[Tensor, "batch head query"]:
    """Return the attention on the key before the query."""
    return block.at(block.index - 1)


def first_token(block: ScoreBlock) -> Float[Tensor, "batch head query"]:
    """Return the attention on the first key."""
    return block.weight[..., 0] / block.total


def own_token(block: ScoreBlock) -> Float[Tensor, "batch head query"]:
    """Return the attention of the query on itself."""
    return block.at(block.index)


def mean_lag(block: ScoreBlock) -> Float[Tensor, "batch head query"]:
    """Return the mean distance to the attended keys."""
    keys = torch.arange(block.weight.shape[-1], dtype=block.weight.dtype)
    return block.index.to(keys.dtype) - (block.weight @ keys) / block.total


REDUCERS: Mapping[str, Reducer] = {
    "top_weight": top_weight,
    "entropy": entropy,
    "previous_token": previous_token,
    "first_token": first_token,
    "own_token": own_token,
    "mean_lag": mean_lag,
}


def block_size(inputs: ScoreInputs, budget: int = BUDGET) -> int:
    """Return the number of queries (at least one) per block, so that a block's arrays fit into ``budget`` bytes."""
    batch, size, heads, _ = inputs.q.shape
    return max(1, budget // (COPIES * inputs.q.element_size() * batch * heads * size))


def stream_blocks(inputs: ScoreInputs, budget: int = BUDGET) -> Iterator[ScoreBlock]:
    """Yield all queries of a layer, block by block, the first ones first.

    Raises:
        ValueError: for attention that is not by softmax, because its rows have no exponentials.
    """
    if inputs.attention != "softmax":
        raise ValueError(f"this sweep needs softmax attention, but the attention of this model is {inputs.attention}")
    scores_of = _Scores(inputs)
    start, size = 0, inputs.q.shape[1]
    most = budget // (COPIES * inputs.q.element_size() * inputs.q.shape[0] * inputs.q.shape[2])
    while start < size:
        # Early queries see few keys, so more of them fit.
        step = max(1, min(size - start, int((math.sqrt(start**2 + 4 * most) - start) / 2)))
        queries = range(start, start + step)
        scores = scores_of(queries)
        scores -= scores.amax(-1, keepdim=True)
        scores.clamp_(min=HIDDEN)
        weight = scores.exp()
        yield ScoreBlock(queries, scores, weight, weight.sum(-1))
        start += step


def sweep(
    inputs: ScoreInputs, reducers: Mapping[str, Reducer] = REDUCERS, budget: int = BUDGET
) -> dict[str, Float[Tensor, "batch head query"]]:
    """Return every reducer's number for every query of a layer, from one pass over its scores.

    Args:
        inputs: inputs of one layer (see :func:`circuits.attention.attention_scores.score_inputs`).
        reducers: by name.
        budget: maximum bytes of the arrays of a block.
    """
    batch, size, heads, _ = inputs.q.shape
    found = {name: inputs.q.new_empty(batch, heads, size) for name in reducers}
    for block in stream_blocks(inputs, budget):
        for name, reduce in reducers.items():
            found[name][:, :, block.queries.start : block.queries.stop] = reduce(block)
    return found


def sweep_statistics(
    model: HookedModel, batch: Batch, reducers: Mapping[str, Reducer] = REDUCERS, budget: int = BUDGET
) -> list[dict[str, Float[Tensor, "batch head query"]]]:
    """Make a forward pass and return :func:`sweep` for every layer of a model."""
    return reduced_layers(model, batch, lambda: _Sweep(reducers, budget))


class _Sweep(LayerReducer[dict[str, Tensor]]):
    """Collects every reducer's numbers for the queries of one layer."""

    def __init__(self, reducers: Mapping[str, Reducer], budget: int) -> None:
        self._reducers, self._budget, self._parts = reducers, budget, list[dict[str, Tensor]]()

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self._parts.append(sweep(inputs, self._reducers, self._budget))

    def result(self) -> dict[str, Tensor]:
        return join_parts(self._parts)


class _Scores:
    """Scores of blocks of one layer, -inf at later keys; without a bias, they are one product of prepared matrices."""

    def __init__(self, inputs: ScoreInputs) -> None:
        self.inputs = inputs
        if inputs.plain:
            scale = 1.0 / math.sqrt(inputs.q.shape[-1])
            q = inputs.q * scale if inputs.factor is None else inputs.q * (scale * inputs.factor[..., None])
            self.q = q.transpose(1, 2).contiguous()
            self.k = inputs.k.permute(0, 2, 3, 1).contiguous()

    def __call__(self, queries: range) -> Float[Tensor, "batch head query key"]:
        if not self.inputs.plain:
            return self.inputs.scores(queries, queries.stop)
        scores = self.q[:, :, queries.start : queries.stop] @ self.k[..., : queries.stop]
        # Only the last len(queries) keys can lie after a query.
        count = len(queries)
        later = torch.ones(count, count, dtype=torch.bool).triu(1)
        scores[..., -count:].masked_fill_(later, -math.inf)
        return scores
