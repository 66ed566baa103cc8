"""What behaviour found, as rows."""

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
    """Accuracy and skill of a cell, over all strings it was given; whether it is shorter than all trained strings."""
    note = ": ".join(filter(None, (UNTRAINED * untrained, cell.note)))
    own = {**shared, "n": cell.n, "distinct": cell.distinct, "note": note}
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
    """Chance and the shortcuts: constants, without an interval; a shortcut outside the floor says so."""
    shortcuts = [
        row(quantity="shortcut", target=name, value=value, note=OUTSIDE_BASELINE * (name in floor.outside), **shared)
        for name, value in floor.shortcuts.items()
    ]
    return [row(quantity="chance", value=floor.chance, **shared), *shortcuts]


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


def near_ties_row(found: Qualifier, kind: str, length: int) -> Row:
    """What hard strata say next to the verdict; ``kind`` is what the task calls them together."""
    return row(quantity="near_ties", target=kind, label=found.label, length=length, note=found.note)


def stratum_verdict_row(found: StratumVerdict) -> Row:
    """Whether one stratum is kept beyond training, with the accuracy in the cell that shows it."""
    cell = found.shown.cell
    low, high = (None, None) if cell.counted else clopper_pearson(int(cell.right), cell.n)
    where = {"law": cell.law, "length": cell.length, "mode": "teacher_forced", "n": cell.n, "distinct": cell.distinct}
    own = {"target": found.shown.name, "label": found.label, "note": found.note}
    return row(quantity="stratum_verdict", value=cell.accuracy, low=low, high=high, **own, **where)


def agreement_row(found: Agreement, shared: Mapping[str, Any]) -> Row:
    """How a model agrees with a shortcut; ``shared``: law, length, and the stratum as mode."""
    low, high = found.limits
    own = {"target": found.shortcut, "value": found.share, "low": low, "high": high, "n": found.n}
    return row(quantity="shortcut_agreement", **{**shared, **own})


def composition_rows(shares: Mapping[str, float], shared: Mapping[str, Any]) -> list[Row]:
    """The share of each stratum among the strings of a length; ``shares`` may be empty."""
    return [row(quantity="composition", target=name, value=share, **shared) for name, share in shares.items()]


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
    """The fewest strings behind any of some cells; where some are drawn and some counted, behind those drawn."""
    drawn = [cell for cell in cells if not cell.counted]
    return min((cell.n for cell in drawn or cells), default=None)
