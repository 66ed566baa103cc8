"""One line per run for the Runs page, made from its rows at the last measured checkpoint."""

from __future__ import annotations

from typing import Any

import pandas as pd

from workbench.dashboard.cursor import Filters, link
from workbench.dashboard.cursorbar import chance, verdict_at
from workbench.dashboard.shell import slug
from workbench.dashboard.store import RunView
from workbench.figures.behaviour import nearest
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import MISSING, beyond, interval, proportion, whole
from workbench.figures.representation import MODE, last_layer, probe_rows
from workbench.figures.spark import spark_path
from workbench.figures.template import u_length
from workbench.figures.verdicts import since_step

SPARK = (180, 28)
"""Size of the accuracy curve's view box."""


def last_measured(run: RunView) -> int | None:
    """The last step with a verdict, or None."""
    steps = run.rows(quantity="verdict")["step"]
    return int(steps.max()) if len(steps) else None


def summarise(run: RunView) -> dict[str, Any]:
    """A grid row: plain values for sorting, and what the drawn cells need."""
    step = last_measured(run)
    row: dict[str, Any] = {
        "name": run.name,
        "href": link(run.name),
        "question": run.question or run.task.replace("_", " "),
        "task": run.task,
        "positions": run.positions,
        "model": f"{run.n_layers}L SSM" if run.gates else f"{run.n_layers}L {run.n_heads}H",
        "steps": run.steps[-1] if run.steps else 0,
        "live": run.live,
        "verdict": "not measured",
        "slug": slug("not measured"),
        "command": f"lengthlens measure {run.shown_path}",
    }
    if step is None:
        return row
    verdict = verdict_at(run, step)
    row |= {"verdict": verdict, "slug": slug(verdict), "since": None if verdict == "not fitted" else _since(run)}
    return row | _accuracy(run, step) | _failure(run, step, verdict) | _pair(run, step)


def _accuracy(run: RunView, step: int) -> dict[str, Any]:
    rows = run.rows(measurement="behaviour", quantity="accuracy", law="matched", mode="teacher_forced", step=step)
    rows = rows[rows["value"].notna()].sort_values("length")
    if rows.empty:
        return {}
    lengths = [int(n) for n in rows["length"]]
    low, high = u_length(lengths[0]), max(u_length(lengths[-1]), u_length(lengths[0]) + 1e-9)
    x = [(u_length(n) - low) / (high - low) for n in lengths]
    bottom = chance(run) - 0.08
    end = 1 - (min(1.05, float(rows["value"].iloc[-1])) - bottom) / (1.05 - bottom)
    inside = rows[rows["length"] == nearest(lengths, run.trained)].iloc[0]
    return {
        "spark": spark_path(list(rows["value"]), bottom, 1.05, *SPARK, x=x),
        "sparkEnd": round(end * SPARK[1], 2),
        "sparkTrained": round(min(1.0, max(0.0, (u_length(run.trained) - low) / (high - low))) * SPARK[0], 2),
        "sparkChance": round((1 - (chance(run) - bottom) / (1.05 - bottom)) * SPARK[1], 2),
        **_cell("inside", inside),
        **_cell("longest", rows.iloc[-1]),
        "shortestLength": lengths[0],
        "longestLength": lengths[-1],
    }


def _cell(name: str, row: pd.Series) -> dict[str, Any]:
    return {
        name: float(row["value"]),
        f"{name}Text": proportion(float(row["value"])),
        f"{name}Interval": interval(row["low"], row["high"]),
    }


def _failure(run: RunView, step: int, verdict: str) -> dict[str, Any]:
    """Where it first fails, on whichever law comes first; ``> n`` where it never does."""
    rows = run.rows(quantity="failure_length", step=step)
    seen = rows[(rows["status"] == "ok") & rows["value"].notna()]
    if verdict == "not fitted" or rows.empty:
        return {"fails": None, "failsText": "no verdict" if verdict == "not fitted" else MISSING}
    if len(seen):
        value = float(seen["value"].min())
        return {"fails": value, "failsText": whole(value), "failed": True}
    tested = rows["low"].dropna()
    if tested.empty:
        return {"fails": None, "failsText": MISSING}
    return {"fails": 1e12, "failsText": beyond(float(tested.min()))}


def _pair(run: RunView, step: int) -> dict[str, Any]:
    """Summary and position as read at the longest length, in the last layer."""
    try:
        layer = last_layer(run.frame)
    except NotMeasured:
        return {}
    made: dict[str, Any] = {}
    for concept in ("summary", "position"):
        rows = probe_rows(run.frame, concept)
        rows = rows[(rows["step"] == step) & (rows["layer"] == layer) & (rows["mode"] == MODE[concept])]
        rows = rows[(rows["control"] == "") & rows["value"].notna()]
        if len(rows):
            made[concept] = float(rows.loc[rows["length"].idxmax(), "value"])
    return made


def _since(run: RunView) -> int | None:
    try:
        return since_step(run.frame)
    except NotMeasured:
        return None


def matches(row: dict[str, Any], filters: Filters, verdict: bool = True) -> bool:
    """Whether a line passes the filters; ``verdict=False`` leaves that one out, for the counts."""
    text = f"{row['name']} {row['question']} {row['task']} {row['verdict']} {row['positions']}".lower()
    return (
        (not verdict or not filters.verdict or row["verdict"] == filters.verdict)
        and (not filters.task or row["task"] == filters.task)
        and (not filters.positions or row["positions"] == filters.positions)
        and all(word in text for word in filters.text.lower().split())
    )
