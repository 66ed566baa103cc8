"""Intervals over runs: differences paired by seed, and correlations over runs of several cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from workbench.claims.errors import ClaimError

RESAMPLES = 4_000
TAILS = (2.5, 97.5)


def paired_difference(by_seed: Sequence[ArrayLike], rng: np.random.Generator) -> tuple[float, float, float]:
    """Mean of per-string differences of pairs of runs, with its 95 % interval: seeds are drawn, then strings of each.

    Args:
        by_seed: per seed the differences ``[string]`` of the two runs of that seed.
        rng: the only source of randomness.

    Raises:
        ClaimError: without seeds, or for a seed without strings.
    """
    values = [np.asarray(one, dtype=np.float64) for one in by_seed]
    if not values or any(one.size == 0 for one in values):
        raise ClaimError("a paired difference needs a seed, and strings of each")
    drawn: list[float] = []
    for _ in range(RESAMPLES):
        seeds = rng.integers(0, len(values), len(values))
        drawn.append(float(np.mean([values[s][rng.integers(0, len(values[s]), len(values[s]))].mean() for s in seeds])))
    low, high = np.percentile(drawn, TAILS)
    return float(np.mean([one.mean() for one in values])), float(low), float(high)


def cell_correlation(
    x: ArrayLike, y: ArrayLike, cells: Sequence[object], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Spearman's correlation over runs, with its 95 % interval from drawing whole cells.

    Args:
        x: ``[run]``.
        y: ``[run]``.
        cells: ``[run]`` which cell each run is of; runs of one cell are not independent.
        rng: the only source of randomness.

    Raises:
        ClaimError: for fewer than three cells.
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    members = [[i for i, cell in enumerate(cells) if cell == name] for name in dict.fromkeys(cells)]
    if len(members) < 3:
        raise ClaimError(f"a correlation over runs needs three cells at least, not {len(members)}")
    drawn: list[float] = []
    while len(drawn) < RESAMPLES:
        chosen = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        if np.ptp(one[chosen]) > 0 and np.ptp(other[chosen]) > 0:
            drawn.append(float(spearmanr(one[chosen], other[chosen]).statistic))
    low, high = np.percentile(drawn, TAILS)
    return float(spearmanr(one, other).statistic), float(low), float(high)
