"""Attention of limit transformers as the number of keys grows: rounding, hardmax, and the log-scaled local term.

Scores are multiplied by the log of the number of keys K. So a key at a gap gamma below the best one receives K^-gamma
of its weight ("Quantitative Bounds for Length Generalization in Transformers", arXiv 2510.27015). The paper prints the
threshold below as 2^p/gamma; it is 2^(p/gamma).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.theory.errors import TheoryError

Floats = NDArray[np.float64]
Regime = Literal["token-dominated", "balanced", "position-dominated"]


def log10_p_bit_length(bits: float, gamma: float) -> float:
    """Return log10 of 2^(p/gamma), the number of keys from which p bits round every key below the best one away.

    Each weight is rounded, not their sum. With gamma <= 1 the keys that are rounded away may together have nearly all
    the weight (:func:`argmax_mass`). The log does not overflow; it is infinite at gamma = 0.
    """
    if bits < 0 or gamma < 0:
        raise TheoryError(f"bits and margin cannot be negative; got {bits} and {gamma}")
    return math.inf if gamma == 0 else bits / gamma * math.log10(2.0)


def argmax_mass(keys: float, gamma: float, size: float = 1.0) -> float:
    """Return the exact weight of ``size`` best keys against ``keys - size`` others at the gap gamma below."""
    if not 1 <= size <= keys:
        raise TheoryError(f"the number of best keys must be from 1 to {keys:g}, the number of keys, not {size:g}")
    return float(size / (size + (keys - size) * keys**-gamma))


def p_bit_weights(scores: ArrayLike, keys: int, bits: float) -> Floats:
    """Return attention over ``scores`` times log ``keys``, rounded to p bits.

    With the best score shifted to 0, weights up to 2^-p become 0; the others are normalised.

    Args:
        scores: ``[key]`` before the scaling.
        keys: number of keys K whose log scales them.
        bits: p.
    """
    gaps = np.max(scores) - np.asarray(scores, dtype=np.float64)
    nonzero = gaps * math.log2(keys) < bits
    weights = np.where(nonzero, np.exp(-gaps * math.log(keys)), 0.0)
    return np.asarray(weights / weights.sum())


def hardmax_weights(scores: ArrayLike, tie: float = 0.0) -> Floats:
    """Return the uniform weight on all scores within ``tie`` of the best one."""
    gaps = np.max(scores) - np.asarray(scores, dtype=np.float64)
    best = gaps <= tie
    return np.asarray(best / best.sum())


def local_share(m: float, keys: float) -> float:
    """Return the weight of one key with score m log K against K - 1 keys with score 0: K^m / (K^m + K - 1)."""
    if keys < 1:
        raise TheoryError(f"a query sees at least one key, not {keys:g}")
    return float(1.0 / (1.0 + (keys - 1.0) * keys**-m))


def regime(m: float) -> Regime:
    """Return what a log-scaled local term of size m does to attention as the prefix grows.

    Below 1 the bulk of the keys takes all weight. Above 1 the best local key does. At 1 both have a share.
    """
    if m == 1:
        return "balanced"
    return "token-dominated" if m < 1 else "position-dominated"


def position_margin(phi: ArrayLike) -> float:
    """Return the margin of a log-scaled local term.

    For each head it is the gap between the two largest values of {phi(0), .., phi(tau)} and 1; the result is the
    smallest gap. The 1 stands for the bulk of far keys, whose weight grows like K^1. Equal values count once, because
    they share their weight at every length. A head whose values all equal 1 has no gap and sets no bound: infinite.

    Args:
        phi: ``[head, lag]``.
    """
    table = np.asarray(phi, dtype=np.float64)
    if table.ndim != 2:
        raise TheoryError(f"phi is [head, lag], not of shape {table.shape}")
    gaps = [math.inf]
    for row in table:
        values = np.unique(np.append(row, 1.0))
        if len(values) > 1:
            gaps.append(float(values[-1] - values[-2]))
    return min(gaps)
