"""The state of every test set and length at a checkpoint, by the function that decides the verdict.

A row of skill has its limits. Whether a length is shown to fail needs a wider interval, because many lengths could
fail. So the counts are computed back from the rows and given to the verdict's own functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.names import BEHAVIOUR, MATCHED, TEST_SETS
from workbench.core.thresholds import FITTED_AT, UNTRAINED
from workbench.core.verdicts import NO_THRESHOLD, NOT_FITTED
from workbench.figures.errors import Undefined
from workbench.figures.rows.baselines import counts_for_verdict
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import not_measured, rows_with_values, select, stack, tidy

if TYPE_CHECKING:
    from workbench.measure.behaviour.accuracy_cells import Cell, Rules

Row = Mapping[str, Any]
STATES = ("pass", "between", "open", "fail")
"""What a test set at one length can be, as the verdict names it."""


def state_rows(frame: Frame, *, trained: float) -> Frame:
    """Return the rows of skill that verdicts test, at every step, with their state as the label.

    They are the matched test set at the trained lengths of the verdict, and both test sets at the lengths past N at
    which they are tested. A checkpoint that does not solve the trained lengths is not tested past N.

    Args:
        frame: rows of one run.
        trained: N, the longest trained length.

    Raises:
        NotMeasured: without verdicts.
        Undefined: if there is no threshold, because the best possible accuracy is unknown.
    """
    verdicts = select(frame, BEHAVIOUR, quantity="verdict")
    if (verdicts["reason"] == NO_THRESHOLD).all():
        raise Undefined(
            BEHAVIOUR, "No length passes or fails: the best possible accuracy is not known, so there is no threshold."
        )
    labels = {int(step): str(label) for step, label in zip(verdicts["step"], verdicts["label"], strict=True)}
    skills = select(frame, BEHAVIOUR, quantity="skill", mode="teacher_forced")
    parts = [_states_at(frame, skills.where(step=step), trained, label) for step, label in sorted(labels.items())]
    if not any(map(len, parts)):
        raise not_measured(frame, BEHAVIOUR, quantity="skill")
    return stack(parts)


def _states_at(frame: Frame, skills: Frame, trained: float, verdict: str) -> Frame:
    """The tested rows of one step, with their states."""
    from workbench.measure.behaviour.accuracy_cells import bar_of, outer_state, trained_state

    rows = [row for row in skills.rows() if row["status"] == "ok" and not missing(row["value"])]
    if not rows:
        return stack([])
    rules = _rules(rows[0])
    inside = _inside([row for row in rows if row["law"] == MATCHED], trained)
    counted = [cell for row in rows if (cell := _cell(frame, row, rules)) is not None and cell.defined]
    cells = {cell.key: cell for cell in counted}
    near = [cells[MATCHED, n] for n in inside if (MATCHED, n) in cells]
    outer = [] if verdict == NOT_FITTED else [cell for key, cell in cells.items() if counts_for_verdict(*key, trained)]
    states = {cell.key: trained_state(cell, rules, len(near)) for cell in near}
    for law in TEST_SETS:
        bar = bar_of((cells[law, n] for n in inside if (law, n) in cells), rules)
        states |= {cell.key: outer_state(cell, rules, bar, len(outer)) for cell in outer if cell.law == law}
    kept = [row for row in rows if (row["law"], int(row["length"])) in states]
    return stack(
        tidy(Frame.from_rows([row]), f"{row['law']} test set", "length").with_columns(
            label=states[row["law"], int(row["length"])]
        )
        for row in kept
    )


def _rules(row: Row) -> Rules:
    """The thresholds and interim tests with which a row was measured."""
    from workbench.measure.behaviour.accuracy_cells import Rules

    setting = json.loads(str(row.get("setting") or "{}"))
    values: dict[str, Any] = {name: setting[name] for name in ("fitted", "robust", "looks") if name in setting}
    if "looks" in values:
        values["looks"] = tuple(values["looks"])
    return Rules(**values)


def _inside(rows: Sequence[Row], trained: float) -> list[int]:
    """The trained lengths that the verdict tests: N/4, N/2 and N, each rounded up to a measured and trained length."""
    lengths = sorted(int(row["length"]) for row in rows if not str(row["note"] or "").startswith(UNTRAINED))
    near = [next((n for n in lengths if n >= share * trained), None) for share in FITTED_AT]
    return sorted({n for n in near if n is not None and n <= trained})


def _cell(frame: Frame, row: Row, rules: Rules) -> Cell | None:
    """The counts of a test set at one length, from its rows of accuracy and skill.

    Skill is a share of what lies above the baseline, so the two rows give the baseline. Where every answer is right,
    the lower limit of skill gives it. None without an accuracy.
    """
    from workbench.core.exact_limits import lower_limit
    from workbench.measure.behaviour.accuracy_cells import Cell

    place = {name: row[name] for name in ("step", "law", "length", "mode")}
    accuracies = rows_with_values(frame.where(measurement=BEHAVIOUR, quantity="accuracy", **place))
    if not len(accuracies) or missing(row["n"]):
        return None
    accuracy = float(accuracies["value"][0])
    n, skill, counted = int(row["n"]), float(row["value"]), missing(row["low"])
    share, reached = accuracy, skill
    if skill >= 1 and not counted:
        share, reached = lower_limit(n, n, rules.level), float(row["low"])
    floor = (share - reached) / (1 - reached) if reached < 1 else 0.0
    return Cell(
        row["law"], int(row["length"]), accuracy * n if counted else round(accuracy * n), n, floor, None, counted
    )
