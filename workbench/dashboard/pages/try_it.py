"""The Try it page: any sequence of the run's task, with the unchanged and the edited model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate
from pydantic import Field
from typing_extensions import TypedDict

from workbench.dashboard.components import prose
from workbench.dashboard.components.icons import chevron
from workbench.dashboard.pages.cursor_page import CursorPage
from workbench.dashboard.panels.callbacks import PARTS, place
from workbench.dashboard.panels.panel_frame import wants_weights
from workbench.dashboard.panels.sequence import sequence_board, sequence_callbacks, story
from workbench.dashboard.panels.sequence.sequence_panel import ComputedPanel, query_index
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, IN_LINK, LAWS, SequenceQuestion, check_extras
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.request_values import Head, Name, Text, Whole, declare
from workbench.dashboard.state.run_description import short_origin
from workbench.dashboard.state.run_view import RunView
from workbench.figures.rows.claims import plain
from workbench.figures.sequence.sequence_data import RowName
from workbench.figures.text.sequence_sentences import answers_sentence, attention_sentence, tally_sentence
from workbench.figures.text.story_sentences import chosen_sentence, right_means, story_sentence
from workbench.measure.edits.edit import SINGLE_PASS, Edit, EditError, check_edits, parse_edit, parse_edits
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.reading import SequenceReading
from workbench.models.base.graph import head_name
from workbench.tasks.known_tasks import task_label


class Gone(TypedDict):
    """The browser's request to remove an edit, by the name of the edit."""

    edit: Name


declare(
    {
        "try-kind.value": Literal["zero", "mean", "hardmax", "hardmax-all", "patch", "repair"],
        "try-head.value": Head | None,
        "try-block.value": Annotated[str, Field(pattern=r"^[0-9]{1,6}\z")] | None,
        "try-prefix.value": Whole | float | Name | None,
        "try-repair.value": Literal[SINGLE_PASS],
        "try-law.value": Literal[LAWS],
        "try-text.value": Text | None,
        "try-drop.data": Gone | None,
    }
)

ROWS: tuple[RowName, ...] = ("outputs", "pattern", "summary", "position")
CELLS = 256
_TRY: dict[str, Any] = {"rows_drawn": ROWS, "cells": CELLS, "size": (640, 760), "answers_apart": True}
PANELS = (
    ComputedPanel(id="try-clean", title="As is", part="clean", **_TRY),
    ComputedPanel(id="try-edited", title="Edited", part="edited", **_TRY),
    ComputedPanel(id="try-change", title="Edited \u2212 as is", part="change", **_TRY),
    story.PANEL,
)
COLUMNS = PANELS[:-1]
"""The panels with attention and probes; the answers under an intervention stand above them."""
KINDS = (
    ("zero", "Ablate a head: zero"),
    ("mean", "Ablate a head: mean"),
    ("hardmax", "Make a head hard (hardmax)"),
    ("hardmax-all", "Make every head hard"),
    ("patch", "Patch a state"),
    ("repair", "Apply an intervention"),
)
WHAT = {
    "zero": "The head\u2019s output becomes 0 at every prefix.",
    "mean": "The head\u2019s output becomes its mean over other sequences of this task, at each prefix.",
    "hardmax": "For each query, the attention of the head becomes uniform on its tie set: the keys with the k* "
    "highest scores, whose uniform distribution is nearest to the attention.",
    "hardmax-all": "Every head\u2019s attention becomes uniform on its tie sets.",
    "patch": "The residual state of a shorter prefix, after a block, replaces the state of the last query. After the "
    "last block, the output is then the output of the shorter prefix.",
    "repair": "An intervention that a diagnosis tries: position ids from the trained range, or larger attention "
    "scores in every head.",
}


def note(run: RunView, asked: SequenceQuestion, found: SequenceReading) -> list[Any]:
    """The answers of the oracle and the model at the selected query, and the effect of the edits over all queries."""
    query = query_index(found, asked.prefix)
    answers, attention = answers_sentence(found, query), attention_sentence(found, query)
    headline = story_sentence(found)
    below = [*answers, *right_means(found)] if headline else tally_sentence(found)
    return [
        html.H1(prose.pieces(headline or answers)),
        html.P(prose.pieces([*below, plain(" "), *attention]), className="why"),
        html.P(prose.pieces(chosen_sentence(found)), className="why soft"),
    ]


def refusal(reason: str) -> list[Any]:
    """Return why there is no result, in the place of the sentence."""
    return [html.H1(f"{reason[:1].upper()}{reason[1:].rstrip('.')}.")]


BOARD = sequence_board.SequenceBoard("try-board", PANELS, note, refusal)


