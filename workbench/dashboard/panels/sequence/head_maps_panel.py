"""All heads of a checkpoint on one sequence, as small maps, which the worker computes only while the panel is in view.

The browser sends the selection once the panel is in view (``assets/js/head_maps.js``, the store ``maps-at``). The maps
are one picture. The browser draws a link to the head's own view over each map, and highlights a column in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pandas as pd
import plotly.graph_objects as go
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from typing_extensions import TypedDict

from workbench import figures
from workbench.dashboard.panels.callbacks import LOOK, place
from workbench.dashboard.panels.job_status import failure_message, waiting
from workbench.dashboard.panels.panel_frame import PALE, READY, STATE, TABLE, frame, graph_body, how, plain_table
from workbench.dashboard.panels.sequence.sequence_query import wait_for_answer
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.server.worker_addresses import LOOK_AT_ALL_HEADS
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.request_values import Name, Session, Text, Whole, declare, exact
from workbench.dashboard.state.run_view import RunView
from workbench.figures.heads.head_maps import Costs
from workbench.figures.heads.leading_head import ABLATION
from workbench.figures.labels import whole
from workbench.figures.look import Look, Theme
from workbench.measure.edits.reading import HeadMaps


@exact
class MapsPlace(TypedDict):
    """The sequence whose heads are in view."""

    step: Whole
    length: Whole
    sample: Whole


declare(
    {
        "maps-at.data": MapsPlace | None,
        "maps-job.data": Name | None,
        "maps-news.data": Text | None,
        "maps-session.data": Session,
        "maps-words.data": Any,
        "maps-cancel.data": Any,
    }
)

POLL_MS = 400
"""How often the browser checks whether the maps are computed."""
NAMED = 1024
"""Sequence length up to which each token is listed next to the maps; longer sequences list the first of each cell."""

ABOUT = (
    "Attention of every head on one sequence of the matched test set, the same that the Checkpoint page shows. Each "
    "map is a head: rows are queries, columns are keys, and a stronger colour is more attention.",
    "Hover a token or a map, or use the arrow keys on the line of tokens, to highlight the column of that key in "
    "every map. Click a map to open its head on the Checkpoint page.",
    "A solid frame means that ablating this head lowers accuracy significantly at this step and length; the thicker, "
    "the more. The dotted ring is the selected head, and one sequence is an example, not a measurement (n is 1).",
)


@dataclass(frozen=True, kw_only=True)
class HeadMapsPanel:
    """The maps as a panel that can be exported.

    Attributes:
        id: prefix of its component ids, and its name in export links.
        title: as on screen.
        size: the size of an exported picture, pixels.
    """

    id: str
    title: str
    size: tuple[int, int] = (900, 760)

    def question(self, run: RunView, step: int, length: int, sample: int) -> dict[str, Any]:
        """Arguments of the worker's function."""
        sequence = {"law": "matched", "length": length, "seed": sample}
        return {"run_path": str(run.path), "step": step, "sequence": sequence}

    def _compute(self, context: Context, run: RunView, cursor: Cursor) -> HeadMaps:
        asked = self.question(run, cursor.step, cursor.length, cursor.sample)
        found: HeadMaps = wait_for_answer(context, lambda: context.worker.submit(LOOK_AT_ALL_HEADS, asked))
        return found

    def rows(self, context: Context, run: RunView, cursor: Cursor, _: Mapping[str, str]) -> pd.DataFrame:
        """Exactly what is drawn, waited for."""
        return figures.head_maps.data(self._compute(context, run, cursor), costs_at(run, cursor.step, cursor.length))

    def draw(self, context: Context, run: RunView, cursor: Cursor, _: Mapping[str, str], theme: Theme) -> go.Figure:
        """The figure, waited for."""
        found, costs = self._compute(context, run, cursor), costs_at(run, cursor.step, cursor.length)
        return figures.head_maps(found, costs, layer=cursor.layer, head=cursor.head, look=Look(theme))

    def snippet(self, run: RunView, cursor: Cursor, _: Mapping[str, str]) -> str:
        """Python that computes and draws the same in a notebook."""
        at = f"step={cursor.step}, length={cursor.length}"
        sequence = self.question(run, cursor.step, cursor.length, cursor.sample)["sequence"]
        return (
            "from circuits.all_heads import all_heads\n"
            "from workbench.figures import ablation_costs, head_maps\n"
            "from workbench.table import Table\n\n"
            f"found = all_heads({run.shown_path!r}, {cursor.step}, {sequence!r})\n"
            f"costs = ablation_costs(Table.load({run.shown_path!r}).frame(), {at})\n"
            f"head_maps(found, costs, layer={cursor.layer}, head={cursor.head})\n"
        )


