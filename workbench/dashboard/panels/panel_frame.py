"""The shell around a figure: title, slice, definition, menu, maximise, and what stands there without data."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
from dash import dcc, html

from workbench.core.thresholds import LEVEL_TEXT
from workbench.dashboard.components import measure_button
from workbench.dashboard.components.icons import icon
from workbench.dashboard.components.terms import explain_terms
from workbench.dashboard.panels.panel_spec import Panel
from workbench.dashboard.panels.panel_words import Said, accessible_name, definition, why_empty
from workbench.dashboard.panels.run_panels import HOW
from workbench.dashboard.state.request_values import Name, Whole, declare
from workbench.dashboard.state.run_description import without_log
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotApplicable, NotMeasured, NotShared, Undefined
from workbench.figures.labels import MISSING, proportion, whole
from workbench.figures.rows.select_rows import COLUMNS
from workbench.table.schema import WHOLE

declare({"-mode.data": Literal["figure", "table"], "-shown.data": dict[Name, list[Whole]] | None})

CONFIG = {"displayModeBar": False, "responsive": True}
#: Until a figure comes: a plot without traces. An empty dict would make Plotly complain in the console.
BLANK: dict[str, Any] = {
    "data": [],
    "layout": {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
    },
}
TRAINING = "training"
"""Subject of panels of the training log; since it is not a measurement, no command makes its rows."""
READY, STATE, TABLE, PALE = "body ready", "body stated", "body tabled", "body ready pale"
"""Classes of a panel's body: with its figure, with a sentence instead, with its table, and with the figure before."""
TABLE_ROWS = 400
"""Longest table drawn in a panel; the CSV holds every row."""

NAMED_ABOVE = ("run", "law", "site", "measurement", "quantity")
"""Columns that the table of a panel leaves out, because its title and the names of its series state them."""
_SHOWN = tuple(name for name in COLUMNS if name not in NAMED_ABOVE)


def shell(panel: Panel, specs: Mapping[str, Any], area: str = "") -> html.Section:
    """Return a panel with its empty graph or grid of heads.

    Args:
        panel: which.
        specs: the specs of the measurements, which define its quantities.
        area: the area of the row's grid that it stands in; "" = where it comes.
    """
    heads = html.Div(id=f"{panel.id}-grid", className="heads", role="group", **{"aria-label": panel.title})
    body = [heads] if panel.form == "heads" else graph_body(panel.id)
    return frame(panel.id, panel.title, definition(panel, specs), body, name=accessible_name(panel), area=area)


def matrix_row(rail: Sequence[Any], group: Sequence[Panel], specs: Mapping[str, Any], kind: str = "") -> html.Div:
    """A row of panels: the rail, then each panel in the area that is named after its column (assets/css/run.css).

    Args:
        rail: what stands before them.
        group: the panels.
        specs: the specs of the measurements.
        kind: class of a row with other areas than those of the Run page's matrix.
    """
    shells = [shell(one, specs, area=one.column) for one in group]
    return html.Div([html.Div(list(rail), className="rail"), *shells], className=f"matrix-row {kind}".rstrip())


def how(row: str) -> html.Details:
    """Return the explanation of how to read a row of the Run page, which is folded until it is opened."""
    return how_to_read(HOW[row])


def how_to_read(text: str) -> html.Details:
    """Return a folded explanation of how to read a row, with the meanings of its terms."""
    return html.Details([html.Summary("How to read this"), html.P(explain_terms(text))], className="how")


def graph_body(ident: str) -> list[Any]:
    """A plot; the browser draws the lines and dots of the selection over it (``assets/js/cursor.js``)."""
    graph = dcc.Graph(id=f"{ident}-graph", config=CONFIG, figure=BLANK, className="graph", responsive=True)
    return [html.Figure(graph, id=f"{ident}-figure", role="img")]


def frame(
    ident: str,
    title: str,
    about: Sequence[Said],
    body: list[Any],
    tools: Sequence[Any] = (),
    name: str = "",
    area: str = "",
) -> html.Section:
    """Header, body, and the elements for table and state that every panel has.

    Args:
        ident: prefix of its component ids.
        title: as on screen.
        about: lines that the (i) button shows.
        body: what shows the data.
        tools: further controls in the header.
        name: accessible name, if the title is not unique on the page.
        area: named area of the grid that it stands in, or "".
    """
    return html.Section(
        [
            html.Header(
                [
                    html.H3(title, id=f"{ident}-title"),
                    html.Span(id=f"{ident}-slice", className="slice num"),
                    html.Div(
                        [
                            *tools,
                            explain(name or title, about),
                            menu(ident, name or title),
                            html.Button(
                                className="ib drawn expand",
                                type="button",
                                title="Maximise panel",
                                **{"aria-label": "Maximise panel", "data-action": "max", "data-panel": ident},
                            ),
                        ],
                        className="buttons",
                    ),
                ]
            ),
            html.Div(
                [
                    *body,
                    html.Div(id=f"{ident}-table", className="table"),
                    html.Div(id=f"{ident}-state", className="state"),
                ],
                id=f"{ident}-body",
                className="body first",
            ),
            dcc.Store(id=f"{ident}-mode", data="figure"),
        ],
        id=f"{ident}-panel",
        className="pan",
        tabIndex=-1,
        style={"gridArea": area} if area else {},
        **{"aria-label": name or title},
    )


