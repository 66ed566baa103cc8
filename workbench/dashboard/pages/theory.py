"""The Theory page: what papers predict for a run, the program behind the prediction, and bounds on its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from workbench.core.verdicts import STRATA
from workbench.dashboard.components import prose
from workbench.dashboard.components.cursorbar import run_select
from workbench.dashboard.components.icons import chip, icon
from workbench.dashboard.components.page_frame import banner
from workbench.dashboard.pages.base import CURSOR_KEYS, Astray, Drawn, FreePage, Visit
from workbench.dashboard.panels import panel_frame
from workbench.dashboard.panels.callbacks import LOOK, browser
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.render import plot
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.server.worker_addresses import DESCRIBE
from workbench.dashboard.state.claim_filters import ClaimFilters, write_claim_filters
from workbench.dashboard.state.cursor import Notice, default_cursor
from workbench.dashboard.state.request_values import Name, declare
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.theory_match import PREDICTIONS, compare_with_observed, is_trained, subject
from workbench.figures.labels import magnitude, whole
from workbench.figures.panels.bound_parts import meaning
from workbench.figures.rows.frame import missing
from workbench.theory.limit_transformers.bounds import citation

declare({"theory-job.data": Name, "theory-run.data": Name})

POLL_MS = 300
HELD = {
    "as observed": "as predicted",
    "\u2260 observed": "\u2260 predicted",
    "no claim": "not compared, as theory makes no claim",
    "no evidence": "evidence neither for the prediction nor against it",
}

PARTS = Panel(
    id="bound-parts",
    row="theory",
    column="training",
    title="Parts of the bound",
    figure="bound_parts",
    still=True,
    measurement="bound",
    quantities=("bound_part", "training_length_bound"),
    about="Norms and margins of the weights, from which the theorems compute a training length, on a logarithmic axis.",
)


def layout(context: Context, visit: Visit) -> Drawn:
    """Return the page; the worker fills in the prediction later, and the bound is read from the table."""
    runs = context.store.runs()
    name = visit.query.get("run", "")
    asked = context.store.run(name) if name else None
    if name and asked is None:
        said = f"This link names the run {name}, which is not in this folder."
        raise Astray(Notice(said, "The page shows all runs.", "Keep"))
    run = asked or next((one for one in runs.values() if one.measurement_names), next(iter(runs.values()), None))
    if run is None:
        raise Astray(Notice("Theory is about a run, and there is none yet.", "The page shows all runs.", "Keep"))
    select = run_select(run, default_cursor(run), list(runs), "theory-select", label="Run")
    content = html.Div(
        [
            dcc.Store(id="theory-run", data=run.name),
            dcc.Store(id="theory-job", data=ask(context, run)),
            dcc.Interval(id="theory-poll", interval=POLL_MS),
            html.Div(banner(visit.notices, "/theory"), id="banner"),
            html.Div(
                [
                    html.Div([html.H1("What does theory predict?"), select], className="who"),
                    html.P(prose.meta(run), className="meta"),
                ],
                className="headline",
            ),
            html.Div(
                [
                    html.Section(
                        id="prediction", className="pan says", **_aria_label("Prediction"), **{"aria-live": "polite"}
                    ),
                    html.Section(id="program", className="pan says", **_aria_label("Program")),
                    html.Section(bound(run), className="pan says", **_aria_label("Bound")),
                    parts_panel(run),
                ],
                className="theory",
            ),
        ],
        className="content theory-page",
    )
    return Drawn([content], f"Theory \u00b7 {run.name}")


def _aria_label(name: str) -> dict[str, Any]:
    return {"aria-label": name}


def ask(context: Context, run: RunView) -> str:
    """Request the prediction for a run's task and positions from the worker; returns the key of the job."""
    whole = {name: run.config[name] for name in ("model", "training")}
    return context.worker.submit(DESCRIBE, {**subject(run), **whole}, slot="theory")


def verdict_of_run(run: RunView, verdict: str) -> list[Any]:
    """Return the verdict of the run, next to the prediction."""
    last = run.brief.last
    if last is None:
        return ["Not measured yet: there is no verdict to compare with it."]
    seen = run.brief.verdicts[last]
    says = HELD[compare_with_observed(verdict, seen, is_trained(run))]
    return [
        chip(seen),
        f" observed at step {whole(last)}: ",
        html.Strong(says),
        ".",
        _hard_inputs(run.brief.ties, says),
    ]


def _hard_inputs(ties: Mapping[str, Any] | None, says: str) -> str:
    """What hard inputs show, apart from the verdict: the prediction is compared with the verdict only."""
    if not ties:
        return ""
    kind = str(ties["kind"])
    sentence = f" {kind[:1].upper()}{kind[1:]} {STRATA[ties['label']].word}"
    against = says == HELD["as observed"] and ties["label"] == "fail"
    return f"{sentence}, although the prediction covers all inputs." if against else f"{sentence}."


