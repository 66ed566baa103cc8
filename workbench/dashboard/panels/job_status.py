"""What stands in a panel while the worker computes for it, and when it could not."""

from __future__ import annotations

import time
from typing import Any

from dash import html

from workbench.dashboard.components.icons import icon
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.panels.panel_frame import error_message
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.run_view import RunView


def waiting(job: Job, board: str, what: str) -> list[Any]:
    """Return the progress of the worker, with a button to stop it.

    Args:
        job: pending.
        board: whose jobs the button cancels; the browser writes into the store ``<board>-cancel``.
        what: what is computed, e.g. "the attention pattern".
    """
    if job.total:
        text = f"{job.doing or what} \u00b7 {job.done:,} of {job.total:,}"
        bar = html.Div(html.Div(style={"width": f"{100 * job.done / job.total:.0f}%"}), className="bar")
    else:
        seconds = 0 if job.started is None else round(time.monotonic() - job.started)
        doing = f"starting the worker, then {what}" if job.cold else what
        text = "waiting for the worker" if job.state == "queued" else f"{doing} \u00b7 {seconds} s"
        bar = html.Div(html.Div(), className="bar running")
    return [
        html.P([html.Strong("Computing"), " ", html.Span(text, className="num")], className="head"),
        bar,
        html.Button("Cancel", className="button", type="button", **{"data-cancel": board}),
    ]


def failure_message(job: Job, run: RunView) -> list[Any]:
    """Return why a panel shows nothing, and what to do."""
    if job.state == "cancelled":
        return [
            html.P([icon("info"), html.Strong("Cancelled")], className="head"),
            html.P(
                "Nothing was computed, because you cancelled it. Draw a new sample, or move a slider, to start again."
            ),
        ]
    damaged = not job.detail and "damaged" in job.error
    title = "Damaged checkpoint" if damaged else "This could not be computed"
    return error_message(title, job.error, command(f"lengthlens check {run.typed_path}") if damaged else None)
