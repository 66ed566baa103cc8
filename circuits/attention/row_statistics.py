"""Statistics of attention rows: how close softmax is to a hardmax, computed from scores only.

A row contains the scores of one query over its ``K`` visible keys. ``p`` is their softmax, and ``p_(1) >= p_(2) >=
...`` are its weights in order. Every statistic is a function of the sorted row. So a row is sorted once, and every
function here takes its :class:`~workbench.models.transformer.tie_sets.SortedRows`. All statistics are invariant to a
constant added to a row. Work is in float64 with natural logs. Masses inside and outside a set are summed separately, so
that a margin of 40 is 40 and not infinite.
"""

from __future__ import annotations

import numpy as np

from workbench.models.transformer.tie_sets import Floats, Ints, SortedRows, at_rank

#: Below this share of the top weight a sum may have lost digits to underflow.
TINY = 1e-290


def log_mass(rows: SortedRows, size: Ints) -> Floats:
    """Return ``[row]``, log of the mass P on the top ``size`` keys (0 if these are all keys)."""
    outside = at_rank(rows.outside, size)
    total = rows.total
    # log1p is precise when nearly all mass is inside, the plain ratio when little is.
    with np.errstate(divide="ignore"):
        return np.where(2 * outside < total, np.log1p(-outside / total), np.log(at_rank(rows.inside, size) / total))


def margin(rows: SortedRows, size: Ints) -> Floats:
    """Return ``[row]``, the effective margin m_eff: log of the mean weight in the top ``size`` keys over outside.

    m_eff = log[(P/k) / ((1-P)/(K-k))]. It is NaN where no key is outside, and +inf where those outside have no weight
    at all (scores of -inf).
    """
    left = rows.keys - size
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log(at_rank(rows.inside, size) / size)
        found: Floats = np.where(left > 0, inside - _log_outside(rows, size) + np.log(left), np.nan)
    return found


def margin_min(rows: SortedRows, delta: float) -> Floats:
    """Return ``[row]``, top score minus the best score more than ``delta`` below it; NaN where there is none."""
    gap = rows.scores[:, :1] - rows.scores
    first = np.argmax(gap > delta, axis=1) + 1
    found = (at_rank(gap, first) > delta) & (first <= rows.keys)
    return np.where(found, at_rank(gap, first), np.nan)


def entropy(rows: SortedRows) -> Floats:
    """Return ``[row]``, the entropy of the row in nats: log Z + mean gap to the top score."""
    found: Floats = np.log(rows.total) + rows.cost[:, -1] / rows.total
    return found


def tie_uniformity(rows: SortedRows, size: Ints) -> Floats:
    """Return ``[row]``, H(p restricted to the top ``size`` keys) / log size; NaN for a single key."""
    inside = at_rank(rows.inside, size)
    restricted = np.log(inside) + at_rank(rows.cost, size) / inside
    found = np.full(len(size), np.nan)
    np.divide(restricted, np.log(size), out=found, where=size > 1)
    return found


def _log_outside(rows: SortedRows, size: Ints) -> Floats:
    """Return the log of the summed weight beyond the top ``size`` keys, even if that sum underflows."""
    plain = at_rank(rows.outside, size)
    with np.errstate(divide="ignore"):
        found = np.log(plain)
    lost = np.flatnonzero((plain < TINY) & (size < rows.keys))
    if len(lost):
        found[lost] = _log_outside_shifted(rows.scores[lost], size[lost])
    return found


def _log_outside_shifted(scores: Floats, size: Ints) -> Floats:
    best = at_rank(scores, size + 1)[:, None]
    relative: Floats = np.where(np.arange(scores.shape[1]) >= size[:, None], scores, -np.inf)
    shift = np.where(np.isfinite(best), best, 0.0)
    with np.errstate(divide="ignore"):
        log_sum = np.log(np.exp(relative - shift).sum(axis=1))
    found: Floats = log_sum + shift[:, 0] - scores[:, 0]
    return found
