"""How pages tie what is on screen to answers. The browser's side of it is in ``assets/js/cursor.js``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.exceptions import PreventUpdate
from plotly.io.json import to_json_plotly

from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.panel_updates import memory_id, redraw_panels, values
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import ALL_HEADS, VIEWS, Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures.sequence.attention_pattern import View

LOOK = Input("page-look", "data")
"""Theme and type size, for whatever draws a figure: the page's own copy, see :mod:`workbench.dashboard.router`."""
PARTS = ("step", "length", "head")
"""Stores of the selected step, length and head."""


def browser(app: Dash, name: str, *deps: Any, **options: Any) -> None:
    """A callback answered by ``window.dash_clientside.lens[name]``."""
    app.clientside_callback(ClientsideFunction("lens", name), *deps, **options)


def place(context: Context, run: str, step: int, length: int, head: str, *rest: Any) -> tuple[RunView, Cursor]:
    """The run and the selection that a page's stores give; no update if run or head are gone or a store is empty."""
    view = context.store.run(run)
    if view is None or step is None or length is None or head is None:
        raise PreventUpdate
    cursor = cursor_of(run, step, length, head, *rest)
    if (cursor.layer or 0) >= max(view.n_layers, 1) or (cursor.head or 0) >= max(view.n_heads, 1):
        raise PreventUpdate
    return view, cursor


def cursor_of(run: str, step: int, length: int, head: str, view: View = VIEWS[0], sample: int = 0) -> Cursor:
    """The selection that the page's stores give."""
    layer, _, which = head.partition(".")
    at, number = (None, None) if head == ALL_HEADS else (int(layer), int(which))
    return Cursor(run, int(step), int(length), at, number, view, int(sample))


def unless(shown: Any, made: Any) -> Any:
    """Return the new value of a component, or no update if the browser already shows it."""
    return no_update if shown == orjson.loads(to_json_plotly(made)) else made


def panels(app: Dash, context: Context, group: Sequence[Panel], late: bool = False) -> None:
    """Register the callbacks of panels that are always on a page together, and the store of what they show; see
    :mod:`.updates`.

    A group listens to the parts of the selection (step, length, head) that any of its panels shows; the others are
    State.

    Args:
        app: the app.
        context: who draws.
        group: the panels.
        late: whether they are below the first screen. They then follow the store ``late``. The browser sets it at once
            while anything of class ``late`` is in view, and otherwise once the sliders rest. Panels out of view thus do
            not delay those in view.
    """
    graphs = [f"{panel.id}-graph" for panel in group if panel.form == "graph"]
    browser(app, "drawn", *[Input(graph, "figure") for graph in graphs])
    browser(app, "clicked", *[Input(graph, "clickData") for graph in graphs], prevent_initial_call=True)
    parts = {part for panel in group for part in panel.needs}
    versions = {"log-version" if panel.source == "log" else "run-version" for panel in group}
    listened = {part: (Input if part in parts else State)(part, "data") for part in PARTS}
    inputs = {
        "cursor": Input("late", "data") if late else listened,
        "extras": (Input if "extras" in parts else State)("extras", "data"),
        "axis": Input("axis", "data"),
        "look": LOOK,
        "versions": [Input(version, "data") for version in sorted(versions)],
        "modes": [Input(f"{panel.id}-mode", "data") for panel in group],
        "run": State("run", "data"),
        "shown": State(memory_id(group), "data"),
    }
    outputs = [Output(*value) for panel in group for value in values(panel)]

    def draw(
        cursor: dict[str, Any], extras: Any, axis: str, look: Any, versions: Any, modes: Any, run: str, shown: Any
    ) -> Any:
        view, where = place(context, run, **cursor)
        if look is None:
            raise PreventUpdate
        context.prefetch.disturb()
        updates, now = redraw_panels(
            group,
            PanelCursor.from_link(context.store, view, where, (extras or {}) | {"axis": axis}),
            look,
            modes,
            shown or {},
        )
        if now == shown:
            raise PreventUpdate
        return [*updates, now]

    app.callback([*outputs, Output(memory_id(group), "data")], inputs)(draw)
