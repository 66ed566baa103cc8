"""The callbacks of a board: submit requests to the worker, follow its jobs, show results, update the link."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, no_update
from dash.exceptions import PreventUpdate

from workbench.dashboard.panels.callbacks import LOOK, PARTS, place
from workbench.dashboard.panels.sequence import pattern_zoom
from workbench.dashboard.panels.sequence.sequence_board import SequenceBoard, Shown
from workbench.dashboard.panels.sequence.sequence_query import SequenceQuestion, asked_of
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job

PATIENCE = 1.2
"""Seconds for which old figures stay while new ones are computed; then progress is shown."""


def connect(app: Dash, context: Context, board: SequenceBoard) -> None:
    """Register a board's callbacks."""
    _controls(app, board)
    _ask(app, context, board)
    _show(app, context, board)
    pattern_zoom.connect(app, board.id, [f"{panel.id}-graph" for panel in board.panels])
    ident, graphs = board.id, [f"{panel.id}-graph" for panel in board.panels]
    for name, prop in (("drawn", "figure"), ("hovered", "hoverData"), ("clicked", "clickData")):
        app.clientside_callback(
            ClientsideFunction("sequence", name),
            *[Input(graph, prop) for graph in graphs],
            *([Input(f"{ident}-tokens", "data")] if name == "drawn" else []),
            prevent_initial_call=True,
        )


def _controls(app: Dash, board: SequenceBoard) -> None:
    """View, layer, sample and query go into the link."""

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input(f"{board.id}-view", "value"),
        Input(f"{board.id}-site", "value"),
        Input(f"{board.id}-query", "data"),
        State("extras", "data"),
        State("length", "data"),
        State("run", "data"),
        State("scale", "data"),
        prevent_initial_call=True,
    )
    def write_extras(view: str, site: str, query: Any, extras: dict[str, str], length: int, _: str, scale: Any) -> Any:
        extras_now = extras | {"view": view, "site": "" if int(site) == scale["layers"] - 1 else site}
        if query is not None:
            last = query["prefix"] >= query["last"]
            extras_now["pos"] = "" if last else str(query["prefix"])
        if extras_now == extras:
            raise PreventUpdate
        return extras_now

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input(f"{board.id}-resample", "n_clicks"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def resample(clicks: int, extras: dict[str, str]) -> Any:
        if not clicks:
            raise PreventUpdate
        pick = "sample" if extras.get("pick") else ""
        sample = str(int(extras.get("sample", "0")) + 1)
        return extras | {"sample": sample, "pick": pick, "seq": "", "pos": "", "zoom": ""}


def asked_at(
    context: Context, board: SequenceBoard, run: str, step: int, length: int, head: str, extras: Any
) -> SequenceQuestion:
    """The request that the page's stores describe."""
    extras = extras or {}
    view, cursor = place(
        context, run, step, length, head, extras.get("view", "attention"), int(extras.get("sample", "0"))
    )
    return asked_of(view, cursor, extras, board.cells)


def _ask(app: Dash, context: Context, board: SequenceBoard) -> None:
    @app.callback(
        Output(f"{board.id}-jobs", "data"),
        *[Input(part, "data") for part in PARTS],
        Input("extras", "data"),
        State("run", "data"),
        State(f"{board.id}-session", "data"),
        State(f"{board.id}-jobs", "data"),
    )
    def ask(step: int, length: int, head: str, extras: Any, run: str, session: str, known: Any) -> Any:
        keys = asked_at(context, board, run, step, length, head, extras).submit(context, session)
        if known and keys == known["keys"]:
            return no_update
        return {"keys": keys, "since": time.time()}

    @app.callback(Input(f"{board.id}-cancel", "data"), State(f"{board.id}-jobs", "data"), prevent_initial_call=True)
    def cancel(_: Any, held: dict[str, Any] | None) -> None:
        for key in (held or {"keys": {}})["keys"].values():
            context.worker.cancel(key)


def _show(app: Dash, context: Context, board: SequenceBoard) -> None:
    ids = [panel.id for panel in board.panels]
    outputs = [
        *[Output(f"{panel_id}-graph", "figure") for panel_id in ids],
        *[Output(f"{panel_id}-{name}", "children") for name in ("table", "state", "slice") for panel_id in ids],
        *[Output(f"{panel_id}-figure", "aria-label") for panel_id in ids],
        *[Output(f"{panel_id}-body", "className") for panel_id in ids],
        Output(f"{board.id}-tokens", "data"),
        Output(f"{board.id}-note", "children"),
        Output(f"{board.id}-drawn", "data"),
    ]
    # What is on screen decides whether more is to come: answers may overtake one another on their way.
    app.clientside_callback(
        ClientsideFunction("sequence", "settled"),
        Output(f"{board.id}-poll", "disabled"),
        Input(f"{board.id}-jobs", "data"),
        Input(f"{board.id}-drawn", "data"),
    )

    @app.callback(
        Output(f"{board.id}-news", "data"),
        Input(f"{board.id}-jobs", "data"),
        Input(f"{board.id}-poll", "n_intervals"),
        State(f"{board.id}-news", "data"),
    )
    def heard(held: Any, tick: Any, known: str) -> Any:
        """Draw only what is new.

        Of two requests Dash drops the answer to the earlier one. If drawing took longer than the interval between
        requests, redrawing at each of them would never show anything.
        """
        if not held:
            raise PreventUpdate
        jobs = {name: context.worker.job(key) for name, key in held["keys"].items()}
        late = time.time() - held["since"] >= PATIENCE
        forgotten = str(tick) if None in jobs.values() else ""
        news = "|".join([state_of(jobs), *held["keys"].values(), str(late), forgotten])
        if news == known:
            raise PreventUpdate
        return news

    @app.callback(
        outputs,
        {
            "held": Input(f"{board.id}-jobs", "data"),
            "news": Input(f"{board.id}-news", "data"),
            "extras": Input("extras", "data"),
            "look": LOOK,
            "modes": [Input(f"{panel_id}-mode", "data") for panel_id in ids],
            "drawn": State(f"{board.id}-drawn", "data"),
            "parts": [State(part, "data") for part in PARTS],
            "run": State("run", "data"),
            "session": State(f"{board.id}-session", "data"),
        },
    )
    def show(
        held: Any, news: Any, extras: Any, look: Any, modes: Any, drawn: Any, parts: Any, run: str, session: str
    ) -> Any:
        if look is None or not held:
            raise PreventUpdate
        keys = held["keys"]
        step, length, head = parts
        question = asked_at(context, board, run, step, length, head, extras)
        jobs = {name: context.worker.job(key) for name, key in keys.items()}
        if None in jobs.values():  # forgotten since: newer answers took its place
            keys = question.submit(context, session)
            jobs = {name: context.worker.job(key) for name, key in keys.items()}
        state_key = "|".join([state_of(jobs), *keys.values(), str(extras), str(look), *modes])
        pending = jobs["look"] is not None and jobs["look"].pending
        if state_key == drawn["seen"] and not pending:
            raise PreventUpdate
        if pending and drawn["seen"] and set(modes) == {"figure"} and time.time() - held["since"] < PATIENCE:
            return *Shown.keep_figures(board).outputs, no_update
        shown = board.show(question, jobs, look, modes)
        return *shown.outputs, {"seen": state_key, "keys": keys, "final": not shown.polls}


def state_of(jobs: Mapping[str, Job | None]) -> str:
    """Return a text that changes whenever the visible state of the jobs changes."""
    return "/".join("none" if job is None else f"{job.state} {job.doing}" for job in jobs.values())
