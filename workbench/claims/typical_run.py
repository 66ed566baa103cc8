"""The typical run of a cell, from its seeds: their median, an interval for it, and the side of each seed.

Six or more runs: the interval between two ordered values whose error is that of the two-sided sign test. Three to five:
Student's interval of the mean, of shares in logits. Only the number of runs decides which of the two applies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, logit, ndtri, stdtrit

from workbench.claims.claim import Condition, Row
from workbench.measure.intervals import clopper_pearson

FEWEST = 3
"""Number of seeds that solve the trained lengths, which a verdict on a trained claim needs."""
BY_SIGNS = 6
"""Number of seeds that solve the trained lengths, from which the sign test decides."""
ERROR = 0.05
"""Two-sided error of an interval."""
SAME = 1e-6
"""Largest difference of two limits that count as one."""
SIGN_TEST, STUDENT, NONE = "sign test", "t interval", "none"


@dataclass(frozen=True)
class Typical:
    """The typical run of a cell.

    Attributes:
        value: the median over seeds.
        low: lower limit; minus infinity where the seeds are too few for this error, or have no spread at all.
        high: upper limit.
        test: :data:`SIGN_TEST`, :data:`STUDENT`, or :data:`NONE` with fewer than three seeds.
    """

    value: float
    low: float
    high: float
    test: str

    @property
    def ends(self) -> tuple[float, float]:
        """The interval as (low, high)."""
        return self.low, self.high

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def typical_run(rows: Sequence[Row], error: float = ERROR) -> Typical:
    """The median over seeds of a quantity, with an interval.

    Args:
        rows: one for each run that enters; at least one.
        error: two-sided error of the interval.
    """
    values = sorted(row.value for row in rows)
    median = float(np.median(values))
    if len(values) < FEWEST:
        return Typical(median, -math.inf, math.inf, NONE)
    if len(values) >= BY_SIGNS:
        return Typical(median, *_between_ordered(values, error), SIGN_TEST)
    return Typical(median, *_student(rows, error), STUDENT)


def sign_test_p(fewer: int, seeds: int) -> float:
    """Two-sided p of the sign test if ``fewer`` of ``seeds`` are on the other side."""
    return float(min(1.0, 2 * sum(math.comb(seeds, i) for i in range(fewer + 1)) / 2**seeds))


def seeds_needed(fewer: int, error: float = ERROR) -> int:
    """Return the smallest number of seeds with which the sign test is significant although ``fewer`` seeds disagree."""
    seeds = max(BY_SIGNS, fewer + 1)
    while sign_test_p(fewer, seeds) > error:
        seeds += 1
    return seeds


def _between_ordered(values: Sequence[float], error: float) -> tuple[float, float]:
    """The narrowest interval between two ordered values, as many from either end, that has at most the error."""
    outside = -1
    while outside + 2 <= len(values) // 2 and sign_test_p(outside + 1, len(values)) <= error:
        outside += 1
    return (values[outside], values[-1 - outside]) if outside >= 0 else (-math.inf, math.inf)


def _student(rows: Sequence[Row], error: float) -> tuple[float, float]:
    """Student's interval of the mean; of shares in logits, with counts smoothed to (k + 1/2) / (n + 1).

    The standard deviation over seeds is not taken to be smaller than the noise of the sequences of one run.
    """
    counts = [counts_of(row) for row in rows]
    shares = [count for count in counts if count is not None]
    if len(shares) < len(rows):
        noise = [(row.ends[1] - row.ends[0]) / (2 * float(ndtri(1 - ERROR / 2))) for row in rows]
        return _mean_interval(np.array([row.value for row in rows]), np.array(noise), error)
    right = np.array([count.right for count in shares], dtype=float)
    n = np.array([count.n for count in shares], dtype=float)
    ends = _mean_interval(logit((right + 0.5) / (n + 1)), np.sqrt((n + 1) / ((right + 0.5) * (n - right + 0.5))), error)
    # Back from smoothed shares to plain ones, and from shares to skills: a threshold is crossed by no rounding.
    floor = float(np.mean([count.floor for count in shares]))
    plain = [min(1.0, max(0.0, (float(expit(end)) * (n.mean() + 1) - 0.5) / n.mean())) for end in ends]
    low, high = ((end - floor) / (1 - floor) for end in plain)
    return (low, high) if math.isfinite(ends[0]) else ends


def _mean_interval(values: NDArray[np.float64], noise: NDArray[np.float64], error: float) -> tuple[float, float]:
    """Mean of the seeds with Student's interval; without ends where neither seeds nor sequences have a spread."""
    spread = max(float(values.std(ddof=1)), float(np.sqrt((noise**2).mean())))
    mean = float(values.mean())
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return -math.inf, math.inf
    half = student_quantile(len(values) - 1, error) * spread / math.sqrt(len(values))
    return mean - half, mean + half