def content(context: Context, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """Return what is below the selection bar: the sequence, the edits, and their effect."""
    if run.run.weightless:
        said = [html.P(_asks(run), className="meta"), html.H1("One sequence, as the model is and as it would be")]
        return [html.Div(html.Div(said), className="headline"), wants_weights("One sequence", run)]
    return [
        *BOARD.stores(),
        dcc.Store(id="try-drop"),
        html.Div(
            [
                html.Div(
                    [
                        html.P(_asks(run), className="meta"),
                        html.Div(
                            html.H1("One sequence, as the model is and as it would be"),
                            id=f"{BOARD.id}-note",
                            **{"aria-live": "polite"},
                        ),
                    ]
                ),
                BOARD.tools(run, cursor, extras),
            ],
            className="headline split",
        ),
        *([html.P(why, className="why soft")] if (why := story.not_here(story.named_cause(run, cursor.step))) else []),
        html.Div(_parts(run, cursor, extras), id="try-flow", className=story.flow_class(extras.get("edits", ""))),
    ]


def _parts(run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """The parts below the headline; with edits, the answers and the tokens stand above the controls (sequence.css)."""
    edits = extras.get("edits", "")
    return [
        html.Div([_input(cursor, extras), _edits(run, cursor, extras)], className="try-controls"),
        html.Div(BOARD.strip(), className="try-line"),
        story.block(extras, BOARD.shell(story.PANEL, readings=False)),
        html.H2("As is, edited, and the change", className="sr"),
        html.Div([BOARD.shell(panel) for panel in COLUMNS], id="try-columns", className=_columns(edits)),
    ]


def _asks(run: RunView) -> list[Any]:
    question = f": {run.question[:1].lower()}{run.question[1:]}" if run.question else ""
    task = f"{task_label(run.task)}{question}"
    return [html.Span(run.name, className="mono"), f" \u00b7 {task} \u00b7 {short_origin(run)}"]


def _columns(edits: str) -> str:
    return "try-columns edited" if edits else "try-columns single"


def _input(cursor: Cursor, extras: Mapping[str, str]) -> html.Div:
    return html.Div(
        [
            dmc.TextInput(
                id="try-text",
                label="Sequence",
                placeholder="type tokens, then Enter",
                value=extras.get("seq", ""),
                size="sm",
                className="mono-input",
                inputProps={"spellCheck": "false", "autoComplete": "off", "maxLength": 300_000},
                rightSection=html.Kbd("\u21b5"),
            ),
            html.Button("Run", id="try-run", className="button filled", type="button", n_clicks=0),
            dmc.Select(
                id="try-law",
                label="or a sample of the test set",
                data=[{"value": law, "label": law} for law in LAWS],
                value=extras.get("law", LAWS[0]),
                allowDeselect=False,
                rightSection=chevron(),
                size="sm",
                w=150,
            ),
            story.wrong_button(),
            html.P(id="try-said", className="try-said", role="status"),
        ],
        className="try-input",
    )


def _edits(run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> html.Div:
    heads = [
        {"value": f"{layer}.{head}", "label": head_name(layer, head)}
        for layer in range(run.n_layers)
        for head in range(run.n_heads)
    ]
    blocks = [{"value": str(layer), "label": f"after block {layer}"} for layer in range(run.n_layers)]
    return html.Div(
        [
            dmc.Select(
                id="try-kind",
                label="Edit",
                data=[{"value": value, "label": text} for value, text in KINDS if run.n_heads or value == "patch"],
                value="zero" if run.n_heads else "patch",
                allowDeselect=False,
                rightSection=chevron(),
                size="sm",
                w=190,
            ),
            html.Div(dmc.Select(
                id="try-head", label="Head", data=heads, value=f"{cursor.layer or 0}.{cursor.head or 0}",
                allowDeselect=False, rightSection=chevron(), size="sm", w=96,
            ), className="for-head"),
            html.Div(dmc.Select(
                id="try-block", label="Where", data=blocks, value=str(run.n_layers - 1), allowDeselect=False,
                rightSection=chevron(), size="sm", w=128,
            ), className="for-patch"),
            html.Div(dmc.NumberInput(
                id="try-prefix", label="From prefix", value=1, min=1, max=99_999, allowDecimal=False,
                hideControls=True, size="sm", w=92,
            ), className="for-patch"),
            html.Div(dmc.Select(
                id="try-repair", label="Intervention", value=SINGLE_PASS[0], allowDeselect=False,
                data=[{"value": name, "label": by_name(name).words} for name in SINGLE_PASS],
                rightSection=chevron(), size="sm", w=172,
            ), className="for-repair"),
            html.Button("Add edit", id="try-add", className="button", type="button", n_clicks=0),
            html.Div(chips(extras.get("edits", "")), id="try-chips", className="try-chips"),
            html.P(WHAT["zero" if run.n_heads else "patch"], id="try-what", className="try-said", role="status"),
        ],
        className="try-edits head",
        id="try-edits",
    )  # fmt: skip


def chips(edits: str) -> list[Any]:
    """Return the active edits, each with a button that removes it."""
    return [
        html.Span(
            [
                edit.name,
                html.Button(
                    "\u00d7",
                    type="button",
                    title="Remove",
                    **{"aria-label": f"Remove: {edit.name}", "data-drop-edit": edit.text},
                ),
            ],
            className="edit-chip",
        )
        for edit in parse_edits(edits)
    ]


def made_edit(kind: str, head: str, block: str, prefix: Any, repair: str = "") -> Edit:
    """Return the edit that the controls describe.

    Raises:
        EditError: if the prefix is not a whole number.
    """
    if kind == "hardmax-all":
        return Edit("hardmax")
    if kind == "repair":
        return parse_edit(repair)
    if kind == "patch":
        if not isinstance(prefix, int) or prefix < 1:
            raise EditError("patching a state needs a prefix of at least 1 token; enter its length")
        return parse_edit(f"patch.{int(block)}.{prefix}")
    return parse_edit(f"{kind}.{head}")


def strip_text(text: str | None) -> str:
    """Return typed text without spaces at both ends."""
    return (text or "").strip()


def connect(app: Dash, context: Context) -> None:
    """Register the page's callbacks."""
    sequence_callbacks.connect(app, context, BOARD)
    story.connect(app, BOARD.id)
    _sequence(app, context)
    _edit(app, context)


def _sequence(app: Dash, context: Context) -> None:
    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Output("try-said", "children"),
        Input("try-run", "n_clicks"),
        Input("try-text", "n_submit"),
        Input("try-law", "value"),
        State("try-text", "value"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def set_sequence(_: Any, __: Any, law: str, text: str, extras: dict[str, str]) -> Any:
        if ctx.triggered_id == "try-law":
            return (extras | {"law": law, "seq": "", "pos": "", "zoom": ""}), ""
        tokens = strip_text(text)
        if not tokens:
            return no_update, "Type a sequence, or take a new sample."
        note = (
            f"Longer than {IN_LINK:,} characters: the link to this view opens a sample instead."
            if len(tokens) > IN_LINK
            else ""
        )
        return extras | {"seq": tokens, "pos": "", "zoom": ""}, note

    # A sample stands in the input, to be changed; in the browser, which alone knows whether somebody is typing there.
    read = (Input(f"{BOARD.id}-tokens", "data"), State("extras", "data"))
    sampled = ClientsideFunction("sequence", "sampled")
    app.clientside_callback(sampled, Output("try-text", "value"), *read, prevent_initial_call=True)


def _edit(app: Dash, context: Context) -> None:
    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Output("try-what", "children"),
        Input("try-add", "n_clicks"),
        Input("try-kind", "value"),
        State("try-head", "value"),
        State("try-block", "value"),
        State("try-prefix", "value"),
        State("try-repair", "value"),
        State("extras", "data"),
        *[State(part, "data") for part in PARTS],
        State("run", "data"),
        prevent_initial_call=True,
    )
    def added(
        _: Any,
        kind: str,
        chosen: str,
        block: str,
        prefix: Any,
        repair: str,
        extras: dict[str, str],
        step: int,
        length: int,
        head: str,
        run: str,
    ) -> Any:
        if ctx.triggered_id == "try-kind":
            return no_update, WHAT[kind]
        view, _cursor = place(context, run, step, length, head)
        try:
            edit = made_edit(kind, chosen, block, prefix, repair)
            if not extras.get("seq"):
                check_edits([edit], view.n_layers, view.n_heads, length)
            held = parse_edits(",".join([part for part in (extras.get("edits", ""), edit.text) if part]))
        except EditError as error:
            return no_update, html.Span(f"{str(error)[:1].upper()}{str(error)[1:]}.", className="wrong")
        return extras | {"edits": ",".join(one.text for one in held), "strength": ""}, WHAT[kind]

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input("try-drop", "data"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def dropped(gone: Any, extras: dict[str, str]) -> Any:
        if not gone:
            raise PreventUpdate
        kept = [edit.text for edit in parse_edits(extras.get("edits", "")) if edit.text != gone["edit"]]
        return extras | {"edits": ",".join(kept), "strength": ""}

    @app.callback(
        Output("try-chips", "children"),
        Output("try-columns", "className"),
        Output("try-edits", "className"),
        Input("extras", "data"),
        Input("try-kind", "value"),
    )
    def listed(extras: dict[str, str], kind: str) -> Any:
        edits = (extras or {}).get("edits", "")
        form = {"patch": "patch", "repair": "repair", "hardmax-all": "every"}.get(kind, "head")
        return chips(edits), _columns(edits), f"try-edits {form}"


PAGE = CursorPage(
    path="/try",
    name="Try it",
    connect=connect,
    content=content,
    panels=PANELS,
    extras=EXTRAS,
    opening=story.opening,
    check=check_extras,
)
