"""Attention made hard: each row's weight spread evenly over its own tie set.

The tie set of a row is the set of its k* highest scores, whose uniform distribution is nearest to the row in
total variation (:func:`circuits.statistics.nearest_hardmax`). A strict argmax would break models that count:
a head that spreads its attention over a class of keys is a hardmax over that class.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from circuits.statistics import nearest_hardmax, sort_rows

SCORES_AT_ONCE = 1 << 18
"""Scores sorted at once; with the float64 sums about 100 bytes each."""


def in_tie_set(scores: Float[Tensor, "batch head query key"]) -> Bool[Tensor, "batch head query key"]:
    """Whether each key is among the k* highest of its row.

    Args:
        scores: -inf at keys after the query, which must be the last ones of the row. Among equal scores at
            the edge of the set, earlier keys come first.

    Raises:
        ValueError: for NaN or +inf, or a row without a finite score.
    """
    keys = scores.shape[-1]
    flat = scores.reshape(-1, keys)
    made = torch.zeros_like(flat, dtype=torch.bool)
    size = max(1, SCORES_AT_ONCE // keys)
    for start in range(0, len(flat), size):
        rows = flat[start : start + size]
        seen = (rows > -torch.inf).sum(-1)
        count = nearest_hardmax(sort_rows(rows.numpy(force=True), seen.numpy(force=True))).size
        order = torch.sort(rows, dim=-1, descending=True, stable=True).indices
        chosen = torch.arange(keys) < torch.from_numpy(count)[:, None]
        made[start : start + size].scatter_(1, order, chosen.to(rows.device))
    return made.view_as(scores)


def tie_set_scores(scores: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch head query key"]:
    """Scores whose softmax is uniform on each row's tie set: 0 on its keys, -inf elsewhere."""
    return torch.zeros_like(scores).masked_fill(~in_tie_set(scores), -torch.inf)


def tie_set_pattern(scores: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch head query key"]:
    """Attention weights that are uniform on each row's tie set and zero elsewhere."""
    inside = in_tie_set(scores).to(scores.dtype)
    return inside / inside.sum(-1, keepdim=True)
