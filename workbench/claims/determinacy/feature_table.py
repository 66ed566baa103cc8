"""The table of features of the runs that are forked, with one row for each run, step and feature."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.claims.determinacy.cells import FORK_STEPS, StudyCell
from workbench.claims.determinacy.families import Rows
from workbench.claims.determinacy.stored_rows import read_rows, write_rows
from workbench.claims.determinacy.study import trained_states, use_one_thread

FEATURE_FILE = Path(__file__).parent, "features.parquet"
"""Folder and name of the published table."""
FIRST = 0
"""The step of the scores of the first step of gradient descent."""
SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("schedule", pa.string()),
        ("parent", pa.int32()),
        ("step", pa.int32()),
        ("feature", pa.string()),
        ("value", pa.float64()),
    ]
)


def features_by_run(rows: Rows, cell: StudyCell, step: int, names: list[str]) -> dict[int, NDArray[np.float64]]:
    """Return the features of the runs of a cell at a step ``[feature]``, by the run's seed.

    Args:
        rows: the rows of the table.
        cell: the cell.
        step: a fork step, or :data:`FIRST`.
        names: of the features, in order.
    """
    name = (cell.name, cell.schedule, step)
    own = {(r["parent"], r["feature"]): r["value"] for r in rows if (r["cell"], r["schedule"], r["step"]) == name}
    seeds = dict.fromkeys(seed for seed, _ in own)
    return {seed: np.array([own[seed, feature] for feature in names]) for seed in seeds}


def add_features(
    folder: Path,
    name: str,
    parents: Mapping[StudyCell, Sequence[int]],
    tell: Callable[[str], None],
    workers: int = 1,
) -> None:
    """Store the features of the forked runs of cells that the table lacks; one cell in each worker process.

    Args:
        folder, name: the file, written each time when a cell ends.
        parents: the seeds of the forked runs of each cell.
        tell: receives a line when a cell ends.
        workers: processes.
    """
    rows = read_rows(folder, name)
    done = {(row["cell"], row["schedule"]) for row in rows}
    cells = [cell for cell, seeds in parents.items() if seeds and (cell.name, cell.schedule) not in done]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=use_one_thread) as pool:
        running = {pool.submit(cell_features, cell, parents[cell]): cell for cell in cells}
        for job in as_completed(running):
            rows += job.result()
            write_rows(folder, name, rows, SCHEMA)
            cell = running[job]
            tell(f"{cell.name}, {cell.schedule}: features of {len(parents[cell])} runs")


def cell_features(cell: StudyCell, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Train the forked runs of a cell again, and return their features as rows of the table.

    Args:
        cell: the cell.
        seeds: the seeds of the forked runs.
    """
    from workbench.claims.determinacy.features import features_at, first_step_scores

    found: list[tuple[int, int, dict[str, float]]] = []
    for seed, states in zip(seeds, trained_states(cell, seeds), strict=True):
        found.append((seed, FIRST, first_step_scores(cell, seed)))
        found += [(seed, step, features_at(cell, states[step].weights, seed, step)) for step in FORK_STEPS]
    return [
        {
            "cell": cell.name,
            "schedule": cell.schedule,
            "parent": seed,
            "step": step,
            "feature": feature,
            "value": value,
        }
        for seed, step, values in found
        for feature, value in values.items()
    ]
