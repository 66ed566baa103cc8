"""The Run page: three kinds of evidence by three axes, all at one cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from workbench.dashboard import attention, panel, words
from workbench.dashboard.cursor import Cursor, Notice, write
from workbench.dashboard.cursorbar import bar
from workbench.dashboard.headgrid import grid_shell
from workbench.dashboard.panels import BY_ID, COLUMNS, PANELS, ROWS
from workbench.dashboard.shell import banner, command, icon, problems
from workbench.dashboard.store import RunView


def page(run: RunView, cursor: Cursor, notices: Sequence[Notice], names: Sequence[str]) -> list[Any]:
    """Everything below the header, first without plots: each panel fills itself."""
    return [
        *stores(run, cursor),
        html.Section(
            bar(run, cursor, names),
            id="cursorbar",
            className="cursorbar",
            role="region",
            **{"aria-label": "Cursor"},
        ),
        html.Div(
            [
                html.Div(banner(notices), id="banner"),
                html.Div(problems(run.problems), id="problems"),
                html.Div(
                    [
                        html.P(words.meta(run), className="meta"),
                        html.H1(id="verdict-line"),
                        html.P(id="why", className="why"),
                    ],
                    className="headline",
                    **{"aria-live": "polite"},
                ),
                *(evidence(run) if len(run.frame) else [unmeasured(run), training(run)]),
                html.Div(
                    [
                        html.Div(
                            [
                                html.H2("Attention"),
                                html.P("Where does the chosen head look?", className="soft"),
                                html.P(id="attention-note"),
                            ],
                            className="rail",
                        ),
                        attention.shell(run, cursor),
                    ],
                    className="matrix attention-row",
                ),
                *([training(run)] if len(run.frame) else []),
            ],
            className="content run-page",
        ),
    ]


def stores(run: RunView, cursor: Cursor) -> list[dcc.Store]:
    """The cursor, one store per part, so that a move redraws only what depends on that part."""
    data: dict[str, Any] = {
        "run": run.name,
        "step": cursor.step,
        "length": cursor.length,
        "head": f"{cursor.layer}.{cursor.head}",
        "sample": cursor.sample,
        "run-version": run.signature,
        "log-version": run.log_signature,
        "run-check": None,
        "keep-run": None,
        "link": {"path": "/run", "run": run.name, "href": write(cursor, run)},
        "attention-seen": False,
    }
    return [dcc.Store(id=name, data=value) for name, value in data.items()]


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
            command(f"lengthlens measure {run.shown_path}"),
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
                cells.append(grid_shell(one, run) if one.id == "head-grid" else panel.shell(one, run.specs))
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
