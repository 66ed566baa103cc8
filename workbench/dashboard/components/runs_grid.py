"""The grid of the Runs page: one line per run or configuration, its cells drawn by ``assets/js/grid.js``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_ag_grid as dag
from dash import html

from workbench.core.reach import MULTIPLES_TEXT
from workbench.core.thresholds import LEVEL_TEXT, ROBUST
from workbench.dashboard.state.failure_strip import STRIP_TIMES, multiples_of
from workbench.figures.rows.multiples import times_text
from workbench.figures.style.design_tokens import PERFORMANCE

MOST_DRAWN = 60
"""Rows drawn at once; of more, only those on screen are, and the grid scrolls by itself."""

THEME = (
    "themeQuartz.withParams({fontFamily:'Inter, system-ui, sans-serif',fontSize:13,headerFontSize:12,"
    "headerFontWeight:500,headerTextColor:'var(--ink3)',headerBackgroundColor:'var(--surface)',"
    "backgroundColor:'var(--surface)',foregroundColor:'var(--ink)',borderColor:'var(--line)',"
    "columnBorder:false,wrapperBorder:false,rowHoverColor:'var(--sunken)',accentColor:'var(--ink)',"
    "cellHorizontalPadding:10,spacing:6})"
)


def grid(rows: Sequence[dict[str, Any]]) -> html.Div:
    """Return the grid, with one line per run."""
    ends = {row["spanTimes"][1] for row in rows if "spanTimes" in row}
    high = f"{next(iter(ends))} \u00d7 N" if len(ends) == 1 else ""
    longest = f"At {high}" if high else "At longest"
    columns = [
        {
            "field": "name",
            "headerName": "Run",
            "cellRenderer": "RunName",
            "flex": 3,
            "minWidth": 164,
        },
        {"field": "verdict", "headerName": "Verdict", "cellRenderer": "VerdictChip", "width": 144},
        {
            "colId": "strip",
            "field": "fails",
            "headerName": "Accuracy by length",
            "cellRenderer": "FailureStrip",
            "cellRendererParams": _strip(rows),
            "headerComponentParams": {"innerHeaderComponent": "StripHeader", **_strip(rows)},
            "comparator": {"function": "byFirstFailure"},
            "flex": 2,
            "minWidth": 148,
            "headerTooltip": "Accuracy at multiples of N, with the matched test set above and the challenge test set "
            "below. Dark blue is chance, and gold is 1. Small grey cells were not measured. The verdict does not use "
            "hatched cells. The magenta line is N. For a group of runs, the colour is the median, with the highest "
            "run above it and the lowest below. Sorts by the first failing length",
        },
        _number(
            "inside",
            "At trained",
            f"Accuracy at the longest trained length (matched test set), {LEVEL_TEXT} interval",
        ),
        _number(
            "longest",
            longest,
            f"Accuracy at the longest measured length (matched test set), {LEVEL_TEXT} interval",
        ),
        {
            "field": "fails",
            "headerName": "Fails at",
            "cellRenderer": "FailsAt",
            "comparator": {"function": "byFirstFailure"},
            "width": 98,
            "type": "rightAligned",
            "headerTooltip": "The first tested length, as a multiple of N and in tokens, at which skill is "
            f"significantly below {ROBUST:g} of its trained value on either test set. The cell names the challenge "
            "test set if only that one fails there. The next tested length must confirm the failure; at the last "
            "length, a second batch confirms it",
        },
        {
            "field": "reach",
            "headerName": "Reach",
            "cellRenderer": "Reach",
            "width": 82,
            "type": "rightAligned",
            "headerTooltip": f"Mean skill at {MULTIPLES_TEXT} (matched test set), each clipped to 0..1, {LEVEL_TEXT} "
            "interval. 1 is perfect at all five lengths, and 0 is no better than a guess",
        },
        {
            "field": "summary",
            "headerName": "State, position",
            "cellRenderer": "DotPair",
            "width": 136,
            "headerTooltip": "Decodability at the longest length after the last block, on a scale from 0 to 1: "
            "circles are the task state (summary), diamonds the position. Hover a cell for intervals and controls",
        },
        {"field": "model", "headerName": "Model, seed", "cellRenderer": "ModelCell", "width": 122},
        {
            "field": "expects",
            "headerName": "Theory expects",
            "cellRenderer": "Expects",
            "width": 112,
            "headerTooltip": "Whether the verdict is the one that theory predicts for this task and position encoding",
        },
        {
            "field": "since",
            "headerName": "Since step",
            "cellRenderer": "Since",
            "width": 94,
            "type": "rightAligned",
            "headerTooltip": "The verdict has been the same since this checkpoint, or earlier. Second line: the last "
            "checkpoint with another verdict, or a note that this is the first one measured",
        },
        {
            "field": "steps",
            "headerName": "Steps",
            "cellRenderer": "Steps",
            "width": 76,
            "type": "rightAligned",
        },
    ]
    many = len(rows) > MOST_DRAWN
    return html.Div(
        dag.AgGrid(
            id="grid",
            rowData=list(rows),
            columnDefs=columns,
            defaultColDef={
                "sortable": True,
                "resizable": False,
                "suppressMovable": True,
                "cellDataType": False,
                "suppressHeaderMenuButton": True,
                # A cell shows several fields of its row, so that an equal value of its own field proves nothing.
                "equals": {"function": "false"},
            },
            getRowId="params.data.key || params.data.first || params.data.name",
            dashGridOptions={
                "theme": {"function": THEME},
                "rowHeight": 46,
                "headerHeight": 52,
                "animateRows": False,
                **({} if many else {"domLayout": "autoHeight"}),
                "rowSelection": {
                    "mode": "multiRow",
                    "enableClickSelection": False,
                    "headerCheckbox": False,
                    "isRowSelectable": {"function": "!params.data.key"},
                },
                "selectionColumnDef": {"headerName": "Pick", "width": 48},
                "tooltipShowDelay": 200,
                "suppressCellFocus": False,
                "localeText": {"noRowsToShow": "No run passes these filters."},
            },
            columnSize=None,
            className="runs-grid",
            style={"height": "max(320px, calc(100vh - 340px))" if many else None},
        ),
        className="grid-frame",
    )


def _strip(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all strips have in common: their multiples of N, where N is among them, and the colours."""
    places = multiples_of(rows)
    return {
        "places": places,
        "times": [times_text(STRIP_TIMES[place]) for place in places],
        "trained": 1 + places.index(STRIP_TIMES.index(1.0)),
        "colours": [colour for _, colour in PERFORMANCE],
    }


def _number(field: str, name: str, tooltip: str) -> dict[str, Any]:
    return {
        "field": field,
        "headerName": name,
        "cellRenderer": "ValueCell",
        "width": 82,
        "type": "rightAligned",
        "headerTooltip": tooltip,
    }
