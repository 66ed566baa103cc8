"""The Checkpoint page: all heads at the selected step and length, and the selected head on one sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, State, html

from workbench import figures
from workbench.dashboard.components import prose
from workbench.dashboard.pages.cursor_page import CursorPage
from workbench.dashboard.panels import callbacks, head_tables
from workbench.dashboard.panels.callbacks import PARTS, place
from workbench.dashboard.panels.head_tables import HEAD_PANELS, LENGTH_PANEL
from workbench.dashboard.panels.panel_frame import wants_weights
from workbench.dashboard.panels.sequence import head_maps_panel, sequence_board, sequence_callbacks
from workbench.dashboard.panels.sequence.sequence_panel import ComputedPanel, query_index
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, SequenceQuestion, check_extras
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor, Notice
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.leading_head import leading_clause, leading_head
from workbench.figures.labels import whole
from workbench.figures.rows.claims import plain
from workbench.figures.rows.claims import selection_without_row as asked_for
from workbench.figures.text.run_sentences import UNTESTED
from workbench.figures.text.sequence_sentences import attention_sentence, prefix_of
from workbench.measure.edits.reading import SequenceReading
from workbench.models.base.graph import head_name

PANEL = ComputedPanel(
    id="seq",
    title="Attention pattern and probe readout",
    part="clean",
    rows_drawn=("pattern", "summary", "position"),
    strip=True,
)


def note(run: RunView, asked: SequenceQuestion, found: SequenceReading) -> list[Any]:
    """Return one sentence about the selected query."""
    query = query_index(found, asked.prefix)
    at = asked_for("prefix", prefix_of(found, query), "Query at prefix ", ". ")
    answer = found.clean.correct[query]
    right = [] if answer is None else [f" The model\u2019s answer there is {'right' if answer else 'wrong'}."]
    return [html.Strong(prose.pieces([at])), *prose.pieces(attention_sentence(found, query)), *right]


BOARD = sequence_board.SequenceBoard("seq-board", (PANEL,), note)


def content(context: Context, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """Return what is below the selection bar: a sentence on the head, all heads and tables on the left, and the
    sequence on the right.
    """
    beside = head_tables.shells(run, cursor, extras) if run.n_heads else head_tables.scan_shells(run)
    has_weights = not run.run.weightless
    maps = [head_maps_panel.first(run)] if run.n_heads and has_weights else []
    if head_maps_panel.is_narrow(run):
        beside, maps = [*maps, *beside], []
    panels = [
        BOARD.shell(PANEL, [BOARD.strip()]),
        html.P(id=f"{BOARD.id}-note", className="board-note", **{"aria-live": "polite"}),
    ]
    return [
        *(BOARD.stores() if has_weights else []),
        html.Div(
            [
                html.Div(
                    [
                        html.P(id="head-meta", className="meta"),
                        html.H1(id="head-line"),
                        html.P(id="head-why", className="why"),
                    ],
                    **{"aria-live": "polite"},
                ),
                *([BOARD.tools(run, cursor, extras)] if has_weights else []),
            ],
            className="headline split",
        ),
        html.H2("Heads, and one sequence", className="sr"),
        *maps,
        html.Div(
            [
                *([html.Div(beside, className="head-column")] if beside else []),
                html.Div(panels if has_weights else wants_weights(PANEL.title, run), className="sequence-column"),
            ],
            className="checkpoint-grid" if beside else "checkpoint-grid headless",
        ),
    ]


def meta(run: RunView, cursor: Cursor) -> list[Any]:
    """Return the description of the checkpoint: run, index among all checkpoints, hash, and model."""
    place = f"checkpoint {run.steps.index(cursor.step) + 1} of {len(run.steps)}" if cursor.step in run.steps else ""
    parts = [place, sha256_text(run, cursor.step)]
    return [html.Span(run.name, className="mono"), *(f" \u00b7 {part}" for part in parts if part)]


def sha256_text(run: RunView, step: int) -> str:
    """Return the shortened hash of the checkpoint; "" if it cannot be read."""
    try:
        text = str(run.run.meta(step)["sha256"])
    except (KeyError, ValueError, OSError):
        return ""
    return f"sha256 {text[:4]}\u2026{text[-4:]}"


def headline(run: RunView, cursor: Cursor) -> tuple[Any, Any]:
    """Return the sentence on the head, with its numbers."""
    if not run.n_heads:
        scan = "how far back its scan reaches, and " if run.model.is_state_space else ""
        return ["This model has no attention heads."], [
            f"Below: {scan}what probes read of one sequence. The page Try it shows its answers."
        ]
    if cursor.layer is None or cursor.head is None:
        effect = leading_clause(leading_head(run.frame, step=cursor.step, length=cursor.length))
        first = [*effect, plain(".")] if effect else [asked_for("step", cursor.step, UNTESTED, ".")]
        return prose.pieces(first), ["The pattern below is the mean over all heads. Choose a head to see its own."]
    at = {"step": cursor.step, "length": cursor.length, "layer": cursor.layer, "head": cursor.head}
    try:
        first, second = run.memo(
            ("sentence", *at.values()), lambda: figures.head_sentence(run.frame, **at, trained=run.trained)
        )
    except NotMeasured as missing:
        name = head_name(cursor.layer, cursor.head)
        said = [f"{name} at step {whole(cursor.step)}", html.Span(": not measured.", className="soft")]
        return said, [missing.message]
    return prose.pieces(run.kind.in_units(first)), prose.pieces(run.kind.in_units(second))


def check(context: Context, run: RunView, extras: Mapping[str, str]) -> tuple[dict[str, str], list[Notice]]:
    """Return the valid extras of a link; a quantity that this run does not have is replaced, with a notice."""
    good, notices = check_extras(context, run, extras)
    asked = good.get("q", "")
    known = {quantity for _, quantity in run.brief.quantities}
    if asked and asked not in known and asked.partition(" \u00b7 ")[0] not in known:
        said = f"This link names the quantity \u201c{asked[:60]}\u201d, which {run.name} does not have."
        notices.append(Notice(said, "The page shows the leading one.", "Keep"))
        good["q"] = ""
    return good, notices


def connect(app: Dash, context: Context) -> None:
    """Register the page's callbacks."""
    sequence_callbacks.connect(app, context, BOARD)
    head_tables.connect(app, context)
    for group in ((LENGTH_PANEL,), head_tables.SCAN_PANELS):
        callbacks.panels(app, context, group)

    @app.callback(
        Output("head-meta", "children"),
        Output("head-line", "children"),
        Output("head-why", "children"),
        *[Input(part, "data") for part in PARTS],
        Input("run-version", "data"),
        State("run", "data"),
    )
    def write_extras(step: int, length: int, head: str, _: Any, run: str) -> Any:
        view, cursor = place(context, run, step, length, head)
        return meta(view, cursor), *headline(view, cursor)


PAGE = CursorPage(
    path="/checkpoint",
    name="Checkpoint",
    connect=connect,
    content=content,
    panels=(*HEAD_PANELS, *head_tables.SCAN_PANELS, PANEL),
    extras={"pos": EXTRAS["pos"], "site": EXTRAS["site"], "zoom": EXTRAS["zoom"], "q": ""},
    check=check,
)
