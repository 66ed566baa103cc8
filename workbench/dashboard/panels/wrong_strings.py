"""The most confident errors of a run at the length of its diagnosis.

They need a pass through the model. If that takes no long time, the browser requests them once all panels are drawn
(``assets/js/errors.js``). Otherwise a button does.
"""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from typing_extensions import TypedDict

from workbench.dashboard.panels import job_status
from workbench.dashboard.panels.callbacks import place, unless
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.server.worker_addresses import FIND_WRONG_STRINGS
from workbench.dashboard.state.cursor import query
from workbench.dashboard.state.request_values import Name, declare, exact
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import signed_number, whole
from workbench.figures.rows.diagnosis_rows import named_entry
from workbench.figures.sequence.wrong_string import twin_said
from workbench.measure.edits.edit import SINGLE_PASS
from workbench.measure.edits.reading import WrongString, WrongStrings


@exact
class WrongStringsJob(TypedDict):
    """A request for the most confidently wrong sequences, and the job that computes them."""

    asked: Name
    key: Name


declare({"wrong-strings-job.data": WrongStringsJob | None, "wrong-strings-cancel.data": Any})

ID = "wrong-strings"
POLL_MS = 400
SHOWN = 48
"""Characters of a string that stand in its cell: its end, where the question is."""
COUNT = 6
"""Sequences in the table."""
MOST_PRODUCTS = 2e11
"""Multiplications of numbers that the page asks for by itself; on one CPU core these take about half a minute."""
REPLACEMENTS, SAMPLE = 1024, 512
"""Sequences that the search evaluates for each row of the table, and for all of it (find_wrong_strings)."""
HEADS = ("sequence", "correct", "model", "margin", "nearest correct input", "recovered")


def section() -> html.Div:
    """Return the button and the area that it fills, both hidden until a diagnosis names a cause."""
    return html.Div(
        [
            html.Button("", id=f"{ID}-ask", type="button", className="button", n_clicks=0),
            html.Div(id=ID, className="wrong-strings-body", **{"aria-live": "polite"}),
            dcc.Store(id=f"{ID}-job"),
            dcc.Store(id=f"{ID}-cancel"),
            dcc.Interval(id=f"{ID}-poll", interval=POLL_MS, disabled=True),
        ],
        id=f"{ID}-section",
        className="wrong-strings",
        hidden=True,
    )


def search_arguments(run: RunView, step: int) -> dict[str, Any] | None:
    """The worker's arguments at a step: length, test set, and the intervention of the named cause; None without a
    cause."""
    try:
        cause = named_entry(run.frame, step=step)
    except NotMeasured:
        return None
    if not cause["label"]:
        return None
    repair = str(cause["target"])
    return {
        "run_path": str(run.path),
        "step": step,
        "length": int(cause["length"]),
        "law": str(cause["law"]),
        "repair": repair if repair in SINGLE_PASS else "",
        "count": COUNT,
    }


def quick(run: RunView, length: int) -> bool:
    """Whether the search takes no long time: the weights are here, and model and sequences are small."""
    width = run.config["model"].get("d_model")
    if run.run.weightless or not run.n_heads or not isinstance(width, int):
        return False
    tokens = length * (SAMPLE + COUNT * REPLACEMENTS)
    return tokens * run.n_layers * (12 * width**2 + 2 * length * width) <= MOST_PRODUCTS


def _name(ask: dict[str, Any]) -> str:
    """The request as the page stores it."""
    return " ".join(str(ask[name]) for name in ("step", "length", "law", "repair"))


