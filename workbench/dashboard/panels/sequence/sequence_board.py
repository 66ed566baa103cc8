"""One sequence on screen: panels of its passes, the line of tokens, and the query that all of them show.

The pages Checkpoint (one pass) and Try it (as is, edited, change) are boards. The server draws figures. The browser
marks the selected query by itself (``assets/js/sequence.js``) and sends it to the server when it settles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import uuid4

import dash_mantine_components as dmc
from dash import dcc, html, no_update
from pydantic import Field
from typing_extensions import TypedDict

from workbench import figures
from workbench.dashboard.components.icons import chevron, icon
from workbench.dashboard.panels.job_status import failure_message, waiting
from workbench.dashboard.panels.panel_frame import BLANK, CONFIG, PALE, READY, STATE, TABLE, does_not_apply, frame
from workbench.dashboard.panels.sequence import pattern_zoom
from workbench.dashboard.panels.sequence.sequence_panel import ComputedPanel, query_index
from workbench.dashboard.panels.sequence.sequence_query import IN_LINK, SequenceQuestion
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.request_values import Name, Session, Text, View, declare, exact
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import layer_name
from workbench.figures.sequence.sequence_view import at_hand
from workbench.figures.style.design_tokens import AMOUNT, colour_at, text_on
from workbench.measure.edits.reading import ProbeReading, SequenceReading


@exact
class Keys(TypedDict):
    """The keys of the two jobs of a group of panels on one sequence."""

    look: Name
    read: Name


class Jobs(TypedDict):
    """The jobs that a board requested, and when."""

    keys: Keys
    since: Annotated[float, Field(ge=0, le=1e12)]


class Seen(TypedDict):
    """What the panels on one sequence show."""

    seen: Text


class Query(TypedDict):
    """The selected query position, and the last possible one."""

    prefix: Annotated[int, Field(ge=-1, le=10**9)]
    last: Annotated[int, Field(ge=-1, le=10**9)]


class Tokens(TypedDict):
    """The tokens of the sequence on screen."""

    text: Text


class PatternPart(TypedDict):
    """A part of a pattern."""

    part: Name


declare(
    {
        "-board-jobs.data": Jobs | None,
        "-board-news.data": Text | None,
        "-board-drawn.data": Seen,
        "-board-tokens.data": Tokens | None,
        "-board-query.data": Query | None,
        "-board-zoom.data": PatternPart | None,
        "-board-cancel.data": Any,
        "-board-session.data": Session,
        "-board-site.value": Annotated[str, Field(pattern=r"^(-1|[0-9]{1,6})\z")],
        "-board-view.value": View,
    }
)

POLL_MS = 250
FIRST = "body first"
TINTS = 33
"""Steps of the amount map with which tokens are tinted."""
TABLE_ROWS = 400

VIEWS = [
    {"value": "attention", "label": "Attention"},
    {"value": "times_length", "label": "\u00d7 length"},
    {"value": "score", "label": "Score"},
]

ABOUT = (
    "Attention on one sequence: rows are queries, columns are keys, and keys after the query are grey. The view "
    "\u00d7 length multiplies each weight by the number of keys that the query sees, so 1 is uniform. The "
    "view score shows inputs of softmax, relative to the highest of the row.",
    "Probe readings at each prefix: the thin line is the truth, and bands are \u00b11.96 times the error of the "
    "probe on sequences that it was not fitted on. The probe of the task state (summary) was fitted at trained "
    "lengths and then frozen; open marks are wrong readings. The probe of position is refitted at this length.",
    "One sequence is an example, not a measurement: n is 1.",
)

ABOUT_OUTPUTS = (
    "Top: the probability of each answer, or the real-valued output with the correct one (oracle). Squares are the "
    "correct answers wherever the task has one: white where the model agrees, black where it does not."
)

Note = Callable[[RunView, SequenceQuestion, SequenceReading], Any]


@dataclass(frozen=True)
class SequenceBoard:
    """The panels and controls of a page that show one sequence.

    Attributes:
        id: prefix of all its component ids.
        panels: one per pass, the clean one first.
        note: the text on the whole sequence, once the passes are computed; children of ``<id>-note``.
        refusal: the text shown there if they cannot be computed, given the reason.
    """

    id: str
    panels: tuple[ComputedPanel, ...]
    note: Note
    refusal: Callable[[str], Any] = lambda _: []

    @property
    def cells(self) -> int:
        """The largest number of cells along a side of the attention patterns."""
        return self.panels[0].cells

    def stores(self) -> list[Any]:
        """Stores of the board; the session distinguishes the requests of one visit from those of another."""
        data = {
            "session": uuid4().hex,
            "jobs": None,
            "cancel": None,
            "query": None,
            "tokens": None,
            "news": "",
            "drawn": {"seen": ""},
        }
        return [
            *(dcc.Store(id=f"{self.id}-{name}", data=value) for name, value in data.items()),
            dcc.Interval(id=f"{self.id}-poll", interval=POLL_MS, disabled=True),
        ]

    def tools(self, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> html.Div:
        """Return the controls that choose how attention is shown and which layer the probes read."""
        sites = [{"value": str(i), "label": layer_name(i)} for i in range(-1, run.n_layers)]
        return html.Div(
            [
                dmc.SegmentedControl(id=f"{self.id}-view", data=VIEWS, value=cursor.view, size="xs"),
                *pattern_zoom.tools(self.id, run.n_heads > 0),
                html.Label("Probes read", htmlFor=f"{self.id}-site", className="caption"),
                dmc.Select(
                    id=f"{self.id}-site",
                    data=sites,
                    value=extras.get("site") or str(run.n_layers - 1),
                    allowDeselect=False,
                    rightSection=chevron(),
                    size="xs",
                    w=92,
                ),
                html.Button(
                    [icon("dice"), "New sample"],
                    id=f"{self.id}-resample",
                    className="button",
                    type="button",
                    n_clicks=0,
                ),
            ],
            className="board-tools",
        )

    def strip(self) -> html.Div:
        """The line of tokens: a slider over queries, drawn by the browser."""
        return html.Div(
            html.Div(
                id=f"{self.id}-strip",
                className="tokens mono",
                role="slider",
                tabIndex=0,
                **{"aria-label": "Query", "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0},
            ),
            className="token-line",
            **{"data-board": self.id},
        )

    def shell(self, panel: ComputedPanel, inside: Sequence[Any] = (), readings: bool = True) -> html.Section:
        """A panel before anything is drawn; ``readings``: whether it draws attention and probes, too."""
        graph = dcc.Graph(
            id=f"{panel.id}-graph",
            config=CONFIG | pattern_zoom.CONFIG,
            figure=BLANK,
            className="graph",
            responsive=True,
        )
        body = [
            html.Figure(graph, id=f"{panel.id}-figure", role="img"),
            html.Div(id=f"{panel.id}-marks", className="query-marks"),
            html.Div(id=f"{panel.id}-cell", className="hovered-cell mono", **{"aria-hidden": "true"}),
            *inside,
        ]
        about = [*([ABOUT_OUTPUTS] if "outputs" in panel.rows_drawn else []), *(ABOUT if readings else ABOUT[-1:])]
        return frame(panel.id, panel.title, [("", text) for text in about], body)

    # ---- answers -------------------------------------------------------------------------------------------
    def show(
        self, asked: SequenceQuestion, jobs: Mapping[str, Job | None], look: Mapping[str, Any], modes: Sequence[str]
    ) -> Shown:
        """Return what all panels show, given the states of their jobs."""
        job = jobs["look"]
        if job is None or job.pending:
            state = [] if job is None else waiting(job, self.id, "reading the checkpoint")
            return Shown.with_message(self, state, polls=job is not None)
        if job.state != "done":
            said = "Cancelled" if job.state == "cancelled" else job.error
            return replace(Shown.with_message(self, failure_message(job, asked.run)), note=self.refusal(said))
        return self._render(asked, job.result, jobs["read"], look, modes)

    def _render(
        self,
        asked: SequenceQuestion,
        found: SequenceReading,
        reading: Job | None,
        look: Mapping[str, Any],
        modes: Sequence[str],
    ) -> Shown:
        read = reading.result if reading is not None and reading.state == "done" else None
        pending = reading is None or reading.pending
        progress = (reading.doing if reading is not None else "") or "fitting probes"
        if reading is not None and not pending and read is None:
            progress = reading.error or "cancelled"
        query = query_index(found, asked.prefix)
        outputs = [
            self._panel(p, asked, found, read, f"{progress} \u2026" if pending else progress, look, m)
            for p, m in zip(self.panels, modes, strict=True)
        ]
        return Shown(
            figures=[output[0] for output in outputs],
            tables=[output[1] for output in outputs],
            states=[output[2] for output in outputs],
            slices=[output[3] for output in outputs],
            alts=[output[4] for output in outputs],
            classes=[output[5] for output in outputs],
            tokens=token_data(found, query, look["theme"], asked.cursor.view)
            | pattern_zoom.in_view(found, asked.beyond),
            note=self.note(asked.run, asked, found),
            polls=pending,
        )

    @staticmethod
    def _panel(
        panel: ComputedPanel,
        asked: SequenceQuestion,
        found: SequenceReading,
        read: ProbeReading | None,
        said: str,
        look: Mapping[str, Any],
        mode: str,
    ) -> tuple[Any, ...]:
        """Figure, table, state, slice, description and class of one panel."""
        if panel.part != "clean" and found.edited is None:
            return (
                no_update,
                [],
                does_not_apply("Nothing is edited. Add an edit to see what it changes."),
                "",
                "",
                STATE,
            )
        if mode == "table":
            table = figures.sequence_table(found, read, part=panel.part, site=asked.site)
            return no_update, html_table(table, panel.title), [], no_update, no_update, TABLE
        figure = panel.figure(found, read, asked, look["theme"], look["size"], said)
        meta = figure.layout.meta
        return figure.to_plotly_json(), [], [], meta["slice"], meta["alt"], READY


@dataclass(frozen=True)
class Shown:
    """The outputs of all panels on one sequence, with one entry per panel where there are several."""

    figures: list[Any]
    tables: list[Any]
    states: list[Any]
    slices: list[Any]
    alts: list[Any]
    classes: list[Any]
    tokens: Any
    note: Any
    polls: bool

    @staticmethod
    def with_message(board: SequenceBoard, state: list[Any], polls: bool = False) -> Shown:
        """Return outputs with the same message in every panel."""
        n = len(board.panels)
        return Shown(
            figures=[no_update] * n,
            tables=[[]] * n,
            states=[state, *([] for _ in range(n - 1))],
            slices=[no_update] * n,
            alts=[no_update] * n,
            classes=[STATE if state else FIRST] * n,
            tokens=no_update,
            note=no_update if polls else [],
            polls=polls,
        )

    @staticmethod
    def keep_figures(board: SequenceBoard) -> Shown:
        """Return outputs that leave the old figures on screen, which become pale if the wait is long."""
        n = len(board.panels)
        kept = [no_update] * n
        return Shown(kept, kept, kept, kept, kept, [PALE] * n, no_update, no_update, polls=True)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Return the outputs in the order of the callback."""
        lists = (self.figures, self.tables, self.states, self.slices, self.alts, self.classes)
        return (*(one for part in lists for one in part), self.tokens, self.note)


