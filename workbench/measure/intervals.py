"""Intervals at 95 %, with the sequence as the unit of replication.

Wilson and Clopper-Pearson are for exactly one 0/1 value per sequence. Whatever has several positions
per sequence is averaged within the sequence first and then bootstrapped over sequences.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, norm, t

LEVEL = 0.95
Array = NDArray[np.float64]


def wilson(k: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Score interval of a share, from ``k`` successes out of ``n`` (Wilson 1927).

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    _check_counts(k, n)
    z = float(norm.ppf(0.5 + level / 2))
    share, z2 = k / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # At k = 0 and k = n one end is exactly 0 or 1; rounding would put it beside the point.
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def clopper_pearson(k: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of a share, from ``k`` successes out of ``n`` (Clopper and Pearson 1934).

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    tail = (1 - level) / 2
    return lower_limit(k, n, tail), upper_limit(k, n, tail)


@lru_cache(1 << 16)
def lower_limit(k: int, n: int, error: float) -> float:
    """Exact one-sided lower limit of a share: it lies above the truth with probability at most ``error``.

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    _check_counts(k, n)
    return 0.0 if k == 0 else float(beta.ppf(error, k, n - k + 1))


@lru_cache(1 << 16)
def upper_limit(k: int, n: int, error: float) -> float:
    """Exact one-sided upper limit of a share: it lies below the truth with probability at most ``error``.

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    _check_counts(k, n)
    return 1.0 if k == n else float(beta.ppf(1 - error, k + 1, n - k))


def resampled_means(values: ArrayLike, rng: np.random.Generator, resamples: int = 400) -> Array:
    """Means of bootstrap resamples of sequences.

    Args:
        values: ``[sequences, ...]``; NaN = not defined for that sequence, left out of its mean.
        rng: the only source of randomness.
        resamples: number of resamples; all trailing entries share the same resampled sequences.

    Returns:
        ``[resamples, ...]``; NaN where a resample holds no defined value.

    Raises:
        ValueError: for no sequences, or fewer than two resamples.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError("a bootstrap needs at least one sequence; got none")
    if resamples < 2:
        raise ValueError(f"a bootstrap needs at least 2 resamples; got {resamples}")
    n = x.shape[0]
    flat = x.reshape(n, -1)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)
    defined = ~np.isnan(flat)
    total = weights @ np.where(defined, flat, 0.0)
    count = weights @ defined.astype(np.float64)
    means = np.full_like(total, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means.reshape(resamples, *x.shape[1:])


def interval(means: ArrayLike, level: float = LEVEL) -> tuple[Array, Array]:
    """Percentile interval of resampled values ``[resamples, ...]``; NaN resamples are left out."""
    x = np.asarray(means, dtype=np.float64)
    flat = x.reshape(x.shape[0], -1)
    missing = np.isnan(flat).sum(0)
    some, every = (missing > 0) & (missing < len(flat)), missing == 0
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.full((2, flat.shape[1]), np.nan)
    # nanquantile goes column by column in Python: only where it must.
    ends[:, every] = np.quantile(flat[:, every], tails, axis=0)
    if some.any():
        ends[:, some] = np.nanquantile(flat[:, some], tails, axis=0)
    low, high = ends.reshape(2, *x.shape[1:])
    return low, high


def bootstrap_mean(
    values: ArrayLike, rng: np.random.Generator, resamples: int = 400, level: float = LEVEL
) -> tuple[Array, Array]:
    """Percentile bootstrap interval of the mean over sequences, for every trailing entry at once.

    Where all defined values of an entry are equal both ends are exactly that value. Such an interval
    says nothing about values that were not drawn: for one 0/1 value per sequence use
    :func:`clopper_pearson`, and say so beside any other.

    Args:
        values: ``[sequences, ...]``; NaN = not defined for that sequence.
        rng: the only source of randomness.
        resamples: number of resamples.
        level: coverage.

    Returns:
        low and high, each of shape ``[...]``; NaN where nothing is defined.
    """
    x = np.asarray(values, dtype=np.float64)
    low, high = interval(resampled_means(x, rng, resamples), level)
    defined = ~np.isnan(x)
    smallest = np.where(defined, x, np.inf).min(0)
    equal = defined.any(0) & (smallest == np.where(defined, x, -np.inf).max(0))
    return np.where(equal, smallest, low), np.where(equal, smallest, high)


def jackknife(without: ArrayLike, level: float = LEVEL) -> Array:
    """Half the width of an interval for what is no mean, from the estimates without each group of sequences.

    The delete-a-group jackknife: variance (G - 1) / G times the squared deviations, with Student's t of G - 1 degrees.

    Args:
        without: ``[groups, ...]``.
        level: of the interval.

    Raises:
        ValueError: for fewer than two groups.
    """
    estimates = np.asarray(without, dtype=np.float64)
    groups = len(estimates)
    if groups < 2:
        raise ValueError(f"a jackknife needs at least 2 groups, not {groups}")
    spread = ((estimates - estimates.mean(0)) ** 2).sum(0) * (groups - 1) / groups
    half: Array = np.asarray(t.ppf(0.5 + level / 2, groups - 1) * np.sqrt(spread))
    return half


def _check_counts(k: int, n: int) -> None:
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"a share needs 0 <= k <= n and n >= 1; got k = {k}, n = {n}")
