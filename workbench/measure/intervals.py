"""Intervals at 95 %, with the sequence as the unit of replication.

Wilson and Clopper-Pearson are for exactly one 0/1 value per sequence. Tango is for the difference of two such values of
the same sequences, Newcombe for different sequences. A value with several positions per sequence is averaged within the
sequence first, and then bootstrapped over sequences. If all values are equal, a bootstrap has no width. The interval
then follows from the bounds of the values, or there is none.

Quantiles are those of ``scipy.special``. ``scipy.stats`` gives bit-identical values, but takes half a second to import.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtri, stdtrit

from workbench.core.exact_limits import check_counts
from workbench.core.exact_limits import lower_limit as lower_limit
from workbench.core.exact_limits import upper_limit as upper_limit
from workbench.core.thresholds import LEVEL as LEVEL

HALVINGS = 60
"""Number of bisection steps: from a width of 1 down to the last bits."""
ROUNDING = 1e-12
"""Values that differ by no more than this, relative to the largest or to 1, count as equal: their last bits depend on
the processor.
"""
Array = NDArray[np.float64]
Bounds = tuple[float, float]
"""Smallest and largest possible value."""


class Ends(NamedTuple):
    """The two ends of an interval, with a note about it. The ends are None if there is no interval."""

    low: float | None
    high: float | None
    note: str = ""


def wilson(k: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the score interval of a share, for ``k`` successes out of ``n`` (Wilson 1927).

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    check_counts(k, n)
    z = float(ndtri(0.5 + level / 2))
    share, z2 = k / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # At k = 0 and k = n one end is exactly 0 or 1; rounding would move it off the estimate.
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def clopper_pearson(k: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact interval of a share, for ``k`` successes out of ``n`` (Clopper and Pearson 1934).

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    tail = (1 - level) / 2
    return lower_limit(k, n, tail), upper_limit(k, n, tail)


def at_least(k: int, n: int, share: float) -> float:
    """Return P(Bin(n, share) >= k), the upper tail probability of a binomial count."""
    if k <= 0:
        return 1.0
    return 0.0 if k > n else float(betainc(k, n - k + 1, share))


def tango(b: int, c: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the score interval of (b - c) / n, the mean difference of paired 0/1 values (Tango 1998).

    The interval contains all D with abs(T(D)) at most z, the normal quantile. Here T(D) = (b - c - n D) / sqrt(n (2 q +
    D (1 - D))). The q in it is the most likely share of the second kind of discordant pair if the difference is D. For
    b = c = 0 the interval is +-z^2 / (n + z^2).

    Args:
        b: pairs that are 1 and 0.
        c: pairs that are 0 and 1.
        n: all pairs.
        level: coverage.

    Raises:
        ValueError: unless b, c >= 0, b + c <= n and n >= 1.
    """
    if n < 1 or min(b, c) < 0 or b + c > n:
        raise ValueError(f"a paired difference needs b, c >= 0 and b + c <= n; got b = {b}, c = {c}, n = {n}")
    z = float(ndtri(0.5 + level / 2))

    def score(difference: float) -> float:
        linear = -b - c + (2 * n - b + c) * difference
        constant = -c * difference * (1 - difference)
        q = (math.sqrt(max(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
        variance = n * (2 * q + difference * (1 - difference))
        distance = b - c - n * difference
        return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)

    d = (b - c) / n
    low = -1.0 if d == -1 else _boundary(lambda x: score(x) <= z, -1.0, d)
    high = 1.0 if d == 1 else _boundary(lambda x: score(x) < -z, d, 1.0)
    return low, high


def sign_test(b: int, c: int) -> float:
    """Return the two-sided p value of the exact sign test on the pairs that differ.

    The value is min(1, 2 P(Bin(b + c, 1/2) >= max(b, c))), for ``b`` pairs that differ in one direction and ``c`` in
    the other.
    """
    if min(b, c) < 0:
        raise ValueError(f"a sign test needs counts of at least 0; got {b} and {c}")
    return min(1.0, 2.0 * at_least(max(b, c), b + c, 0.5))


def discordant(differences: ArrayLike) -> tuple[int, int]:
    """Return how many differences of paired 0/1 values are 1, and how many are -1.

    Raises:
        ValueError: for any other value than -1, 0 and 1.
    """
    x = np.asarray(differences, dtype=np.float64)
    if not np.isin(x, (-1.0, 0.0, 1.0)).all():
        raise ValueError("differences of 0/1 values are -1, 0 or 1")
    return int((x == 1).sum()), int((x == -1).sum())


def newcombe(k: int, n: int, other_k: int, other_n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of k/n - other_k/other_n, the difference of two shares of different sequences, from their
    Wilson limits.

    Newcombe 1998, "Interval estimation for the difference between independent proportions", method 10.
    """
    (low, high), (other_low, other_high) = wilson(k, n, level), wilson(other_k, other_n, level)
    p, other = k / n, other_k / other_n
    return (
        p - other - math.hypot(p - low, other_high - other),
        p - other + math.hypot(high - p, other - other_low),
    )


def all_equal(value: float, n: int, bounds: Bounds, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a mean whose n values are all equal, from the bounds of possible values. Without bounds
    there is no interval.

    Let u = 1 - tail^(1/n): the largest share of other values under which n draws may still all be equal. The interval
    is [v - (v - lo) u, v + (hi - v) u].
    """
    u = 1.0 - ((1.0 - level) / 2) ** (1.0 / n)
    return value - (value - bounds[0]) * u, value + (bounds[1] - value) * u


def mean_ends(values: ArrayLike, rng: np.random.Generator, resamples: int = 400, bounds: Bounds | None = None) -> Ends:
    """Return the interval of a mean over sequences, with one number per sequence, from bootstrap resamples.

    If all numbers are equal, the interval follows from the bounds of possible values.

    Args:
        values: ``[sequences]``, at least one, none NaN.
        rng: the only source of randomness.
        resamples: number of resamples.
        bounds: smallest and largest possible value; None = unknown.
    """
    x = np.asarray(values, dtype=np.float64)
    if all_the_same(x):
        return equal_ends(float(x[0]), len(x), bounds)
    low, high = interval(resampled_means(x, rng, resamples))
    return Ends(float(low), float(high))


def all_the_same(values: Array) -> bool:
    """Return whether values differ by no more than rounding; see :data:`ROUNDING`.

    Args:
        values: at least one number, none NaN.
    """
    return bool(np.ptp(values) <= ROUNDING * max(1.0, float(np.abs(values).max())))


def equal_ends(value: float, n: int, bounds: Bounds | None) -> Ends:
    """Return the interval of a mean whose n values are all equal; there is no interval without bounds."""
    note = f"all {n} equal"
    return Ends(None, None, note) if bounds is None else Ends(*all_equal(value, n, bounds), note)


def resampled_means(values: ArrayLike, rng: np.random.Generator, resamples: int = 400) -> Array:
    """Return the means of bootstrap resamples of sequences.

    Args:
        values: ``[sequences, ...]``; NaN = not defined for that sequence, left out of its mean.
        rng: the only source of randomness.
        resamples: number of resamples; all trailing entries share the same resampled sequences.

    Returns:
        ``[resamples, ...]``; NaN where a resample contains no defined value.

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
    """Return the percentile interval of resampled values ``[resamples, ...]``. Resamples that are NaN are left out."""
    x = np.asarray(means, dtype=np.float64)
    flat = x.reshape(x.shape[0], -1)
    missing = np.isnan(flat).sum(0)
    some, every = (missing > 0) & (missing < len(flat)), missing == 0
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.full((2, flat.shape[1]), np.nan)
    # nanquantile loops over columns in Python, so use it only where needed.
    ends[:, every] = np.quantile(flat[:, every], tails, axis=0)
    if some.any():
        ends[:, some] = np.nanquantile(flat[:, some], tails, axis=0)
    low, high = ends.reshape(2, *x.shape[1:])
    return low, high


def jackknife(without: ArrayLike, level: float = LEVEL) -> Array:
    """Return half the width of an interval for a statistic that is not a mean.

    It uses the estimates without each group of sequences (delete-a-group jackknife). The variance is (G - 1) / G times
    the sum of squared deviations, and the quantile is Student's t with G - 1 degrees of freedom.

    Args:
        without: ``[groups, ...]``.
        level: coverage of the interval.

    Raises:
        ValueError: for fewer than two groups.
    """
    estimates = np.asarray(without, dtype=np.float64)
    groups = len(estimates)
    if groups < 2:
        raise ValueError(f"a jackknife needs at least 2 groups, not {groups}")
    spread = ((estimates - estimates.mean(0)) ** 2).sum(0) * (groups - 1) / groups
    half: Array = np.asarray(stdtrit(groups - 1, 0.5 + level / 2) * np.sqrt(spread))
    return half


def _boundary(beyond: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point at which a monotone condition begins to be true, by bisection."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2
