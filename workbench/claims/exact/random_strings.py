"""What chance does: priors of token shares, Markov subsequences, and how steep a first layer can be."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from workbench.claims.claim import Row
from workbench.theory.limit_transformers.two_layer_subsequence import SubsetErrors, error_slope, subset_errors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHAS = (0.5, 1.0, 2.0)
EPSILONS = (0.2, 0.1, 0.05, 0.025)
BATCHES = 8
DRAWS = 4_000
LETTERS = 3
SOURCES = 8
SOURCE_LENGTH = 400_000
SUBSET_SIZES = (100, 400, 1_600, 6_400, 25_600)
SUBSETS = 30
NORMS = (1.0, 2.0, 4.0, 6.0, 8.0)


# ---- priors --------------------------------------------------------------------------------------
def prior_lengths() -> list[Row]:
    """Length of a training string that stands in for all with shares of Dirichlet(alpha), against epsilon.

    Two heads: one attends to the first letter wherever there is one, one to all keys. The error of a string of n drawn
    letters is the largest difference of a weight: 1 where the first letter is missing.
    """
    rng = np.random.default_rng(0)
    rows, needed = [], {}
    x = np.log(1 / np.array(EPSILONS))
    for alpha in ALPHAS:
        grid = 2.0 ** np.arange(0, 14.5, 0.5)
        lengths = np.array(
            [[_length_needed(curve, grid, e) for e in EPSILONS] for curve in _mean_errors(alpha, grid, rng)]
        )
        slope, low, high = mean_interval(np.polyfit(x, np.log(lengths.T), 1)[0])
        needed[alpha] = mean_interval(lengths[:, -1])
        rows.append(Row("slope of log N0 over 2 + 2/alpha", f"alpha {alpha:g}", slope / (2 + 2 / alpha),
                        low / (2 + 2 / alpha), high / (2 + 2 / alpha), n=BATCHES * DRAWS))  # fmt: skip
        rows.append(Row("N0", f"alpha {alpha:g}, epsilon {EPSILONS[-1]:g}", *needed[alpha], n=BATCHES * DRAWS))
    for smaller, larger in pairwise(ALPHAS):
        apart = needed[smaller][1] / needed[larger][2]
        rows.append(Row("N0 over that of the next alpha", f"alpha {smaller:g}", needed[smaller][0] / needed[larger][0],
                        apart, needed[smaller][2] / needed[larger][1]))  # fmt: skip
    return rows


def _mean_errors(alpha: float, grid: Floats, rng: np.random.Generator) -> Floats:
    """``[batch, length]`` mean error over draws of shares and strings."""
    found = np.zeros((BATCHES, len(grid)))
    for batch in range(BATCHES):
        shares = rng.dirichlet(np.full(LETTERS, alpha), DRAWS)
        for at, length in enumerate(grid):
            n = round(length)
            counts = np.stack([rng.multinomial(n, row) for row in shares])
            off = np.abs(counts / n - shares).max(1)
            found[batch, at] = np.where(counts[:, 0] == 0, 1.0, off).mean()
    return found


def _length_needed(errors: Floats, grid: Floats, epsilon: float) -> float:
    """The length at which a curve of errors falls below epsilon, between grid points by logs."""
    after = int(np.argmax(errors <= epsilon))
    if after == 0:
        return float(grid[0])
    share = math.log(errors[after - 1] / epsilon) / math.log(errors[after - 1] / errors[after])
    return float(grid[after - 1] * (grid[after] / grid[after - 1]) ** share)


# ---- subsequences --------------------------------------------------------------------------------
def markov_rate() -> list[Row]:
    """Error of Markov subsequences of n positions: the slope over independent sources, and the errors."""
    runs = [_errors(seed, None) for seed in range(SOURCES)]
    slope, low, high = mean_interval(np.array([error_slope(errors) for errors in runs]))
    rows = [Row("slope of log error on log n", "", slope, low, high, n=SOURCES)]
    for at, size in enumerate(SUBSET_SIZES):
        rows.append(
            Row("median error", f"n {size:,}", *mean_interval(np.array([e[at].median for e in runs])), n=SOURCES)
        )
        rows.append(Row("best error of 30", f"n {size:,}", float(np.mean([e[at].best for e in runs])), n=SOURCES))
    return rows


def independent_picks() -> list[Row]:
    """The same with independent picks, and with a plain prefix: errors at the largest n over the Markov ones."""
    ratios: dict[str, list[float]] = {"independent picks": [], "a prefix": []}
    for seed in range(SOURCES):
        x = drifting_source(SOURCE_LENGTH, seed)
        markov = _errors(seed, None, SUBSET_SIZES[-1:])[0].median
        broken = _errors(seed, 1.07, SUBSET_SIZES[-1:])[0].median
        prefix = abs(float(second_layer(x[: SUBSET_SIZES[-1]])[0] - second_layer(x)[0]))
        ratios["independent picks"].append(math.log(broken / markov))
        ratios["a prefix"].append(math.log(prefix / markov))
    rows = []
    for name, logs in ratios.items():
        value, low, high = (math.exp(v) for v in mean_interval(np.array(logs)))
        rows.append(Row("error over that of Markov subsequences", name, value, low, high, n=SOURCES))
    return rows


def drifting_source(length: int, seed: int) -> Ints:
    """Bits whose chance of a 1 drifts and depends on the bit before."""
    rng = np.random.default_rng(seed)
    drift, coin = np.linspace(0.1, 0.6, length), rng.random(length)
    after_zero, after_one = (coin < drift).tolist(), (coin < drift + 0.3).tolist()
    bits, last = [], False
    for zero, one in zip(after_zero, after_one, strict=True):
        last = one if last else zero
        bits.append(last)
    return np.array(bits, dtype=np.int64)


def second_layer(bits: Ints) -> Floats:
    """An average over positions of a Lipschitz function of the last two bits and the running share of ones."""
    share = np.cumsum(bits) / np.arange(1, len(bits) + 1)
    before = np.concatenate([[0], bits[:-1]])
    return np.array([np.mean(np.cos(3 * share) * bits * before + 0.5 * share * (1 - bits) * before)])


def _errors(seed: int, run: float | None, sizes: tuple[int, ...] = SUBSET_SIZES) -> list[SubsetErrors]:
    x = drifting_source(SOURCE_LENGTH, seed)
    rng = np.random.default_rng(1_000 + seed)
    return subset_errors(second_layer, x, list(sizes), rng, draws=SUBSETS, keep_first=0, run=run)


# ---- steepness -----------------------------------------------------------------------------------
def steepest_averages() -> list[Row]:
    """Largest slope of a softmax average as a map on two-point measures, against the norm of K^T Q.

    With the share p of keys that score s, the average is p e^s / (p e^s + 1 - p).
    """
    share = np.unique(np.concatenate([np.linspace(0, 1e-6, 1_001), np.geomspace(1e-6, 1, 4_001)]))
    slopes = []
    for norm in NORMS:
        value = share * math.exp(norm) / (share * math.exp(norm) + 1 - share)
        slopes.append(float((np.diff(value) / np.diff(share)).max()))
    logs = np.log(slopes)
    return [
        *(Row("log of the largest slope", f"norm {n:g}", float(v)) for n, v in zip(NORMS, logs, strict=True)),
        Row("R^2 of log slope on norm", "", float(np.corrcoef(NORMS, logs)[0, 1] ** 2)),
    ]


def mean_interval(values: Floats) -> tuple[float, float, float]:
    """Mean of independent values, with its 95 % interval by Student's t."""
    half = float(t.ppf(0.975, len(values) - 1)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = float(values.mean())
    return mean, mean - half, mean + half
