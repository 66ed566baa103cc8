"""The Claims page: every published claim with its verdict, its seeds against the threshold, and runs that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from workbench.core.thresholds import LEVEL_TEXT
from workbench.dashboard.components import interval_chart
from workbench.dashboard.components.icons import chevron, icon
from workbench.dashboard.components.page_frame import banner, command
from workbench.dashboard.components.runs_grid import THEME
from workbench.dashboard.pages.base import Drawn, FreePage, Visit
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.published_claims import ClaimList
from workbench.dashboard.state.claim_filters import (
    ABOUT,
    CLAIM_KEYS,
    ClaimFilters,
    check_claim_filters,
    papers_of,
    passing,
    read_claim_filters,
    verdict_text,
    write_claim_filters,
)
from workbench.dashboard.state.cursor import link, slug
from workbench.dashboard.state.request_values import Name, declare

declare(
    {
        "claims-grid.selectedRows": Any,
        "claims-asked.data": dict[str, str] | None,
        **{f"claims-{name}.value": Name | None for name in ("suite", "verdict", "paper", "filter")},
    }
)

POLL_MS = 400
MOST_RUNS = 6
"""Runs of this folder that a claim links to."""
MOST_CHARTS = 4
"""Parts of a claim that are drawn at once; the others unfold."""


def layout(context: Context, visit: Visit) -> Drawn:
    """Return the page: its list is there at once if the claims were read before, and otherwise as soon as they are."""
    filters = read_claim_filters(visit.search if visit.path == "/claims" else "")
    found = claim_list(context)
    content = html.Div(
        [
            dcc.Store(id="claims-asked", data=_as_stored(filters)),
            dcc.Interval(id="claims-poll", interval=POLL_MS, disabled=found.ready),
            html.Div(banner(visit.notices, write_claim_filters(filters)), id="banner"),
            html.Div([html.H1("Which published claims hold?"), html.P(ABOUT, className="why")], className="headline"),
            html.Div(body(found, filters), id="claims-body"),
        ],
        className="content claims-page",
    )
    return Drawn([content], "Claims")


def claim_list(context: Context) -> ClaimList:
    """Return the claims, with the runs of the folder that are like theirs."""
    return context.published_claims.with_runs(context.store.comparable_runs().values())


def body(found: ClaimList, asked: ClaimFilters) -> list[Any]:
    """Return everything below the heading: waiting, an error, or filters with the list and the selected claim."""
    if found.error:
        return [html.P([icon("warn"), " ", found.error], className="says")]
    if not found.ready:
        waiting = [html.Strong("Reading the claims"), " \u00b7 the first time takes some seconds"]
        return [html.P(waiting, className="soft", role="status")]
    filters, notices = check_claim_filters(asked, found.claims)
    rows = [_row(claim) for claim in passing(found.claims, filters)]
    shown = filters.claim or (rows[0]["claim"] if rows else "")
    return [
        html.Div(banner(notices, write_claim_filters(filters)) if notices else []),
        html.Div(_toolbar(found.claims, filters), className="toolbar"),
        html.Div(
            [
                html.Div(grid(rows, shown), className="grid-frame"),
                html.Section(
                    details_of(found, shown),
                    id="claim-details",
                    className="pan claim-details",
                    **{"aria-label": "Selected claim", "aria-live": "polite"},
                ),
            ],
            className="claims",
        ),
        dcc.Store(id="link", data=_link(filters)),
    ]


def _as_stored(filters: ClaimFilters) -> dict[str, str]:
    return {name: getattr(filters, name) for name in ("suite", "verdict", "paper", "text", "claim")}


def _link(filters: ClaimFilters) -> dict[str, str]:
    return {"path": "/claims", "run": "", "href": write_claim_filters(filters)}


# ---- the list ------------------------------------------------------------------------------------
def _row(claim: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the list."""
    first = claim["parts"][0] if claim["parts"] else None
    return {
        "claim": claim["claim"],
        "prediction": claim["prediction"],
        "papers": "; ".join(papers_of(claim)),
        "verdict": claim["verdict"],
        "slug": "claim-" + slug(claim["verdict"]),
        "seeds": f"{claim['on_side']} of {claim['of_seeds']} seeds" if claim["of_seeds"] else "",
        "share": -1 if not claim["of_seeds"] else claim["on_side"] / claim["of_seeds"],
        "strip": interval_chart.strip(first) if first else None,
    }


