"""Whether a head is a hardmax at a prefix length, and which kind: an exact test over sequences."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from circuits.hardmax.critical_lengths import BOUNDED, PROPORTIONAL
from workbench.core.thresholds import HARD, SINK
from workbench.core.verdicts import HARD_ATTENTION, MIXED_ATTENTION, SOFT_ATTENTION, UNDECIDED
from workbench.measure.intervals import at_least, clopper_pearson


@dataclass(frozen=True)
class HardmaxVerdict:
    """Outcome of the test P(D_b <= epsilon) > share.

    Attributes:
        label: hardmax, soft, mixed or undecided.
        share: share of sequences whose distance is at most epsilon.
        low: lower end of its exact 95 % interval.
        high: upper end.
        n: number of sequences.
    """

    label: str
    share: float
    low: float
    high: float
    n: int


def hardmax_verdict(distances: ArrayLike, epsilon: float = 0.1, share: float = HARD) -> HardmaxVerdict:
    """Test whether a head attends by hardmax in nearly all sequences.

    Args:
        distances: ``[sequence]`` hardmax_distance, averaged over the queries of each sequence.
        epsilon: largest distance that counts as a hardmax.
        share: share of sequences that must be hardmax; the verdict ``soft`` requires at most 1 - share of them.

    Raises:
        ValueError: for no sequences, or a share not above one half.
    """
    values = np.asarray(distances, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or np.isnan(values).any():
        raise ValueError("hardmax_verdict needs one defined distance per sequence, and at least one sequence")
    if not 0.5 < share < 1:
        raise ValueError(f"share must lie between 1/2 and 1; got {share}")
    near, n = int((values <= epsilon).sum()), len(values)
    low, high = clopper_pearson(near, n)
    if low >= share:
        label = HARD_ATTENTION
    elif high <= 1 - share:
        label = SOFT_ATTENTION
    elif low > 1 - share and high < share:
        label = MIXED_ATTENTION
    else:
        label = UNDECIDED
    return HardmaxVerdict(label, near / n, low, high, n)


def hardmax_kind(
    sink_share: float, median_distance_to_all: float, growth: float | None, epsilon: float = 0.1
) -> str | None:
    """Return the kind of a head that is a hardmax.

    Args:
        sink_share: share of queries whose tie set is only BOS.
        median_distance_to_all: median over sequences of TV(p, uniform over all keys).
        growth: kappa, see :func:`circuits.hardmax.critical_lengths.growth_exponent`; None = unknown.
        epsilon: largest distance that counts as uniform.

    Returns:
        sink, uniform, point, class or growing; None where the kind depends on an unknown ``growth``.
    """
    if sink_share > SINK:
        return "sink"
    if median_distance_to_all <= epsilon:
        return "uniform"
    if growth is None:
        return None
    if growth < BOUNDED:
        return "point"
    return "class" if growth > PROPORTIONAL else "growing"


def least_hardmax_count(n: int, share: float = HARD) -> int | None:
    """Return the smallest number of near sequences out of ``n`` with the verdict hardmax; None if there is none."""
    least = bisect_left(range(n + 1), share, key=lambda k: clopper_pearson(k, n)[0])
    return None if least > n else least


def power(n: int, true_share: float, share: float = HARD) -> float:
    """Return the exact probability of the verdict hardmax if ``true_share`` of all sequences are hardmax."""
    least = least_hardmax_count(n, share)
    return 0.0 if least is None else at_least(least, n, true_share)
