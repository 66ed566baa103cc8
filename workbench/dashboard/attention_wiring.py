"""The callbacks of the attention panel: ask for a pattern, follow the job, show what comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import Dash, Input, Output, State, dcc, no_update
from dash.exceptions import PreventUpdate

from workbench.dashboard import attention
from workbench.dashboard.cursor import Cursor
from workbench.dashboard.wiring import LOOK, PARTS, place

if TYPE_CHECKING:
    from workbench.dashboard.answers import Answers


def stores(cursor: Cursor) -> list[dcc.Store]:
    """What the panel remembers: the sequence's number, and whether it has been on screen."""
    return [dcc.Store(id="sample", data=cursor.sample), dcc.Store(id="attention-seen", data=False)]


def connect(app: Dash, answers: Answers) -> None:
    """Register the panel's callbacks; called once, by the one page that shows it."""
    at = [Input(part, "data") for part in PARTS]

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("view", "value"),
        Input("sample", "data"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def said(view_name: str, sample: int, extras: dict[str, str]) -> dict[str, str]:
        return extras | {"view": view_name, "sample": str(sample or 0)}

    @app.callback(
        Output("sample", "data"),
        Input("resample", "n_clicks"),
        State("sample", "data"),
        prevent_initial_call=True,
    )
    def resample(_: int, sample: int) -> int:
        return int(sample or 0) + 1

    @app.callback(
        Output("attention-job", "data"),
        Input("attention-seen", "data"),
        *at,
        Input("sample", "data"),
        State("run", "data"),
    )
    def ask(seen: bool, step: int, length: int, head: str, sample: int, run: str) -> Any:
        if not seen:
            return no_update
        view, cursor = place(answers, run, step, length, head, "attention", sample)
        return no_update if attention.too_long(cursor) else answers.ask(view, cursor)

    @app.callback(Input("attention-cancel", "n_clicks"), State("attention-job", "data"), prevent_initial_call=True)
    def cancel(clicks: int, key: str | None) -> None:
        if clicks and key:
            answers.worker.cancel(key)

    names = ("figure", "strip", "note", "table", "state", "slice", "alt", "class", "poll")

    @app.callback(
        Output("attention-graph", "figure"),
        Output("attention-strip", "children"),
        Output("attention-note", "children"),
        Output("attention-table", "children"),
        Output("attention-state", "children"),
        Output("attention-slice", "children"),
        Output("attention-figure", "aria-label"),
        Output("attention-body", "className"),
        Output("attention-poll", "disabled"),
        Input("attention-job", "data"),
        Input("attention-poll", "n_intervals"),
        Input("view", "value"),
        LOOK,
        Input("attention-mode", "data"),
        *[State(part, "data") for part in PARTS],
        State("sample", "data"),
        State("run", "data"),
    )
    def show(
        key: Any,
        _: Any,
        view_name: str,
        look: Any,
        mode: str,
        step: int,
        length: int,
        head: str,
        sample: int,
        run: str,
    ) -> Any:
        view, cursor = place(answers, run, step, length, head, view_name, sample)
        if look is None:
            raise PreventUpdate
        made = answers.attention(key, view, cursor, look, mode)
        return tuple(made[name] for name in names)
