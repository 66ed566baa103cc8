"""Rows of the measurement ``behaviour``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.thresholds import HIGHEST_FLOOR, OUTSIDE_BASELINE, UNTRAINED
from workbench.measure.behaviour.accuracy_cells import Cell, Rules
from workbench.measure.behaviour.baselines import Floor
from workbench.measure.behaviour.followed_shortcuts import Agreement
from workbench.measure.behaviour.hard_strata_verdict import Qualifier, StratumVerdict
from workbench.measure.behaviour.interim_tests import LookBoard
from workbench.measure.behaviour.verdict import Verdict
from workbench.measure.intervals import clopper_pearson, wilson
from workbench.table.schema import Row, row


def cell_rows(cell: Cell, rules: Rules, shared: Mapping[str, Any], untrained: bool = False) -> list[Row]:
    """Return accuracy and skill of a cell, over all its sequences.

    ``untrained`` adds a note that the length is shorter than all training sequences.
    """
    note = ": ".join(filter(None, (UNTRAINED * untrained, cell.note)))
    columns = {**shared, "n": cell.n, "distinct": cell.distinct, "note": note}
    if cell.n == 0:
        nothing = {**columns, "status": "undefined", "note": "nothing is asked at this length in any string drawn"}
        return [row(quantity=quantity, **nothing) for quantity in ("accuracy", "skill")]
    low, high = (None, None) if cell.counted else wilson(int(cell.right), cell.n)
    return [
        row(quantity="accuracy", value=cell.accuracy, low=low, high=high, **columns),
        skill_row(cell, rules, columns),
    ]


def skill_row(cell: Cell, rules: Rules, own: Mapping[str, Any]) -> Row:
    """Return skill with its limits over all interim tests; undefined where the baseline is too close to 1."""
    if not cell.defined:
        note = f"chance or a shortcut scores above {HIGHEST_FLOOR}"
        return row(quantity="skill", **{**own, "status": "undefined", "note": note})
    low, high = (None, None) if cell.counted else (cell.lower(rules.level), cell.upper(rules.level))
    return row(quantity="skill", value=cell.skill, low=low, high=high, **own)


def floor_rows(floor: Floor, shared: Mapping[str, Any]) -> list[Row]:
    """Return chance and the shortcuts, without intervals. A note marks a shortcut excluded from the baseline."""
    shortcuts = [
        row(quantity="shortcut", target=name, value=value, note=OUTSIDE_BASELINE * (name in floor.outside), **shared)
        for name, value in floor.shortcuts.items()
    ]
    return [row(quantity="chance", value=floor.chance, **shared), *shortcuts]


def share_row(quantity: str, target: str, hits: np.ndarray, shared: Mapping[str, Any]) -> Row:
    """Return a share of sequences (at least one) with its Wilson interval."""
    low, high = wilson(int(hits.sum()), len(hits))
    own = {**shared, "n": len(hits), "quantity": quantity, "target": target}
    return row(value=float(hits.mean()), low=low, high=high, **own)


def stratum_row(name: str, cell: Cell) -> Row:
    """Return the accuracy within a stratum; undefined where it has too few sequences."""
    columns: dict[str, Any] = {
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
        return row(**{**columns, "status": "undefined"})
    low, high = (None, None) if cell.counted else clopper_pearson(int(cell.right), cell.n)
    return row(value=cell.accuracy, low=low, high=high, **columns)


def near_ties_row(found: Qualifier, kind: str, length: int) -> Row:
    """Return the qualifier of the verdict from hard strata; ``kind`` is the task's name for them."""
    return row(quantity="near_ties", target=kind, label=found.label, length=length, note=found.note)


def stratum_verdict_row(found: StratumVerdict) -> Row:
    """Return the row on whether skill on one kind of hard inputs (*stratum*) holds beyond training, with the deciding
    accuracy.
    """
    cell = found.shown.cell
    low, high = (None, None) if cell.counted else clopper_pearson(int(cell.right), cell.n)
    where = {"law": cell.law, "length": cell.length, "mode": "teacher_forced", "n": cell.n, "distinct": cell.distinct}
    own = {"target": found.shown.name, "label": found.label, "note": found.note}
    return row(quantity="stratum_verdict", value=cell.accuracy, low=low, high=high, **own, **where)


def agreement_row(found: Agreement, shared: Mapping[str, Any]) -> Row:
    """Return the agreement of a model with a shortcut; ``shared``: test set, length, and the stratum as mode."""
    low, high = found.limits
    own = {"target": found.shortcut, "value": found.share, "low": low, "high": high, "n": found.n}
    return row(quantity="shortcut_agreement", **{**shared, **own})


def composition_rows(shares: Mapping[str, float], shared: Mapping[str, Any]) -> list[Row]:
    """Return the share of each stratum among the sequences of a length; ``shares`` may be empty."""
    return [row(quantity="composition", target=name, value=share, **shared) for name, share in shares.items()]


def first_wrong_row(found: int | None, shared: Mapping[str, Any], tested: int) -> Row:
    """Return the first wrong length beyond N, among all lengths."""
    own = {**shared, "quantity": "first_wrong", "length": tested}
    if found is None:
        return row(status="censored", low=float(tested), note="no length up to this one is wrong", **own)
    return row(value=float(found), **own)


def verdict_rows(verdict: Verdict, board: LookBoard) -> list[Row]:
    """Return the verdict, and the failure length per test set."""
    n = _fewest([*board.trained_cells, *board.outer])
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
            "n": _fewest(board.tested_cells(law)),
            "low": float(failure.low),
        }
        if verdict.reason == "no threshold":
            rows.append(row(**{**where, "low": None}, status="undefined", note="there is no threshold"))
        elif failure.length is None:
            none = "no failure up to this length"
            rows.append(row(status="censored", note="; ".join(filter(None, (none, failure.note))), **where))
        else:
            at = float(failure.length)
            rows.append(row(value=at, high=at, note=failure.note, **where))
    return rows


def _fewest(cells: Sequence[Cell]) -> int | None:
    """Return the smallest number of sequences of any given cell; if some cells are drawn, of these only."""
    drawn = [cell for cell in cells if not cell.counted]
    return min((cell.n for cell in drawn or cells), default=None)
