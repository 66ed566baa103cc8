"""Determinacy: how alike the runs of one family end, compared with runs of different families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.claims.errors import ClaimError

RESAMPLES = 2000
DECIDED_FROM = 0.5
"""Determinacy above which a step counts as decided, and below which it counts as open."""
LEAST_SPREAD = 0.1
"""Standard deviation of reach over parents below which a correlation says nothing."""
LEAST_CEILING = 0.9
"""Correlation of two evaluations of the same models below which reach is measured too coarsely."""
LEVEL = 0.95
DECIDED, OPEN, UNDECIDED, TOO_UNIFORM = "decided", "open", "undecided", "too uniform"


@dataclass(frozen=True)
class Determinacy:
    """How alike the members of a family are.

    Attributes:
        value: mean Pearson correlation of reach over all pairs of members of one family, across families.
        low, high: limits of its 95 % interval, by resampling families.
        p: share of random assignments of children to parents with at least this correlation.
        chance: the 97.5 % quantile of the correlation under random assignments.
        families: number of families.
        spread: standard deviation of reach over parents.
        ceiling: correlation of two evaluations of the same parents, the largest value that can be expected.
        label: decided, open, undecided or too uniform.
    """

    value: float
    low: float
    high: float
    p: float
    chance: float
    families: int
    spread: float
    ceiling: float
    label: str


def determinacy(members: ArrayLike, parent_again: ArrayLike, seed: int = 0, resamples: int = RESAMPLES) -> Determinacy:
    """Return the determinacy of a fork step.

    The label is *decided* if the lower limit is above 0.5, *open* if the upper limit is below it, and *undecided*
    otherwise. If reach hardly differs between parents, or two evaluations of the same models disagree, a correlation
    has no meaning and the label is *too uniform*.

    Args:
        members: reach ``[family, member]``; the first member is the parent.
        parent_again: reach of the parents on other test sequences ``[family]``.
        seed: of the resamples.
        resamples: draws of families for the interval, and assignments of children for the p value.

    Raises:
        ClaimError: for fewer than three families, or families without a child.
    """
    reach = np.asarray(members, dtype=np.float64)
    again = np.asarray(parent_again, dtype=np.float64)
    if reach.ndim != 2 or len(reach) < 3 or reach.shape[1] < 2:
        raise ClaimError(
            f"determinacy needs reaches of shape [family, member] with at least 3 families and 2 members (a parent and "
            f"its children), not of shape {list(reach.shape)}"
        )
    rng = np.random.default_rng(seed)
    value = mean_correlation(reach)
    resampled = mean_correlations(reach[rng.integers(len(reach), size=(resamples, len(reach)))])
    low, high = np.clip(_limits(resampled), -1, 1)  # of rounding
    shuffled = mean_correlations(_shuffled(reach, rng, resamples))
    p = (1 + int((shuffled >= value).sum())) / (1 + resamples)
    spread = float(reach[:, 0].std(ddof=1))
    ceiling = mean_correlation(np.stack([reach[:, 0], again], axis=1))
    chance = float(np.quantile(shuffled, (1 + LEVEL) / 2))
    return Determinacy(
        value, float(low), float(high), p, chance, len(reach), spread, ceiling, _label(low, high, spread, ceiling)
    )


class Difference(NamedTuple):
    """A difference of determinacy, with the limits of its 95 % interval over families."""

    value: float
    low: float
    high: float


def difference_of_means(
    first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]], seed: int = 0
) -> Difference:
    """Return the mean determinacy of some cells less that of others. Families are resampled within each cell.

    Args:
        first, second: reach ``[family, member]`` of each cell.
        seed: of the resamples.
    """
    rng = np.random.default_rng(seed)

    def means(cells: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        drawn = [rng.integers(len(reach), size=(RESAMPLES, len(reach))) for reach in cells]
        pairs = zip(cells, drawn, strict=True)
        mean: NDArray[np.float64] = np.mean([mean_correlations(reach[draws]) for reach, draws in pairs], axis=0)
        return mean

    value = float(np.mean([*map(mean_correlation, first)]) - np.mean([*map(mean_correlation, second)]))
    return Difference(value, *_limits(means(first) - means(second)))


def paired_difference(first: NDArray[np.float64], second: NDArray[np.float64], seed: int = 0) -> Difference:
    """Return the determinacy of one cell less that of another whose families have the same seeds.

    Args:
        first, second: reach ``[family, member]``; row by row, the runs that were forked have the same seed.
        seed: of the resamples.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(first), size=(RESAMPLES, len(first)))
    resampled = mean_correlations(first[drawn]) - mean_correlations(second[drawn])
    return Difference(mean_correlation(first) - mean_correlation(second), *_limits(resampled))


def mean_interval(values: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of some values and its 95 % t interval: (mean, low, high). NaN where there are too few values.

    Args:
        values: ``[run]``.
    """
    from scipy.stats import t

    each = np.asarray(values, dtype=np.float64)
    mean = float(each.mean()) if len(each) else float("nan")
    if len(each) < 2:
        return mean, float("nan"), float("nan")
    half = float(t.ppf((1 + LEVEL) / 2, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each)))
    return mean, mean - half, mean + half


def _limits(resampled: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_correlation(reach: NDArray[np.float64]) -> float:
    """Return the mean Pearson correlation over all pairs of columns of ``[family, member]``; NaN if a column is
    constant.
    """
    return float(mean_correlations(reach[None])[0])


def mean_correlations(reach: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return :func:`mean_correlation` of several arrays ``[array, family, member]`` at once ``[array]``."""
    centred = reach - reach.mean(1, keepdims=True)
    norms = np.sqrt((centred**2).sum(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = centred.swapaxes(1, 2) @ centred / (norms[:, :, None] * norms[:, None])
    pairs = np.stack([correlations[:, i, j] for i, j in combinations(range(reach.shape[2]), 2)])
    mean: NDArray[np.float64] = np.where((norms > 0).all(1), pairs.mean(0), np.nan)
    return mean


def _shuffled(reach: NDArray[np.float64], rng: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    """Arrays ``[resample, family, member]`` of the same values, with the children of each column given to random
    parents. One resample after the other, column by column, takes its random numbers from ``rng``.
    """
    families, members = reach.shape
    children = rng.permuted(np.broadcast_to(reach[:, 1:].T, (resamples, members - 1, families)), axis=2)
    parents = np.broadcast_to(reach[:, :1], (resamples, families, 1))
    return np.concatenate([parents, children.swapaxes(1, 2)], axis=2)


def _label(low: float, high: float, spread: float, ceiling: float) -> str:
    if not (spread >= LEAST_SPREAD and ceiling >= LEAST_CEILING):
        return TOO_UNIFORM
    if low > DECIDED_FROM:
        return DECIDED
    return OPEN if high < DECIDED_FROM else UNDECIDED