def prediction(run: RunView, said: Mapping[str, Any]) -> list[Any]:
    """Return the prediction as text: verdict, theorem, reason, assumptions, published results, and other theories."""
    if said["unknown"]:
        return [html.H2("No prediction"), html.P(said["unknown"])]
    facts: list[tuple[str, Any]] = [("Because", said["reason"])]
    if said["language_class"]:
        facts.append(("Compared with", said["language_class"]))
    if said["theorem"] != "none":
        derived = "; that it covers this task is derived here, not in the paper" if said["derived"] else ""
        facts.append(("Theorem", said["theorem"] + derived))
    if said["assumptions"]:
        facts.append(("Assuming", html.Ul([html.Li(text) for text in said["assumptions"]])))
    facts += [("Otherwise", said["other_reading"])] if said["other_reading"] else []
    for one in said["reported"]:
        facts.append(("Published", published_accuracy(run, one)))
    for note in said["notes"]:
        recalled = "; not yet compared with the paper" if note["recalled"] else ""
        facts.append(("Remark", f"{note['text']} ({note['source']}{recalled})"))
    lead = [html.Strong(PREDICTIONS[said["verdict"]].meaning), f" ({said['verdict']}; {said['model']})."]
    return [
        html.H2("Prediction"),
        html.P(lead, className="verdict-says"),
        html.P(verdict_of_run(run, said["verdict"])),
        html.Dl([html.Div([html.Dt(name), html.Dd(text)]) for name, text in facts], className="facts"),
        *claims(said["claims"]),
    ]


def claims(about: Sequence[Mapping[str, str]]) -> list[Any]:
    """Return the claims of papers about runs with the same task, positions and model; empty if there are none."""
    if not about:
        return []
    listed = [
        html.Div([html.Dt(_claim_link(one["claim"])), html.Dd(f"{one['prediction']} ({one['source']})")])
        for one in about
    ]
    command = f"lengthlens reproduce {' '.join(one['claim'] for one in about)}"
    return [
        html.H3("Claims tested with runs like this one"),
        html.Dl(listed, className="facts"),
        html.P(
            [
                "Each claim trains runs of its own. At least one group of its runs has this task, this position "
                "encoding and this kind of model: ",
                html.Code(command),
            ],
            className="soft",
        ),
    ]


def _claim_link(name: str) -> html.A:
    """A claim's name, which leads to its numbers."""
    return html.A(html.Code(name), href=write_claim_filters(ClaimFilters(claim=name)), **{"data-nav": "1"})


def published_accuracy(run: RunView, one: Mapping[str, Any]) -> str:
    """Return a published accuracy with its setting, and the setting of this run where it differs."""
    shares = " / ".join(f"{value / 100:.2f}" for value in one["accuracy"])
    ask = str(run.config["task"].get("parameters", {}).get("ask", ""))
    other = f"; this run predicts {ask}" if ask and one["ask"] and ask != one["ask"] else ""
    said = f"{shares} of sequences correct at every position, {one['where']}; predicted: {one['asked']}"
    return f"{said}{other} ({one['source']})"


def programs(said: Mapping[str, Any]) -> list[Any]:
    """Return each program as text, with the value of every line at every prefix of one sequence."""
    children: list[Any] = [html.H2("Program")]
    if not said["programs"]:
        return [*children, html.P("No program of this class is known for the task, so there is none to trace.")]
    for program in said["programs"]:
        symbols = [html.Th(symbol, scope="col") for symbol in program["string"]]
        head = html.Tr([html.Th("line", scope="col"), html.Th("is", scope="col"), *symbols])
        rows = [
            html.Tr([html.Th(line["name"], scope="row"), html.Td(html.Code(line["text"])), *_values(line)])
            for line in program["lines"]
        ]
        outputs, source = ", ".join(program["outputs"]), program["string_source"]
        caption = f"Output: {outputs}. Right: each line at every prefix of {source}."
        table = html.Table([html.Caption(caption), html.Thead(head), html.Tbody(rows)], className="trace mono")
        children.append(
            html.Div(table, className="scroll", tabIndex=0, role="region", **_aria_label("Program and its values"))
        )
    return children


def _values(line: Mapping[str, Any]) -> list[html.Td]:
    if line["boolean"]:
        return [
            html.Td("\u25cf" if value else "\u25cb", className="true" if value else "false") for value in line["values"]
        ]
    return [html.Td(str(value).replace("-", "\u2212"), className="num") for value in line["values"]]


