"""The Run page: three kinds of evidence over step, length and layer, at one selected step and length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update

from workbench.dashboard.components import measure_button, prose
from workbench.dashboard.components.icons import chevron, icon
from workbench.dashboard.components.terms import explain_terms
from workbench.dashboard.pages.cursor_page import CursorPage
from workbench.dashboard.panels import (
    callbacks,
    cause_strip,
    evidence_chips,
    fork_panels,
    notes_panel,
    panel_frame,
    panel_words,
    picture_panels,
    pinned,
    when_decided,
    wrong_strings,
)
from workbench.dashboard.panels.callbacks import PARTS, browser, place, unless
from workbench.dashboard.panels.circuit import circuit_row
from workbench.dashboard.panels.ledger import NO_LEDGER, ledger
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.panels.run_panels import (
    BANDS,
    BY_ID,
    CIRCUIT,
    COLUMNS,
    DEEPER,
    DEEPER_ROWS,
    IN_CONTEXT,
    IN_CONTEXT_DEEPER,
    IN_CONTEXT_DEEPER_ROWS,
    IN_CONTEXT_ROWS,
    LEGEND,
    MORE,
    PANELS,
    ROWS,
    WHY,
    WHY_ROW,
    panels_of,
)
from workbench.dashboard.panels.sequence import head_maps_panel
from workbench.dashboard.server import theory_lookup
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor, Notice
from workbench.dashboard.state.request_values import Name, declare
from workbench.dashboard.state.run_view import RunView
from workbench.table.wording import quantity_label

WORDS = ("verdict-line", "further", "cause", "chips", "inconclusive-said", "inconclusive", "ledger-said", "ledger")
"""Ids of what one callback fills with words, next to the rails."""

declare(
    {
        "ledger-open.data": bool,
        "diagnosis.className": Any,
        "more-quantity.value": Name,
        **{f"{name}.children": Any for name in WORDS},
        **{f"rail-{row}.children": Any for row in ROWS},
    }
)

RAILS = {row: f"rail-{row}" for row in ROWS}
"""Kind of evidence -> the id of its sentence."""
MATRIX = tuple(one for one in PANELS if one.row in ROWS)
DEEPER_GROUPS = {row: tuple(one for one in DEEPER if one.row == row) for row in DEEPER_ROWS}
"""Row -> its panels; the page has the row if the run was evaluated for it."""

LATE = frozenset(
    panel.id
    for panel in (*fork_panels.PANELS, *WHY, *DEEPER, *CIRCUIT, *IN_CONTEXT_DEEPER, *picture_panels.PICTURES, *MORE)
)
"""Ids of panels that stand below the first screen, unless they are pinned."""

WHY_DRAWN = "matrix more-row late why-row"
WHY_BARE = f"{WHY_DRAWN} bare"
"""CSS classes of the row *Why*: with its panels, and with only its text."""


def content(context: Context, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """Return what is below the selection bar, without plots at first: each panel then loads its own figure."""
    listed = bool(run.brief.rows) and run.kind.evidence
    return [
        html.Div(
            [
                html.Div([html.P(prose.meta(run), className="meta"), save_button(run)], className="meta-row"),
                *fork_panels.parent_line(context.store, run),
                html.H1(id="verdict-line"),
                html.Div(id="further", className="why"),
                html.Section(id="cause", className="cause", **{"aria-label": "Why"}),
                html.P(id="theory-says", className="why"),
                dcc.Interval(id="expected-poll", interval=theory_lookup.POLL_MS),
            ],
            className="headline",
            **{"aria-live": "polite"},
        ),
        dcc.Store(id="ledger-open", data=False),
        html.Div(
            id="chips",
            className="evidence-chips",
            hidden=not listed,
            role="group",
            **{"aria-label": "Evidence for and against the verdict"},
        ),
        html.Div(
            [
                html.Details(
                    [html.Summary(id="inconclusive-said"), html.Div(id="inconclusive")],
                    id="inconclusive-fold",
                    className="evidence",
                    hidden=not listed,
                ),
                html.Details(
                    [html.Summary(id="ledger-said"), html.Div(id="ledger", className="ledger-wrap")],
                    id="evidence",
                    className="evidence",
                    hidden=not listed,
                ),
                when_decided.fold(run),
                notes_panel.section(run),
            ],
            className="folds",
        ),
        *_below(context, run, extras),
    ]


def _below(context: Context, run: RunView, extras: Mapping[str, str]) -> list[Any]:
    """What stands below the headline: the sections of its kind, with its forks after the evidence."""
    sections = run.kind.sections if run.brief.rows else run.kind.unmeasured
    parts: list[Any] = []
    for section in sections:
        parts += SECTIONS[section](run, extras)
        if section == "evidence":
            parts += fork_panels.section(run, context.store.forks_of(run))
    return pinned.with_pinned(parts, extras.get(pinned.KEY, ""), LATE)


def save_button(run: RunView) -> html.Button:
    """Return the button that saves the run as one file (assets/js/export.js); empty for a run without rows."""
    return html.Button(
        [icon("nodata"), "Save as one file"],
        type="button",
        className="button",
        title="A page of this run that needs no server, for a colleague",
        hidden=not run.brief.rows,
        **{"data-save-report": "1"},
    )


def evidence(run: RunView) -> list[Any]:
    """Return the nine panels of evidence and their legend."""
    return [matrix(run), legend()]


def missing_results(run: RunView) -> html.Div:
    """Return one message in place of nine empty panels: which results exist, which are missing, and the command that
    computes them.
    """
    return html.Div(
        [
            html.P([icon("rows"), html.Strong("Not measured yet")], className="head"),
            html.P(
                [
                    "This run has ",
                    html.Span(checkpoint_count(run), id="unmeasured-count"),
                    " and no results in ",
                    html.Code(f"{run.shown_path}/measurements/"),
                    ". Measuring evaluates every checkpoint at every prefix length: its behaviour with the verdict, "
                    "probes of the residual stream, and the attention of every head.",
                ],
                className="prose",
            ),
            *measure_button.ways(run),
            html.P("This page checks for results every two seconds.", className="soft"),
            *[html.P(id=rail, hidden=True) for rail in RAILS.values()],  # filled with the words above, here with none
        ],
        className="empty",
    )


def checkpoint_count(run: RunView) -> str:
    """Return the number of checkpoints of a run, in words."""
    return f"{len(run.steps):,} checkpoint{'' if len(run.steps) == 1 else 's'}"


def matrix(run: RunView) -> html.Div:
    """Return the 3 x 3 panels with their row and column titles."""
    notes = {"training": ["at-length"], "length": ["at-step"], "cursor": ["at-step-2", "at-length-2"]}
    heads = []
    for column, title in COLUMNS.items():
        at: list[Any] = []
        for ident in notes[column]:
            at += [", " if at else "", html.Span(id=ident, className="num")]
        said = [html.Strong(title), html.Span(at, className="soft")]
        heads.append(html.P(said, className=f"column {column}", style={"gridArea": column}))
    rows = []
    for row, (name, question) in ROWS.items():
        rail = [html.H2(name), html.P(question, className="soft"), html.P(id=RAILS[row]), panel_frame.how(row)]
        rows.append(panel_frame.matrix_row(rail, [one for one in MATRIX if one.row == row], run.specs))
    return html.Div([html.Div(heads, className="matrix-row heads-row"), *rows, memory(MATRIX)], className="matrix")


def in_context(run: RunView) -> html.Div:
    """Return the panels over the number of items, for a model that was evaluated in a prompt."""
    rows = []
    for row, (name, question, kind) in IN_CONTEXT_ROWS.items():
        rail = [html.H2(name), html.P(question, className="soft"), html.P(id=RAILS[row])]
        rows.append(panel_frame.matrix_row(rail, [one for one in IN_CONTEXT if one.row == row], run.specs, kind))
    absent = [html.P(id=rail, hidden=True) for row, rail in RAILS.items() if row not in IN_CONTEXT_ROWS]
    return html.Div([*rows, *absent, memory(IN_CONTEXT)], className="matrix")


def in_context_deeper(run: RunView) -> list[html.Div]:
    """Return the panels on heads and layers of a model that was evaluated in a prompt; empty if not measured."""
    if run.measurement_names.isdisjoint(panel.measurement for panel in IN_CONTEXT_DEEPER):
        return []
    rows = []
    for row, (name, question, kind) in IN_CONTEXT_DEEPER_ROWS.items():
        rail = [html.H2(name), html.P(question, className="soft"), html.P(id=f"rail-{row}"), panel_frame.how(row)]
        rows.append(
            panel_frame.matrix_row(rail, [panel for panel in IN_CONTEXT_DEEPER if panel.row == row], run.specs, kind)
        )
    return [html.Div([*rows, memory(IN_CONTEXT_DEEPER)], className="matrix more-row late")]


def why_row(run: RunView) -> html.Div:
    """Return the row *Why*; until there is a diagnosis, a line with the command that computes it."""
    name, question = WHY_ROW["why"]
    rail = [html.H2(name), html.P(question, className="soft"), html.Div(id="rail-diagnosis"), panel_frame.how("why")]
    row = panel_frame.matrix_row(rail, WHY, run.specs, "two")
    return html.Div([row, memory(WHY), wrong_strings.section()], id="diagnosis", className=WHY_BARE)


def deeper(run: RunView) -> list[html.Div]:
    """Return a row of two panels for each further evaluation of this run."""
    rows = []
    for row, (name, question) in DEEPER_ROWS.items():
        shown = DEEPER_GROUPS[row]
        if not run.measurement_names.isdisjoint(one.measurement for one in shown):
            rail = [html.H2(name), html.P(question, className="soft"), panel_frame.how(row)]
            shells = panel_frame.matrix_row(rail, shown, run.specs, "two")
            rows.append(html.Div([shells, memory(shown)], className="matrix more-row late"))
    return rows


def circuit(run: RunView, extras: Mapping[str, str]) -> list[html.Div]:
    """Return the circuit graph (which component reads which); empty for a model without heads."""
    return [circuit_row.row(run, extras)] if run.n_heads else []


def all_heads(run: RunView) -> list[html.Div]:
    """Return the row with the attention of every head on one sequence; empty for a model without heads."""
    return [head_maps_panel.row(run)] if run.n_heads else []


def quantity_panels(run: RunView, extras: Mapping[str, str]) -> html.Div:
    """Return two panels for any quantity in the table of this run."""
    data = []
    for measurement in sorted(run.measurement_names):
        names = sorted(quantity for owner, quantity in run.brief.quantities if owner == measurement)
        items = [{"value": f"{measurement}|{name}", "label": quantity_label(name)} for name in names]
        title = run.specs.get(measurement, {}).get("title", measurement)
        data.append({"group": title, "items": items})
    select = dmc.Select(
        id="more-quantity",
        data=data,
        value=extras.get("quantity", ""),
        allowDeselect=False,
        searchable=True,
        size="xs",
        rightSection=chevron(),
        maxDropdownHeight=360,
        nothingFoundMessage="No quantity of that name",
        attributes={"input": {"aria-label": "Quantity"}},
    )
    heading = [html.H2("Anything else"), html.P("Every quantity in the table", className="soft")]
    row = panel_frame.matrix_row(
        [*heading, select, html.P(id="more-says"), panel_frame.how("more")], MORE, run.specs, "two"
    )
    return html.Div([row, memory(MORE)], className="matrix more-row late")


def check(_: Context, run: RunView, extras: Mapping[str, str]) -> tuple[dict[str, str], list[Notice]]:
    """Return the valid extras of a link: a quantity, or a connection of the circuit graph, that the run has."""
    quantity, notices = _quantity(run, extras.get("quantity", ""))
    circuit, more_notices = circuit_row.check_extras(run, extras)
    panels, unknown_panels = pinned.check(extras.get(pinned.KEY, ""), [panel.id for panel in PAGE.panels])
    notices += [*more_notices, *unknown_panels]
    return {"quantity": quantity, **circuit, pinned.KEY: panels}, notices


def _quantity(run: RunView, asked: str) -> tuple[str, list[Notice]]:
    """The quantity that a link names, or one that has no panel of its own, else any."""
    pairs = {"|".join(pair) for pair in run.brief.quantities}
    above = {name for one in PANELS for name in one.quantities}
    told = ("behaviour", "bound")
    others = sorted(f"{m}|{q}" for m, q in run.brief.quantities if q not in above and m not in told)
    default = next(iter([*others, *sorted(pairs)]), "")
    if not asked or asked in pairs:
        return asked or default, []
    name = asked.partition("|")[2] or asked
    notice = Notice(
        f"This link names the quantity {name}, which {run.name} does not have.", "The page shows another one.", "Keep"
    )
    return default, [notice]


def training(run: RunView) -> html.Div:
    """Return the row on training (loss and accuracies in the log), which needs no measurement."""
    rail = [
        html.H2("Training"),
        html.P("Did it learn?", className="soft"),
        html.P(id="rail-training"),
        panel_frame.how("training"),
    ]
    loss = (BY_ID["loss"],)
    return html.Div(
        [panel_frame.matrix_row(rail, loss, run.specs, "one"), memory(loss)], className="matrix training-row"
    )


Section = Callable[[RunView, Mapping[str, str]], list[Any]]
SECTIONS: Mapping[str, Section] = {
    "unmeasured": lambda run, _: [missing_results(run)],
    "evidence": lambda run, _: evidence(run),
    "why": lambda run, _: [why_row(run)],
    "deeper": lambda run, _: deeper(run),
    "circuit": circuit,
    "heads": lambda run, _: all_heads(run),
    "items": lambda run, _: [in_context(run)],
    "items-deeper": lambda run, _: in_context_deeper(run),
    "pictures": lambda run, _: list(picture_panels.section(run)),
    "more": lambda run, extras: [quantity_panels(run, extras)],
    "training": lambda run, _: [training(run)],
}
"""Section of the page, as kinds of run name them -> what stands there."""


def legend() -> html.P:
    """Return the meaning of the line styles, once for the page."""
    keys = [html.Span([html.I(className=f"key {style}"), *explain_terms(said)]) for style, said in LEGEND]
    return html.P([*keys, html.Span(BANDS)], className="legend")


def connect(app: Dash, context: Context) -> None:
    """Register the page's callbacks."""
    for name, store in (("atStep", "step"), ("atLength", "length")):
        outputs = [Output(f"at-{store}", "children"), Output(f"at-{store}-2", "children")]
        browser(app, name, *outputs, Input(store, "data"))
    _prose(app, context)  # before the panels: questions are asked in this order, and the verdict comes first
    for group in (MATRIX, IN_CONTEXT, (BY_ID["loss"],)):
        callbacks.panels(app, context, group)
    for group in (WHY, *DEEPER_GROUPS.values(), IN_CONTEXT_DEEPER, MORE):
        callbacks.panels(app, context, group, late=True)
    circuit_row.connect(app, context)
    head_maps_panel.connect(app, context)
    fork_panels.connect(app, context)
    picture_panels.connect(app, context)
    when_decided.connect(app, context)
    _more(app, context)
    _ahead(app, context)
    _theory(app, context)
    wrong_strings.connect(app, context)
    notes_panel.connect(app, context)


