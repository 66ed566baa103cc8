"""The left column of Checkpoint: all heads, one quantity over length, and all that is known of one head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dash_mantine_components as dmc
import pandas as pd
from dash import Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate
from typing_extensions import TypedDict

from workbench import figures
from workbench.core.errors import join_names
from workbench.core.names import EFFECTIVE_ATTENTION
from workbench.core.thresholds import LEVEL_TEXT
from workbench.dashboard.components.icons import chevron
from workbench.dashboard.panels import panel_frame, panel_words
from workbench.dashboard.panels.callbacks import PARTS, place
from workbench.dashboard.panels.panel_frame import READY, STATE, TABLE
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import VIEWS, Cursor
from workbench.dashboard.state.request_values import Name, declare
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.head_curves import title_of
from workbench.figures.heads.head_facts import LEADING, VARIANTS
from workbench.figures.heads.leading_head import DROP, HEAD_DROP, HEAD_EFFECT, at_chance, chance_clause
from workbench.figures.labels import interval, sample_size, whole
from workbench.figures.rows.frame import Frame, missing
from workbench.models.base.graph import head_name


class Choice(TypedDict):
    """One entry of a select."""

    value: Name


declare({"head-quantity.value": Name | None, "head-quantity.data": list[Choice] | None})


@dataclass(frozen=True, kw_only=True)
class QuantityPanel(Panel):
    """A panel that shows the quantity the page's address names (``q``), or else the leading one."""

    def arguments(self, at: PanelCursor) -> dict[str, Any]:
        """Keywords of the figure function there, the quantity among them."""
        return super().arguments(at) | {"quantity": at.extras.get("q") or None}


TABLE_PANEL = Panel(
    id="head-table",
    row="heads",
    column="cursor",
    title="Heads",
    figure="head_table_figure",
    also=("head",),
    measurement="circuits.",
    quantities=(),
    about="The most informative quantities of every head at the selected step and length; a longer bar is a higher "
    "value within the range of its quantity. Click a head to select it, and press T for all quantities.",
)
LENGTH_PANEL = QuantityPanel(
    id="head-length",
    row="heads",
    column="length",
    title="Over length",
    figure="heads_over_length",
    also=("extras",),
    measurement="circuits.",
    quantities=(),
    about=f"The chosen quantity over prefix length, with {LEVEL_TEXT} intervals. The selected head is the thick line, "
    "and other heads are grey.",
)
FACTS_PANEL = Panel(
    id="head-facts",
    row="heads",
    column="cursor",
    title="What this head is",
    figure="head_facts_figure",
    measurement="circuits.",
    quantities=(),
    about="The most informative quantities of the selected head; below them, folded, is every other measured "
    "quantity. The table (T) also lists the quantities that do not apply to this model.",
)
FIRST = ("hardmax_verdict", HEAD_DROP, DROP, "hardmax_distance", "argmax_mass", "tie_size", "positional_share")
"""Quantities listed first for a head if they were measured; the leading columns of the table of heads follow."""
MOST_FACTS = 6
MOST_HEADS = 36
"""Rows of the table of heads, and that of the chosen one: a browser takes a minute for hundreds."""
HEAD_PANELS = (TABLE_PANEL, LENGTH_PANEL, FACTS_PANEL)


SCAN = EFFECTIVE_ATTENTION
SCAN_PANELS = tuple(
    Panel(
        id=quantity.replace("_", "-"),
        row="scan",
        column="length",
        title=title,
        figure="quantity_over_length",
        without=("layer", "head"),
        measurement=SCAN,
        quantities=(quantity,),
        about="Effective weights of the scan, a line per layer and channel, over prefix length; absolute weights "
        "sum to 1, as attention weights do. If a line bends right of the trained length, the scan reads other "
        "positions there.",
        settings={"measurement": SCAN, "quantity": quantity},
    )
    for quantity, title in (("scan_support", "Effective support"), ("scan_locality", "Locality of the scan"))
)
"""What a model without heads has in their place."""


def scan_shells(run: RunView) -> list[Any]:
    """The panels of a state-space model, before anything is drawn; none for other models."""
    if not run.model.is_state_space:
        return []
    return [*(panel_frame.shell(one, run.specs) for one in SCAN_PANELS), memory(SCAN_PANELS)]


