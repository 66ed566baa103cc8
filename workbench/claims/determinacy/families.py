"""Families of the determinacy study, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.claims.determinacy.cells import CHILDREN, FORK_STEPS, StudyCell
from workbench.claims.determinacy.statistics import Determinacy, determinacy

Rows = Sequence[Mapping[str, Any]]


def families_at(rows: Rows, cell: StudyCell, step: int) -> dict[int, NDArray[np.float64]]:
    """Return the reach of the members of each family that fork at a step, by the seed of the forked run.

    Args:
        rows: the rows of the study.
        cell: the cell.
        step: the fork step.

    Returns:
        the reach of the forked run, then of its children; no families at all if a child is missing.
    """
    own = [row for row in rows if (row["cell"], row["schedule"]) == (cell.name, cell.schedule)]
    reach = {(row["parent"], row["step"], row["child"]): row["reach"] for row in own}
    parents = [row["parent"] for row in own if not row["step"]]
    members = [(0, 0), *((step, child) for child in range(1, CHILDREN + 1))]
    if not all((parent, *member) in reach for parent in parents for member in members):
        return {}
    return {parent: np.array([reach[parent, *member] for member in members]) for parent in parents}


def determinacy_by_step(rows: Rows, cell: StudyCell) -> dict[int, Determinacy]:
    """Return the determinacy of a cell at each fork step at which all children are there.

    Args:
        rows: the rows of the study.
        cell: the cell.
    """
    each = {step: determinacy_at(rows, cell, step) for step in FORK_STEPS}
    return {step: result for step, result in each.items() if result is not None}


def determinacy_at(rows: Rows, cell: StudyCell, step: int) -> Determinacy | None:
    """Return the determinacy of a cell at a fork step; None if a child is missing or there are under three families.

    Args:
        rows: the rows of the study.
        cell: the cell.
        step: the fork step.
    """
    families = families_at(rows, cell, step)
    if len(families) < 3:
        return None
    name = (cell.name, cell.schedule)
    again = {r["parent"]: r["reach_again"] for r in rows if (r["cell"], r["schedule"]) == name and not r["step"]}
    second = np.array([again[parent] for parent in families])
    return determinacy(np.stack(list(families.values())), second)
