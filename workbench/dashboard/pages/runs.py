"""The Runs page: three verdicts as filters, and every run with its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from pydantic import Field

from workbench.core.failures import isolate_errors
from workbench.core.thresholds import FITTED, FITTED_AT_TEXT, HORIZON, ROBUST
from workbench.core.verdicts import VERDICTS, WORDS
from workbench.dashboard.components.icons import icon
from workbench.dashboard.components.page_frame import banner, command, problems
from workbench.dashboard.components.runs_grid import grid
from workbench.dashboard.components.runs_toolbar import chips, toolbar
from workbench.dashboard.pages.base import Drawn, FreePage, Visit
from workbench.dashboard.panels.callbacks import browser
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.theory_lookup import POLL_MS
from workbench.dashboard.state.cursor import slug
from workbench.dashboard.state.filters import (
    FILTER_KEYS,
    SEEDS,
    Filters,
    check_filters,
    grouped_by,
    read_filters,
    write_filters,
)
from workbench.dashboard.state.live_progress import live_progress
from workbench.dashboard.state.request_values import Name, declare
from workbench.dashboard.state.run_brief import Brief
from workbench.dashboard.state.run_summary import matches, summarise
from workbench.dashboard.state.run_view import RunView, display_path, quote_path
from workbench.dashboard.state.seed_groups import by_configuration
from workbench.dashboard.state.setting_groups import by_setting
from workbench.dashboard.state.sweep_query import choices_of
from workbench.dashboard.state.theory_match import compare_with_observed, is_trained
from workbench.figures.labels import whole

declare(
    {
        "rows-check.data": Any,
        "verdict.data": Name | None,
        "where.value": Annotated[list[Name], Field(max_length=1000)] | None,
        **{f"{name}.value": Name | None for name in ("task", "positions", "ties", "tag", "filter", "group")},
    }
)

CARDS = {label: kind.card for label, kind in VERDICTS.items() if kind.card}
ASKING = "asking \u2026"
"""Stands where it is not known yet what theory expects."""


def layout(context: Context, visit: Visit) -> Drawn:
    """Return everything below the header, with the notices of redirected requests."""
    runs, roots = context.store.comparable_runs(), context.store.roots
    rows = [summary(context, run) for run in runs.values()]
    filters, stale = read_filters(visit.search if visit.path == "/" else "")
    settings = settings_here(context)
    filters, more = check_filters(
        filters,
        [row["task"] for row in rows],
        [row["positions"] for row in rows],
        {tag for row in rows for tag in row["tags"]},
        {axis: set(values) for axis, values in settings.items()},
    )
    notices = [*visit.notices, *stale, *more]
    stores = [
        dcc.Store(id="verdict", data=filters.verdict),
        dcc.Store(id="link", data=runs_link(filters)),
        dcc.Store(id="rows-check"),
        dcc.Interval(id="theory-asked", interval=POLL_MS),
    ]
    body: list[Any] = [*toolbar(rows, filters, settings), grid(rows), *stores] if rows else [empty(roots)]
    content = html.Div(
        [
            html.Div(banner(notices, write_filters(filters)), id="banner"),
            html.Div(
                [
                    *_question(context),
                    html.Div(
                        cards(rows, filters, live=bool(rows)),
                        id="cards",
                        className="cards",
                        role="group",
                        **{"aria-label": "Filter by verdict"},
                    ),
                ],
                className="hero",
            ),
            html.Div(problems(context.store.problems, context.store.part), id="problems"),
            *body,
            footer(),
        ],
        className="content runs-page",
    )
    return Drawn([content], "Runs", waits=not rows)


def runs_link(filters: Filters) -> dict[str, str]:
    """Return the canonical link of the page under these filters, with the page to which it belongs."""
    return {"path": "/", "run": "", "href": write_filters(filters)}


def _question(context: Context) -> list[Any]:
    """The heading with the tour, and what the runs are."""
    runs = context.store.runs()
    prompted = sum(not run.kind.has_trained_length for run in runs.values())
    if len(runs) == prompted:
        text: list[Any] = [
            "Train a model on short prefixes, evaluate it on long ones, and see whether its behaviour "
            "changes, which components are responsible, and when in training that happened."
        ]
    else:
        text = [
            "Each run has its own N, the ",
            html.Strong("longest length that it was trained on", className="train"),
            " or compiled for" if any("compiled" in run.config["training"] for run in runs.values()) else "",
            " (dashed line in its strip). The verdict describes lengths beyond N.",
            f" {whole(prompted)} of the runs {'was' if prompted == 1 else 'were'} evaluated in a prompt, without "
            "training." if prompted else "",
            " Open a run to see which components are responsible, and when in training the behaviour appeared.",
        ]  # fmt: skip
    heading = html.H1("Does a model keep working on inputs longer than it was trained on?")
    return [
        html.Div([heading, *([tour_button()] if runs else [])], className="question"),
        html.P(text, className="about"),
    ]


def tour_button() -> html.Button:
    """Return the button that starts a tour of seven stops along one run (assets/js/tour.js)."""
    said = "Seven stops along a run that fails past its training length, with its own numbers"
    return html.Button(
        [icon("play"), "Guided tour"], type="button", className="button tour-offer", title=said, **{"data-tour": "1"}
    )


def cards(rows: Sequence[dict[str, Any]], filters: Filters, live: bool = True) -> list[Any]:
    """Return the three verdicts as buttons (``live``) or pictures: count, name, one line, and a typical curve."""
    counts = Counter(row["verdict"] for row in rows)
    children: list[Any] = []
    for verdict, line in CARDS.items():
        parts = [
            html.Span(
                [html.Span(className="wash"), html.Span(className="chance"), html.Span(className="curve")],
                className=f"archetype {slug(verdict)}",
                **{"aria-hidden": "true"},
            ),
            html.Span(
                [
                    html.Span(
                        [
                            html.Span(f"{counts[verdict]:,}", className="count num"),
                            html.Span(WORDS[verdict], className=f"name {slug(verdict)}"),
                        ]
                    ),
                    html.Span(line, className="says"),
                ],
                className="text",
            ),
        ]
        pressed = {"aria-pressed": "true" if filters.verdict == verdict else "false", "data-verdict": verdict}
        children.append(html.Button(parts, type="button", className="card", **pressed) if live else _still(parts))
    return children


def _still(parts: Sequence[Any]) -> html.Div:
    """A card where there is nothing to filter."""
    return html.Div(parts, className="card still")


def settings_here(context: Context) -> Mapping[str, Sequence[str]]:
    """Return the settings in which the runs differ, each with the texts of its values."""
    return {axis: list(values) for axis, values in choices_of(context.store).values.items()}


def having(context: Context, where: Sequence[tuple[str, str]]) -> set[str]:
    """Return the runs that have the given settings."""
    choices = choices_of(context.store)
    required: dict[str, list[Any]] = {}
    for axis, text in where:
        if text in choices.values.get(axis, {}):
            required.setdefault(axis, []).append(choices.values[axis][text])
    return {
        name
        for name, config in choices.configs.items()
        if all(config.get(axis) in values for axis, values in required.items())
    }


def empty(roots: Sequence[Path]) -> html.Div:
    """Return the message for a folder without runs, with the commands that create runs."""
    folder = display_path(roots[0]) if roots else "checkpoints"
    task_command = quote_path(f"{folder}/majority-s0")
    return html.Div(
        [
            html.P(
                [icon("nodata"), html.Strong(["No runs in ", html.Code(folder + "/"), " yet"])],
                className="head",
            ),
            html.Dl(
                [
                    html.Div(
                        [
                            html.Dt("Open the runs that come with LengthLens"),
                            html.Dd(command("lengthlens gallery")),
                        ]
                    ),
                    html.Div(
                        [
                            html.Dt("Train and measure small runs that show all three verdicts"),
                            html.Dd(command("lengthlens demo")),
                        ]
                    ),
                    html.Div(
                        [
                            html.Dt("Train one of your own"),
                            html.Dd(command(f"lengthlens train majority --out {task_command}")),
                        ]
                    ),
                    html.Div([html.Dt("Open another folder"), html.Dd(command("lengthlens app FOLDER"))]),
                ]
            ),
            html.P("This page checks for runs every two seconds.", className="soft"),
        ],
        className="empty",
    )


def footer() -> html.P:
    """Return the thresholds of the verdicts, in words."""
    return html.P(
        "Verdicts depend only on behaviour. A model solves the trained lengths if the lower limit of its skill is at "
        f"least {FITTED:g} at {FITTED_AT_TEXT}, where N is the longest trained length. It is scale-robust if that "
        f"limit is at least {ROBUST:g} at every tested length up to {HORIZON} times N or more, on both test sets. All "
        "intervals are 95\u00a0%. In a strip of accuracies, the matched test set is above and the challenge test set "
        "below. Small grey cells were not measured. The verdict does not use hatched cells.",
        className="legend",
    )


def summary(context: Context, run: RunView) -> dict[str, Any]:
    """Return the line of a run on the Runs page; it is computed once per state of the run."""
    row = dict(run.memo(("summary", run.notes), lambda: _summary(run)))
    row |= live_progress(run)
    prediction = context.expectations.stored_prediction(run)
    if prediction is None:  # not to be taken for "no claim"
        return row | {"expects": ASKING}
    if not prediction["verdict"]:
        kind, _, what = prediction.get("reason", "").partition(": ")
        return row | {"theory": what, "expects": kind or "not known"}
    return row | {
        "theory": prediction["verdict"],
        "expects": compare_with_observed(prediction["verdict"], row["verdict"], is_trained(run)),
    }


def _summary(run: RunView) -> dict[str, Any]:
    """The run's line; without its rows if they cannot be summarized."""
    said: list[str] = []
    with isolate_errors(said.append, "its line cannot be drawn"):
        return summarise(run)
    return summarise(replace(run, brief=Brief(specs={}))) | {"question": said[0], "taskLabel": said[0]}


