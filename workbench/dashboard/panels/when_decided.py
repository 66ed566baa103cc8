"""When runs of this kind are decided, on the Run page: one line, and below it determinacy at each fork step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from workbench.dashboard.components import interval_chart
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.server import theory_lookup
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker_addresses import DECIDED_FOR_RUN
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import whole

UNKNOWN = "When it is decided how far a run reaches: not known for this kind of run"
MEANING = (
    "Determinacy is the correlation of reach (mean skill at 1.5 to 8 N) between forks of one run. At 1, all forks of "
    "a run end alike, so the outcome was decided before the fork. The outcome is decided at a step if the whole "
    "interval there is above the threshold."
)


def fold(run: RunView) -> html.Details:
    """Return the folded line; it is empty, and so not shown, until the worker has answered."""
    return html.Details(
        [
            html.Summary(id="decided-said"),
            html.Div(id="decided"),
            dcc.Interval(id="decided-poll", interval=theory_lookup.POLL_MS, disabled=not applies(run)),
        ],
        id="decided-fold",
        className="evidence decided",
        hidden=not applies(run),
    )


def applies(run: RunView) -> bool:
    """Whether the run could be forked: it was trained here, has checkpoints, and is itself no fork."""
    return run.run.trained_here and "fork" not in run.config["training"] and bool(run.steps)


def words(run: RunView, answer: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the line, and what unfolds below it.

    Args:
        run: the run.
        answer: see :func:`workbench.claims.determinacy.of_run.decided_for_run`.
    """
    forks = ",".join(map(str, answer["forks"]))
    fork = [
        html.Span("Fork this run to see it:"),
        command(f"lengthlens fork {run.typed_path} --at {forks} --children 3"),
    ]
    kind = answer["kind"]
    if kind is None:
        return UNKNOWN, [html.Div(fork, className="next")]
    sentence = str(kind["sentence"])
    chart = interval_chart.chart(_part(kind, int(answer["of"])))
    return sentence[:1].upper() + sentence[1:], [
        html.P(MEANING, className="soft"),
        chart,
        html.Div(fork, className="next"),
    ]


def _part(kind: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """Determinacy at each fork step, as :func:`interval_chart.chart` draws it."""
    sides = {"decided": "holds", "open": "fails"}
    rows = [
        {
            "item": f"step {whole(row['step'])}: {row['label']}",
            "value": row["value"],
            "low": row["low"],
            "high": row["high"],
            "expected": None,
            "n": None,
            "counts": row["label"] != "too uniform",
            "side": sides.get(row["label"], "open"),
        }
        for row in kind["by_step"]
    ]
    families = kind["by_step"][0]["families"]
    return {
        "quantity": "Determinacy by the step of the fork",
        "item": f"{families} families of runs, trained for {whole(steps)} steps",
        "at_least": kind["threshold"],
        "at_most": None,
        "of_seeds": False,
        "median": None,
        "rows": rows,
    }


def connect(app: Dash, context: Context) -> None:
    """Register the callback that fills the line once the worker has answered."""

    @app.callback(
        Output("decided-said", "children"),
        Output("decided", "children"),
        Output("decided-poll", "disabled"),
        Input("decided-poll", "n_intervals"),
        State("run", "data"),
        prevent_initial_call=True,
    )
    def fill(_: Any, name: str) -> Any:
        run = context.store.run(name)
        if run is None or not applies(run):
            raise PreventUpdate
        key = context.worker.submit(DECIDED_FOR_RUN, {"config": run.config, "steps": list(run.steps)})
        job = context.worker.job(key)
        if job is None or job.pending:
            raise PreventUpdate
        if job.state != "done":
            return "When it is decided how far a run reaches: not computed", [html.P(job.error)], True
        return (*words(run, job.result), True)
