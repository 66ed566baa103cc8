"""Statistics of attention rows: how near softmax is to a hardmax, computed from scores alone.

A row holds the scores of one query over the ``K`` keys it sees; ``p`` is their softmax and
``p_(1) >= p_(2) >= ...`` are its weights in order. Every statistic is a function of the sorted row, so
a row is sorted once, and every function here takes the :class:`SortedRows` made of it. Adding a
constant to a row changes nothing. Work is in float64 with natural logs; masses inside and outside a
set are summed separately, so that a margin of 40 is 40 and not infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Distances this close are the same distance: rounding must not choose between two sets.
TIE = 1e-12
#: Below this share of the top weight a sum may have lost digits to underflow.
TINY = 1e-290


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
        """``[row]`` normaliser Z in units of the top weight: 1 <= Z <= K."""
        return self.inside[:, -1]


@dataclass(frozen=True)
class NearestHardmax:
    """The uniform distribution on a set of keys that is nearest to each row in total variation.

    Attributes:
        distance: ``[row]`` D, in [0, 1).
        size: ``[row]`` k*, the number of keys of the nearest set (the smallest where several tie).
        distance_to_all: ``[row]`` distance to uniform attention over all K keys.
    """

    distance: Floats
    size: Ints
    distance_to_all: Floats


def sort_rows(scores: NDArray[Any], keys: NDArray[Any] | None = None) -> SortedRows:
    """Sort rows of scores, each over the keys it sees.

    Args:
        scores: ``[row, key]``, unsorted; what lies at or beyond ``keys`` is ignored, whatever it is.
        keys: ``[row]`` number of visible keys, the first ones of the row; None = all of them.

    Raises:
        ValueError: for NaN or +inf among the visible scores, a row without a finite score, or a
            number of keys outside 1..width.
    """
    rows, width = scores.shape
    seen = np.full(rows, width, dtype=np.int64) if keys is None else np.asarray(keys, dtype=np.int64)
    if rows and not (seen.min() >= 1 and seen.max() <= width):
        raise ValueError(f"every row must see between 1 and {width} keys; got {seen.min()} to {seen.max()}")
    # Masked by index, not by value: what a model writes above the diagonal differs between libraries.
    flipped = np.where(np.arange(width) < seen[:, None], -scores, np.inf)
    flipped.sort(axis=1)
    # NaN sorts to the end, behind +inf.
    if np.isnan(flipped[:, -1]).any() or not np.isfinite(flipped[:, 0]).all():
        raise ValueError(
            "an attention row holds NaN, +inf or no finite score at all; are the weights of the model finite?"
        )
    ordered = -flipped.astype(np.float64)
    gap = ordered[:, :1] - ordered
    weight = np.exp(-gap)
    outside = np.zeros_like(weight)
    outside[:, :-1] = np.cumsum(weight[:, :0:-1], axis=1)[:, ::-1]
    # A key with score -inf has weight 0 and an infinite gap; its share of the cost is 0.
    cost = np.cumsum(weight * np.minimum(gap, 1e4), axis=1)
    return SortedRows(ordered, seen, weight, np.cumsum(weight, axis=1), outside, cost)


def nearest_hardmax(rows: SortedRows) -> NearestHardmax:
    """D = min over non-empty sets S of TV(p, uniform on S); an optimal S is a top-k set.

    For the top k keys the distance is 1 - sum_{j<=k} min(p_(j), 1/k), here in the equal form
    (mass beyond k) + sum_{j<=k} max(p_(j) - 1/k, 0), exact to about 1e-15. Since 1/k falls
    with k, the ranks with p_(j) >= 1/k are a growing prefix: rank j joins it at k = ceil(1/p_(j)), so
    one counting pass gives all k in O(K) after the sort. Ranks past the last visible key, which have no
    weight, need no care: a set that reaches beyond all K keys is always further away than those K.
    """
    count, width = rows.scores.shape
    total = rows.total[:, None]
    with np.errstate(divide="ignore", over="ignore"):
        joins = np.minimum(np.ceil(total / rows.weight), width + 1).astype(np.int64)
    joins += np.arange(count)[:, None] * (width + 2)
    joined = np.bincount(joins.ravel(), minlength=count * (width + 2)).reshape(count, width + 2)
    above = np.cumsum(joined[:, 1:-1], axis=1)
    sizes = np.arange(1, width + 1)
    mass_above = np.where(above > 0, np.take_along_axis(rows.inside, np.maximum(above - 1, 0), 1), 0.0)
    distance = np.maximum((rows.outside + mass_above) / total - above / sizes, 0.0)
    smallest = distance.min(axis=1)
    best = np.argmax(distance <= smallest[:, None] + TIE, axis=1)
    return NearestHardmax(smallest, best + 1, _at(distance, rows.keys))


def log_mass(rows: SortedRows, size: Ints) -> Floats:
    """``[row]`` log of the mass P on the top ``size`` keys (0 where that is all of them)."""
    outside = _at(rows.outside, size)
    total = rows.total
    # log1p keeps the digits when nearly everything is inside, the plain ratio when little is.
    with np.errstate(divide="ignore"):
        return np.where(2 * outside < total, np.log1p(-outside / total), np.log(_at(rows.inside, size) / total))


def margin(rows: SortedRows, size: Ints) -> Floats:
    """``[row]`` effective margin m_eff = log of the mean weight inside the top ``size`` keys over outside.

    m_eff = log[(P/k) / ((1-P)/(K-k))]; NaN where no key is outside, +inf where those outside have
    no weight at all (scores of -inf).
    """
    left = rows.keys - size
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log(_at(rows.inside, size) / size)
        found: Floats = np.where(left > 0, inside - _log_outside(rows, size) + np.log(left), np.nan)
    return found


def margin_min(rows: SortedRows, delta: float) -> Floats:
    """``[row]`` top score minus the best score more than ``delta`` below it; NaN where there is none."""
    gap = rows.scores[:, :1] - rows.scores
    first = np.argmax(gap > delta, axis=1) + 1
    found = (_at(gap, first) > delta) & (first <= rows.keys)
    return np.where(found, _at(gap, first), np.nan)


def entropy(rows: SortedRows) -> Floats:
    """``[row]`` entropy of the row in nats: log Z + mean gap to the top score."""
    found: Floats = np.log(rows.total) + rows.cost[:, -1] / rows.total
    return found


def tie_uniformity(rows: SortedRows, size: Ints) -> Floats:
    """``[row]`` H(p restricted to the top ``size`` keys) / log size; NaN where that is a single key."""
    inside = _at(rows.inside, size)
    restricted = np.log(inside) + _at(rows.cost, size) / inside
    found = np.full(len(size), np.nan)
    np.divide(restricted, np.log(size), out=found, where=size > 1)
    return found


def _log_outside(rows: SortedRows, size: Ints) -> Floats:
    """Log of the summed weight beyond the top ``size`` keys, also where that sum underflows."""
    plain = _at(rows.outside, size)
    with np.errstate(divide="ignore"):
        found = np.log(plain)
    lost = np.flatnonzero((plain < TINY) & (size < rows.keys))
    if len(lost):
        found[lost] = _log_outside_shifted(rows.scores[lost], size[lost])
    return found


def _log_outside_shifted(scores: Floats, size: Ints) -> Floats:
    best = _at(scores, size + 1)[:, None]
    relative: Floats = np.where(np.arange(scores.shape[1]) >= size[:, None], scores, -np.inf)
    shift = np.where(np.isfinite(best), best, 0.0)
    with np.errstate(divide="ignore"):
        log_sum = np.log(np.exp(relative - shift).sum(axis=1))
    found: Floats = log_sum + shift[:, 0] - scores[:, 0]
    return found


def _at(values: Floats, rank: Ints) -> Floats:
    """The entry of each row at a rank counted from 1."""
    return np.take_along_axis(values, (rank - 1)[:, None], axis=1)[:, 0]
