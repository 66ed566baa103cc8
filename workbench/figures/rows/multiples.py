"""What runs of different N and of different training have in common: multiples of N, and shares of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.core.length_multiples import ROUNDED
from workbench.core.length_multiples import length_at as length_at

LengthAxis = Literal["times", "length"]
"""Units of lengths: multiples of each run's N, or tokens."""
StepPairing = Literal["share", "step"]
"""What checkpoints of two runs are paired by: the share of each run's own training, or the step itself."""
NEAR_SHARE = 1.25
"""Two checkpoints have the same share of training if their shares differ by at most this factor.

Checkpoints are spaced in powers, so that those of two runs rarely have equal shares.
"""
MULTIPLES = (1 / 8, 1 / 4, 1 / 2, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""The multiples that the grid of lengths has by default."""


def nearest_above(lengths: NDArray[Any], trained: NDArray[Any], times: float) -> NDArray[np.bool_]:
    """Return a mask of the lengths that may be shown as ``times`` N: at least ``times`` N, and less than 4 tokens or
    N/4 above it.
    """
    beyond = lengths - times * trained
    near = np.minimum(ROUNDED, np.maximum(1.0, trained / 4))
    return np.asarray((beyond >= 0) & (beyond < near))


def times_text(times: float) -> str:
    """Format a multiple of N, the longest trained length: ``8 x``, ``1/4 x``.

    Example:

        >>> times_text(0.25), times_text(1.5), times_text(8.0)
        ('1/4 \u00d7 N', '1.5 \u00d7 N', '8 \u00d7 N')
    """
    whole = Fraction(times).limit_denominator(8)
    text = f"{whole}" if times < 1 else f"{times:g}"
    return f"{text} \u00d7 N"


def partners(
    lengths_a: Iterable[int], n_a: int, lengths_b: Iterable[int], n_b: int, axis: LengthAxis = "length"
) -> dict[int, int]:
    """Return, for each length of run A, the length of run B with which it is compared. All comparisons use this rule.

    By ``length``: equal lengths, if the runs share one beyond the training of both; else equal multiples of each run's
    own N. By ``times``: equal multiples, if the runs share one beyond training; else as by ``length``. Runs of one N
    are always compared at equal lengths, which are equal multiples too.

    Example:

        >>> partners([31, 125, 249], 31, [32, 128, 256], 32), partners([32, 64], 32, [32, 64, 96], 32)
        ({31: 32, 125: 128, 249: 256}, {32: 32, 64: 64})
        >>> partners([32, 64, 128], 32, [64, 128, 256], 64), partners([32, 64, 128], 32, [64, 128, 256], 64, "times")
        ({64: 64, 128: 128}, {32: 64, 64: 128, 128: 256})
    """
    a, b = sorted(set(lengths_a)), sorted(set(lengths_b))
    found = ((length_at(a, n_a, times), length_at(b, n_b, times)) for times in MULTIPLES)
    pairs = {of_a: of_b for of_a, of_b in found if of_a is not None and of_b is not None}
    if axis == "times" and n_a != n_b and any(of_a > n_a for of_a in pairs):
        return pairs
    shared = [n for n in a if n in b]
    return {n: n for n in shared} if any(n > max(n_a, n_b) for n in shared) else pairs


def pairing_text(pairs: Mapping[int, int]) -> str:
    """Return the rule by which lengths of two runs were paired, in words."""
    return "same length" if all(a == b for a, b in pairs.items()) else "same multiple of N"


def step_partners(steps_a: Iterable[int], steps_b: Iterable[int], by: StepPairing = "share") -> dict[int, int]:
    """Return, for each checkpoint of run A, the checkpoint of run B with which it is compared.

    By ``step``: equal steps. By ``share``: the share of training is the step over the run's last step, so that the last
    checkpoints are paired, and step 0 with step 0. Between them, two checkpoints are paired if they are each other's
    nearest and their shares differ by at most the factor :data:`NEAR_SHARE`. None is used twice.

    Args:
        steps_a: measured steps of A.
        steps_b: measured steps of B.
        by: share or step.

    Example:

        >>> step_partners([0, 10, 250, 500, 1000], [0, 300, 620, 1200])
        {0: 0, 250: 300, 500: 620, 1000: 1200}
        >>> step_partners([0, 500, 1000], [0, 500, 1200], "step")
        {0: 0, 500: 500}
    """
    a, b = sorted(set(steps_a)), sorted(set(steps_b))
    if by == "step" or not a or not b:
        return {step: step for step in a if step in b}
    ends = {a[-1]: b[-1]}
    if 0 in a[:-1] and 0 in b[:-1]:
        ends = {0: 0, **ends}
    shares_a = {step: step / a[-1] for step in a[:-1] if step}
    shares_b = {step: step / b[-1] for step in b[:-1] if step}
    found = {step: nearest_share(shares_b, share) for step, share in shares_a.items()}
    between = {
        of_a: of_b
        for of_a, of_b in found.items()
        if of_b is not None and nearest_share(shares_a, shares_b[of_b]) == of_a
    }
    return dict(sorted({**ends, **between}.items()))


def nearest_share(shares: Mapping[int, float], share: float) -> int | None:
    """Return the step whose share of training is nearest to ``share`` as a ratio; None if no step is within
    :data:`NEAR_SHARE`.
    """

    def share_distance(step: int) -> float:
        return max(shares[step], share) / min(shares[step], share)

    near = min(shares, key=share_distance, default=None)
    return near if near is not None and share_distance(near) <= NEAR_SHARE else None
