"""What Try it opens with where a checkpoint has a diagnosis: a wrong sequence under the diagnosed intervention.

The strength of the intervention is in the link. A slider sets it where strengths between 0 and 1 have a meaning, and
otherwise a switch; the worker's answer decides which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update
from dash.exceptions import PreventUpdate
from pydantic import Field

from workbench.dashboard.panels.callbacks import unless
from workbench.dashboard.panels.sequence.sequence_panel import AnswersPanel
from workbench.dashboard.panels.sequence.sequence_query import WRONG_OF
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.request_values import declare
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.rows.diagnosis_rows import named_entry, recovered_by
from workbench.measure.edits.edit import SINGLE_PASS, intervention_words
from workbench.measure.edits.interventions.all_interventions import by_name

declare({"try-strength.value": Annotated[float, Field(ge=0, le=1)] | None, "try-switch.checked": bool | None})

PANEL = AnswersPanel(id="try-answers", title="Answers at every prefix", cells=256, size=(900, 320))
STATED = ("seq", "sample", "edits", "law", "pick", "strength")
"""Keys of a link that choose a sequence or an edit."""
STEP = 0.05
"""Distance of two strengths on the slider."""


def opening(run: RunView, cursor: Cursor, asked: Mapping[str, str]) -> dict[str, str]:
    """Return the sequence and the edits with which the page opens, if the link names none.

    With a diagnosed cause and beyond the trained lengths, these are the first wrong sequence of the diagnosed test set
    and the diagnosed intervention.
    """
    cause = named_cause(run, cursor.step)
    if cause is None or cursor.length <= run.trained:
        return {}
    if any(key in asked for key in STATED):
        return {} if asked.get("pick") or asked.get("seq") else {"pick": "sample"}
    return {"pick": "wrong", "law": str(cause["law"]), "edits": ",".join(interventions_here(cause))}


def named_cause(run: RunView, step: int) -> Mapping[str, Any] | None:
    """Return the row of the diagnosed cause at a checkpoint; None without one."""
    try:
        cause = named_entry(run.frame, step=step)
    except NotMeasured:
        return None
    return cause if cause["label"] and cause["target"] else None


def interventions_here(cause: Mapping[str, Any]) -> list[str]:
    """Return the diagnosed interventions, if this page can apply all of them.

    Otherwise return another intervention that recovers enough accuracy, or none.
    """
    named = str(cause["target"]).split(" and ")
    if all(name in SINGLE_PASS for name in named):
        return named
    return next(([name] for name in recovered_by(cause).values() if name in SINGLE_PASS), [])


def not_here(cause: Mapping[str, Any] | None) -> str:
    """Return why the page does not apply the diagnosed intervention; "" if it can."""
    if cause is None:
        return ""
    names = str(cause["target"]).split(" and ")
    if all(name in SINGLE_PASS for name in names):
        return ""
    words = " and ".join(one.words if (one := by_name(name)) else name for name in names)
    return f"The diagnosed intervention, {words}, edits only the last query. This page applies it to no other prefix."


def block(extras: Mapping[str, str], panel: html.Section) -> html.Div:
    """The strength of the intervention, and the answers as they are above the edited ones."""
    strength = float(extras.get("strength") or 1)
    marks = [{"value": value, "label": label} for value, label in ((0, "0, as is"), (0.5, "0.5"), (1, "1, full"))]
    slider = dmc.Slider(
        id="try-strength",
        min=0,
        max=1,
        step=STEP,
        value=strength,
        marks=marks,
        updatemode="mouseup",
        size=2,
        thumbSize=14,
        precision=2,
        thumbLabel="Intervention, 0 to 1",
        className="strength-slider",
    )
    switch = dmc.Switch(id="try-switch", checked=strength > 0, label="Intervention on", size="sm")
    row = [
        html.Span("Intervention 0 to 1", className="caption for-slider"),
        html.Div(slider, className="for-slider strength-track"),
        html.Div(switch, className="for-switch"),
        html.Span(intervention_words(extras.get("edits", "")), id="try-strength-said", className="soft"),
    ]
    return html.Div([html.Div(row, id="try-strength-row", className="try-strength graded"), panel], className="story")


def flow_class(edits: str) -> str:
    """Return the class of the page's parts: whether something is edited, and whether an intervention is among it."""
    return " ".join(["try-flow", "edited" if edits else "", "intervened" if intervention_words(edits) else ""]).strip()


def wrong_button() -> html.Button:
    """The button that opens the first wrong sample."""
    title = f"The first of {WRONG_OF} samples whose last answer the model gets wrong"
    return html.Button("First wrong", id="try-wrong", className="button", type="button", n_clicks=0, title=title)


def connect(app: Dash, board: str) -> None:
    """Register the callbacks of the strength and of the choice of a wrong sequence."""

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("try-strength", "value"),
        Input("try-switch", "checked"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def set_strength(strength: float | None, on: bool | None, extras: dict[str, str]) -> Any:
        chosen = float(bool(on)) if ctx.triggered_id == "try-switch" else strength
        text = "" if chosen is None or chosen == 1 else f"{chosen:.2f}".rstrip("0").rstrip(".")
        if text == extras.get("strength", ""):
            raise PreventUpdate
        return extras | {"strength": text}

    @app.callback(
        Output("try-flow", "className"),
        Output("try-strength-said", "children"),
        Output("try-strength", "value"),
        Output("try-switch", "checked"),
        Input("extras", "data"),
        State("try-strength", "value"),
        State("try-switch", "checked"),
        prevent_initial_call=True,
    )
    def follow(extras: dict[str, str], shown: float | None, on: bool | None) -> Any:
        edits, strength = (extras or {}).get("edits", ""), float((extras or {}).get("strength") or 1)
        return flow_class(edits), intervention_words(edits), unless(shown, strength), unless(on, strength > 0)

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("try-wrong", "n_clicks"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def first_wrong(clicks: int, extras: dict[str, str]) -> Any:
        if not clicks:
            return no_update
        return extras | {"pick": "wrong", "seq": "", "pos": "", "zoom": ""}

    app.clientside_callback(
        ClientsideFunction("sequence", "graded"),
        Output("try-strength-row", "className"),
        Input(f"{board}-tokens", "data"),
        prevent_initial_call=True,
    )