PANEL = HeadMapsPanel(id="maps", title="Attention of all heads on one sequence")


def costs_at(run: RunView, step: int, length: int) -> Costs:
    """What ablating each head costs there."""
    made: Costs = run.memo(
        ("ablation costs", step, length), lambda: figures.ablation_costs(run.frame, step=step, length=length)
    )
    return made


FEW = 4
"""Columns of maps that fit next to the sequence of the Checkpoint page; more stand above it."""


def row(run: RunView) -> html.Div:
    """The row of the Run page: rail and panel, empty until it is seen."""
    rail = [
        html.H2("All heads"),
        html.P("Where does each head look?", className="soft"),
        html.P(id="maps-says"),
        how("heads"),
    ]
    panel, *others = _panel("training")
    return html.Div(
        [html.Div([html.Div(rail, className="rail"), panel], className="matrix-row one"), *others],
        className="matrix more-row maps-row lazy",
        style=_sides(run),
    )


def first(run: RunView) -> html.Div:
    """The panel as the first one of the Checkpoint page, drawn at once."""
    said = html.P(id="maps-says", className="board-note")
    return html.Div([*_panel(), said], className="maps-row maps-first", style=_sides(run))


def is_narrow(run: RunView) -> bool:
    """Whether the maps of all heads fit next to the sequence."""
    return figures.map_sides(run.n_layers, run.n_heads)[1] <= FEW


def _sides(run: RunView) -> dict[str, str]:
    rows, columns = figures.map_sides(run.n_layers, run.n_heads)
    return {"--rows": str(rows), "--columns": str(columns)}