def student_quantile(freedom: float, error: float) -> float:
    """Return the two-sided quantile of Student's t distribution: half the width of an interval in standard errors."""
    return float(stdtrit(freedom, 1 - error / 2))


# ---- single seeds --------------------------------------------------------------------------------
def own_interval(row: Row, error: float) -> tuple[float, float]:
    """Return the interval of one run over its sequences at another error level than 0.05; for an exact number, the
    number twice.
    """
    low, high = row.ends
    if low == high or error == ERROR:
        return low, high
    counts = counts_of(row)
    if counts is None:
        wider = float(ndtri(1 - error / 2) / ndtri(1 - ERROR / 2))
        return row.value - (row.value - low) * wider, row.value + (high - row.value) * wider
    ends = clopper_pearson(counts.right, counts.n, 1 - error)
    below, above = ((end - counts.floor) / (1 - counts.floor) for end in ends)
    return below, above


@dataclass(frozen=True)
class SeedShare:
    """The number of seeds for which a claim holds, each by its own value, with the number of seeds."""

    on_side: int
    seeds: int

    @property
    def ends(self) -> tuple[float, float]:
        """The exact interval of the share at 95 % (Clopper and Pearson)."""
        return clopper_pearson(self.on_side, self.seeds)

    def __str__(self) -> str:
        low, high = self.ends
        return f"{self.on_side} of {self.seeds} [{low:.2f}, {high:.2f}]"


def share_on_side(condition: Condition, values: Sequence[float], expected: float | None = None) -> SeedShare:
    """Return the share of seeds whose value is on the claim's side of its thresholds."""
    on_side = sum(condition.side(value, value, expected) == "holds" for value in values)
    return SeedShare(on_side, len(values))


# ---- counts behind a share -----------------------------------------------------------------------
@dataclass(frozen=True)
class Counts:
    """The counts behind a share or a skill: ``right`` of ``n`` correct, and the share at which the skill is 0."""

    right: int
    n: int
    floor: float


def counts_of(row: Row) -> Counts | None:
    """The counts behind a row; None where it is neither a share nor a skill."""
    if row.floor is None or not row.n:
        return None
    return Counts(round((row.floor + (1 - row.floor) * row.value) * row.n), row.n, row.floor)


@lru_cache(maxsize=256)
def _limits(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Limits at 95 % (Clopper and Pearson) of all shares of ``n``, ``[right]`` each."""
    right = np.arange(n + 1)
    low = betaincinv(np.maximum(right, 1), n - right + 1, ERROR / 2)
    high = betaincinv(right + 1, np.maximum(n - right, 1), 1 - ERROR / 2)
    return np.where(right == 0, 0.0, low), np.where(right == n, 1.0, high)


def floor_of(value: float, low: float, high: float, n: int) -> float | None:
    """Return the share at which a skill is 0, computed from the skill and its exact interval; 0 for a share, None for
    other numbers.

    Share and limits of ``k`` of ``n`` become skills by one linear map. ``k`` and the map are therefore known from
    three numbers, and no other number has an interval of this kind.
    """
    lows, highs = _limits(n)
    shares = np.arange(n + 1) / n
    if not low <= value <= high or low == high:
        return None
    width = (highs - lows) / (high - low)  # 1 - floor, for each k
    floor = 1 - width
    wrong = np.abs(floor + width * value - shares) + np.abs(floor + width * low - lows)
    best = int(wrong.argmin())
    if wrong[best] > SAME or not -SAME <= floor[best] < 1:
        return None
    return 0.0 if abs(floor[best]) <= SAME else float(floor[best])