def bound(run: RunView) -> list[Any]:
    """Return the training lengths of the theorems and the quantities in them, or why the theorems do not apply."""
    rows = run.frame.where(measurement="bound")
    if not len(rows):
        return [html.H2("Bound"), *panel_frame.not_measured("bound", "No rows of bound for this run.", run)]
    step = int(rows["step"].max())
    lengths = rows.where(step=step, quantity="training_length_bound").rows()
    parts = [row for row in rows.where(step=step, quantity="bound_part").rows() if not missing(row["value"])]
    told = [row for row in lengths if row["status"] != "not_applicable"]
    facts = [html.Div([html.Dt(_capitalised(citation(row["target"]))), html.Dd(_length(row))]) for row in told]
    left_out = no_theorem(lengths)
    listed = [
        html.Div([html.Dt(magnitude(row["value"]), className="num"), html.Dd(meaning(row["target"]))]) for row in parts
    ]
    dl = html.Dl(listed, className="parts")
    if not told:
        if not listed:
            return [html.H2("Bound"), html.P(left_out)]
        some = f"{len(listed)} norms and margins of the weights at step {whole(step)}. No bound is computed from them."
        return [html.H2("Bound"), html.P(left_out), html.Details([html.Summary(some), dl], className="how")]
    return [
        html.H2("Bound"),
        html.P(
            "Two transformers of the theorem’s kind that agree up to this training length agree at all lengths. It is "
            f"computed from the weights at step {whole(step)}. The theorems do not state their constants, which are "
            "taken as 1 here: compare runs by this length, but do not plan a training with it.",
            className="soft",
        ),
        html.Dl(facts, className="facts"),
        *([html.P(left_out)] if left_out else []),
        html.H3("Its parts"),
        dl,
    ]


def parts_panel(run: RunView) -> html.Section | html.Details:
    """The panel of the bound's parts over training; folded if no theorem on the bound applies to the run."""
    panel = panel_frame.shell(PARTS, run.specs)
    rows = run.frame.where(measurement="bound", quantity="training_length_bound").rows()
    if any(row["status"] != "not_applicable" for row in rows) or not rows:
        return panel
    return html.Details([html.Summary("Norms and margins of the weights over training"), panel], className="how")


def no_theorem(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the theorems on the bound that do not apply to a run, each with paper and reason; empty if all apply."""
    left_out = sorted((citation(row["target"]), row["note"]) for row in rows if row["status"] == "not_applicable")
    if not left_out:
        return ""
    told = "; ".join(f"{target} ({str(why).rstrip('.')})" for target, why in left_out)
    return f"{'No bound applies' if len(left_out) == len(rows) else 'Not applicable'}: {told}."


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _length(row: Mapping[str, Any]) -> list[Any]:
    if row["status"] == "ok" and not missing(row["value"]):
        return [html.Strong(f"{magnitude(row['value'])} tokens")]
    return [f"{str(row['status']).replace('_', ' ').capitalize()}: {row['note']}."]


def connect(app: Dash, context: Context) -> None:
    """Register the page's callbacks."""
    browser(app, "openTheory", Input("theory-select", "value"), prevent_initial_call=True)
    browser(app, "drawn", Input("bound-parts-graph", "figure"))

    @app.callback(
        Output("prediction", "children"),
        Output("program", "children"),
        Output("theory-poll", "disabled"),
        Input("theory-poll", "n_intervals"),
        State("theory-job", "data"),
        State("theory-run", "data"),
    )
    def show_prediction(_: Any, key: str, name: str) -> Any:
        run, job = context.store.run(name), context.worker.job(key)
        if run is None or job is None:
            raise PreventUpdate
        return (*prediction_state(run, job), not job.pending)

    @app.callback(
        Output("bound-parts-graph", "figure"),
        *[Output(f"bound-parts-{part}", "children") for part in ("table", "state", "slice")],
        Output("bound-parts-figure", "aria-label"),
        Output("bound-parts-body", "className"),
        LOOK,
        Input("bound-parts-mode", "data"),
        State("theory-run", "data"),
    )
    def draw(look: Any, mode: str, name: str) -> Any:
        run = context.store.run(name)
        if run is None or look is None:
            raise PreventUpdate
        return plot(PARTS, PanelCursor(run, default_cursor(run)), look, mode)


def prediction_state(run: RunView, job: Job) -> tuple[Any, Any]:
    """Return prediction and program of a job: finished, waiting, or failed."""
    if job.pending:
        text = "starting the worker" if job.cold or job.state == "queued" else "running the decision procedures"
        waiting = html.P([html.Strong("Working it out"), f" \u00b7 {text}"], className="soft")
        return [html.H2("Prediction"), waiting], [html.H2("Program"), waiting]
    if job.state != "done":
        why = html.P([icon("warn"), " ", job.error or "The computation was stopped."])
        return [html.H2("Prediction"), why], [
            html.H2("Program"),
            html.P("The program is not known, because the prediction was not computed."),
        ]
    return prediction(run, job.result), programs(job.result)


PAGE = FreePage(
    path="/theory", name="Theory", layout=layout, connect=connect, panels=(PARTS,), needs_run=True, keys=CURSOR_KEYS
)
