"""The table of features of the runs that are forked, with one row for each run, step and feature."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from workbench.claims.determinacy.cells import FORK_STEPS, StudyCell
from workbench.claims.determinacy.families import Rows
from workbench.storage.atomic import write_atomic

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


def read_features(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of features; a missing file has none."""
    file = folder / name
    return pq.read_table(file).to_pylist() if file.exists() else []


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


def add_features(folder: Path, name: str, cell: StudyCell, seeds: list[int], tell: Callable[[str], None]) -> None:
    """Train the forked runs of a cell again, and store their features at the fork steps and at the first step.

    Args:
        folder, name: the file.
        cell: the cell.
        seeds: the seeds of the forked runs.
        tell: receives a line when the cell ends.
    """
    from workbench.claims.determinacy.features import features_at, first_step_scores
    from workbench.claims.determinacy.study import trained_states

    rows = read_features(folder, name)
    if not seeds or any((row["cell"], row["schedule"]) == (cell.name, cell.schedule) for row in rows):
        return
    found: list[tuple[int, int, dict[str, float]]] = []
    for seed, states in zip(seeds, trained_states(cell, seeds), strict=True):
        found.append((seed, FIRST, first_step_scores(cell, seed)))
        found += [(seed, step, features_at(cell, states[step].weights, seed, step)) for step in FORK_STEPS]
    rows += [
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
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, compression="zstd")
    write_atomic(folder, name, file.getvalue())
    tell(f"{cell.name}, {cell.schedule}: features of {len(seeds)} runs")