def lines(context: Context, filters: Filters) -> dict[str, Any]:
    """Return the lines that pass the filters, cards and chips with counts, and the canonical link."""
    every = [summary(context, view) for view in context.store.comparable_runs().values()]
    held = having(context, filters.where) if filters.where else None
    counted = [row for row in every if matches(row, filters, verdict=False) and (held is None or row["name"] in held)]
    displayed = [row for row in counted if matches(row, filters)]
    text = "" if len(displayed) == len(every) else f"{whole(len(displayed))} of {whole(len(every))} runs"
    troubles = context.store.problems
    if filters.grouping:
        with isolate_errors(troubles.append, "Runs could not be grouped"):
            displayed = group_lines(context, displayed, filters)
    return {
        "rows": displayed,
        "cards": cards(counted, filters),
        "chips": chips(counted, filters),
        "shown": text,
        "problems": problems(troubles, context.store.part),
        "link": runs_link(filters),
    }


def group_lines(context: Context, rows: Sequence[dict[str, Any]], filters: Filters) -> list[dict[str, Any]]:
    """Return one line per configuration, or per value of the setting that the filters group by."""
    if filters.grouping == SEEDS:
        return by_configuration(context.store.comparable_runs(), rows)
    values = {name: config.get(filters.group) for name, config in choices_of(context.store).configs.items()}
    return by_setting(context.store.comparable_runs(), rows, values, filters)