def _toolbar(claims: Sequence[Mapping[str, Any]], filters: ClaimFilters) -> list[Any]:
    suites = Counter(claim["suite"] for claim in claims)
    verdicts = Counter(claim["verdict"] for claim in claims)
    papers = Counter(paper for claim in claims for paper in papers_of(claim))
    return [
        dmc.TextInput(
            id="claims-filter",
            value=filters.text,
            placeholder="Filter claims",
            size="xs",
            w=190,
            debounce=150,
            leftSection=icon("search"),
            rightSection=html.Kbd("/"),
            attributes={"input": {"aria-label": "Filter claims", "autoComplete": "off"}},
        ),
        _select("verdict", "Verdict", verdicts, filters.verdict, 190),
        _select("suite", "Suite", suites, filters.suite, 170),
        _select("paper", "Paper", papers, filters.paper, 210),
        html.Span(_count_text(claims, filters), id="claims-shown", className="soft num", role="status"),
    ]


def _select(name: str, label: str, counts: Mapping[str, int], chosen: str, width: int) -> dmc.Select:
    options = [{"value": "", "label": f"{label}: all"}]
    options += [{"value": value, "label": f"{value} ({count})"} for value, count in counts.items()]
    return dmc.Select(
        id=f"claims-{name}",
        data=options,
        value=chosen,
        allowDeselect=False,
        rightSection=chevron(),
        size="xs",
        w=width,
        maxDropdownHeight=360,
        searchable=len(options) > 12,
        attributes={"input": {"aria-label": label}},
    )


def _count_text(claims: Sequence[Mapping[str, Any]], filters: ClaimFilters) -> str:
    """How many claims pass, and how many of each verdict."""
    left = passing(claims, filters)
    counts = Counter(claim["verdict"] for claim in left)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    head = f"{len(left)} of {len(claims)} claims" if len(left) < len(claims) else f"{len(claims)} claims"
    return f"{head}: {verdicts}" if verdicts else f"{head}. Clear a filter to see more."


def grid(rows: Sequence[dict[str, Any]], selected: str) -> dag.AgGrid:
    """Return the table of claims; a click or Enter on a line shows the claim."""
    columns = [
        {
            "field": "claim",
            "headerName": "Claim",
            "cellRenderer": "ClaimText",
            "flex": 1,
            "minWidth": 176,
        },
        {
            "field": "verdict",
            "headerName": "Verdict",
            "cellRenderer": "ClaimVerdict",
            "width": 200,
        },
        {
            "field": "share",
            "headerName": "Seeds against the threshold",
            "cellRenderer": "ClaimSeeds",
            "width": 186,
            "headerTooltip": f"Each dot is a seed, or a case of an exact claim, with its {LEVEL_TEXT} interval. The "
            "dashed line is the threshold, and the claim holds on the tinted side. Hollow dots are on the other side. "
            "Axes differ between claims. Sorts by the share of seeds on the claim's side",
        },
    ]
    return dag.AgGrid(
        id="claims-grid",
        rowData=list(rows),
        columnDefs=columns,
        defaultColDef={
            "sortable": True,
            "resizable": False,
            "suppressMovable": True,
            "cellDataType": False,
            "suppressHeaderMenuButton": True,
            "equals": {"function": "false"},
        },
        getRowId="params.data.claim",
        selectedRows={"ids": [selected]} if selected else [],
        dashGridOptions={
            "theme": {"function": THEME},
            "rowHeight": 64,
            "headerHeight": 34,
            "animateRows": False,
            "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
            "tooltipShowDelay": 200,
            "localeText": {"noRowsToShow": "No claim passes these filters."},
        },
        columnSize=None,
        className="runs-grid claims-grid",
        style={"height": "100%"},
    )


# ---- one claim -----------------------------------------------------------------------------------
def details_of(found: ClaimList, name: str) -> list[Any]:
    """Return the selected claim: statement, verdict, numbers, source, runs, and how to run it."""
    claim = next((one for one in found.claims if one["claim"] == name), None)
    if claim is None:
        return [html.P("No claim is selected. Select one in the list.", className="soft")]
    charts = [interval_chart.chart(part) for part in claim["parts"]]
    more = charts[MOST_CHARTS:]
    return [
        html.Div([html.H2(claim["claim"]), verdict_chip(claim["verdict"])], className="claim-head"),
        html.P(claim["prediction"], className="claim-says"),
        html.P(verdict_text(claim), className="claim-why"),
        *_how_to_read(claim),
        *charts[:MOST_CHARTS],
        *([html.Details([html.Summary(f"{len(more)} more"), *more], className="how")] if more else []),
        html.Dl([html.Div([html.Dt(term), html.Dd(text)]) for term, text in _facts(found, claim)], className="facts"),
        html.H3("Run it"),
        command(f"lengthlens reproduce {claim['claim']}"),
    ]


