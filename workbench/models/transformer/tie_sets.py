"""Hard attention: the nearest hardmax of a row of scores, with the row's weight spread evenly over its tie set.

The tie set of a row is the set of its k* highest scores, whose uniform distribution is nearest to the row in total
variation (:func:`nearest_hardmax`). A strict argmax would break models that count: a head that spreads its attention
over a class of keys is a hardmax over that class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-12
"""Distances this close count as equal, so that rounding does not choose between two sets."""
SCORES_AT_ONCE = 1 << 18
"""Scores sorted at once; with the float64 sums they need about 100 bytes each."""


@dataclass(frozen=True)
class SortedRows:
    """Rows of scores in descending order, with the sums that every statistic needs.

    Attributes:
        scores: ``[row, rank]`` float64, -inf beyond the last visible key.
        keys: ``[row]`` number of visible keys K.
        weight: ``[row, rank]`` exp(score - top score).
        inside: ``[row, rank]`` sum of the weights of this rank and all before it.
        outside: ``[row, rank]`` sum of the weights of all later ranks, summed from the smallest up.
        cost: ``[row, rank]`` sum of weight * (top score - score) over this rank and all before it.
    """

    scores: Floats
    keys: Ints
    weight: Floats
    inside: Floats
    outside: Floats
    cost: Floats

    @property
    def total(self) -> Floats:
        """``[row]`` normalizer Z in units of the top weight: 1 <= Z <= K."""
        return self.inside[:, -1]


@dataclass(frozen=True)
class NearestHardmax:
    """The uniform distribution on a set of keys that is nearest to each row in total variation.

    Attributes:
        distance: ``[row]`` D, in [0, 1).
        size: ``[row]`` k*, the number of keys of the nearest set (the smallest set if several tie).
        distance_to_all: ``[row]`` distance to uniform attention over all K keys.
    """

    distance: Floats
    size: Ints
    distance_to_all: Floats


def sort_rows(scores: NDArray[Any], keys: NDArray[Any] | None = None) -> SortedRows:
    """Sort, for each query, the scores of the keys that it sees, in descending order.

    Args:
        scores: ``[row, key]``, unsorted; values at or beyond ``keys`` are ignored.
        keys: ``[row]`` number of visible keys, the first ones of the row; None = all of them.

    Raises:
        ValueError: for NaN or +inf among the visible scores, a row without a finite score, or a number of keys outside
            1..width.
    """
    rows, width = scores.shape
    visible = np.full(rows, width, dtype=np.int64) if keys is None else np.asarray(keys, dtype=np.int64)
    if rows and not (visible.min() >= 1 and visible.max() <= width):
        raise ValueError(f"every row must see between 1 and {width} keys; got {visible.min()} to {visible.max()}")
    # Masked by index, not by value: what a model writes above the diagonal differs between libraries.
    flipped = np.where(np.arange(width) < visible[:, None], -scores, np.inf)
    flipped.sort(axis=1)
    # NaN sorts to the end, behind +inf.
    if np.isnan(flipped[:, -1]).any() or not np.isfinite(flipped[:, 0]).all():
        raise ValueError(
            "an attention row holds NaN, +inf or no finite score at all; are the weights of the model finite?"
        )
    # In place where that can be: fresh arrays of this size cost more than what is computed in them.
    ordered = flipped.astype(np.float64)
    gap = ordered - ordered[:, :1]
    np.negative(ordered, out=ordered)
    weight = np.negative(gap)
    np.exp(weight, out=weight)
    outside = np.zeros_like(weight)
    np.cumsum(weight[:, :0:-1], axis=1, out=outside[:, -2::-1])
    # A key with score -inf has weight 0 and an infinite gap; its share of the cost is 0.
    np.minimum(gap, 1e4, out=gap)
    np.multiply(weight, gap, out=gap)
    cost = np.cumsum(gap, axis=1, out=gap)
    return SortedRows(ordered, visible, weight, np.cumsum(weight, axis=1), outside, cost)


def nearest_hardmax(rows: SortedRows) -> NearestHardmax:
    """D = min over non-empty sets S of TV(p, uniform on S); an optimal S is a top-k set.

    For the top k keys the distance is 1 - sum_{j<=k} min(p_(j), 1/k). It is computed here in the equal form (mass
    beyond k) + sum_{j<=k} max(p_(j) - 1/k, 0), exact to about 1e-15.

    The ranks with p_(j) >= 1/k are a prefix that grows with k, because 1/k falls. Rank j joins it at k = ceil(1/p_(j)).
    So one counting pass gives all k in O(K) after the sort. Ranks past the last visible key have no weight and need no
    special case: a set that reaches beyond all K keys is always further away than those K.
    """
    count, width = rows.scores.shape
    total = rows.total[:, None]
    with np.errstate(divide="ignore", over="ignore"):
        when = total / rows.weight
    np.ceil(when, out=when)
    np.minimum(when, width + 1, out=when)
    joins = when.astype(np.int64)
    joins += np.arange(count)[:, None] * (width + 2)
    joined = np.bincount(joins.ravel(), minlength=count * (width + 2)).reshape(count, width + 2)
    above = np.cumsum(joined[:, 1:-1], axis=1)
    last = np.maximum(above, 1)
    last += np.arange(count)[:, None] * width - 1
    distance = np.take(rows.inside, last)
    distance *= above > 0
    distance += rows.outside
    distance /= total
    distance -= above / np.arange(1.0, width + 1)
    np.maximum(distance, 0.0, out=distance)
    smallest = distance.min(axis=1)
    best = np.argmax(distance <= smallest[:, None] + TIE, axis=1)
    return NearestHardmax(smallest, best + 1, at_rank(distance, rows.keys))


def at_rank(values: Floats, rank: Ints) -> Floats:
    """The entry of each row at a rank counted from 1."""
    return np.take_along_axis(values, (rank - 1)[:, None], axis=1)[:, 0]


def in_tie_set(scores: Float[Tensor, "batch head query key"]) -> Bool[Tensor, "batch head query key"]:
    """Whether each key is among the k* highest of its row.

    Args:
        scores: -inf at keys that the query does not see. Among equal scores at the edge of the set, earlier keys come
            first.

    Raises:
        ValueError: for NaN or +inf, or a row without a finite score.
    """
    keys = scores.shape[-1]
    flat = scores.reshape(-1, keys)
    inside = torch.zeros_like(flat, dtype=torch.bool)
    size = max(1, SCORES_AT_ONCE // keys)
    for start in range(0, len(flat), size):
        rows = flat[start : start + size]
        seen = (rows > -torch.inf).sum(-1)
        # In order, what is hidden stands last, wherever a window hid it.
        ordered = torch.sort(rows, dim=-1, descending=True, stable=True)
        count = nearest_hardmax(sort_rows(ordered.values.numpy(force=True), seen.numpy(force=True))).size
        chosen = torch.arange(keys) < torch.from_numpy(count)[:, None]
        inside[start : start + size].scatter_(1, ordered.indices, chosen.to(rows.device))
    return inside.view_as(scores)


def tie_set_scores(scores: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch head query key"]:
    """Scores whose softmax is uniform on each row's tie set: 0 on its keys, -inf elsewhere."""
    return torch.zeros_like(scores).masked_fill(~in_tie_set(scores), -torch.inf)


def tie_set_pattern(scores: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch head query key"]:
    """Attention weights that are uniform on each row's tie set and zero elsewhere."""
    inside = in_tie_set(scores).to(scores.dtype)
    return inside / inside.sum(-1, keepdim=True)
