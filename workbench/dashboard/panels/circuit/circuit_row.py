"""The row *Circuit* of the Run page: the graph, one of its connections over length, and the select that chooses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update
from typing_extensions import TypedDict

from workbench.dashboard.components import measure_button
from workbench.dashboard.components.icons import chevron
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.panels import callbacks, panel_frame
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.panels.run_panels import CIRCUIT, CIRCUIT_ROW
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Notice
from workbench.dashboard.state.request_values import Name, declare, exact
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole
from workbench.figures.rows.connection_effects import (
    MEASUREMENT,
    connection_names,
    measured_connections,
    measured_lengths,
)
from workbench.models.base.graph import ARROW, Connection


@exact
class Pin(TypedDict):
    """A click on a component of the graph."""

    node: Name
    at: float


declare(
    {
        "circuit.className": Any,
        "connection-select.data": Any,
        "connection-select.value": Name | None,
        "circuit-pin.data": Pin | None,
        "circuit-effect.value": Literal["accuracy", "loss"] | None,
    }
)
EXTRAS = {"connection": "", "pins": "", "effect": ""}
"""What the row keeps in the link."""
EFFECTS = ({"value": "accuracy", "label": "Accuracy"}, {"value": "loss", "label": "Loss"})
MOST_PINS = 8

DRAWN = "matrix more-row late why-row"
BARE = f"{DRAWN} bare"
"""CSS classes of the row: with its panels, and with only its text."""


def row(run: RunView, extras: Mapping[str, str]) -> html.Div:
    """The row: a line with the command that measures it, until it is measured."""
    name, question = CIRCUIT_ROW["circuit"]
    select = dmc.Select(
        id="connection-select",
        data=[],
        value=extras.get("connection") or None,
        placeholder="Connection with the largest accuracy drop",
        clearable=True,
        searchable=True,
        size="xs",
        rightSection=chevron(),
        maxDropdownHeight=360,
        nothingFoundMessage="No connection of that name",
        attributes={"input": {"aria-label": "Connection"}},
    )
    rail = [
        html.H2(name),
        html.P(question, className="soft"),
        html.Div(id="rail-circuit"),
        select,
        dmc.SegmentedControl(
            id="circuit-effect", data=[*EFFECTS], value=extras.get("effect") or "accuracy", size="xs", fullWidth=True
        ),
        html.Div(pin_buttons(extras.get("pins", "")), id="circuit-pins", className="circuit-pins"),
        dcc.Store(id="circuit-pin"),
        panel_frame.how("circuit"),
    ]
    shells = panel_frame.matrix_row(rail, CIRCUIT, run.specs, "stack")
    return html.Div([shells, memory(CIRCUIT)], id="circuit", className=BARE)


def pin_buttons(pins: str) -> list[Any]:
    """Return the pinned components as buttons that release them, or how a component is pinned."""
    names = [name for name in pins.split(",") if name]
    if not names:
        return [html.P("Click a component to pin it.", className="soft")]
    buttons = [
        html.Button([name, " \u00d7"], type="button", className="button", title="Release", **{"data-pin": name})
        for name in names
    ]
    return [html.Span("Pinned ", className="soft"), *buttons]


def toggle_pin(pins: str, node: str) -> str:
    """Return the pins with a component added, or released if it was pinned."""
    names = [name for name in pins.split(",") if name]
    names = [name for name in names if name != node] if node in names else [*names, node]
    return ",".join(names[-MOST_PINS:])


def check_extras(run: RunView, extras: Mapping[str, str]) -> tuple[dict[str, str], list[Notice]]:
    """Return what of a link the row can use, with a notice for each part that it cannot."""
    connection, notices = check(run, extras.get("connection", ""))
    pins, effect = extras.get("pins", ""), extras.get("effect", "")
    names = [Connection.from_name(name) for name in run.memo(("connections",), lambda: names_of(run))]
    known = {part.name for one in names for part in (one.sender, one.receiver)}
    unknown = [name for name in pins.split(",") if name and name not in known] if known else []
    if unknown:
        said = f"This link pins \u201c{unknown[0][:40]}\u201d, which {run.name} does not have."
        notices = [*notices, Notice(said, "The page pins the other components.", "Keep")]
        pins = ",".join(name for name in pins.split(",") if name in known)
    if effect not in ("", *(one["value"] for one in EFFECTS)):
        said = f"This link names the effect \u201c{effect[:40]}\u201d, which does not exist."
        notices, effect = [*notices, Notice(said, "The page shows accuracy drops.", "Keep")], ""
    return {"connection": connection, "pins": pins, "effect": effect}, notices


def names_of(run: RunView) -> list[str]:
    """Return the names of all measured connections of a run."""
    return connection_names(run.frame.where(measurement=MEASUREMENT))


def check(run: RunView, asked: str) -> tuple[str, list[Notice]]:
    """The connection that a link names, where the run has it; a run that is not measured may have it yet."""
    if not asked:
        return "", []
    known = run.memo(("connections",), lambda: names_of(run))
    if asked in known or not known:
        return asked, []
    said = f"This link names the connection {asked}, which {run.name} does not have."
    return "", [Notice(said, "The page shows the connection with the largest accuracy drop.", "Keep")]


def row_text(run: RunView, step: int) -> tuple[list[Any], list[dict[str, str]]]:
    """What stands in the rail at a checkpoint, and the connections to choose among; none where it is not measured."""
    try:
        rows = run.memo(("circuit rows", step), lambda: measured_connections(run.frame, step=step))
    except NotMeasured as missing:
        if type(missing) is not NotMeasured or not missing.helps:  # measured, and the rows say why there is nothing
            return [html.P(missing.message)], []
        have = [whole(one) for one in sorted(run.frame.where(measurement=MEASUREMENT).distinct("step").tolist())]
        where = f" at step {whole(step)}, only at {', '.join(have)}" if have else ""
        ask = command(run.measuring(f" --only {MEASUREMENT} --steps {step}"))
        now = measure_button.button(run.name, MEASUREMENT, deepen_at=step)  # of a small model seconds, else minutes
        return [html.P(f"Not measured{where}."), html.Div([ask, now], className="ways")], []
    names = connection_names(rows)
    lengths = ", ".join(whole(n) for n in measured_lengths(rows))
    said = f"{whole(len(names))} connections, each cut separately, at length {lengths}."
    return [html.P(said)], [{"value": name, "label": name.replace(ARROW, " \u2192 ")} for name in names]


def connect(app: Dash, context: Context) -> None:
    """Register its callbacks."""
    callbacks.panels(app, context, CIRCUIT, late=True)

    @app.callback(
        Output("rail-circuit", "children"),
        Output("circuit", "className"),
        Output("connection-select", "data"),
        Input("late", "data"),
        Input("run-version", "data"),
        State("run", "data"),
        State("circuit", "className"),
        State("connection-select", "data"),
    )
    def says(cursor: dict[str, Any], _: Any, run: str, known: str, offered: Any) -> Any:
        view, at = callbacks.place(context, run, **cursor)
        said, choices = row_text(view, at.step)
        return said, callbacks.unless(known, DRAWN if choices else BARE), callbacks.unless(offered, choices)

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("connection-select", "value"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def chosen(connection: str | None, extras: dict[str, str]) -> Any:
        wanted = connection or ""
        return no_update if wanted == extras.get("connection", "") else extras | {"connection": wanted}

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Output("circuit-pins", "children"),
        Input("circuit-pin", "data"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def pin(clicked: dict[str, Any] | None, extras: dict[str, str]) -> Any:
        if not clicked:
            return no_update, no_update
        pins = toggle_pin(extras.get("pins", ""), clicked["node"])
        return extras | {"pins": pins}, pin_buttons(pins)

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("circuit-effect", "value"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def measured_in(effect: str | None, extras: dict[str, str]) -> Any:
        wanted = "" if effect in (None, "accuracy") else str(effect)
        return no_update if wanted == extras.get("effect", "") else extras | {"effect": wanted}