def _more(app: Dash, context: Context) -> None:
    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("more-quantity", "value"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def chosen(quantity: str, extras: dict[str, str]) -> Any:
        return no_update if quantity == extras.get("quantity") else extras | {"quantity": quantity}

    @app.callback(Output("more-says", "children"), Input("extras", "data"), State("run", "data"))
    def says(extras: dict[str, str], run: str) -> Any:
        view = context.store.run(run)
        measurement, _, name = extras.get("quantity", "").partition("|")
        known = [] if view is None else view.specs.get(measurement, {}).get("quantities", ())
        found = next((one for one in known if one["name"] == name), None)
        return "" if found is None else panel_words.definition_text(found)


def _ahead(app: Dash, context: Context) -> None:
    # Of what every page has, only State: a callback whose Inputs are but partly on a page is an error there.
    @app.callback(
        Input("run-version", "data"),
        State("page-look", "data"),
        State("link", "data"),
        State("axis", "data"),
        State("run", "data"),
        *[State(part, "data") for part in PARTS],
    )
    def ahead(_: Any, look: Any, known: Any, axis: str, run: str, step: int, length: int, head: str) -> None:
        view, cursor = place(context, run, step, length, head)
        if look is not None and view.brief.rows and known["path"] == PAGE.path:
            always, further = panels_of(view.kind)
            at = PanelCursor.from_link(context.store, view, cursor, {"axis": axis})
            context.prefetch.ask(at, (*always, *further), look)


def _theory(app: Dash, context: Context) -> None:
    # On its own: a poll that asked for all words would overtake a question for them that is still under way.
    @app.callback(
        Output("theory-says", "children"),
        Output("expected-poll", "disabled"),
        Input("expected-poll", "n_intervals"),
        Input("late", "data"),
        Input("run-version", "data"),
        State("run", "data"),
    )
    def says(_: Any, cursor: dict[str, Any], __: Any, run: str) -> Any:
        view, at = place(context, run, **cursor)
        expected = context.expectations.of([view])[view.name]
        return prose.theory(view, at.step, expected), expected is not None


def _prose(app: Dash, context: Context) -> None:
    @app.callback(Output("rail-training", "children"), Input("log-version", "data"), State("run", "data"))
    def trained(_: Any, run: str) -> Any:
        view = context.store.run(run)
        return no_update if view is None else prose.training(view)

    @app.callback(
        Output("rail-diagnosis", "children"),
        Output("diagnosis", "className"),
        Input("late", "data"),
        Input("run-version", "data"),
        State("run", "data"),
        State("diagnosis", "className"),
    )
    def diagnosed(cursor: dict[str, Any], _: Any, run: str, known: str) -> Any:
        view, at = place(context, run, **cursor)
        said, drawn = prose.diagnosis(view, at.step)
        return said, unless(known, WHY_DRAWN if drawn else WHY_BARE)

    for row in IN_CONTEXT_DEEPER_ROWS:

        @app.callback(
            Output(f"rail-{row}", "children"),
            Input("late", "data"),
            Input("run-version", "data"),
            State("run", "data"),
        )
        def deeper_said(cursor: dict[str, Any], _: Any, run: str, row: str = row) -> Any:
            view, at = place(context, run, **cursor)
            return prose.rail(view, row, at) if row in view.kind.rails and view.brief.rows else ""

    @app.callback(Output("unmeasured-count", "children"), Input("run-version", "data"), State("run", "data"))
    def grown(_: Any, run: str) -> Any:
        view = context.store.run(run)
        return no_update if view is None else checkpoint_count(view)

    outputs = (*WORDS, *RAILS.values())

    @app.callback(
        *[Output(name, "children") for name in outputs],
        *[Input(part, "data") for part in PARTS],
        Input("run-version", "data"),
        Input("ledger-open", "data"),
        State("run", "data"),
        *[State(name, "children") for name in outputs],
    )
    def update_prose(step: int, length: int, head: str, _: Any, opened: bool, run: str, *known: Any) -> Any:
        view, cursor = place(context, run, step, length, head)
        rails = [prose.rail(view, row, cursor) if view.brief.rows else "" for row in RAILS]
        found = ledger(view, cursor) if view.kind.evidence else NO_LEDGER
        evidence = [f"Evidence: {found.said}"] if found.said else ["Evidence: none at this step"]
        # Every component anew costs the browser some milliseconds: the table follows the cursor while it can be seen.
        table = evidence_chips.table(found) if opened else []
        neutral = (evidence_chips.inconclusive(found), evidence_chips.inconclusive_clauses(found))
        cause = cause_strip.strip(view, cursor.step) if "why" in view.kind.sections and view.brief.rows else []
        top = (*prose.headline(view, cursor), cause, evidence_chips.chips(found), *neutral, evidence, table)
        return tuple(map(unless, known, (*top, *rails)))


PAGE = CursorPage(
    path="/run",
    name="Run",
    connect=connect,
    content=content,
    panels=(
        *PANELS,
        *IN_CONTEXT,
        *IN_CONTEXT_DEEPER,
        *fork_panels.PANELS,
        *WHY,
        *DEEPER,
        *CIRCUIT,
        *picture_panels.PICTURES,
        *MORE,
        head_maps_panel.PANEL,
    ),
    extras={"quantity": "", pinned.KEY: "", **circuit_row.EXTRAS},
    check=check,
)