def connect(app: Dash, context: Context) -> None:
    """Register the callbacks of the section."""

    @app.callback(
        Output(f"{ID}-section", "hidden"),
        Output(f"{ID}-ask", "children"),
        Output(f"{ID}-ask", "hidden"),
        Output(f"{ID}-ask", "className"),
        Output(f"{ID}-job", "data"),
        Input("late", "data"),
        Input("run-version", "data"),
        State("run", "data"),
        State(f"{ID}-job", "data"),
    )
    def offered(cursor: dict[str, Any], _: Any, name: str, known: Any) -> Any:
        run, at = place(context, name, **cursor)
        ask = search_arguments(run, at.step)
        if ask is None:
            return True, "", True, "button", unless(known, None)
        if known and known["asked"] == _name(ask):  # the run grew elsewhere
            raise PreventUpdate
        title = f"Show the most confident errors at length {whole(ask['length'])}"
        return False, title, False, "button soon" if quick(run, ask["length"]) else "button", unless(known, None)

    @app.callback(
        Output(f"{ID}-job", "data", allow_duplicate=True),
        Output(f"{ID}-ask", "hidden", allow_duplicate=True),
        Input(f"{ID}-ask", "n_clicks"),
        State("step", "data"),
        State("run", "data"),
        prevent_initial_call=True,
    )
    def submitted(clicks: int, step: int | None, name: str) -> Any:
        run = context.store.run(name)
        ask = None if run is None or step is None or not clicks else search_arguments(run, step)
        if ask is None:
            raise PreventUpdate
        return {"asked": _name(ask), "key": context.worker.submit(FIND_WRONG_STRINGS, ask)}, True

    @app.callback(Input(f"{ID}-cancel", "data"), State(f"{ID}-job", "data"), prevent_initial_call=True)
    def cancel(_: Any, held: Any) -> None:
        if held:
            context.worker.cancel(held["key"])

    @app.callback(
        Output(ID, "children"),
        Output(f"{ID}-poll", "disabled"),
        Output(f"{ID}-ask", "hidden", allow_duplicate=True),
        Input(f"{ID}-job", "data"),
        Input(f"{ID}-poll", "n_intervals"),
        State("run", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def show(held: Any, _: Any, name: str) -> Any:
        run = context.store.run(name)
        if not held or run is None:
            return [], True, no_update
        job = context.worker.job(held["key"])
        if job is None:  # forgotten; it can be asked again
            return [], True, False
        return children_of(run, job), not job.pending, job.pending or job.state == "done"


def children_of(run: RunView, job: Job) -> list[Any]:
    """The table of a job that is done; else how it stands."""
    if job.pending:
        return job_status.waiting(job, ID, "the wrong answers")
    if job.state == "cancelled":
        return []
    if job.state != "done":
        return job_status.failure_message(job, run)
    result = job.result
    if not isinstance(result, WrongStrings):  # the answer to another page's question
        raise PreventUpdate
    if result.problem:
        return [html.P(f"{result.problem[:1].upper()}{result.problem[1:]}.", className="soft")]
    heads = html.Thead(
        html.Tr([html.Th(name, scope="col", className="right" if name == "margin" else "") for name in HEADS])
    )
    rows = html.Tbody([html.Tr(_cells(run, result, one)) for one in result.strings])
    return [
        html.H3(f"Most confident errors at length {whole(result.length)}"),
        html.P(count_sentence(result), className="soft"),
        html.Div(html.Table([heads, rows], className="ledger"), className="ledger-wrap", tabIndex="0"),
    ]


def count_sentence(found: WrongStrings) -> str:
    """Return a sentence on how many answers are wrong, how many the intervention corrects, and what a nearest correct
    input is.
    """
    limit = ""
    if found.wrong > len(found.strings):
        limit = f"; the table has the {whole(len(found.strings))} with the largest margin"
    mended = "" if found.repaired is None else f" The intervention corrects {whole(found.repaired)} of them."
    return (
        f"{whole(found.wrong)} of {whole(found.asked)} sequences of the {found.law} test set are answered "
        f"wrong{limit}.{mended} Margin: logit of the model\u2019s answer minus the logit of the correct one. Nearest "
        f"correct input: the sequence with one token replaced ({whole(found.tried)} replacements were tried), if it "
        "has the same correct answer and the model answers it correctly. If no replacement does, it is the nearest "
        "sequence of the sample with that answer that the model answers correctly."
    )


def _cells(run: RunView, found: WrongStrings, one: WrongString) -> list[html.Td]:
    mended = "" if one.repaired is None else "yes" if one.repaired else "no"
    return [
        html.Td(_link(run, found, one.text, _end(one.text)), title=one.text, className="mono"),
        html.Td(one.right, className="mono"),
        html.Td(one.answered, className="mono"),
        html.Td(signed_number(one.margin, 1), className="num right"),
        html.Td(
            twin_said(None) if one.twin is None else _link(run, found, one.twin.text, twin_said(one.twin)),
            className="mono",
        ),
        html.Td(mended),
    ]


def _link(run: RunView, found: WrongStrings, text: str, shown: str) -> html.A:
    """A link to this sequence with the intervention applied."""
    parts = {"run": run.name, "step": str(found.step), "len": str(found.length), "seq": text, "edits": found.repair}
    href = f"/try{query({key: value for key, value in parts.items() if value})}"
    return html.A(shown, href=href, title="Open in Try it", **{"data-nav": "1"})


def _end(text: str) -> str:
    return text if len(text) <= SHOWN else f"\u2026{text[-SHOWN:]}"
