"""One line per run for the Runs page, made from its brief: its rows at the last verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.verdicts import NOT_FITTED, NOT_MEASURED, STRATA, since
from workbench.dashboard.state.cursor import link, slug
from workbench.dashboard.state.failure_strip import run_strip
from workbench.dashboard.state.filters import Filters
from workbench.dashboard.state.run_brief import Brief
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import (
    all_counted,
    estimate,
    interval,
    layer_said,
    multiple,
    proportion,
    whole,
    whole_answers,
)
from workbench.figures.rows.select_rows import nearest
from workbench.tasks.known_tasks import task_label


def summarise(run: RunView) -> dict[str, Any]:
    """A grid row: plain values for sorting, and what the drawn cells need."""
    brief, family = run.brief, run.model.family
    row: dict[str, Any] = {
        "name": run.name,
        "href": link(run.name),
        "question": run.question or task_label(run.task),
        "taskLabel": task_label(run.task),
        "task": run.task,
        "positions": run.positions,
        "order": run.model.variant or run.positions,
        "seed": run.config.get("seeds", {}).get("init"),
        "model": f"{run.n_layers}L {family.short if family else f'{run.n_heads}H'}",
        "steps": run.steps[-1] if run.steps else 0,
        "live": run.live,
        "tags": list(run.notes.tags),
        "note": run.notes.first_line,
        "verdict": NOT_MEASURED,
        "slug": slug(NOT_MEASURED),
        "command": run.measuring(),
        **({"damage": "; ".join(run.damaged_parts)} if run.damaged_parts else {}),
    }
    if brief.last is None:
        return row
    verdict = brief.verdicts[brief.last]
    row |= {"verdict": verdict, "slug": slug(verdict)} | _since(brief, verdict)
    if brief.ties:
        label, kind = brief.ties["label"], brief.ties["kind"]
        row |= {
            "ties": label,
            "tiesKind": kind,
            "tiesText": f"{kind} {STRATA[label].word}",
            "tiesNote": brief.ties["note"],
        }
    return row | _accuracy(run) | run.kind.failure(brief, verdict, run.trained) | _reach(brief) | _carries(brief)


def _reach(brief: Brief) -> dict[str, Any]:
    """Reach with its interval; in the tooltip the lengths that it is the mean over, or why it has no value."""
    reach = brief.reach
    if reach is None:
        return {}
    if reach.value is None:
        return {"reachWhy": f"No value, because {reach.reason}"}
    lengths = ", ".join(whole(n) for n in reach.lengths[:-1]) + f" and {whole(reach.lengths[-1])}"
    return {
        "reach": reach.value,
        "reachText": proportion(reach.value),
        "reachInterval": interval(reach.low, reach.high),
        "reachTitle": f"{estimate(reach.value, reach.low, reach.high)}, the mean skill at lengths {lengths}",
    }


def _accuracy(run: RunView) -> dict[str, Any]:
    rows = run.brief.accuracy
    if not rows:
        return {}
    lengths = [int(row["length"]) for row in rows]
    inside = rows[lengths.index(nearest(lengths, run.trained))] if run.kind.has_trained_length else None
    return {
        **run_strip(run),
        **({} if inside is None else _cell(run, "inside", inside)),
        **_cell(run, "longest", rows[-1]),
        "shortestLength": lengths[0],
        "longestLength": lengths[-1],
        "spanTimes": [multiple(lengths[0] / run.trained), multiple(lengths[-1] / run.trained)],
    }


def _cell(run: RunView, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A value, its texts, and in its tooltip what it is a share of, where that is not plain."""
    tokens = run.brief.tokens.get(int(row["length"]))
    value = estimate(row["value"], row["low"], row["high"])
    title = f"{value} of all answer tokens" if run.kind.items else ""
    return {
        name: float(row["value"]),
        f"{name}Text": proportion(float(row["value"])),
        f"{name}Interval": interval(row["low"], row["high"]) or all_counted(row["note"]),
        f"{name}Title": title if tokens is None else whole_answers(value, tokens),
    }


def _carries(brief: Brief) -> dict[str, Any]:
    """The pair of dots, and their description in words."""
    descriptions = [
        f"{concept} {estimate(reading['value'], reading.get('low'), reading.get('high'))}, "
        + (f"controls {proportion(reading['control'])}, " if "control" in reading else "no controls, ")
        + f"{layer_said(reading['layer'])} at length {whole(reading['length'])}"
        for concept, reading in brief.carries.items()
    ]
    dots = {concept: reading["value"] for concept, reading in brief.carries.items()}
    return {**dots, "carries": "; ".join(descriptions)} if descriptions else {}


def _since(brief: Brief, verdict: str) -> dict[str, Any]:
    """When the last verdict began: its first step, and the last step before that had another decided verdict.

    If the first step is also the first measured one, the verdict may have begun earlier, and the line states so.
    """
    began = None if verdict == NOT_FITTED else since(brief.verdicts)
    if began is None:
        return {}
    after = "first measured" if began.first else "" if began.low is None else f"after {whole(began.low)}"
    return {"since": began.high, "sinceText": whole(began.high), "sinceAfter": after}


def matches(row: dict[str, Any], filters: Filters, verdict: bool = True) -> bool:
    """Whether a line passes the filters; ``verdict=False`` leaves that one out, for the counts."""
    text = f"{row['name']} {row['question']} {row['taskLabel']} {row['verdict']} {row['positions']} {row['order']}"
    text = f"{text} {row['note']} {' '.join(row['tags'])}".lower()
    return (
        (not verdict or not filters.verdict or row["verdict"] == filters.verdict)
        and (not filters.task or row["task"] == filters.task)
        and (not filters.positions or row["positions"] == filters.positions)
        and (not filters.tag or filters.tag in row["tags"])
        and (not filters.ties or row.get("ties") == filters.ties)
        and all(word in text for word in filters.text.lower().split())
    )
