"""What attention does as the prefix grows: exponents between two lengths, and critical lengths.

A critical length is one at which a head stops, or starts, being a hardmax. All formulas use K, the number of keys that
a query sees.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: A tie set whose size grows at least like K to this power counts as growing in proportion to K.
PROPORTIONAL = 0.75
#: A tie set whose size grows less than K to this power counts as bounded.
BOUNDED = 0.25


def dispersion_exponent(log_support: ArrayLike, log_keys: ArrayLike) -> Floats:
    """Return the slope beta of log(1/p_(1)) on log K between adjacent lengths; in [0, 1] for constant scores.

    0: the top weight does not fall as keys are added. 1: it falls like 1/K, as under uniform attention.

    Args:
        log_support: ``[length, ...]`` log(1/p_(1)), lengths ascending.
        log_keys: ``[length, ...]`` log K.

    Returns:
        ``[length - 1, ...]``
    """
    return _slope(log_support, log_keys)


def leak_exponent(log_mass: ArrayLike, log_keys: ArrayLike) -> Floats:
    """Return the slope of -log(mass on a set of keys carried from training) on log K, between adjacent lengths.

    beta = 1 with leak 0 is aggregation, which counting needs. beta = 1 with leak 1 is a sharp head that dissolves.
    Shapes as in :func:`dispersion_exponent`.
    """
    return _slope(-np.asarray(log_mass, dtype=np.float64), log_keys)


def growth_exponent(size: float, earlier_size: float, keys: float, earlier_keys: float) -> float:
    """Return kappa: log of the growth of the tie set over log of the growth of K.

    0: bounded, 1: in proportion to the length. Between K/4 and K this is log(k*(K)/k*(K/4)) / log 4.

    Raises:
        ValueError: unless 0 < earlier_keys < keys.
    """
    if not 0 < earlier_keys < keys:
        raise ValueError(f"growth needs two ascending numbers of keys; got {earlier_keys} and {keys}")
    return math.log(size / earlier_size) / math.log(keys / earlier_keys)


def critical_length(size: ArrayLike, margin: ArrayLike) -> Floats:
    """Return K* = k (1 + e^m_eff) = k + (K-k) P/(1-P): the number of keys at which the tie set has half the mass.

    It is valid for a tie set of bounded size, and infinite if its size grows in proportion to K. At this length the
    nearest hardmax changes from the top keys to all keys. It is not the length at which answers fail, which depends on
    the values of the other keys.
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log_critical_length(size, margin)))


def log_critical_length(size: ArrayLike, margin: ArrayLike) -> Floats:
    """Return the log of :func:`critical_length`, which does not overflow; NaN where the margin is NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.log(size) + np.logaddexp(0.0, np.asarray(margin, dtype=np.float64)))


def scaling_exponent(margin_min: float, keys: float) -> float:
    """Return gamma = margin / log K of a head whose scores are multiplied by log K (``margin`` as scaled, at K)."""
    if keys <= 1:
        raise ValueError(f"the scaling exponent needs more than one key; got K = {keys}")
    return margin_min / math.log(keys)


def p_bit_length(bits: float, gamma: float) -> float:
    """Return the length up to which ``bits`` of precision round every weight of a log-scaled head to a hardmax.

    The length is 2^(p / gamma). Each weight is rounded, not their sum. The top key may still have little mass;
    :func:`hardmax_length` gives the length from which the tie set has most of it.

    Raises:
        ValueError: unless gamma > 0; without a margin no length is reached.
    """
    if gamma <= 0:
        raise ValueError(f"p_bit_length needs a positive scaling exponent; got {gamma}")
    return _power(2.0, bits / gamma)


def hardmax_length(gamma: float, epsilon: float = 0.1, size: float | None = None, share: float | None = None) -> float:
    """Return the least number of keys at which a log-scaled head puts 1 - epsilon of its attention on its tie set.

    The tie set is the set of keys with the highest score.

    Weights outside are K^-gamma of those inside. For a bounded tie set of ``size`` keys the result is ((1-eps)/(k
    eps))^(1/(gamma-1)) for gamma > 1, at least k, and infinite for gamma <= 1. For a tie set that is a ``share`` rho of
    all keys, it is ((1-rho)(1-eps)/(rho eps))^(1/gamma).

    Args:
        gamma: margin over log K, see :func:`scaling_exponent`.
        epsilon: mass allowed outside.
        size: k of a bounded tie set. Give exactly one of ``size`` and ``share``.
        share: rho of a tie set that grows with K.

    Returns:
        the number of keys; ``math.inf`` = never.

    Raises:
        ValueError: if not exactly one of ``size`` and ``share`` is given, or one is out of range.
    """
    if (size is None) == (share is None):
        raise ValueError("hardmax_length takes either size (bounded tie set) or share (a part of all keys)")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1; got {epsilon}")
    if size is not None:
        if size < 1:
            raise ValueError(f"a tie set has at least one key; got size {size}")
        # A length below the size of the tie set has tied keys only.
        return math.inf if gamma <= 1 else max(size, _power((1 - epsilon) / (size * epsilon), 1 / (gamma - 1)))
    assert share is not None
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1; got {share}")
    odds = (1 - share) * (1 - epsilon) / (share * epsilon)
    return math.inf if gamma <= 0 else _power(odds, 1 / gamma)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _slope(values: ArrayLike, log_keys: ArrayLike) -> Floats:
    y, x = np.asarray(values, dtype=np.float64), np.asarray(log_keys, dtype=np.float64)
    return np.asarray(np.diff(y, axis=0) / np.diff(x, axis=0))
