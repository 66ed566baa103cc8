"""Markov subsequences: their law, the rate of their error, and what independent choices get wrong."""

from __future__ import annotations

import numpy as np

from workbench.theory.limit_transformers.two_layer_subsequence import (
    error_slope,
    subset_errors,
)


def drifting_source(length: int, seed: int) -> np.ndarray:
    """Bits whose chance of a 1 drifts and depends on the bit before."""
    rng = np.random.default_rng(seed)
    drift, coin = np.linspace(0.1, 0.6, length), rng.random(length)
    bits = np.zeros(length, dtype=np.int64)
    for i in range(1, length):
        bits[i] = coin[i] < drift[i] + 0.3 * bits[i - 1]
    return bits


def second_layer_average(bits: np.ndarray) -> np.ndarray:
    """An average over positions of a Lipschitz function of the last two bits and the running share of ones."""
    share = np.cumsum(bits) / np.arange(1, len(bits) + 1)
    before = np.concatenate([[0], bits[:-1]])
    return np.array([np.mean(np.cos(3 * share) * bits * before + 0.5 * share * (1 - bits) * before)])


def test_the_error_falls_at_least_like_the_cube_root() -> None:
    x = drifting_source(200_000, 0)
    sizes = [100, 400, 1_600, 6_400]
    markov = subset_errors(second_layer_average, x, sizes, np.random.default_rng(1), draws=30, keep_first=0)
    assert error_slope(markov) < -1 / 3 + 0.05
    # one good draw is much better than a typical one, and only its existence is claimed
    assert all(e.best < e.median / 3 for e in markov)
    # independent choices break up every pair of neighbours, and their error does not vanish
    broken = subset_errors(second_layer_average, x, sizes, np.random.default_rng(1), draws=30, keep_first=0, run=1.02)
    assert error_slope(broken) > -0.2
    assert broken[-1].median > 3 * markov[-1].median
