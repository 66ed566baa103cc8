"""Intervals over runs: differences paired by seed, and correlations over runs of several cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau

from workbench.claims.errors import ClaimError

RESAMPLES = 4_000
TAILS = (2.5, 97.5)
Statistic = Callable[[np.ndarray, np.ndarray], float]
"""Of two arrays over runs."""


class Share(NamedTuple):
    """A share of right answers, or a skill.

    Attributes:
        value: it.
        strings: that it is of; 0 where all there are were counted.
        floor: the share at which a skill is 0, so that skill = (share - floor) / (1 - floor); of a share itself 0.
    """

    value: float
    strings: int
    floor: float = 0.0


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


def difference_of_shares(
    by_seed: Sequence[tuple[Share, Share]], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean over seeds of one share less another, with its 95 % interval; see :func:`contrast_of_shares`.

    Args:
        by_seed: per seed the two shares.
        rng: the only source of randomness.

    Raises:
        ClaimError: without seeds.
    """
    return contrast_of_shares(by_seed, (1, -1), rng)


def contrast_of_shares(
    by_seed: Sequence[Sequence[Share]], signs: Sequence[int], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean over seeds of a sum of shares with signs, and its 95 % interval: seeds are drawn, then strings of each.

    The strings are gone, and their counts say all: a share of ``k`` of ``n`` is drawn from Beta(k + 1/2, n - k + 1/2),
    which also has a width where all were right; a skill is drawn as the share that it was made from. A share that was
    counted stays as it is.

    Args:
        by_seed: per seed the shares.
        signs: of each share.
        rng: the only source of randomness.

    Raises:
        ClaimError: without seeds.
    """
    if not by_seed:
        raise ClaimError("a paired difference needs a seed")
    seeds = rng.integers(0, len(by_seed), (RESAMPLES, len(by_seed)))
    drawn = np.zeros(RESAMPLES)
    for place, shares in enumerate(by_seed):
        chosen = seeds == place
        parts = [sign * drawn_shares(share, chosen.shape, rng) for sign, share in zip(signs, shares, strict=True)]
        drawn += (sum(parts) * chosen).sum(1)
    low, high = np.percentile(drawn / len(by_seed), TAILS)
    values = [sum(sign * share.value for sign, share in zip(signs, shares, strict=True)) for shares in by_seed]
    return float(np.mean(values)), float(low), float(high)


def drawn_shares(share: Share, shape: tuple[int, ...] | int, rng: np.random.Generator) -> np.ndarray:
    """A share or skill as often as wanted; see :func:`contrast_of_shares`."""
    value, n, floor = share
    if n == 0:
        return np.full(shape, value)
    right = round((value * (1 - floor) + floor) * n)
    drawn: np.ndarray = (rng.beta(right + 0.5, n - right + 0.5, shape) - floor) / (1 - floor)
    return drawn


def over_cells(
    cells: Sequence[object], statistic: Callable[[np.ndarray], float | None], rng: np.random.Generator
) -> tuple[float, float, float] | None:
    """A statistic of runs with its 95 % interval from drawing whole cells; None where it is undefined.

    Args:
        cells: ``[run]`` which cell each run is of; runs of one cell are not independent.
        statistic: of the indices of some runs; None where these give none, and then others are drawn.
        rng: the only source of randomness.

    Raises:
        ClaimError: for fewer than three cells.
    """
    members = [[i for i, cell in enumerate(cells) if cell == name] for name in dict.fromkeys(cells)]
    if len(members) < 3:
        raise ClaimError(f"a correlation over runs needs three cells at least, not {len(members)}")
    value = statistic(np.arange(len(cells)))
    if value is None:
        return None
    drawn: list[float] = []
    while len(drawn) < RESAMPLES:
        chosen = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        if (found := statistic(chosen)) is not None:
            drawn.append(found)
    low, high = np.percentile(drawn, TAILS)
    return value, float(low), float(high)


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's correlation, that of the ranks, in which equal values share the mean of theirs.

    The same number as ``scipy.stats.spearmanr`` gives, to the last bit, without its p value: of one claim thousands are
    drawn.

    Args:
        x: ``[run]``, not all the same.
        y: ``[run]``, not all the same.
    """
    return float(np.corrcoef(np.column_stack((_ranks(x), _ranks(y))), rowvar=False)[1, 0])


def kendall(x: np.ndarray, y: np.ndarray) -> float:
    """Kendall's tau-b."""
    return float(kendalltau(x, y).statistic)


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (count.cumsum() - (count - 1) / 2)[place]
    return ranks


def cell_correlation(
    x: ArrayLike, y: ArrayLike, cells: Sequence[object], rng: np.random.Generator, statistic: Statistic = spearman
) -> tuple[float, float, float]:
    """A correlation over runs, Spearman's by default, with its 95 % interval from drawing whole cells.

    Args:
        x: ``[run]``.
        y: ``[run]``.
        cells: ``[run]`` which cell each run is of; runs of one cell are not independent.
        rng: the only source of randomness.
        statistic: which correlation.

    Raises:
        ClaimError: for fewer than three cells, or where one of the two is the same in all runs.
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)

    def correlated(chosen: np.ndarray) -> float | None:
        varies = np.ptp(one[chosen]) > 0 and np.ptp(other[chosen]) > 0
        return statistic(one[chosen], other[chosen]) if varies else None

    found = over_cells(cells, correlated, rng)
    if found is None:
        raise ClaimError("a correlation over runs needs two quantities that differ between runs")
    return found