def verdict_chip(verdict: str) -> html.Span:
    """Return the verdict on a claim as a label. It has no hue: hues show what a quantity depends on."""
    return html.Span(verdict, className=f"chip claim-{slug(verdict)}")


def _how_to_read(claim: Mapping[str, Any]) -> list[Any]:
    """What the marks mean, as far as they occur."""
    parts = claim["parts"]
    if not parts:
        return [html.P("There are no numbers yet. The command below computes them.", className="soft")]
    rows = [row for part in parts for row in part["rows"]]
    sentences = []
    if any(interval_chart.thresholds(part) for part in parts):
        sentences.append("The claim holds on the tinted side of the dashed threshold.")
    if any(row["side"] == "fails" for row in rows):
        sentences.append("Filled dots are on the claim's side, and hollow dots on the other.")
    if any(row["low"] is not None for row in rows):
        sentences.append(f"Bars are {LEVEL_TEXT} intervals.")
    if not all(row["counts"] for row in rows):
        sentences.append("Grey runs do not solve their trained lengths and are not counted.")
    return [html.P(" ".join(sentences), className="soft key")] if sentences else []


def _facts(found: ClaimList, claim: Mapping[str, Any]) -> list[tuple[str, Any]]:
    sources = [
        html.Div([html.A(source["text"], href=source["url"], target="_blank", rel="noreferrer")])
        if source["url"]
        else html.Div(source["text"])
        for source in claim["sources"]
    ]
    facts: list[tuple[str, Any]] = [
        ("Source", sources),
        ("Suite", f"{claim['suite']}: {claim['suite_title']}"),
        ("Kind", claim["kind"]),
        ("Holds if", claim["holds_if"]),
        ("Measured", claim["statistic"]),
        ("Settings", claim["scale"]),
        ("Note", claim["note"]),
        ("Outside the theorem's range", claim["outside"]),
        ("Chosen when the numbers were known", claim["settled"]),
        ("Runs here like its own", _run_links(found.runs_like(claim))),
        ("Documentation", html.Code(f"{claim['page']}#{claim['claim'].lower()}")),
        ("Computed", claim["computed"]),
    ]
    return [(term, text) for term, text in facts if text]


def _run_links(names: Sequence[str]) -> list[Any] | str:
    """Links to runs of this folder with the task, positions and kind of model of a claim."""
    if not names:
        return ""
    links = [html.Div(html.A(name, href=link(name), **{"data-nav": "1"})) for name in names[:MOST_RUNS]]
    more = len(names) - MOST_RUNS
    return [*links, *([html.Div(f"and {more:,} more", className="soft")] if more > 0 else [])]


# ---- callbacks -----------------------------------------------------------------------------------
def connect(app: Dash, context: Context) -> None:
    """Register the callbacks: the list once it is read, filters, and the selected claim."""

    @app.callback(
        Output("claims-body", "children"),
        Output("claims-poll", "disabled"),
        Input("claims-poll", "n_intervals"),
        State("claims-asked", "data"),
        prevent_initial_call=True,
    )
    def fill(_: Any, asked: dict[str, str] | None) -> Any:
        found = claim_list(context)
        if not found.ready:
            raise PreventUpdate
        return body(found, ClaimFilters(**(asked or {}))), True

    @app.callback(
        Output("claims-grid", "rowData"),
        Output("claims-shown", "children"),
        Output("claim-details", "children"),
        Output("link", "data", allow_duplicate=True),
        Input("claims-filter", "value"),
        Input("claims-verdict", "value"),
        Input("claims-suite", "value"),
        Input("claims-paper", "value"),
        Input("claims-grid", "selectedRows"),
        State("link", "data"),
        prevent_initial_call=True,
    )
    def show(text: str, verdict: str, suite: str, paper: str, selected: Any, known: dict[str, str]) -> Any:
        found = claim_list(context)
        if not found.claims:
            raise PreventUpdate
        before = read_claim_filters(known["href"].partition("?")[2])
        filters = ClaimFilters(suite or "", verdict or "", paper or "", text or "", _selected(selected) or before.claim)
        rows = no_update
        if replace(filters, claim="") != replace(before, claim=""):
            rows = [_row(claim) for claim in passing(found.claims, filters)]
        return rows, _count_text(found.claims, filters), details_of(found, filters.claim), _link(filters)


def _selected(rows: Any) -> str:
    """The claim that the browser says is selected; "" without one."""
    first = rows[0] if isinstance(rows, list) and rows else None
    name = first.get("claim") if isinstance(first, dict) else None
    return name if isinstance(name, str) else ""


PAGE = FreePage(path="/claims", name="Claims", layout=layout, connect=connect, keys=CLAIM_KEYS)
