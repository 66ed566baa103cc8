"""Relations over the runs of several settings as rows of claims: slopes, and orders within tasks.

As in :mod:`workbench.claims.trained.reductions` every function takes the claim and the table of runs. Intervals are
from drawing seeds within cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from workbench.claims.claim import Claim, Row
from workbench.claims.resampling import OfDraws, cell_means, each_draw, over_seeds, spearman
from workbench.claims.trained.claim_runs import OneRun, about_several, rng_of, runs_of, undefined_row
from workbench.claims.trained.reductions import difference, mean_by_weights
from workbench.claims.trained.run_rows import RunTable
from workbench.core.canonical import canonical


def _every_run(claim: Claim, table: RunTable) -> list[OneRun]:
    return [run for cell in claim.cells for run in runs_of(cell, table)]


def _entering(claim: Claim, table: RunTable) -> list[OneRun]:
    """The runs that are fitted, or all where the claim is exempt."""
    return [run for run in _every_run(claim, table) if claim.exempt or run.fitted]


def _row(
    claim: Claim,
    told: str,
    item: str,
    runs: Sequence[OneRun],
    statistic: OfDraws,
    planned: int,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Row:
    """A statistic of runs; an undefined one where they are of fewer than three cells, or give none."""
    cells = [run.cell.name for run in runs]
    enough = len(set(cells)) >= 3
    found = over_seeds(cells, statistic, rng_of(claim, told, item), bounds=bounds) if enough else None
    return about_several(told, item, found, len(runs), planned) if found else undefined_row(told, item, planned)


def _slope(x: np.ndarray, y: np.ndarray) -> float | None:
    """Least squares; None where x does not vary."""
    centred = x - x.mean()
    total = float(centred @ centred)
    return float(centred @ y) / total if total > 0 else None


# ---- kinds of heads ------------------------------------------------------------------------------
def share_of_kind(
    claim: Claim, table: RunTable, quantity: str, label: str, told: str, groups: Sequence[Sequence[int]]
) -> list[Row]:
    """Return the share of a run's heads with a label, in the last configuration of each group minus that in its first.

    The mean over groups and seeds; seeds are drawn within groups.

    Args:
        claim, table: them.
        quantity: whose label it is, one row for each head.
        label: the one that is counted.
        told: name of the row.
        groups: indices of cells, those of each group in order.
    """
    shares: list[float] = []
    of_group: list[int] = []
    for place, group in enumerate(groups):
        first, last = (
            {run.seed: _share(run, quantity, label) for run in runs_of(claim.cells[at], table)}
            for at in (group[0], group[-1])
        )
        shares += [last[seed] - first[seed] for seed in last if seed in first]
        of_group += [place] * (len(shares) - len(of_group))
    rises, groups_of = np.array(shares), np.array(of_group)

    def mean(chosen: np.ndarray) -> np.ndarray:
        means = [cell_means(rises[chosen], groups_of[chosen[0]] == name) for name in np.unique(groups_of)]
        over_groups: np.ndarray = np.stack(means, 1).mean(1)
        return over_groups

    over = over_seeds(of_group, mean, rng_of(claim), bounds=(-1.0, 1.0))
    return [about_several(told, "", over, len(shares), len(shares)) if over else undefined_row(told, "", 0)]


def _share(run: OneRun, quantity: str, label: str) -> float:
    of_heads = [row.label == label for told, row in run.rows.items() if told.startswith(f"{quantity}, L")]
    return float(np.mean(of_heads)) if of_heads else 0.0


# ---- along cells ---------------------------------------------------------------------------------
def falls_along_cells(claim: Claim, table: RunTable, quantities: Sequence[str]) -> list[Row]:
    """Return whether shares fall from the first setting to the last: their correlation with the index of the setting,
    and first minus last.

    Each quantity has two rows: Spearman's correlation over runs, and the share of the first cell less that of the last,
    by seed.

    Args:
        claim, table: them; its cells are in order.
        quantities: the shares.
    """
    runs = _entering(claim, table)
    place = {cell.name: i for i, cell in enumerate(claim.cells)}
    x = np.array([place[run.cell.name] for run in runs])
    planned = len(_every_run(claim, table))
    rows = []
    for quantity in quantities:
        y = np.array([run.row(quantity).value or 0.0 for run in runs])

        def correlated(i: np.ndarray, y: np.ndarray = y) -> float | None:
            return spearman(x[i], y[i]) if np.ptp(x[i]) > 0 and np.ptp(y[i]) > 0 else None

        rows.append(
            _row(claim, "correlation with the place", quantity, runs, each_draw(correlated), planned, (-1.0, 1.0))
        )
        ends = replace(claim, cells=(claim.cells[0], claim.cells[-1]))
        rows += [replace(row, quantity="first less last", item=quantity) for row in difference(ends, table, quantity)]
    return rows


def largest_factor(claim: Claim, table: RunTable, factors: Sequence[float], least: float) -> list[Row]:
    """Return, for each run, the largest of some multiples of N up to which accuracy is at least ``least``; otherwise 0.

    The interval: up to which it is shown to be, and up to which it is not shown to be less.

    Args:
        claim, table: them.
        factors: the multiples, in order.
        least: see there.
    """
    rows = []
    for run in _every_run(claim, table):
        shares = [run.row(f"accuracy at {factor:g} N") for factor in factors]
        low, value, high = (
            _last_of_all(factors, [one >= least for one in ends])
            for ends in (
                [row.ends[0] for row in shares],
                [row.value or 0.0 for row in shares],
                [row.ends[1] for row in shares],
            )
        )
        rows.append(run.new_row("largest multiple of N", run.cell.name, value, low, high, shares[0].n))
    return rows


def _last_of_all(factors: Sequence[float], reached: Sequence[bool]) -> float:
    """The last factor before the first that is not reached; 0 where the first is not."""
    return float(next((f for f, more in zip((0.0, *factors), reached, strict=False) if not more), factors[-1]))


# ---- slopes --------------------------------------------------------------------------------------
def slope_by_gate(claim: Claim, table: RunTable, gate: str, failure: Sequence[str]) -> list[Row]:
    """Return the slope of log failure length on log 1/(1 - a) over the runs that fail; a is the gate nearest to 1.

    Args:
        claim, table: them.
        gate: the quantity that is a.
        failure: failure lengths; the smallest counts.
    """
    every = _entering(claim, table)
    lengths = [min((v for name in failure if (v := run.row(name).value) is not None), default=None) for run in every]
    failing = [(run, length) for run, length in zip(every, lengths, strict=True) if length is not None]
    runs = [run for run, _ in failing]
    # A gate that is 1 in single precision keeps for as long as that can tell.
    x = np.array([-math.log(max(1 - (run.row(gate).value or 0.0), 2.0**-24)) for run in runs])
    y = np.log([length for _, length in failing])
    return [_row(claim, "slope", "", runs, each_draw(lambda i: _slope(x[i], y[i])), len(_every_run(claim, table)))]


def keys_slopes(claim: Claim, table: RunTable, factors: Sequence[float], holds: str, least: float) -> list[Row]:
    """Return the slope of log keys needed on log n, averaged over heads: runs that fail minus runs that hold.

    Args:
        claim, table: them.
        factors: lengths, in multiples of N.
        holds: the quantity that decides whether a run holds: a run holds if it is at least ``least``.
        least: see there.
    """
    measured = [(run, slope) for run in _entering(claim, table) if (slope := _keys_slope(run, factors)) is not None]
    slopes = np.array([slope for _, slope in measured])
    right = np.array([(run.row(holds).value or 0.0) >= least for run, _ in measured], dtype=bool)

    def apart(chosen: np.ndarray) -> float | None:
        kept, lost = slopes[chosen][right[chosen]], slopes[chosen][~right[chosen]]
        return float(lost.mean() - kept.mean()) if len(kept) and len(lost) else None

    runs = [run for run, _ in measured]
    return [_row(claim, "difference of slopes", "", runs, each_draw(apart), len(_every_run(claim, table)))]


def _keys_slope(run: OneRun, factors: Sequence[float]) -> float | None:
    """Of one run; None where no head has a number at every length."""
    named = [f"keys_needed at {factor:g} N, " for factor in factors]
    heads = [told.removeprefix(named[0]) for told in run.rows if told.startswith(named[0])]
    counts = [[row.value for name in named if (row := run.rows.get(name + head))] for head in heads]
    whole = [one for one in counts if len(one) == len(factors) and all(one)]
    x = np.log(np.array(factors, dtype=float))
    slopes = [_slope(x, np.log(np.array(one, dtype=float))) for one in whole]
    return float(np.mean([slope for slope in slopes if slope is not None])) if slopes else None


# ---- orders within tasks -------------------------------------------------------------------------
def tau_within_tasks(claim: Claim, table: RunTable, one: str, other: str) -> list[Row]:
    """Return Kendall's tau of two quantities over pairs of runs of the same task, with all tasks pooled.

    Only runs that solve the trained lengths enter.
    """
    means = [(run, mean) for run in _entering(claim, table) if (mean := mean_by_weights(run, one)) is not None]
    runs = [run for run, _ in means]
    x = np.array([mean for _, mean in means])
    y = np.array([run.row(other).value or 0.0 for run in runs])
    tasks = [(run.cell.task, canonical(dict(run.cell.parameters))) for run in runs]
    same = np.array([[task == other for other in tasks] for task in tasks], dtype=bool).reshape(len(runs), len(runs))
    order = np.sign(x[:, None] - x) * np.sign(y[:, None] - y) * same

    def tau(chosen: np.ndarray) -> np.ndarray:
        times = np.stack([(chosen == run).sum(1) for run in range(len(runs))], 1)
        signs, pairs = (np.einsum("dr,rs,ds->d", times, pair, times, optimize=True) for pair in (order, np.abs(order)))
        pooled: np.ndarray = signs[pairs > 0] / pairs[pairs > 0]
        return pooled

    return [_row(claim, "tau", "", runs, tau, len(_every_run(claim, table)), (-1.0, 1.0))]


def follows_order(
    claim: Claim, table: RunTable, factors: Sequence[float], places: Mapping[str, int], fitted: float = 0.9
) -> list[Row]:
    """Return Spearman's correlation, within each task, of the length at which a run fails and the rank of its
    curriculum.

    A run fails at the first of some lengths at which skill is significantly below a threshold; one that fails at none
    of them fails beyond.

    Args:
        claim, table: them.
        factors: the lengths, in multiples of N, in order.
        places: rank of each curriculum; those that should fail later are higher.
        fitted: the bar.
    """
    every = _entering(claim, table)
    rows = []
    for task in dict.fromkeys(cell.task for cell in claim.cells):
        runs = [run for run in every if run.cell.task == task]
        x = np.array([places[run.cell.training["curriculum"]["law"]] for run in runs], dtype=float)
        y = np.array([_fails_at(run, factors, fitted) for run in runs])

        def correlated(i: np.ndarray, x: np.ndarray = x, y: np.ndarray = y) -> float | None:
            return spearman(x[i], y[i]) if np.ptp(x[i]) > 0 and np.ptp(y[i]) > 0 else None

        planned = sum(len(cell.seeds) for cell in claim.cells if cell.task == task)
        rows.append(_row(claim, "correlation", task, runs, each_draw(correlated), planned, (-1.0, 1.0)))
    return rows


def _fails_at(run: OneRun, factors: Sequence[float], bar: float) -> float:
    """Index of the first length at which skill is significantly below the threshold; one past the last if there is
    none."""
    fails = [place for place, factor in enumerate(factors) if run.row(f"skill at {factor:g} N").ends[1] < bar]
    return float(min(fails, default=len(factors)))