def _panel(area: str = "") -> list[Any]:
    """The panel, empty until it is seen, and the stores of what it shows."""
    data = {"at": None, "wanted": None, "job": None, "news": "", "words": None, "cancel": None, "session": uuid4().hex}
    stores = [dcc.Store(id=f"maps-{name}", data=value) for name, value in data.items()]
    body = [
        html.Div(
            [
                html.Div(
                    [*graph_body("maps"), html.Div(id="maps-links", className="map-links")], className="maps-plot"
                ),
                html.Div(
                    html.Div(
                        id="maps-strip",
                        className="map-tokens mono",
                        role="slider",
                        tabIndex=0,
                        **{"aria-label": "Key", "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0},
                    ),
                    className="map-strip",
                ),
            ],
            className="maps-all",
        )
    ]
    panel = frame("maps", PANEL.title, [("", text) for text in ABOUT], body, area=area)
    return [panel, *stores, dcc.Interval(id="maps-poll", interval=POLL_MS, disabled=True)]


def connect(app: Dash, context: Context) -> None:
    """Register its callbacks."""
    # With an output of the page, so that it is called when the page comes and not only when the cursor moves.
    app.clientside_callback(
        ClientsideFunction("maps", "moved"),
        Output("maps-wanted", "data"),
        *[Input(one, "data") for one in ("step", "length", "extras")],
    )
    app.clientside_callback(
        ClientsideFunction("maps", "drawn"),
        Output("maps-links", "title"),
        Input("maps-graph", "figure"),
        Input("maps-words", "data"),
        Input("head", "data"),
    )

    @app.callback(
        Output("maps-job", "data"),
        Input("maps-at", "data"),
        State("run", "data"),
        State("maps-session", "data"),
    )
    def ask(at: Any, run: str, session: str) -> str:
        view = context.store.run(run)
        if at is None or view is None:
            raise PreventUpdate
        asked = PANEL.question(view, at["step"], at["length"], at["sample"])
        return context.worker.submit(LOOK_AT_ALL_HEADS, asked, slot=f"maps/{session}")

    @app.callback(Input("maps-cancel", "data"), State("maps-job", "data"), prevent_initial_call=True)
    def cancel(_: Any, key: str | None) -> None:
        if key:
            context.worker.cancel(key)

    @app.callback(
        Output("maps-news", "data"),
        Output("maps-poll", "disabled"),
        Input("maps-job", "data"),
        Input("maps-poll", "n_intervals"),
        State("maps-news", "data"),
    )
    def heard(key: str | None, _: Any, known: str) -> Any:
        """Only what is new is drawn, as in :mod:`workbench.dashboard.panels.sequence.sequence_callbacks`."""
        if not key:
            raise PreventUpdate
        job = context.worker.job(key)
        news = f"{key}|forgotten" if job is None else f"{key}|{job.state}|{job.done}"
        return (no_update if news == known else news), job is None or not job.pending

    @app.callback(
        Output("maps-graph", "figure"),
        *[Output(f"maps-{name}", "children") for name in ("table", "state", "slice", "says")],
        Output("maps-figure", "aria-label"),
        Output("maps-body", "className"),
        Output("maps-words", "data"),
        Input("maps-news", "data"),
        Input("run-version", "data"),
        LOOK,
        Input("maps-mode", "data"),
        State("maps-at", "data"),
        State("maps-job", "data"),
        State("run", "data"),
        State("maps-words", "data"),
    )
    def show(news: str, _: Any, look: Any, mode: str, at: Any, key: str | None, run: str, shown: Any) -> Any:
        if at is None or look is None or not news or not key:
            raise PreventUpdate
        view, cursor = place(context, run, at["step"], at["length"], "0.0", "attention", at["sample"])
        job = context.worker.job(key)
        if job is None:  # forgotten since: newer answers took its place
            asked = PANEL.question(view, at["step"], at["length"], at["sample"])
            job = context.worker.wait(context.worker.submit(LOOK_AT_ALL_HEADS, asked), 0)
        return render_maps(job or Job(), view, cursor, look, mode, bool(shown))


def render_maps(
    job: Job, run: RunView, cursor: Cursor, look: Mapping[str, Any], mode: str, before: bool
) -> tuple[Any, ...]:
    """Figure, table, state, slice, rail, description, class and words of the panel, in any state of its job.

    Args:
        job: the worker's job.
        run: the run with the heads.
        cursor: step, length and sample.
        look: theme and type size.
        mode: figure or table.
        before: whether maps of another selection are on screen; they stay until the new ones are computed.
    """
    costs = costs_at(run, cursor.step, cursor.length)
    says = frames_note(run, cursor, costs)
    if job.pending:
        if before:
            return *[no_update] * 6, PALE, no_update
        state = waiting(job, "maps", "the attention of every head")
        return no_update, [], state, "", says, "not computed yet", STATE, no_update
    if job.state != "done":
        return no_update, [], failure_message(job, run), "", says, "not computed", STATE, None
    maps: HeadMaps = job.result
    if mode == "table":
        table = plain_table(figures.head_maps.data(maps, costs), PANEL.title)
        return no_update, table, [], no_update, says, no_update, TABLE, no_update
    figure = figures.head_maps.plain(maps, costs, look=Look(look["theme"], look["size"]))
    made = figure.to_plotly_json()
    meta = made["layout"]["meta"]
    return made, [], [], meta["slice"], says, meta["alt"], READY, words(run, cursor, maps, costs)


def words(run: RunView, cursor: Cursor, found: HeadMaps, costs: Costs) -> dict[str, Any]:
    """What the browser writes around the maps: tokens, what each head costs, and where a click leads."""
    count = len(found.tokens)
    indices = range(count) if count <= NAMED else range(0, count, found.pool)
    return {
        "run": run.name,
        "step": cursor.step,
        "length": cursor.length,
        "sample": cursor.sample,
        "tokens": [found.tokens[i] for i in indices],
        "cells": [i // found.pool for i in indices],
        "prefix": [i if found.bos else i + 1 for i in indices],
        "costs": {f"{layer}.{head}": row["text"] for (layer, head), row in costs.items()},
    }


def frames_note(run: RunView, cursor: Cursor, costs: Costs) -> list[Any]:
    """For which heads frames can be drawn; if for none, where ablations were measured."""
    where = f"at step {whole(cursor.step)} and length {whole(cursor.length)}"
    if costs:
        shown = sum(bool(row["shown"]) for row in costs.values())
        return [
            f"Frames mark {shown} of {len(costs)} heads: ablating each of these heads lowers accuracy "
            f"significantly {where}."
        ]
    rows = run.frame.where(measurement=ABLATION, target="head")
    if not len(rows):
        return ["No frames: ablation is not measured for this run."]
    steps = sorted({int(one) for one in rows["step"]})
    lengths = sorted({int(one) for one in rows.where(step=cursor.step)["length"]})
    if not lengths:
        return [f"No frames: ablation is measured at step {_listed(steps)}, not at step {whole(cursor.step)}."]
    return [f"No frames: ablation is measured at length {_listed(lengths)}, not at {whole(cursor.length)}."]


def _listed(values: list[int]) -> str:
    return ", ".join(whole(one) for one in values)
