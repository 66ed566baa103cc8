"""Lines of the Runs page for all runs that have one value of a setting, such as a position encoding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.core.verdicts import WORDS
from workbench.dashboard.state.filters import Filters, write_filters
from workbench.dashboard.state.run_kinds import KINDS
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.seed_groups import combine_runs
from workbench.figures.labels import whole
from workbench.figures.panels.phase_diagram import axis_title, axis_value, value_text

MOST_TICKS = 12
"""Runs of a line that have a mark each next to the verdict."""
MOST_NAMED = 3
"""Tasks of a line that are named."""


def by_setting(
    runs: Mapping[str, RunView],
    rows: Sequence[dict[str, Any]],
    values: Mapping[str, Any],
    filters: Filters,
) -> list[dict[str, Any]]:
    """Return one table line for each value of the setting that ``filters`` groups by.

    Models that were evaluated in a prompt have lines of their own, because their lengths count items.

    Args:
        runs: by name.
        rows: the lines of those runs that pass the filters.
        values: run -> its value of the setting; a run that lacks it has None.
        filters: the filters of the page.
    """
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rows:
        kind = KINDS.index(runs[row["name"]].kind)
        groups.setdefault((kind, value_text(values.get(row["name"]))), []).append(row)
    prompted = len({kind for kind, _ in groups}) > 1
    lines = []
    for (kind, text), members in sorted(groups.items(), key=lambda group: (group[0][0], group[1][0]["name"])):
        value = values.get(members[0]["name"])
        name = axis_value(filters.group, value) + (", in a prompt" if kind and prompted else "")
        href = write_filters(replace(filters, group="", where=(*filters.where, (filters.group, text))))
        lines.append(_line([runs[row["name"]] for row in members], members, name, href, filters.group))
    return lines


def _line(runs: Sequence[RunView], rows: Sequence[dict[str, Any]], name: str, href: str, axis: str) -> dict[str, Any]:
    """The line of all runs with one value. The line of one run keeps its numbers and intervals."""
    fields = combine_runs(runs, rows, "runs") if len(rows) > 1 else {**rows[0], "of": "1 of 1", "note": ""}
    counts = Counter(str(row["verdict"]) for row in rows)
    return fields | {
        "name": name,
        "key": f"{KINDS.index(runs[0].kind)}{href}",
        "href": href,
        "runs": len(rows),
        "counts": ", ".join(f"{whole(count)} {_word(verdict)}" for verdict, count in counts.most_common()),
        "ticks": fields.get("ticks", []) if len(rows) <= MOST_TICKS else [],
        "taskLabel": f"{axis_title(axis)} \u00b7 {_tasks(rows)}",
        "question": _tasks(rows, len(rows)),
        "model": _one_or_number([row["model"] for row in rows], "models"),
        "order": _one_or_number([row["order"] for row in rows], "encodings"),
        **_expected(rows),
        **_fails(rows),
        "tiesText": "",
    }


def _word(verdict: str) -> str:
    return WORDS.get(verdict, verdict).lower()


def _tasks(rows: Sequence[Mapping[str, Any]], most: int = MOST_NAMED) -> str:
    names = sorted({str(row["task"]) for row in rows})
    return ", ".join(names) if len(names) <= most else f"{len(names)} tasks"


def _one_or_number(values: Sequence[str], noun: str) -> str:
    """The value that all have, else how many different ones there are."""
    different = set(values)
    return values[0] if len(different) == 1 else f"{len(different)} {noun}"


def _expected(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What theory expects where it says the same of all runs; else for how many of them it is as observed."""
    said = {(row.get("expects"), row.get("theory")) for row in rows}
    if len(said) == 1:
        return {}
    agrees = sum(row.get("expects") == "as observed" for row in rows)
    return {"expects": "as observed", "theory": f"{agrees} of {len(rows)} runs"}


def _fails(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first multiple of N at which any run fails, and how many runs fail at all; else how many fail nowhere."""
    if len(rows) == 1:
        return {}
    failed = [row for row in rows if row.get("failed")]
    if failed:
        first = min(failed, key=lambda row: float(row["fails"]))
        many = f"at first, {len(failed)} of {len(rows)} fail"
        return {"fails": first["fails"], "failsTimes": first.get("failsTimes"), "failsText": many, "failed": True}
    passed = [row for row in rows if row.get("failsTimes")]
    if len({row["failsTimes"] for row in passed}) == 1:
        many = f"{len(passed)} of {len(rows)} runs"
        return {"fails": passed[0]["fails"], "failsTimes": passed[0]["failsTimes"], "failsText": many}
    return {"fails": None, "failsTimes": None, "failsText": "\u2013"}
