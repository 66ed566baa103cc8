"""Attention without hooks on scores or pattern: the same output without n^2 memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from workbench.models.transformer.scores import ScoreInputs, feature_map

SCORES_AT_ONCE = 1 << 22
"""The most scores in memory at once, if scores or a bias must be computed: 16 MiB in float32, and a few copies of them.
"""

LINEAR_BLOCK = 128
"""Queries per block of linear attention."""

Values = Float[Tensor, "batch pos head d_head"]


def attend(inputs: ScoreInputs, v: Values) -> Values:
    """Weighted means of the values, by the cheapest exact method for these scores."""
    if inputs.attention == "linear":
        return linear_attention(inputs.q, inputs.k, v)
    if inputs.attention == "hardmax":
        return hardmax_attention(inputs, v)
    return softmax_attention(inputs, v)


def softmax_attention(inputs: ScoreInputs, v: Values) -> Values:
    """The fused kernel: in one call if it needs no bias, else in blocks of queries with their bias."""
    q, k, v = inputs.q.transpose(1, 2), inputs.k.transpose(1, 2), v.transpose(1, 2)
    if inputs.factor is not None:
        q = q * inputs.factor.transpose(1, 2)[..., None]
    if not inputs.biased:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
    parts = []
    for queries in query_blocks(inputs):
        keys = queries.stop
        mask = fused_mask(inputs, queries)
        rows = q[:, :, queries.start : queries.stop]
        parts.append(F.scaled_dot_product_attention(rows, k[:, :, :keys], v[:, :, :keys], attn_mask=mask))
    return _joined(parts[::-1], 2).transpose(1, 2)


def fused_mask(inputs: ScoreInputs, queries: range) -> Float[Tensor, "#batch head query key"]:
    """Return the mask of a block of queries: the position bias times the factor of each query, and -inf at later
    keys.
    """
    mask = inputs.bias(queries, queries.stop)
    assert mask is not None
    if inputs.factor is not None:
        mask = mask * inputs.factor[:, queries.start : queries.stop].transpose(1, 2)[..., None]
    return mask.masked_fill_(inputs.later(queries, queries.stop), -math.inf)


def hardmax_attention(inputs: ScoreInputs, v: Values) -> Values:
    """Means over the keys with the highest score, in blocks of queries."""
    parts = []
    for queries in query_blocks(inputs):
        pattern = inputs.pattern(inputs.scores(queries, queries.stop))
        parts.append(torch.einsum("bhqk,bkhe->bqhe", pattern, v[:, : queries.stop]))
    return _joined(parts[::-1], 1)


def linear_attention(q: Values, k: Values, v: Values) -> Values:
    """sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j), j <= i, in time and memory linear in length.

    Within a block of queries the weights are explicit. The keys of earlier blocks are accumulated in a state ``sum_j
    phi(k_j) [v_j, 1]`` (Katharopoulos et al. 2020, 2006.16236, section 3.3).
    """
    values = torch.cat([v, torch.ones_like(v[..., :1])], -1)
    state = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], values.shape[-1])
    parts = []
    for start in range(0, q.shape[1], LINEAR_BLOCK):
        rows = slice(start, start + LINEAR_BLOCK)
        queries, keys, held = feature_map(q[:, rows]), feature_map(k[:, rows]), values[:, rows]
        weights = torch.einsum("bqhe,bkhe->bhqk", queries, keys).tril()
        sums = torch.einsum("bhqk,bkhe->bqhe", weights, held) + torch.einsum("bqhe,bhef->bqhf", queries, state)
        state = state + torch.einsum("bkhe,bkhf->bhef", keys, held)
        parts.append(sums[..., :-1] / sums[..., -1:])
    return _joined(parts, 1)


def query_blocks(inputs: ScoreInputs) -> Iterator[range]:
    """Ranges of queries whose scores over all earlier keys fit ``SCORES_AT_ONCE``, the last range first.

    So the largest matrices come first, and smaller ones reuse the freed memory.
    """
    batch, pos, heads, _ = inputs.q.shape
    size = max(1, SCORES_AT_ONCE // (batch * heads * pos))
    for start in reversed(range(0, pos, size)):
        yield range(start, min(start + size, pos))


def _joined(parts: list[Tensor], axis: int) -> Tensor:
    """The blocks concatenated, without a copy if there is only one."""
    return parts[0] if len(parts) == 1 else torch.cat(parts, axis)
