"""Errors of random strings: Dirichlet priors of token frequencies, and Markov subsequences of long strings."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from workbench.theory.limit_transformers.two_layer_subsequence import SubsetErrors, subset_errors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BATCHES = 8
DRAWS = 4_000
LETTERS = 3
SOURCE_LENGTH = 400_000
SUBSET_SIZES = (100, 400, 1_600, 6_400, 25_600)
SUBSETS = 30


def mean_errors(alpha: float, grid: Floats, rng: np.random.Generator) -> Floats:
    """Return the mean error ``[batch, length]`` over draws of frequencies and strings."""
    errors = np.zeros((BATCHES, len(grid)))
    for batch in range(BATCHES):
        shares = rng.dirichlet(np.full(LETTERS, alpha), DRAWS)
        for at, length in enumerate(grid):
            n = round(length)
            counts = np.stack([rng.multinomial(n, row) for row in shares])
            off = np.abs(counts / n - shares).max(1)
            errors[batch, at] = np.where(counts[:, 0] == 0, 1.0, off).mean()
    return errors


def length_needed(errors: Floats, grid: Floats, epsilon: float) -> float:
    """Return the length at which a curve of errors falls below epsilon, interpolated between grid points in logs."""
    after = int(np.argmax(errors <= epsilon))
    if after == 0:
        return float(grid[0])
    share = math.log(errors[after - 1] / epsilon) / math.log(errors[after - 1] / errors[after])
    return float(grid[after - 1] * (grid[after] / grid[after - 1]) ** share)


def drifting_source(length: int, seed: int) -> Ints:
    """Return bits whose probability of a 1 drifts and depends on the bit before."""
    rng = np.random.default_rng(seed)
    drift, coin = np.linspace(0.1, 0.6, length), rng.random(length)
    after_zero, after_one = (coin < drift).tolist(), (coin < drift + 0.3).tolist()
    bits, last = [], False
    for next_after_zero, next_after_one in zip(after_zero, after_one, strict=True):
        last = next_after_one if last else next_after_zero
        bits.append(last)
    return np.array(bits, dtype=np.int64)


def second_layer(bits: Ints) -> Floats:
    """Return an average over positions of a Lipschitz function of the last two bits and the running share of ones."""
    share = np.cumsum(bits) / np.arange(1, len(bits) + 1)
    before = np.concatenate([[0], bits[:-1]])
    return np.array([np.mean(np.cos(3 * share) * bits * before + 0.5 * share * (1 - bits) * before)])


def subsequence_errors(seed: int, run: float | None, sizes: tuple[int, ...] = SUBSET_SIZES) -> list[SubsetErrors]:
    """Return errors of random subsequences of one drifting source, by size; ``run`` is the mean length of contiguous
    runs.
    """
    x = drifting_source(SOURCE_LENGTH, seed)
    rng = np.random.default_rng(1_000 + seed)
    return subset_errors(second_layer, x, list(sizes), rng, draws=SUBSETS, keep_first=0, run=run)


def mean_interval(values: Floats) -> tuple[float, float, float]:
    """Return the mean of independent values, with its 95 % interval by Student's t."""
    half = float(t.ppf(0.975, len(values) - 1)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = float(values.mean())
    return mean, mean - half, mean + half