def token_data(found: SequenceReading, query: int, theme: str, view: str) -> dict[str, Any]:
    """Return the data from which the browser draws the line of tokens."""
    fills = [colour_at(AMOUNT[theme], i / (TINTS - 1)) for i in range(TINTS)]
    row = None if at_hand(found) else found.clean.row
    return {
        "tokens": list(found.tokens),
        "text": found.text if len(found.text) <= IN_LINK else "",
        "bos": bool(found.bos),
        "trained": found.trained,
        "pool": found.pool,
        "query": query,
        "decisive": found.decisive if any(key is not None for key in found.decisive) else None,
        "graded": found.graded,
        "row": None if row is None else [round(float(v), 6) for v in row],
        "view": view,
        "fills": fills,
        "inks": [text_on(fill) for fill in fills],
    }


def html_table(table: Any, title: str) -> html.Table:
    """A frame of texts as an HTML table, at most :data:`TABLE_ROWS` lines."""
    more = len(table) - TABLE_ROWS
    note = f"{title}: {len(table):,} positions" + (f"; the CSV has {more:,} more than shown" if more > 0 else "")
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in table.columns]))
    lines = [html.Tr([html.Td(v, className="num") for v in row]) for row in table.head(TABLE_ROWS).to_numpy()]
    return html.Table([html.Caption(note), head, html.Tbody(lines)])