def shells(run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """The three panels, before anything is drawn."""
    return [
        panel_frame.frame(
            TABLE_PANEL.id,
            TABLE_PANEL.title,
            _about(TABLE_PANEL, run),
            [_rows(TABLE_PANEL)],
        ),
        _length_shell(run, cursor, extras),
        panel_frame.frame(
            FACTS_PANEL.id,
            FACTS_PANEL.title,
            _about(FACTS_PANEL, run),
            [_rows(FACTS_PANEL)],
        ),
        memory((LENGTH_PANEL,)),
    ]


def _rows(one: Panel) -> html.Div:
    """Where a panel's lines stand; it scrolls, so the keyboard must reach it."""
    label = {"aria-label": one.title}
    return html.Div(id=f"{one.id}-rows", className="head-rows", tabIndex=0, role="group", **label)


def _about(one: Panel, run: RunView) -> list[panel_words.Said]:
    return panel_words.definition(one, run.specs)


def _length_shell(run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> html.Section:
    shell = panel_frame.shell(LENGTH_PANEL, run.specs)
    names = figures.series_names(run.frame, step=cursor.step) if run.brief.rows else []
    chosen = extras.get("q") or (names[0] if names else "")
    select = dmc.Select(
        id="head-quantity",
        data=[{"value": name, "label": title_of(name)} for name in dict.fromkeys([*names, chosen]) if name],
        value=chosen or None,
        allowDeselect=False,
        searchable=True,
        rightSection=chevron(),
        size="xs",
        w=170,
        **{"aria-label": "Quantity"},
    )
    shell.children[0].children[2].children.insert(0, select)
    return shell


def connect(app: Dash, context: Context) -> None:
    """Register the callbacks of the two tables and of the choice of quantity."""
    _table(app, context, TABLE_PANEL, head_rows)
    _table(app, context, FACTS_PANEL, fact_rows)

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("head-quantity", "value"),
        State("extras", "data"),
        State("head-quantity", "data"),
        prevent_initial_call=True,
    )
    def chosen(name: str | None, extras: dict[str, str], names: Any) -> Any:
        first = names[0]["value"] if names else ""
        made = extras | {"q": "" if name in (None, first) else str(name)}
        if made == extras:
            raise PreventUpdate
        return made


def _table(app: Dash, context: Context, one: Panel, draw: Any) -> None:
    @app.callback(
        Output(f"{one.id}-rows", "children"),
        *[Output(f"{one.id}-{name}", "children") for name in ("table", "state", "slice")],
        Output(f"{one.id}-body", "className"),
        *[Input(part, "data") for part in PARTS],
        Input("run-version", "data"),
        Input(f"{one.id}-mode", "data"),
        State("run", "data"),
    )
    def show(step: int, length: int, head: str, _: Any, mode: str, run: str) -> Any:
        view, cursor = place(context, run, step, length, head)
        try:
            if mode == "table":
                return no_update, panel_frame.as_table(all_head_rows(view, cursor), one.title), [], no_update, TABLE
            rows, slice_text = view.memo(
                (one.id, replace(cursor, run="", view=VIEWS[0], sample=0)), lambda: draw(view, cursor)
            )
        except NotMeasured as missing:
            state = panel_frame.without_rows(missing, view)
            return [], [], state, "", STATE
        return rows, [], [], slice_text, READY


def all_head_rows(run: RunView, cursor: Cursor) -> pd.DataFrame:
    """All rows about heads at the selection."""
    rows = figures.head_rows(run.frame, step=cursor.step, length=cursor.length).to_pandas()
    order = ["series", "layer", "head"]
    return rows.sort_values(order, kind="stable").drop(columns=["step", "length"])


def head_rows(run: RunView, cursor: Cursor) -> tuple[Any, str]:
    """The head table and its slice text."""
    data = figures.head_table(run.frame, step=cursor.step, length=cursor.length)
    names = list(dict.fromkeys(data["series"]))
    short = dict(zip(data["series"], data["name"], strict=True))
    why = _no_cost(run, cursor)
    titles = [_column_title(run, data, n, why) for n in names]
    columns = [html.Th(short[n], scope="col", title=title) for n, title in zip(names, titles, strict=True)]
    head = html.Thead(html.Tr([html.Th("Head", scope="col"), *columns]))
    lines = []
    mixed = {row["series"] for row in data.rows() if row["measurement"] == HEAD_EFFECT}
    every_head = list(data.group("layer", "head"))
    displayed = every_head[:MOST_HEADS]
    displayed += [one for one in every_head[MOST_HEADS:] if one[0] == (cursor.layer, cursor.head)]
    for (layer, which), part in displayed:
        cells = {row["series"]: row for row in part.rows()}
        on = (int(layer), int(which)) == (cursor.layer, cursor.head)
        button = html.Button(
            head_name(int(layer), int(which)),
            type="button",
            className="num",
            **{"data-pick-head": f"{int(layer)}.{int(which)}", "aria-pressed": "true" if on else "false"},
        )
        lines.append(
            html.Tr(
                [
                    html.Th(button, scope="row"),
                    *(_value(cells.get(n), _is_grey(cells.get(n), n in mixed)) for n in names),
                ],
                className="on" if on else "",
            )
        )
    slice_text = f"at {run.kind.length_text(cursor.length)} \u00b7 sorted by {short[names[0]].lower()}"
    if why and any(n.startswith(DROP) for n in names):
        slice_text += " \u00b7 no drop can be shown"
    slice_text += _ablated_on(data)
    if len(displayed) < len(every_head):
        slice_text += f" \u00b7 {whole(len(displayed))} of {whole(len(every_head))} heads, all as table (T)"
    return html.Table([head, html.Tbody(lines)], className="head-grid-table"), slice_text


def _column_title(run: RunView, data: Frame, series: str, why: str) -> str:
    """What a column of the table is: its name, its definition, and why no drop can be shown."""
    mine = data.where(series=series).rows()
    screened = [row for row in mine if row["measurement"] != HEAD_EFFECT]
    quantity = {"quantity": series.partition(" \u00b7 ")[0]}
    defined = _defined(run, (screened or mine)[0] | quantity)
    ablation = series.startswith(DROP)
    name = "Accuracy drop" if ablation else title_of(series)
    return ". ".join(filter(None, (name, defined, why if ablation else "")))


def _ablated_on(data: Frame) -> str:
    """How many sequences the accuracy drops rest on: those of tested heads, and those of the screening, in grey."""
    rows = [row for row in data.rows() if str(row["series"]).startswith(DROP) and not missing(row["n"])]
    tested = [row for row in rows if row["measurement"] == HEAD_EFFECT]
    sizes = [f"n {whole(row['n'])}" for row in rows if row["measurement"] != HEAD_EFFECT][:1]
    if not tested:
        return "".join(f" \u00b7 ablation: screening, {size}" for size in sizes)
    heads = join_names(sorted({head_name(int(row["layer"]), int(row["head"])) for row in tested}), ", ")
    screening = "".join(f"; grey: screening, {size}" for size in sizes)
    return f" \u00b7 ablation of {heads}: n {whole(tested[0]['n'])}{screening}"


def _no_cost(run: RunView, cursor: Cursor) -> str:
    """Why no ablation can be shown to cost accuracy at the selection; empty if accuracy is above chance or unknown."""
    guess = at_chance(run.frame, step=cursor.step, length=cursor.length)
    if guess is None:
        return ""
    clause = "".join(text for text, _ in chance_clause(*guess))
    return f"No drop can be shown at {run.kind.length_text(cursor.length)}: {clause}."


def _is_grey(row: Mapping[str, Any] | None, mixed: bool) -> bool:
    """Whether a cell is of the screening, in a column that has cells of tested heads too."""
    return mixed and row is not None and row["measurement"] != HEAD_EFFECT


def _value(row: Mapping[str, Any] | None, grey: bool = False) -> html.Td:
    """A cell: its value, grey where it is of the screening and others are tested, and a bar."""
    if row is None:
        return html.Td("")
    low, high = (None if missing(row[k]) else float(row[k]) for k in ("low", "high"))
    limits = "" if row["label"] else interval(low, high, 3)  # what is so by definition has none
    note = f"; {row['status']}: {row['note']}" if row["status"] != "ok" else ""
    share = 0.0 if missing(row["share"]) else float(row["share"])
    bar = html.I(style={"width": f"{100 * share:.1f}%"})
    size = "" if missing(row["n"]) else f"; n {whole(row['n'])}"
    value = html.Span(row["text"], className="num soft" if grey else "num")
    return html.Td([value, bar], title=f"{row['text']} {limits}{size}{note}".strip())


def fact_rows(run: RunView, cursor: Cursor) -> tuple[Any, str]:
    """The most informative facts of the head, all others folded until opened, and the slice text."""
    if cursor.layer is None or cursor.head is None:
        slice_text = "All heads are shown. Choose a head in the table above to see everything that was measured of it."
        raise NotMeasured("circuits.", slice_text, helps=False)
    at = {"step": cursor.step, "length": cursor.length, "layer": cursor.layer, "head": cursor.head}
    data = figures.head_facts(run.frame, **at)
    rows = data.where(data["status"] != "not_applicable").rows()
    first, shared = telling(rows), _shared_n(rows)
    further: dict[str, list[Any]] = {}
    for row in rows:
        if row not in first:
            further.setdefault(str(row["measurement"]), []).append(_fact(run, row, shared))
    children: list[Any] = [html.Dl([_fact(run, row, shared) for row in first], className="head-facts-list")]
    if further:
        grouped = [
            part
            for name, facts in further.items()
            for part in (
                html.H4(run.specs.get(name, {}).get("title", name)),
                html.Dl(facts, className="head-facts-list"),
            )
        ]
        left = len(rows) - len(first)
        children.append(html.Details([html.Summary(f"{left} more"), *grouped], className="head-facts-more"))
    slice_text = " \u00b7 ".join(
        quantity
        for quantity in (
            head_name(cursor.layer, cursor.head),
            run.kind.length_text(cursor.length),
            sample_size(shared) or f"{LEVEL_TEXT} CI",
        )
        if quantity
    )
    return html.Div(children), slice_text


def telling(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The most informative facts of a head, at most :data:`MOST_FACTS`, one of each quantity, best first.

    A tested head omits the accuracy drop that was measured to choose heads for the test.
    """
    if any(row["quantity"] == HEAD_DROP for row in rows):
        rows = [row for row in rows if row["quantity"] != DROP]
    order = [*FIRST, *(name for name in LEADING if name not in FIRST)]

    def rank(row: Mapping[str, Any]) -> tuple[int, int]:
        _, *words = str(row["series"]).split(" \u00b7 ")
        known = [VARIANTS.index(word) for word in words if word in VARIANTS]
        return order.index(row["quantity"]), min(known, default=len(VARIANTS))

    chosen: dict[str, Mapping[str, Any]] = {}
    for row in sorted((row for row in rows if row["quantity"] in order), key=rank):
        chosen.setdefault(str(row["quantity"]), row)
    return list(chosen.values())[:MOST_FACTS]


def _shared_n(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The number of sequences behind every value; None where values have several numbers, or none is known."""
    counts = {int(row["n"]) for row in rows if not missing(row["n"])}
    return counts.pop() if len(counts) == 1 else None


def _fact(run: RunView, row: Mapping[str, Any], shared: int | None) -> html.Div:
    """A quantity's name, its value, its interval, and a warning if there is one.

    Where values rest on several numbers of sequences, each names its own; a value over all lengths is marked as such.
    """
    note = str(row["note"]) if row["status"] != "ok" and row["note"] else ""
    value = [html.Span(row["text"], className="num"), html.Span(f" {row['interval']}", className="soft num")]
    if shared is None and not missing(row["n"]):
        value.append(html.Span(f" n {whole(row['n'])}", className="soft num"))
    if missing(row["length"]):
        value.append(html.Span(" at every length", className="soft"))
    if note:
        value.append(html.Span(f" {note}", className="soft"))
    return html.Div([html.Dt(row["name"], title=_defined(run, row)), html.Dd(value)])


def _defined(run: RunView, row: Mapping[str, Any]) -> str:
    """The quantity's definition, from the spec that travels with the rows."""
    quantities = run.specs.get(str(row["measurement"]), {}).get("quantities", ())
    return next((panel_words.definition_text(q) for q in quantities if q["name"] == row["quantity"]), "")
