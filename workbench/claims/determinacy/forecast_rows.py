"""How well features forecast reach in each cell and at each step of the published study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.claims.determinacy.cells import FORK_STEPS, StudyCell, planned_cells
from workbench.claims.determinacy.families import Rows, determinacy_at, families_at
from workbench.claims.determinacy.feature_table import FEATURE_FILE, FIRST, features_by_run
from workbench.claims.determinacy.features import FEATURES, FIRST_STEP
from workbench.claims.determinacy.forecasts import Forecast, best_forecast, holm
from workbench.claims.determinacy.stored_rows import read_rows


@dataclass(frozen=True)
class CellForecast:
    """The best of several features of the runs of a cell at a step.

    Attributes:
        cell, schedule, step: where.
        label: whether reach is decided there; see :mod:`workbench.claims.determinacy.statistics`.
        feature: name of the feature whose rank correlation with reach is largest.
        correlation: this correlation.
        chance: the 95 % quantile of the largest absolute correlation of all features under random labels.
        p: the share of random labels with at least this absolute correlation.
        p_holm: p, adjusted for all cells and steps.
        runs: number of runs.
    """

    cell: str
    schedule: str
    step: int
    label: str
    feature: str
    correlation: float
    chance: float
    p: float
    p_holm: float
    runs: int


def forecasts_by_cell(families: Rows) -> list[CellForecast] | None:
    """Return the best of the eight features at each fork step of each cell; None if features are missing.

    The label of a run is the mean reach of its family at this step.

    Args:
        families: the rows of the study.
    """
    return _forecasts(families, FORK_STEPS)


def first_step_forecasts(families: Rows) -> list[CellForecast] | None:
    """Return the best first-step score of each cell; None if scores are missing.

    The label of a run is the mean reach of its family at the first fork step.

    Args:
        families: the rows of the study.
    """
    return _forecasts(families, [FIRST])


def pooled_forecast(families: Rows, step: int) -> tuple[str, Forecast] | None:
    """Return the feature with the largest mean rank correlation over all cells, with its name; None if any is missing.

    Args:
        families: the rows of the study.
        step: a fork step, or 0 for the scores of the first step.
    """
    rows, names = read_rows(*FEATURE_FILE), _names(step)
    groups = [_group(rows, families, cell, step) for cell in planned_cells()]
    known = [group for group in groups if group is not None]
    if len(known) < len(groups):
        return None
    best = best_forecast(known)
    return names[best.feature], best


def _forecasts(families: Rows, steps: Sequence[int]) -> list[CellForecast] | None:
    """The best feature at each of some steps of each cell, with p values adjusted for all; None if any is missing."""
    rows = read_rows(*FEATURE_FILE)
    found: list[CellForecast] = []
    for cell in planned_cells():
        for step in steps:
            group = _group(rows, families, cell, step)
            determined = determinacy_at(families, cell, _fork_step(step))
            if group is None or determined is None:
                return None
            best, name = best_forecast([group]), (cell.name, cell.schedule, step, determined.label)
            feature, runs = _names(step)[best.feature], len(group[1])
            found.append(CellForecast(*name, feature, best.correlation, best.chance, best.p, best.p, runs))
    return [replace(one, p_holm=p) for one, p in zip(found, holm([one.p for one in found]), strict=True)]


def _names(step: int) -> list[str]:
    """The names of the features at a step."""
    return list(FIRST_STEP if step == FIRST else FEATURES)


def _fork_step(step: int) -> int:
    """The fork step whose families label the runs at a step."""
    return FORK_STEPS[0] if step == FIRST else step


def _group(
    rows: Rows, families: Rows, cell: StudyCell, step: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Features ``[run, feature]`` and the mean reach of each run's family; None if some are missing."""
    features = features_by_run(rows, cell, step, _names(step))
    reach = families_at(families, cell, _fork_step(step))
    if not reach or set(reach) - set(features):
        return None
    return np.stack([features[seed] for seed in reach]), np.array([members.mean() for members in reach.values()])