def connect(app: Dash, context: Context) -> None:
    """Register the callbacks: filters in, lines and counts out; two selected runs to compare."""
    outputs = [Output("compare-picked", name) for name in ("children", "disabled", "data-compare")]
    browser(app, "picked", *outputs, Input("grid", "selectedRows"), prevent_initial_call=True)
    browser(app, "fitted", Input("grid", "rowData"))

    @app.callback(
        Output("rows-check", "data"),
        Output("theory-asked", "disabled"),
        Input("theory-asked", "n_intervals"),
        prevent_initial_call=True,
    )
    def expected(asked: int) -> Any:
        """Request the predictions of theory once the page is drawn, and show them when all are computed."""
        told = None not in context.expectations.of(context.store.comparable_runs().values()).values()
        return f"theory {asked}" if told else no_update, told

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
        Input("group", "value"),
        Input("ties", "value"),
        Input("tag", "value"),
        Input("where", "value"),
        Input("rows-check", "data"),
        State("link", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def rows(
        verdict: str,
        task: str,
        positions: str,
        text: str,
        group: str,
        ties: str,
        tag: str,
        where: list[str] | None,
        _: Any,
        known: dict[str, str],
    ) -> Any:
        held = tuple((axis, value) for axis, _, value in (part.partition("=") for part in where or ()))
        asked = Filters(
            verdict or "", task or "", positions or "", text or "",
            ties=ties or "", tag=tag or "", where=held, **grouped_by(group or ""),
        )  # fmt: skip
        data = lines(context, asked)
        # Not by what triggered this: the answer to a filter may have been overtaken by news of the runs, and dropped.
        moved = data["link"] != known
        return (
            data["rows"],
            data["cards"],
            data["chips"],
            data["shown"],
            data["problems"],
            data["link"] if moved else no_update,
            [] if moved else no_update,
        )


PAGE = FreePage(path="/", name="Runs", layout=layout, connect=connect, keys=FILTER_KEYS)
