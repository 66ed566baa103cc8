"""Which change on screen asks for which answer. The browser's side of it is in ``assets/lens.js``."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, no_update
from dash.exceptions import PreventUpdate

from workbench.dashboard import attention, words
from workbench.dashboard.answers import Answers, cursor_of
from workbench.dashboard.cursor import Cursor, Filters
from workbench.dashboard.cursorbar import bar, scent_over_lengths, scent_over_steps, verdict_at
from workbench.dashboard.panels import GRAPHS, PANELS, ROWS, Panel
from workbench.dashboard.shell import glyph
from workbench.dashboard.store import RunView

LOOK = Input("look", "data")
PARTS = ("step", "length", "head")


def browser(app: Dash, name: str, *deps: Any, **options: Any) -> None:
    """A callback answered by ``window.dash_clientside.lens[name]``."""
    app.clientside_callback(ClientsideFunction("lens", name), *deps, **options)


def connect(app: Dash, answers: Answers) -> None:
    """Register every callback."""
    _frame(app, answers)
    _runs(app, answers)
    _cursor(app)
    _run(app, answers)
    for panel in PANELS:
        _panel(app, answers, panel)
    _attention(app, answers)


def _place(answers: Answers, run: str, step: int, length: int, head: str, *rest: Any) -> tuple[RunView, Cursor]:
    view = answers.store.run(run)
    if view is None or step is None or length is None or head is None:
        raise PreventUpdate
    return view, cursor_of(run, step, length, head, *rest)


def _frame(app: Dash, answers: Answers) -> None:
    browser(app, "start", Output("place", "data"), Output("look", "data"), Input("page", "id"))
    browser(app, "read", Input("read-at", "data"), prevent_initial_call=True)
    browser(app, "write", Input("link", "data"), prevent_initial_call=True)
    browser(app, "changed", Input("version", "data"), prevent_initial_call=True)
    browser(app, "arrived", Input("here", "data"), prevent_initial_call=True)

    @app.callback(
        Output("page", "children"),
        Output("nav", "children"),
        Output("here", "data"),
        Input("place", "data"),
        Input("version", "data"),
        State("here", "data"),
        prevent_initial_call=True,
    )
    def page(place: dict[str, Any] | None, _: Any, here: dict[str, Any] | None) -> Any:
        if place is None or (ctx.triggered_id == "version" and not answers.arrived(here)):
            raise PreventUpdate
        return answers.page(place["path"], place["search"], place["last"])

    @app.callback(
        Output("version", "data"),
        Output("status", "children"),
        Output("read-at", "data"),
        Input("poll", "n_intervals"),
        State("version", "data"),
    )
    def poll(_: int, known: str | None) -> Any:
        return answers.poll(known)


def _runs(app: Dash, answers: Answers) -> None:
    @app.callback(
        Output("grid", "rowData"),
        Output("cards", "children"),
        Output("chips", "children"),
        Output("shown", "children"),
        Output("problems", "children"),
        Output("link", "data", allow_duplicate=True),
        Output("banner", "children", allow_duplicate=True),
        Input("verdict", "data"),
        Input("task", "value"),
        Input("positions", "value"),
        Input("filter", "value"),
        Input("rows-check", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def rows(verdict: str, task: str, positions: str, text: str, _: Any) -> Any:
        made = answers.rows(Filters(verdict or "", task or "", positions or "", text or ""))
        mine = {t.rpartition(".")[0] for t in ctx.triggered_prop_ids}
        moved = bool(mine & {"verdict", "task", "positions", "filter"}) and len(mine) == 1
        return (
            made["rows"],
            made["cards"],
            made["chips"],
            made["shown"],
            made["problems"],
            made["link"] if moved else no_update,
            [] if moved else no_update,
        )


def _cursor(app: Dash) -> None:
    browser(
        app,
        "step",
        Output("step-value", "children"),
        Output("step-where", "children"),
        Output("length-note", "children"),
        Input("step-slider", "value"),
        Input("scale", "data"),
    )
    browser(
        app,
        "length",
        Output("length-value", "children"),
        Output("length-where", "children"),
        Output("length-where", "className"),
        Output("step-note", "children"),
        Input("length-slider", "value"),
        Input("scale", "data"),
    )
    for name, store in (("atStep", "step"), ("atLength", "length")):
        browser(
            app,
            name,
            Output(f"at-{store}", "children"),
            Output(f"at-{store}-2", "children"),
            Input(store, "data"),
        )
    browser(app, "head", Output("head", "data"), Input("head-select", "value"), prevent_initial_call=True)
    browser(app, "openRun", Input("run-select", "value"), prevent_initial_call=True)
    # The log's panel is on every run's page, the others only on that of a measured run: callbacks of their own.
    for source in ("frame", "log"):
        graphs = [f"{p.id}-graph" for p in GRAPHS if p.source == source]
        browser(app, "drawn", *[Input(graph, "figure") for graph in graphs])
        browser(app, "clicked", *[Input(graph, "clickData") for graph in graphs], prevent_initial_call=True)


def _run(app: Dash, answers: Answers) -> None:
    @app.callback(
        Output("run-version", "data"),
        Output("log-version", "data"),
        Input("run-check", "data"),
        State("run", "data"),
        State("run-version", "data"),
        State("log-version", "data"),
        prevent_initial_call=True,
    )
    def changed(_: Any, run: str, known: str, known_log: str) -> Any:
        return answers.run_version(run, known, known_log)

    @app.callback(Output("rail-training", "children"), Input("log-version", "data"), State("run", "data"))
    def trained(_: Any, run: str) -> Any:
        view = answers.store.run(run)
        return no_update if view is None else words.training(view)

    @app.callback(
        Output("cursorbar", "children"),
        Input("run-version", "data"),
        State("run", "data"),
        *[State(part, "data") for part in PARTS],
        prevent_initial_call=True,
    )
    def grown(_: Any, run: str, step: int, length: int, head: str) -> Any:
        view, cursor = _place(answers, run, step, length, head)
        return bar(view, cursor, list(answers.store.runs()))

    @app.callback(
        Output("link", "data"),
        Output("banner", "children"),
        *[Input(part, "data") for part in PARTS],
        Input("view", "value"),
        Input("sample", "data"),
        Input("keep-run", "data"),
        State("run", "data"),
        State("link", "data"),
        prevent_initial_call=True,
    )
    def link(step: int, length: int, head: str, view_name: str, sample: int, keep: Any, run: str, known: Any) -> Any:
        view, cursor = _place(answers, run, step, length, head, view_name, sample)
        made = answers.link(view, cursor) | {"kept": keep}
        if made["href"] == known["href"] and not keep:  # nothing moved: a stale link keeps its banner
            raise PreventUpdate
        return made, []

    @app.callback(
        Output("verdict-line", "children"),
        Output("why", "children"),
        Output("run-select", "leftSection"),
        Input("step", "data"),
        Input("head", "data"),
        Input("run-version", "data"),
        State("length", "data"),
        State("run", "data"),
    )
    def headline(step: int, head: str, _: Any, length: int, run: str) -> Any:
        view, cursor = _place(answers, run, step, length, head)
        return words.verdict(view, cursor), words.why(view, cursor), glyph(verdict_at(view, step))

    @app.callback(
        *[Output(f"rail-{row}", "children") for row in ROWS],
        *[Input(part, "data") for part in PARTS],
        Input("run-version", "data"),
        State("run", "data"),
    )
    def rails(step: int, length: int, head: str, _: Any, run: str) -> Any:
        view, cursor = _place(answers, run, step, length, head)
        return tuple(words.rail(view, row, cursor) for row in ROWS)

    @app.callback(
        Output("step-scent", "style"),
        Input("length", "data"),
        State("run", "data"),
        prevent_initial_call=True,
    )
    def step_scent(length: int, run: str) -> Any:
        view = answers.store.run(run)
        return scent_over_steps(view, length) if view is not None else no_update

    @app.callback(
        Output("length-scent", "style"),
        Input("step", "data"),
        State("run", "data"),
        prevent_initial_call=True,
    )
    def length_scent(step: int, run: str) -> Any:
        view = answers.store.run(run)
        return scent_over_lengths(view, step) if view is not None else no_update


def _panel(app: Dash, answers: Answers, panel: Panel) -> None:
    """A panel is an Input only to the parts of the cursor that it shows; the others are State."""
    parts = [(Input if part in panel.needs else State)(part, "data") for part in PARTS]
    given = {
        **dict(zip(PARTS, parts, strict=True)),
        "look": LOOK,
        "version": Input("log-version" if panel.source == "log" else "run-version", "data"),
        "mode": Input(f"{panel.id}-mode", "data"),
        "run": State("run", "data"),
    }
    common = [Output(f"{panel.id}-{name}", "children") for name in ("table", "state", "slice")]
    body = Output(f"{panel.id}-body", "className")

    if panel.id == "head-grid":
        outputs = [Output("head-grid-grid", "children"), Output("head-grid-grid", "style"), *common, body]
    else:
        outputs = [
            Output(f"{panel.id}-graph", "figure"),
            *common,
            Output(f"{panel.id}-figure", "aria-label"),
            body,
        ]

    def draw(step: int, length: int, head: str, look: Any, version: Any, mode: str, run: str) -> Any:
        view, cursor = _place(answers, run, step, length, head)
        if look is None:
            raise PreventUpdate
        made = answers.head_grid if panel.id == "head-grid" else answers.panel
        return made(panel, view, cursor, look, mode)

    app.callback(outputs, given)(draw)


def _attention(app: Dash, answers: Answers) -> None:
    at = [Input(part, "data") for part in PARTS]

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
        view, cursor = _place(answers, run, step, length, head, "attention", sample)
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
        view, cursor = _place(answers, run, step, length, head, view_name, sample)
        if look is None:
            raise PreventUpdate
        made = answers.attention(key, view, cursor, look, mode)
        return tuple(made[name] for name in names)
