"""Contrasts of reach between two settings over several cells, in pairs of runs with the same data and initial weights.

*Reach* is the mean of skill at five lengths beyond training, where skill is clipped to 0..1. It is 1 for a run that
answers correctly at all of these lengths, and it falls as coupling to length rises. A contrast has two tests: the mean
difference over cells with an interval over seeds, and the sign test over cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.claims.claim import Claim, Row
from workbench.claims.resampling import cell_means, over_seeds
from workbench.claims.trained.claim_runs import (
    OneRun,
    about_several,
    entering_pairs,
    pairs_of,
    rng_of,
    undefined_row,
)
from workbench.claims.trained.run_rows import RunTable
from workbench.claims.trained_cells import REACH
from workbench.claims.typical_run import BY_SIGNS, FEWEST, typical_run
from workbench.core.reach import mean_clipped

FACTORS: tuple[float, ...] = tuple(REACH.settings["factors"])
"""Lengths at which reach averages skill, in multiples of N."""


def reach(run: OneRun) -> float:
    """Return the mean over :data:`FACTORS` of the run's skill, clipped to 0..1."""
    return mean_clipped([run.row(f"skill at {factor:g} N").value or 0.0 for factor in FACTORS])


def reach_contrasts(claim: Claim, table: RunTable, contrasts: Mapping[str, Sequence[Sequence[int]]]) -> list[Row]:
    """Return the rows of several contrasts: two tests over all cells, then the mean difference of each cell.

    Args:
        claim: it; its cells contain both levels of each pair.
        table: the table of runs.
        contrasts: by name, the pairs of cells as ``(more, less, sign)``. The difference is ``sign`` times (reach of the
            first minus reach of the second). The sign is 1 if the first is predicted to have the larger reach.
    """
    return [row for name, pairs in contrasts.items() for row in _contrast(claim, table, name, pairs)]


def _contrast(claim: Claim, table: RunTable, name: str, pairs: Sequence[Sequence[int]]) -> list[Row]:
    differences: list[np.ndarray] = []
    planned: list[int] = []
    names: list[str] = []
    for first, second, sign in pairs:
        one, other = claim.cells[first], claim.cells[second]
        found = pairs_of(one, other, table)
        entering = entering_pairs(claim, found)
        differences.append(sign * np.array([reach(a) - reach(b) for a, b in entering]))
        planned.append(len(found))
        names.append(f"{one.name} less {other.name}")
    several = [
        _of_cell(claim, f"difference of reach in a cell, {name}", item, values, runs)
        for item, values, runs in zip(names, differences, planned, strict=True)
    ]
    enough = [values for values in differences if len(values) >= FEWEST]
    mean, typical = f"mean difference of reach, {name}", f"difference of reach of the typical cell, {name}"
    if len(enough) < BY_SIGNS:
        return [undefined_row(mean, "", sum(planned)), undefined_row(typical, "", len(pairs)), *several]
    return [
        _mean_over_cells(claim, mean, enough, sum(planned)),
        _typical_cell(typical, enough, len(pairs)),
        *several,
    ]


def _mean_over_cells(claim: Claim, quantity: str, differences: Sequence[np.ndarray], planned: int) -> Row:
    """The mean over cells of their mean differences; seeds are drawn within cells."""
    place = np.repeat(np.arange(len(differences)), [len(values) for values in differences])
    every = np.concatenate(differences)

    def mean(chosen: np.ndarray) -> np.ndarray:
        cells = [cell_means(every[chosen], place[chosen[0]] == cell) for cell in range(len(differences))]
        over_cells: np.ndarray = np.stack(cells).mean(0)
        return over_cells

    found = over_seeds(place.tolist(), mean, rng_of(claim, quantity), bounds=(-1.0, 1.0))
    assert found is not None
    return about_several(quantity, "", found, len(every), planned)


def _typical_cell(quantity: str, differences: Sequence[np.ndarray], planned: int) -> Row:
    """The median over cells of their mean differences, with the interval of the sign test."""
    means = tuple(float(values.mean()) for values in differences)
    found = typical_run([Row(quantity, "", value) for value in means])
    fewest = min(map(len, differences))
    return Row(quantity, "", found.value, *found.ends, entered=len(means), planned=planned, fewest=fewest)


def _of_cell(claim: Claim, quantity: str, item: str, values: np.ndarray, planned: int) -> Row:
    """The mean difference of one cell, over its pairs of runs."""
    if not len(values):
        return undefined_row(quantity, item, planned)

    def mean(chosen: np.ndarray) -> np.ndarray:
        over_pairs: np.ndarray = values[chosen].mean(1)
        return over_pairs

    found = over_seeds([0] * len(values), mean, rng_of(claim, quantity, item), bounds=(-1.0, 1.0))
    return (
        about_several(quantity, item, found, len(values), planned) if found else undefined_row(quantity, item, planned)
    )
