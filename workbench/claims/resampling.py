"""Intervals over seeds of one number about several runs: differences paired by seed, and correlations over runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workbench.claims.errors import ClaimError
from workbench.claims.typical_run import BY_SIGNS, ERROR, student_quantile

RESAMPLES = 4_000
SEED_RESAMPLES = 2_000
"""Draws of the seeds of all cells: they estimate a standard deviation, not a tail."""
PART_RESAMPLES = 200
"""Draws of the seeds of one cell, for its share in the variance."""
SAME = 1e-12
"""A standard error below this share of its number counts as zero."""
TAILS = (2.5, 97.5)
Statistic = Callable[[np.ndarray, np.ndarray], float]
"""Of two arrays over runs."""
OfRuns = Callable[[np.ndarray], float | None]
"""Of the indices of some runs; None where they give none."""
OfDraws = Callable[[np.ndarray], np.ndarray]
"""Of the indices ``[draw, run]`` of the runs of several draws, one number for each draw that gives one."""


class Share(NamedTuple):
    """A share of right answers, or a skill.

    Attributes:
        value: it.
        strings: that it is of; 0 where all there are were counted.
        floor: the baseline of a skill, so that ``skill = (share - floor) / (1 - floor)``; 0 for a share.
    """

    value: float
    strings: int
    floor: float = 0.0


@dataclass(frozen=True)
class OverSeeds:
    """A statistic of several runs, with what its variation over seeds shows.

    Attributes:
        value: the number.
        low: lower end of its interval at 95 %; minus infinity where few seeds and their sequences show no spread.
        high: upper end.
        freedom: degrees of freedom of the spread over seeds.
        fewest: seeds of the cell with the fewest.
    """

    value: float
    low: float
    high: float
    freedom: float
    fewest: int


def over_seeds(
    cells: Sequence[object],
    statistic: OfDraws,
    rng: np.random.Generator,
    strings: Callable[[], ArrayLike] | None = None,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> OverSeeds | None:
    """Return a statistic of runs with a 95 % interval from resampling seeds within configurations; None if it is
    undefined.

    From a cell with n seeds, n - 1 are drawn with replacement. The variance of a mean is then the variance of its seeds
    over n, without bias (Rao and Wu 1988). The interval is Student's. Its degrees of freedom follow from the share of
    each cell in the variance (Satterthwaite 1946). They are two at least, when all variance is from one cell with three
    seeds.

    Args:
        cells: ``[run]`` which cell each run is of; of pairs of runs, which pair of cells.
        statistic: of the indices ``[draw, run]`` of the runs of several draws. It leaves out draws that give no number,
            and then others are drawn. In all draws of a call, the same columns are of the same cells.
        rng: the only source of randomness.
        strings: draws of the statistic with resampled sequences of all runs and unchanged seeds. The standard error is
            not taken to be smaller than theirs.
        bounds: the least and the greatest value that there can be; the interval ends there.
    """
    members = [np.flatnonzero([cell == name for cell in cells]) for name in dict.fromkeys(cells)]
    whole = statistic(np.arange(len(cells))[None])
    if not len(whole):
        return None
    value = float(whole[0])
    resampled = _resampled(statistic, members, list(range(len(members))), rng, SEED_RESAMPLES)
    variance = float(np.var(resampled)) if len(resampled) else 0.0
    parts = [_part(statistic, members, place, rng) if len(own) > 1 else 0.0 for place, own in enumerate(members)]
    counts = [len(own) for own in members]
    squares = sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True) if part)
    freedom = sum(parts) ** 2 / squares if squares else float(max(min(counts) - 1, 0))
    noise = float(np.std(np.asarray(strings(), dtype=float))) if strings is not None else 0.0
    error = max(math.sqrt(variance), noise)
    if error <= SAME * max(1.0, abs(value)):
        # Six seeds that agree exactly are enough for the sign test, and fewer say nothing of their spread.
        alike = sum(counts) - len(counts)
        ends = (value, value) if alike >= BY_SIGNS - 1 else (-math.inf, math.inf)
        return OverSeeds(value, *ends, float(alike), min(counts))
    if freedom <= 0:
        return OverSeeds(value, -math.inf, math.inf, freedom, min(counts))
    half = student_quantile(freedom, ERROR) * error
    return OverSeeds(value, max(bounds[0], value - half), min(bounds[1], value + half), freedom, min(counts))


def _resampled(
    statistic: OfDraws,
    members: Sequence[np.ndarray],
    varied: Sequence[int],
    rng: np.random.Generator,
    times: int,
) -> np.ndarray:
    """The statistic with the seeds of some cells drawn; those of the other cells stay as they are."""
    is_drawn = [place in varied and len(own) > 1 for place, own in enumerate(members)]
    counts = [len(own) - 1 if drawn else len(own) for own, drawn in zip(members, is_drawn, strict=True)]
    runs = np.concatenate(members)
    start = np.repeat(np.cumsum([0, *map(len, members[:-1])]), counts)
    column_drawn, size = np.repeat(is_drawn, counts), np.repeat([len(own) for own in members], counts)
    fixed = np.concatenate([np.arange(count) for count in counts])
    values, left = np.zeros(0), 2 * times
    while len(values) < times and left:
        draws = min(times - len(values), left)
        within = np.tile(fixed, (draws, 1))
        # The same numbers as from one call for each cell of each draw, in this order.
        within[:, column_drawn] = rng.integers(0, np.tile(size[column_drawn], (draws, 1)))
        values = np.concatenate([values, statistic(runs[start + within])])
        left -= draws
    return values


def each_draw(statistic: OfRuns) -> OfDraws:
    """Return the statistic of several draws from that of one."""

    def of_draws(chosen: np.ndarray) -> np.ndarray:
        return np.array([value for draw in chosen if (value := statistic(draw)) is not None], dtype=float)

    return of_draws


def cell_means(values: np.ndarray, of_cell: np.ndarray) -> np.ndarray:
    """Return the mean of some columns of each draw, ``[draw]``.

    Args:
        values: ``[draw, run]``.
        of_cell: ``[run]`` which columns.
    """
    means: np.ndarray = np.ascontiguousarray(values[:, of_cell]).mean(1)
    return means


def _part(statistic: OfDraws, members: Sequence[np.ndarray], place: int, rng: np.random.Generator) -> float:
    """The variance of the statistic that comes from the seeds of one cell."""
    resampled = _resampled(statistic, members, [place], rng, PART_RESAMPLES)
    return float(np.var(resampled)) if len(resampled) else 0.0


def paired_difference(by_seed: Sequence[ArrayLike], rng: np.random.Generator) -> OverSeeds:
    """Return the mean difference between paired runs, with its 95 % interval; see :func:`over_seeds`.

    Args:
        by_seed: per seed the differences ``[string]`` of the two runs of that seed.
        rng: the only source of randomness.

    Raises:
        ClaimError: without seeds, or for a seed without strings.
    """
    values = [np.asarray(one, dtype=np.float64) for one in by_seed]
    if not values or any(one.size == 0 for one in values):
        raise ClaimError("a paired difference needs at least one seed, and values of every seed")

    def strings() -> np.ndarray:
        means = [v[rng.integers(0, len(v), (RESAMPLES, len(v)))].mean(1) for v in values]
        found: np.ndarray = np.stack(means).mean(0)
        return found

    return _mean_of(np.array([one.mean() for one in values]), [0] * len(values), rng, strings)


def contrast_of_shares(
    by_seed: Sequence[Sequence[Share]],
    signs: Sequence[int],
    rng: np.random.Generator,
    cells: Sequence[object] | None = None,
) -> OverSeeds:
    """Return the mean over seeds of a signed sum of shares, with its 95 % interval; see :func:`over_seeds`.

    Only counts of the sequences are stored. A share of ``k`` of ``n`` is drawn from Beta(k + 1/2, n - k + 1/2), which
    has a width even if all were right. A skill is drawn as the share that it was made from. A share over all sequences
    of a length has no sampling error and is not drawn.

    Args:
        by_seed: per seed the shares.
        signs: of each share.
        rng: the only source of randomness.
        cells: which pair of cells each seed's shares are of; None = all of one.

    Raises:
        ClaimError: without seeds.
    """
    if not by_seed:
        raise ClaimError("a paired difference needs the training seed of each run")

    def strings() -> np.ndarray:
        drawn = np.zeros(RESAMPLES)
        for shares in by_seed:
            for sign, share in zip(signs, shares, strict=True):
                drawn += sign * drawn_shares(share, RESAMPLES, rng)
        return drawn / len(by_seed)

    reach = float(len(signs))  # of shares; skills can lie below 0 and go farther
    bounds = (-reach / 2, reach / 2) if all(not share.floor for shares in by_seed for share in shares) else None
    values = np.array([contrast(shares, signs) for shares in by_seed])
    return _mean_of(values, [0] * len(values) if cells is None else cells, rng, strings, bounds)


def contrast(shares: Sequence[Share], signs: Sequence[int]) -> float:
    """The sum of shares with signs."""
    return sum(sign * share.value for sign, share in zip(signs, shares, strict=True))


def _mean_of(
    values: np.ndarray,
    cells: Sequence[object],
    rng: np.random.Generator,
    strings: Callable[[], np.ndarray],
    bounds: tuple[float, float] | None = None,
) -> OverSeeds:
    found = over_seeds(cells, lambda chosen: values[chosen].mean(1), rng, strings, bounds or (-math.inf, math.inf))
    assert found is not None
    return found


def drawn_shares(share: Share, shape: tuple[int, ...] | int, rng: np.random.Generator) -> np.ndarray:
    """Draws of a share or skill, in the given shape; see :func:`contrast_of_shares`."""
    value, n, floor = share
    if n == 0:
        return np.full(shape, value)
    right = round((value * (1 - floor) + floor) * n)
    drawn: np.ndarray = (rng.beta(right + 0.5, n - right + 0.5, shape) - floor) / (1 - floor)
    return drawn


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
    """Return Kendall's rank correlation tau-b.

    The same number as ``scipy.stats.kendalltau`` gives, to the last bit, without its p value.

    Args:
        x: ``[run]``, not all the same.
        y: ``[run]``, not all the same.
    """
    one, other = (np.sign(values[:, None] - values[None, :]) for values in (x, y))
    # Every pair is counted twice.
    concordant, of_x, of_y = ((one * other).sum() / 2, np.abs(one).sum() / 2, np.abs(other).sum() / 2)
    return float(np.clip(concordant / np.sqrt(of_x) / np.sqrt(of_y), -1.0, 1.0))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (count.cumsum() - (count - 1) / 2)[place]
    return ranks


def cell_correlation(
    x: ArrayLike, y: ArrayLike, cells: Sequence[object], rng: np.random.Generator, statistic: Statistic = spearman
) -> OverSeeds:
    """Return a correlation over runs (Spearman's by default), with its 95 % interval; see :func:`over_seeds`.

    Args:
        x: ``[run]``.
        y: ``[run]``.
        cells: ``[run]`` which cell each run is of.
        rng: the only source of randomness.
        statistic: which correlation.

    Raises:
        ClaimError: for fewer than three cells, or where one of the two is the same in all runs.
    """
    if len(set(cells)) < 3:
        raise ClaimError(f"a correlation over runs needs at least three settings, not {len(set(cells))}")
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)

    def correlated(chosen: np.ndarray) -> float | None:
        varies = np.ptp(one[chosen]) > 0 and np.ptp(other[chosen]) > 0
        return statistic(one[chosen], other[chosen]) if varies else None

    found = over_seeds(cells, each_draw(correlated), rng, bounds=(-1.0, 1.0))
    if found is None:
        raise ClaimError("a correlation over runs needs two quantities that differ between runs")
    return found
