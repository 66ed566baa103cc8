"""Measure now: a separate process makes a missing measurement, and its rows stay in the table.

A strip at the foot of every page shows the progress and can cancel it. Measurements have their own worker, so that
attention patterns requested meanwhile do not wait.
"""

from __future__ import annotations

import re
import time
from typing import Any, NotRequired

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from typing_extensions import TypedDict

from workbench.dashboard.components.icons import icon
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.server.worker_addresses import MEASURE_RUN
from workbench.dashboard.state.cursor import integer
from workbench.dashboard.state.request_values import Name, declare
from workbench.figures.labels import time_left


class Measure(TypedDict):
    """A wish to measure, or to stop measuring."""

    run: NotRequired[Name]
    only: NotRequired[Name]
    cancel: NotRequired[Any]


class Measuring(TypedDict):
    """What is being measured."""

    key: Name
    run: Name
    what: Name


declare({"measure-ask.data": Measure | None, "measure-job.data": Measuring | None})

POLL_MS = 500
NAME = re.compile(r"[\w.]{0,64}")


def strip() -> html.Div:
    """The strip, empty, with what it needs."""
    return html.Div(
        [
            dcc.Store(id="measure-ask"),
            dcc.Store(id="measure-job"),
            dcc.Interval(id="measure-poll", interval=POLL_MS, disabled=True),
            html.Div(id="measure-strip", className="measure-strip", role="status"),
        ]
    )


def ask(context: Context, asked: dict[str, Any]) -> dict[str, str] | None:
    """Hand a request to the worker; None where it names no run here, or no measurement."""
    run = context.store.run(str(asked.get("run", "")))
    family = str(asked.get("only", ""))
    if run is None or not NAME.fullmatch(family):
        return None
    arguments: dict[str, Any] = {
        "run_path": str(run.path),
        "only": [family] if family else [],
        "state": run.signature,
    }
    if asked.get("step"):
        step = integer(str(asked["step"]))
        if step not in run.steps:
            return None
        arguments["deepen_at"] = step
    key = context.measurer.submit(MEASURE_RUN, arguments, slot="measure")
    return {"key": key, "run": run.name, "what": family or "everything"}


def status_line(job: Job, asked: dict[str, str]) -> list[Any]:
    """How the work stands, in one line."""
    what = f"{asked['what'].rstrip('.')} of {asked['run']}"
    if job.pending:
        finished, total = job.done, max(job.total, 1)
        left = _remaining_time(job)
        far = f"{job.done} of {job.total} checkpoints{left}" if job.total else "starting"
        return [
            html.Strong(f"Measuring {what}"),
            html.Span(far, className="num"),
            html.Div(html.Div(style={"width": f"{100 * finished / total:.0f}%"}), className="bar"),
            html.Button("Cancel", className="button", type="button", **{"data-measure-cancel": "1"}),
        ]
    close = html.Button("Close", className="button", type="button", **{"data-measure-close": "1"})
    if job.state == "cancelled":
        return [
            html.Strong("Stopped."),
            html.Span(f"The results of {asked['run']} that were measured before are kept."),
            close,
        ]
    if job.state == "failed":
        return [icon("warn"), html.Strong(f"Measuring {what} failed."), html.Span(job.error), close]
    problems = (job.result or {}).get("problems", [])
    rows = (job.result or {}).get("rows", 0)
    if not rows and (job.result or {}).get("failed"):
        why = problems[-1]  # notices come first
        return [icon("warn"), html.Strong(f"Nothing was measured of {asked['run']}."), html.Span(f"{why}."), close]
    said = f"{rows:,} rows are new." if rows else "Nothing was missing."
    return [html.Strong(f"Measured {what}."), html.Span([said, *(f" {one}." for one in problems[:2])]), close]


def _remaining_time(job: Job) -> str:
    """How much longer it takes at this rate."""
    if not job.done or job.started is None:
        return ""
    return f" \u00b7 {time_left((time.monotonic() - job.started) / job.done * (job.total - job.done))}"


def connect(app: Dash, context: Context) -> None:
    """Register the strip's callbacks."""

    @app.callback(
        Output("measure-job", "data"),
        Output("measure-poll", "disabled"),
        Input("measure-ask", "data"),
        State("measure-job", "data"),
        prevent_initial_call=True,
    )
    def submit(request: dict[str, Any] | None, known: dict[str, str] | None) -> Any:
        if not request:
            raise PreventUpdate
        if request.get("cancel") and known:
            context.measurer.cancel(known["key"])
            return no_update, False
        made = ask(context, request)
        return (made, False) if made is not None else (None, True)

    @app.callback(
        Output("measure-strip", "children"),
        Output("measure-poll", "disabled", allow_duplicate=True),
        Input("measure-poll", "n_intervals"),
        Input("measure-job", "data"),
        prevent_initial_call=True,
    )
    def show(_: Any, asked: dict[str, str] | None) -> Any:
        job = context.measurer.job(asked["key"]) if asked else None
        if job is None or asked is None:
            return [], True
        return status_line(job, asked), not job.pending
