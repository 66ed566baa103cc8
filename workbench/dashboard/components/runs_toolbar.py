"""The toolbar of the Runs page: what runs are filtered and grouped by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from workbench.core.verdicts import VERDICTS, WORDS
from workbench.dashboard.components.icons import chevron, glyph, icon
from workbench.dashboard.state.cursor import slug
from workbench.dashboard.state.filters import SEEDS, TIES, Filters
from workbench.dashboard.state.sweep_query import LIKELY, MANY_VALUES, MOST_VALUES
from workbench.figures.panels.phase_diagram import axis_title
from workbench.tasks.known_tasks import task_label

SELECTS = ("task.name",)
"""Settings that have a select of their own."""
CHIPS = tuple(label for label in WORDS if label not in VERDICTS or not VERDICTS[label].card)
"""Verdicts that have no card."""


def chips(rows: Sequence[dict[str, Any]], filters: Filters) -> list[Any]:
    """Return the other verdicts as filters; empty if no run has them."""
    counts = Counter(row["verdict"] for row in rows)
    return [
        html.Button(
            [glyph(verdict), WORDS[verdict], html.Span(f"{counts[verdict]:,}", className="num")],
            type="button",
            className=f"chip filter {slug(verdict)}",
            **{"aria-pressed": "true" if filters.verdict == verdict else "false", "data-verdict": verdict},
        )
        for verdict in CHIPS
        if counts[verdict] or filters.verdict == verdict
    ]


def toolbar(
    rows: Sequence[dict[str, Any]], filters: Filters, settings: Mapping[str, Sequence[str]] | None = None
) -> list[Any]:
    """Return the filters (text, task, positions, tags, hard inputs, any other setting), and the grouping."""
    tied = any("ties" in row for row in rows)
    tags = sorted({tag for row in rows for tag in row["tags"]})
    return [
        html.Div(
            [
                dmc.TextInput(
                    id="filter",
                    value=filters.text,
                    placeholder="Filter runs",
                    size="xs",
                    w=150,
                    debounce=150,
                    leftSection=icon("search"),
                    rightSection=html.Kbd("/"),
                    attributes={"input": {"aria-label": "Filter runs", "autoComplete": "off"}},
                ),
                _select("task", "Task", sorted({row["task"] for row in rows}), filters.task),
                _select("positions", "Positions", sorted({row["positions"] for row in rows}), filters.positions),
                html.Div(_select("ties", "Hard inputs", TIES, filters.ties), hidden=not tied),
                html.Div(_select("tag", "Tag", tags, filters.tag), hidden=not tags),
                _settings(filters, settings or {}),
                html.Div(chips(rows, filters), id="chips", className="chips"),
                _grouping(filters, settings or {}),
                html.Span(id="shown", className="soft num", role="status"),
                html.Button(
                    "Pick runs to compare",
                    id="compare-picked",
                    className="button",
                    type="button",
                    disabled=True,
                ),
            ],
            className="toolbar",
        )
    ]


def _settings(filters: Filters, settings: Mapping[str, Sequence[str]]) -> dmc.MultiSelect:
    """Any setting along which the runs differ: several values of one axis are alternatives, axes add up."""
    chosen = [f"{axis}={value}" for axis, value in filters.where]
    groups = [
        {
            "group": axis_title(axis),
            "items": [{"value": f"{axis}={value}", "label": f"{axis_title(axis)}: {value}"} for value in values],
        }
        for axis, values in settings.items()
        if any(axis == held for held, _ in filters.where) or (len(values) <= MOST_VALUES and axis not in SELECTS)
    ]
    return dmc.MultiSelect(
        id="where",
        data=groups,
        value=chosen,
        placeholder="" if chosen else "Any setting",
        size="xs",
        w=150,
        searchable=True,
        clearable=True,
        maxDropdownHeight=360,
        attributes={"input": {"aria-label": "Any setting"}},
    )


def _grouping(filters: Filters, settings: Mapping[str, Sequence[str]]) -> dmc.Select:
    """What has a line: a run, all seeds of a configuration, or all runs with one value of a setting."""
    axes = sorted(
        (axis for axis, values in settings.items() if len(values) <= MANY_VALUES or axis == filters.group),
        key=lambda axis: (axis not in LIKELY, axis_title(axis)),
    )
    options = [{"value": "", "label": "Single runs"}, {"value": SEEDS, "label": "Seeds together"}]
    return dmc.Select(
        id="group",
        data=[*options, *({"value": axis, "label": f"By {axis_title(axis)}"} for axis in axes)],
        value=filters.grouping,
        allowDeselect=False,
        rightSection=chevron(),
        size="xs",
        w=170,
        maxDropdownHeight=360,
        attributes={"input": {"aria-label": "Group by"}},
    )


def _select(ident: str, name: str, values: Sequence[str], chosen: str) -> dmc.Select:
    options = [{"value": "", "label": f"{name}: all"}]
    options += [{"value": value, "label": f"{name}: {task_label(value)}"} for value in values]
    return dmc.Select(
        id=ident,
        data=options,
        value=chosen,
        allowDeselect=False,
        rightSection=chevron(),
        size="xs",
        w=146,
        attributes={"input": {"aria-label": name}},
    )
