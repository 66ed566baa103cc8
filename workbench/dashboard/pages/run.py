"""The Run page: three kinds of evidence by three axes, all at one cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import Dash, Input, Output, State, html, no_update

from workbench.dashboard import measuring, panel, wiring, words
from workbench.dashboard.cursor import Cursor
from workbench.dashboard.cursorpage import CursorPage
from workbench.dashboard.headgrid import grid_shell
from workbench.dashboard.panels import BY_ID, COLUMNS, GRAPHS, PANELS, ROWS
from workbench.dashboard.runview import RunView
from workbench.dashboard.shell import command, icon
from workbench.dashboard.wiring import PARTS, browser, place

if TYPE_CHECKING:
    from workbench.dashboard.answers import Answers


def content(answers: Answers, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """What stands below the cursor bar, first without plots: each panel fills itself."""
    return [
        html.Div(
            [
                html.P(words.meta(run), className="meta"),
                html.H1(id="verdict-line"),
                html.P(id="why", className="why"),
            ],
            className="headline",
            **{"aria-live": "polite"},
        ),
        *(evidence(run) if run.brief.rows else [unmeasured(run), training(run)]),
        *([training(run)] if run.brief.rows else []),
    ]


def evidence(run: RunView) -> list[Any]:
    """The matrix and its legend."""
    return [matrix(run), legend()]


def unmeasured(run: RunView) -> html.Div:
    """One answer in place of nine empty panels: what is there, what is missing, what makes it."""
    count = f"{len(run.steps):,} checkpoint{'' if len(run.steps) == 1 else 's'}"
    return html.Div(
        [
            html.P([icon("rows"), html.Strong("Not measured yet")], className="head"),
            html.P(
                [
                    f"This run has {count} and no rows in ",
                    html.Code(f"{run.shown_path}/measurements/"),
                    ". Measuring reads every checkpoint at every prefix length: behaviour and its verdict, "
                    "what the residual stream carries, and the shape of every head's attention.",
                ],
                className="prose",
            ),
            html.Div(
                [command(f"lengthlens measure {run.shown_path}"), measuring.button(run.name, "")], className="ways"
            ),
            html.P("This page looks again every two seconds.", className="soft"),
        ],
        className="empty",
    )


def matrix(run: RunView) -> html.Div:
    """The 3 x 3 panels with their rail and column heads."""
    cells: list[Any] = [html.Div(className="corner")]
    notes = {"training": ["at-length"], "length": ["at-step"], "cursor": ["at-step-2", "at-length-2"]}
    for column, title in COLUMNS.items():
        at: list[Any] = []
        for ident in notes[column]:
            at += [", " if at else "", html.Span(id=ident, className="num")]
        cells.append(html.P([html.Strong(title), html.Span(at, className="soft")], className=f"column {column}"))
    for row, (name, question) in ROWS.items():
        cells.append(
            html.Div(
                [html.H2(name), html.P(question, className="soft"), html.P(id=f"rail-{row}")],
                className="rail",
            )
        )
        for one in PANELS:
            if one.row == row:
                cells.append(grid_shell(one, run.specs) if one.form == "heads" else panel.shell(one, run.specs))
    return html.Div(cells, className="matrix")


def training(run: RunView) -> html.Div:
    """How training went, and goes: the one row that needs no measurement."""
    return html.Div(
        [
            html.Div(
                [html.H2("Training"), html.P("Did it learn?", className="soft"), html.P(id="rail-training")],
                className="rail",
            ),
            panel.shell(BY_ID["loss"], run.specs),
        ],
        className="matrix training-row",
    )


def legend() -> html.P:
    """What the line styles mean, once for the page."""
    return html.P(
        [
            html.Span([html.I(className="key solid summary"), "summary, fitted at trained lengths (transfer)"]),
            html.Span([html.I(className="key dotted"), "summary, refitted at each length"]),
            html.Span([html.I(className="key solid position"), "position, refitted at each length"]),
            html.Span([html.I(className="key dashed"), "highest control"]),
            html.Span([html.I(className="key trained"), "longest trained length"]),
            html.Span("Bands and whiskers are 95\u00a0% intervals; n counts sequences."),
        ],
        className="legend",
    )


def connect(app: Dash, answers: Answers) -> None:
    """Register the page's callbacks."""
    for name, store in (("atStep", "step"), ("atLength", "length")):
        outputs = [Output(f"at-{store}", "children"), Output(f"at-{store}-2", "children")]
        browser(app, name, *outputs, Input(store, "data"))
    # The log's panel is on every run's page, the others only on that of a measured run: callbacks of their own.
    for source in ("frame", "log"):
        wiring.graphs(app, [one for one in GRAPHS if one.source == source])
    for one in PANELS:
        wiring.panel(app, answers, one)
    _prose(app, answers)


def _prose(app: Dash, answers: Answers) -> None:
    @app.callback(Output("rail-training", "children"), Input("log-version", "data"), State("run", "data"))
    def trained(_: Any, run: str) -> Any:
        view = answers.store.run(run)
        return no_update if view is None else words.training(view)

    @app.callback(
        Output("verdict-line", "children"),
        Output("why", "children"),
        Input("step", "data"),
        Input("head", "data"),
        Input("run-version", "data"),
        State("length", "data"),
        State("run", "data"),
    )
    def headline(step: int, head: str, _: Any, length: int, run: str) -> Any:
        view, cursor = place(answers, run, step, length, head)
        return words.verdict(view, cursor), words.why(view, cursor)

    @app.callback(
        *[Output(f"rail-{row}", "children") for row in ROWS],
        *[Input(part, "data") for part in PARTS],
        Input("run-version", "data"),
        State("run", "data"),
    )
    def rails(step: int, length: int, head: str, _: Any, run: str) -> Any:
        view, cursor = place(answers, run, step, length, head)
        return tuple(words.rail(view, row, cursor) for row in ROWS)


PAGE = CursorPage(path="/run", name="Run", order=20, connect=connect, content=content, panels=PANELS)
