"""One line per run for the Runs page, made from its brief: its rows at the last verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.dashboard.brief import Brief
from workbench.dashboard.cursor import Filters, link
from workbench.dashboard.runview import RunView
from workbench.dashboard.shell import slug
from workbench.figures.labels import MISSING, beyond, interval, proportion, whole
from workbench.figures.rows import nearest
from workbench.figures.spark import spark_path
from workbench.figures.template import u_length

SPARK = (180, 28)
"""Size of the accuracy curve's view box."""


def summarise(run: RunView) -> dict[str, Any]:
    """A grid row: plain values for sorting, and what the drawn cells need."""
    brief = run.brief
    row: dict[str, Any] = {
        "name": run.name,
        "href": link(run.name),
        "question": run.question or run.task.replace("_", " "),
        "task": run.task,
        "positions": run.positions,
        "order": f"{run.gates} gates" if run.gates else run.positions,
        "seed": run.config.get("seeds", {}).get("init"),
        "model": f"{run.n_layers}L SSM" if run.gates else f"{run.n_layers}L {run.n_heads}H",
        "steps": run.steps[-1] if run.steps else 0,
        "live": run.live,
        "verdict": "not measured",
        "slug": slug("not measured"),
        "command": f"lengthlens measure {run.typed_path}",
    }
    if brief.last is None:
        return row
    verdict = brief.verdicts[brief.last]
    row |= {"verdict": verdict, "slug": slug(verdict), "since": None if verdict == "not fitted" else _since(brief)}
    return row | _accuracy(run) | _failure(brief, verdict) | dict(brief.carries)


def _accuracy(run: RunView) -> dict[str, Any]:
    rows = run.brief.accuracy
    if not rows:
        return {}
    chance = run.brief.chance
    lengths = [int(row["length"]) for row in rows]
    values = [float(row["value"]) for row in rows]
    low, high = _span(lengths)
    x = spark_places(lengths)
    bottom = chance - 0.08
    end = 1 - (min(1.05, values[-1]) - bottom) / (1.05 - bottom)
    inside = rows[lengths.index(nearest(lengths, run.trained))]
    return {
        "spark": spark_path(values, bottom, 1.05, *SPARK, x=x),
        "sparkEnd": round(end * SPARK[1], 2),
        "sparkTrained": round(min(1.0, max(0.0, (u_length(run.trained) - low) / (high - low))) * SPARK[0], 2),
        "sparkChance": round((1 - (chance - bottom) / (1.05 - bottom)) * SPARK[1], 2),
        **_cell("inside", inside),
        **_cell("longest", rows[-1]),
        "shortestLength": lengths[0],
        "longestLength": lengths[-1],
    }


def _span(lengths: Sequence[int]) -> tuple[float, float]:
    return u_length(lengths[0]), max(u_length(lengths[-1]), u_length(lengths[0]) + 1e-9)


def spark_places(lengths: Sequence[int]) -> list[float]:
    """Where lengths lie on a small curve, 0 to 1."""
    low, high = _span(lengths)
    return [(u_length(n) - low) / (high - low) for n in lengths]


def _cell(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: float(row["value"]),
        f"{name}Text": proportion(float(row["value"])),
        f"{name}Interval": interval(row["low"], row["high"]),
    }


def _failure(brief: Brief, verdict: str) -> dict[str, Any]:
    """Where it first fails, on whichever law comes first; ``> n`` where it never does."""
    seen = [float(row["value"]) for row in brief.failure if row["status"] == "ok" and row["value"] is not None]
    if verdict == "not fitted" or not brief.failure:
        return {"fails": None, "failsText": "no verdict" if verdict == "not fitted" else MISSING}
    if seen:
        return {"fails": min(seen), "failsText": whole(min(seen)), "failed": True}
    tested = [float(row["low"]) for row in brief.failure if row["low"] is not None]
    if not tested:
        return {"fails": None, "failsText": MISSING}
    return {"fails": 1e12, "failsText": beyond(min(tested))}


def _since(brief: Brief) -> int | None:
    """The first step from which the last verdict has held without interruption."""
    held, first = None, None
    for step in sorted(brief.verdicts, reverse=True):
        held = brief.verdicts[step] if held is None else held
        if brief.verdicts[step] != held:
            break
        first = step
    return first


def matches(row: dict[str, Any], filters: Filters, verdict: bool = True) -> bool:
    """Whether a line passes the filters; ``verdict=False`` leaves that one out, for the counts."""
    text = f"{row['name']} {row['question']} {row['task']} {row['verdict']} {row['positions']} {row['order']}".lower()
    return (
        (not verdict or not filters.verdict or row["verdict"] == filters.verdict)
        and (not filters.task or row["task"] == filters.task)
        and (not filters.positions or row["positions"] == filters.positions)
        and all(word in text for word in filters.text.lower().split())
    )
