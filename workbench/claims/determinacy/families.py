"""Families of the determinacy study, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.claims.determinacy.cells import CHILDREN, FORK_STEPS, StudyCell
from workbench.claims.determinacy.statistics import Determinacy, determinacy


def determinacy_by_step(rows: Sequence[Mapping[str, Any]], cell: StudyCell) -> dict[int, Determinacy]:
    """Return the determinacy of a cell at each fork step at which all children are there.

    Args:
        rows: the rows of the study.
        cell: the cell.
    """
    own = [row for row in rows if (row["cell"], row["schedule"]) == (cell.name, cell.schedule)]
    reach = {(row["parent"], row["step"], row["child"]): row["reach"] for row in own}
    again = {row["parent"]: row["reach_again"] for row in own if not row["step"]}
    found = {}
    for step in FORK_STEPS:
        members = [(0, 0), *((step, child) for child in range(1, CHILDREN + 1))]
        families = [
            [reach[parent, *member] for member in members]
            for parent in again
            if all((parent, *member) in reach for member in members)
        ]
        if len(families) == len(again) >= 3:
            found[step] = determinacy(np.array(families), np.array(list(again.values())))
    return found
