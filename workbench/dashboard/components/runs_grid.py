"""The grid of the Runs page: one line per run or configuration, its cells drawn by ``assets/js/grid.js``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_ag_grid as dag
from dash import html

from workbench.core.thresholds import ROBUST

MOST_DRAWN = 60
"""Rows drawn at once; of more, only those on screen are, and the grid scrolls by itself."""

_THEME = (
    "themeQuartz.withParams({fontFamily:'Inter, system-ui, sans-serif',fontSize:13,headerFontSize:12,"
    "headerFontWeight:500,headerTextColor:'var(--ink3)',headerBackgroundColor:'var(--surface)',"
    "backgroundColor:'var(--surface)',foregroundColor:'var(--ink)',borderColor:'var(--line)',"
    "columnBorder:false,wrapperBorder:false,rowHoverColor:'var(--sunken)',accentColor:'var(--ink)',"
    "cellHorizontalPadding:12,spacing:6})"
)


def grid(rows: Sequence[dict[str, Any]]) -> html.Div:
    """One line per run."""
    ends = {row["spanTimes"][1] for row in rows if "spanTimes" in row}
    high = f"{next(iter(ends))} \u00d7 N" if len(ends) == 1 else ""
    accuracy = f"Accuracy to {high}" if high else "Accuracy by length"
    longest = f"At {high}" if high else "At longest"
    columns = [
        {
            "field": "name",
            "headerName": "Run",
            "cellRenderer": "RunName",
            "flex": 3,
            "minWidth": 172,
            **_drawn_of("name", "liveText"),
        },
        {"field": "verdict", "headerName": "Verdict", "cellRenderer": "VerdictChip", "width": 148},
        {
            "field": "spark",
            "headerName": accuracy,
            "cellRenderer": "AccuracySpark",
            "flex": 2,
            "minWidth": 132,
            "sortable": False,
            **_drawn_of("spark", "liveInside", "liveOutside"),
        },
        _number("inside", "At trained", "Accuracy at the longest trained length, with its 95 % interval"),
        _number("longest", longest, "Accuracy at the longest measured length, with its 95 % interval"),
        {
            "field": "fails",
            "headerName": "Fails at",
            "cellRenderer": "FailsAt",
            "width": 88,
            "type": "rightAligned",
            "headerTooltip": "First judged length, as a multiple of N and in tokens, at which skill is "
            f"shown to be below {ROBUST:g} of its trained value, on either law; it must fail at the next one too, or "
            "in a second batch at the last",
        },
        {
            "field": "summary",
            "headerName": "Summary, position",
            "cellRenderer": "DotPair",
            "width": 140,
            "headerTooltip": "Decodability at the longest length, after the last block: summary (circle), position "
            "(diamond). Drawn from 0 to 1; the text on hover has intervals and controls",
        },
        {"field": "model", "headerName": "Model, seed", "cellRenderer": "ModelCell", "width": 134},
        {
            "field": "expects",
            "headerName": "Theory expects",
            "cellRenderer": "Expects",
            "width": 116,
            "headerTooltip": "Whether the verdict is the one that theory expects of this task and these positions",
        },
        {
            "field": "since",
            "headerName": "Since step",
            "cellRenderer": "Since",
            "width": 98,
            "type": "rightAligned",
            "headerTooltip": "The verdict began at this checkpoint at the latest; below, the last one that was decided "
            "otherwise. Undecided checkpoints in between are neither",
        },
        {
            "field": "steps",
            "headerName": "Steps",
            "cellRenderer": "Steps",
            "width": 88,
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
            },
            getRowId="params.data.first || params.data.name",
            dashGridOptions={
                "theme": {"function": _THEME},
                "rowHeight": 46,
                "headerHeight": 34,
                "animateRows": False,
                **({} if many else {"domLayout": "autoHeight"}),
                "rowSelection": {"mode": "multiRow", "enableClickSelection": False, "headerCheckbox": False},
                "selectionColumnDef": {"headerName": "Pick", "width": 52},
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


def _drawn_of(*fields: str) -> dict[str, Any]:
    """A cell that is drawn of several fields: the grid draws it anew when any of them changes. The first one sorts."""
    parts = " + '\\u0000' + ".join(f"(params.data.{field} || '')" for field in fields)
    return {"valueGetter": {"function": parts}}


def _number(field: str, name: str, tooltip: str) -> dict[str, Any]:
    return {
        "field": field,
        "headerName": name,
        "cellRenderer": "ValueCell",
        "width": 94,
        "type": "rightAligned",
        "headerTooltip": tooltip,
    }