def explain(title: str, about: Sequence[Said]) -> html.Button:
    """The (i) button; hover, focus and touch show the definition (assets/js/popups.js)."""
    return html.Button(
        className="ib drawn info",
        type="button",
        **{"aria-label": f"What {title} means", "data-about": json.dumps(about)},
    )


def menu(ident: str, title: str) -> html.Button:
    """The button of a panel's menu; the menu is in assets/js/popups.js, what its items do in assets/js/keys.js."""
    return html.Button(
        className="ib drawn more menu-button",
        type="button",
        **{"aria-label": f"Menu of {title}", "aria-haspopup": "menu", "aria-expanded": "false", "data-menu": ident},
    )


def not_measured(measurement: str, message: str, run: RunView, helps: bool = True) -> list[Any]:
    """Return the message for a panel without rows: what is missing, in which folder, and how to measure it, with a
    button if that is possible.
    """
    if measurement == TRAINING:
        return _stated("info", "No training log", without_log(run))
    if not helps:
        return _stated("rows", "Not measured here", message)
    if not run.kind.measures(measurement):
        return does_not_apply(run.kind.unsuited)
    family = "probes." if measurement.startswith("probes.") else measurement  # the panels show both probes
    if run.run.weightless:
        head = html.P([icon("rows"), html.Strong("Not measured")], className="head")
        return [head, html.P(message), *measure_button.weights_wanted(run)]
    return [
        html.P([icon("rows"), html.Strong("Not measured yet")], className="head"),
        html.P([message, " Folder: ", html.Code(f"{run.shown_path}/measurements/"), "."]),
        *measure_button.ways(run, f" --only {shlex.quote(family)}", family),
    ]


def without_rows(error: NotMeasured, run: RunView) -> list[Any]:
    """Return the message for a panel without rows: the measurement does not apply, is undefined, or was not run there
    or not for both runs.
    """
    if isinstance(error, NotShared | NotApplicable | Undefined):
        return _stated("info", *why_empty(error))
    return not_measured(error.measurement, error.message, run, error.helps)


def _stated(mark: str, head: str, why: str) -> list[Any]:
    """A state and its reason, where there is nothing to be done about it."""
    return [html.P([icon(mark), html.Strong(head)], className="head"), html.P(why)]


def wants_weights(title: str, run: RunView) -> html.Section:
    """Return a panel that needs the model's weights, for a run whose weights are missing."""
    head = html.P([icon("info"), html.Strong("Not computed here")], className="head")
    state = html.Div([head, *measure_button.weights_wanted(run)], className="state")
    shown = [html.Header(html.H3(title)), html.Div(state, className="body stated")]
    return html.Section(shown, className="pan wants", **{"aria-label": title})


def error_message(title: str, error: str, hint: Any = None) -> list[Any]:
    """Something went wrong: what, and what to do."""
    return [
        html.P([icon("warn"), html.Strong(title)], className="head error"),
        html.P(error),
        *([hint] if hint is not None else []),
    ]


def does_not_apply(reason: str) -> list[Any]:
    """Return the message why a panel does not apply to this run, and where to look instead."""
    return _stated("info", "Does not apply here", reason)


def being_read(far: str) -> list[Any]:
    """Rows of many runs are being read; how far that is."""
    return _stated("info", "Loading the results of all runs", far)


def as_table(data: pd.DataFrame, title: str) -> html.Table:
    """The rows behind a figure as an HTML table; columns without any value are left out."""
    columns = [c for c in _SHOWN if c in data and data[c].replace("", pd.NA).notna().any()]
    if "status" in columns and (data["status"] == "ok").all():
        columns.remove("status")
    return _table(data, columns, title)


def plain_table(data: pd.DataFrame, title: str) -> html.Table:
    """Return a frame as an HTML table with all its columns."""
    return _table(data, list(data.columns), title)


def _table(data: pd.DataFrame, columns: Sequence[str], title: str) -> html.Table:
    head = html.Thead(html.Tr([html.Th(_column(c), scope="col", className=_align(c)) for c in columns]))
    rows = [
        html.Tr([html.Td(_cell(c, row[c]), className=_align(c)) for c in columns])
        for row in data.head(TABLE_ROWS)[list(columns)].to_dict("records")
    ]
    more = len(data) - TABLE_ROWS
    note = f"{title}: {len(data):,} rows" + (f"; the CSV has {more:,} more than shown" if more > 0 else "")
    return html.Table([html.Caption(note), head, html.Tbody(rows)])


def _column(name: str) -> str:
    return {"low": f"{LEVEL_TEXT} low", "high": f"{LEVEL_TEXT} high"}.get(name, name)


def _align(name: str) -> str:
    return "num right" if name in (*WHOLE, "value", "low", "high") else ""


def _cell(column: str, value: Any) -> str:
    if value is None or value == "" or (not isinstance(value, str) and pd.isna(value)):
        return MISSING
    if column in WHOLE:
        return whole(float(value))
    if column in ("value", "low", "high"):
        return proportion(float(value), 3) if abs(float(value)) < 10 else whole(float(value))
    return str(value).replace("_", " ")
