"""What behaviour found, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.thresholds import HIGHEST_FLOOR
from workbench.measure.behaviour.cells import Cell, Rules
from workbench.measure.behaviour.floors import Floor
from workbench.measure.behaviour.looks import LookBoard
from workbench.measure.behaviour.near_ties import Qualifier
from workbench.measure.behaviour.verdict import Verdict
from workbench.measure.intervals import clopper_pearson, wilson
from workbench.table.schema import Row, row


def cell_rows(cell: Cell, rules: Rules, shared: Mapping[str, Any]) -> list[Row]:
    """Accuracy and skill of a cell, over all strings it was given."""
    own = {**shared, "n": cell.n, "distinct": cell.distinct, "note": cell.note}
    if cell.n == 0:
        nothing = {**own, "status": "undefined", "note": "nothing is asked at this length in any string drawn"}
        return [row(quantity=quantity, **nothing) for quantity in ("accuracy", "skill")]
    low, high = (None, None) if cell.counted else wilson(int(cell.right), cell.n)
    return [row(quantity="accuracy", value=cell.accuracy, low=low, high=high, **own), skill_row(cell, rules, own)]


def skill_row(cell: Cell, rules: Rules, own: Mapping[str, Any]) -> Row:
    """Skill with its limits over all looks; undefined where the floor leaves no room above it."""
    if not cell.defined:
        note = f"chance or a shortcut scores above {HIGHEST_FLOOR}"
        return row(quantity="skill", **{**own, "status": "undefined", "note": note})
    low, high = (None, None) if cell.counted else (cell.lower(rules.level), cell.upper(rules.level))
    return row(quantity="skill", value=cell.skill, low=low, high=high, **own)


def floor_rows(floor: Floor, shared: Mapping[str, Any]) -> list[Row]:
    """Chance and the shortcuts: constants, without an interval."""
    return [
        row(quantity="chance", value=floor.chance, **shared),
        *(row(quantity="shortcut", target=name, value=value, **shared) for name, value in floor.shortcuts.items()),
    ]


def share_row(quantity: str, target: str, hits: np.ndarray, shared: Mapping[str, Any]) -> Row:
    """A share of sequences, at least one, with its interval."""
    low, high = wilson(int(hits.sum()), len(hits))
    own = {**shared, "n": len(hits), "quantity": quantity, "target": target}
    return row(value=float(hits.mean()), low=low, high=high, **own)


def stratum_row(name: str, cell: Cell) -> Row:
    """Accuracy within a stratum, with its own strings; undefined where too few were found."""
    own: dict[str, Any] = {
        "quantity": "stratum_accuracy",
        "target": name,
        "law": cell.law,
        "length": cell.length,
        "mode": "teacher_forced",
        "n": cell.n,
        "distinct": cell.distinct,
        "note": cell.note,
    }
    if not cell.n:
        return row(**{**own, "status": "undefined"})
    low, high = (None, None) if cell.counted else clopper_pearson(int(cell.right), cell.n)
    return row(value=cell.accuracy, low=low, high=high, **own)


def near_ties_row(found: Qualifier, length: int) -> Row:
    """What near ties say beside the verdict."""
    return row(quantity="near_ties", label=found.label, length=length, note=found.note)


def first_wrong_row(found: int | None, shared: Mapping[str, Any], tested: int) -> Row:
    """The first wrong length beyond N, of all."""
    own = {**shared, "quantity": "first_wrong", "length": tested}
    if found is None:
        return row(status="censored", low=float(tested), note="no length up to this one is wrong", **own)
    return row(value=float(found), **own)


def verdict_rows(verdict: Verdict, board: LookBoard) -> list[Row]:
    """The verdict, and the failure length per law."""
    n = _fewest([*board.trained, *board.outer])
    rows = [
        row(
            quantity="verdict",
            label=verdict.label,
            length=verdict.horizon,
            n=n,
            note=verdict.note,
            reason=verdict.reason,
        )
    ]
    for law, failure in verdict.failures.items():
        where: dict[str, Any] = {
            "quantity": "failure_length",
            "law": law,
            "length": failure.tested,
            "mode": "teacher_forced",
            "n": _fewest(board.judged(law)),
            "low": float(failure.low),
        }
        if failure.length is None:
            none = "no failure up to this length"
            rows.append(row(status="censored", note="; ".join(filter(None, (none, failure.note))), **where))
        else:
            at = float(failure.length)
            rows.append(row(value=at, high=at, note=failure.note, **where))
    return rows


def _fewest(cells: Sequence[Cell]) -> int | None:
    """The fewest strings behind any of some cells."""
    return min((cell.n for cell in cells), default=None)
