"""Plain addresses for what a panel shows: its rows as CSV and Parquet, its figure as JSON, the snippet that draws it.

``/data/<panel>.csv``, ``.parquet``, ``.md``, ``.tex``, ``.json``, ``.py``, ``.pdf`` and ``.gif`` take the same query as
the page, so that a link to a view is also a link to its data. ``paper=single`` or ``double`` makes a figure as wide as
one or two columns. The pages declare which panels exist. ``/report.html`` is the whole run as one file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd
import plotly.graph_objects as go
from flask import Flask, Response, request

from workbench.core.errors import LensError
from workbench.core.failures import as_sentence, clause, isolate_errors
from workbench.dashboard.animation import to_gif
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.panels.panel_spec import SIZE, Panel, PanelCursor
from workbench.dashboard.panels.sequence.sequence_query import Busy, NotComputed
from workbench.dashboard.paper_figure import (
    INCHES,
    Column,
    caption,
    caption_lines,
    for_paper,
    is_column,
    page,
    size_of,
)
from workbench.dashboard.report.report_page import report_html
from workbench.dashboard.request_check import error_response
from workbench.dashboard.server.chromium import PrintError, print_pdf
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor, parse, resolve
from workbench.dashboard.state.request_gate import let_others_run
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import ExportError, NotMeasured
from workbench.figures.labels import whole
from workbench.figures.look import Theme
from workbench.table.schema import WHOLE
from workbench.table.text_tables import latex, markdown, text_cells

KINDS = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown",
    "tex": "text/x-tex",
    "pdf": "application/pdf",
    "gif": "image/gif",
    "json": "application/json",
    "py": "text/x-python",
}
COUNTED = (*WHOLE, "runs", "seed")
"""Columns of whole numbers, which stay whole where some are missing."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a cell that a spreadsheet computes begins with; the last four are the wide forms that some read alike."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Unknown(LookupError):
    """The address names a run, panel or format that does not exist."""


@runtime_checkable
class Computed(Protocol):
    """A panel whose data are computed on request; its methods raise NotComputed if that is not possible."""

    id: str
    title: str
    size: tuple[int, int]

    def rows(self, context: Context, run: RunView, cursor: Cursor, asked: Mapping[str, str]) -> pd.DataFrame:
        """Return the displayed data as rows."""

    def draw(self, context: Context, run: RunView, cursor: Cursor, asked: Mapping[str, str], theme: Theme) -> go.Figure:
        """Return the figure of the panel."""

    def snippet(self, run: RunView, cursor: Cursor, asked: Mapping[str, str]) -> str:
        """Python that computes and draws the same."""


@runtime_checkable
class Free(Protocol):
    """A panel of a page without a selection bar: everything that it shows is in its address."""

    id: str
    title: str
    size: tuple[int, int]

    def rows(self, context: Context, asked: Mapping[str, str]) -> pd.DataFrame:
        """Return the displayed data as rows."""

    def figure(self, context: Context, asked: Mapping[str, str], theme: Theme, size: int) -> go.Figure:
        """Return the figure of the panel."""

    def code(self, context: Context, asked: Mapping[str, str]) -> str:
        """Python that draws the same."""

    def where(self, asked: Mapping[str, str]) -> str:
        """Return what the picture shows in addition to its title."""


def connect(server: Flask, context: Context) -> None:
    """Add the addresses to the app's server."""

    @server.get("/data/<name>.<kind>")
    def data(name: str, kind: str) -> Response:
        problems: list[str] = []
        with isolate_errors(problems.append, f"the data of {name}"):
            try:
                return answer(context, name, kind, request.query_string.decode(), request.args.get("theme", "light"))
            except Busy as busy:
                return error_response(503, str(busy), {"Retry-After": str(busy.seconds)})
            except (NotMeasured, Unknown, NotComputed) as error:
                return error_response(404, str(error))
            except (PrintError, ExportError) as error:
                return error_response(503, f"{error}.")
            except LensError as error:
                return error_response(422, f"The values stored for {name} cannot be drawn ({clause(error)}).")
        return error_response(500, as_sentence(problems[0]))

    @server.get("/report.html")
    def report() -> Response:
        search = request.query_string.decode()
        run = context.store.run(parse(search).get("run", ""))
        if run is None:
            return error_response(404, "there is no run of that name here")
        start, _ = resolve(search, run)
        name = file_name(run.name, "report.html")
        try:
            with let_others_run():  # it takes seconds, and readers who move a slider go first
                made = report_html([run], name, {run.name: start})
        except LensError as error:
            return error_response(422, str(error))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(made, mimetype="text/html", headers=headers)


def file_name(*parts: str) -> str:
    """Return the name under which a browser saves a file: its parts joined by hyphens, in plain characters."""
    return re.sub(r"[^\w.-]+", "-", "-".join(parts))


def panels() -> dict[str, Any]:
    """Return every panel of every page, by its id."""
    return {panel.id: panel for page in PAGES for panel in page.panels}


def answer(context: Context, name: str, kind: str, search: str, theme: str = "light") -> Response:
    """Return the HTTP response with one exported file.

    Raises:
        Unknown: for a run, panel or format that does not exist.
        NotMeasured: without rows there.
    """
    panels_by_name = panels()
    if name not in panels_by_name:
        raise Unknown(f"there is no panel {name!r}; the panels are {', '.join(panels_by_name)}")
    if kind not in KINDS:
        raise Unknown(f"there is no export {kind!r}; the exports are {', '.join(list(KINDS)[:-1])} and {[*KINDS][-1]}")
    theme_name: Theme = "dark" if theme == "dark" else "light"
    asked = parse(search)
    paper = asked.get("paper", "single" if kind == "pdf" else None)
    if paper is not None and not is_column(paper):
        raise Unknown(f"unknown width {paper[:40]!r} of a picture for a paper; choose one of {', '.join(INCHES)}")
    export = Export(context, panels_by_name[name], asked, search)
    if kind in WRITTEN:
        body = WRITTEN[kind](export)
        saved = f"{export.file}-{paper}" if kind == "pdf" else export.file
        called = {"Content-Disposition": f'attachment; filename="{saved}.{kind}"'}
        return Response(body, mimetype=KINDS[kind], headers=called)
    text = export.snippet() if kind == "py" else json.dumps(export.picture(theme_name, paper))
    return Response(text, mimetype=KINDS[kind])


class Export:
    """One panel at one address, of any kind of panel, for download.

    Raises:
        Unknown: if the panel is about a run, and there is none of that name.
    """

    def __init__(self, context: Context, panel: Any, asked: Mapping[str, str], search: str) -> None:
        self.context, self.panel, self.asked = context, panel, asked
        self.run: RunView | None = None
        if isinstance(panel, Panel | Computed):
            self.run = context.store.run(asked.get("run", ""))
            if self.run is None:
                raise Unknown(f"there is no run {asked.get('run', '')!r} here")
            self.cursor, _ = resolve(search, self.run)
            self.at = PanelCursor.from_link(context.store, self.run, self.cursor, asked)
            lacking = [name for name in panel.takes if name not in self.at.values] if isinstance(panel, Panel) else []
            if lacking:
                raise Unknown(f"{panel.id} needs its {' and '.join(lacking)} in the address of the export")
        self.file = file_name(*([self.run.name] if self.run else []), panel.id)

    def rows(self) -> pd.DataFrame:
        """Return exactly the rows that are drawn."""
        if isinstance(self.panel, Panel):
            return self.panel.data(self.at)
        found: pd.DataFrame = self.panel.rows(*self._given())
        return found

    def snippet(self) -> str:
        """Python that draws the same."""
        if isinstance(self.panel, Panel):
            return self.panel.snippet(self.at)
        if isinstance(self.panel, Computed) and self.run is not None:
            return self.panel.snippet(self.run, self.cursor, self.asked)
        code: str = self.panel.code(self.context, self.asked)
        return code

    def picture(self, theme: Theme, paper: Column | None = None) -> dict[str, Any]:
        """Return the figure with everything that a picture must state: title, run, selected step and length.

        Args:
            theme: light or dark.
            paper: for a paper, in light colours and without lines that mark the selection.
        """
        figure = self._figure("light" if paper else theme, line=paper is None)
        meta = figure.layout.meta or {}
        width, height = size_of(paper) if paper else getattr(self.panel, "size", SIZE)
        if paper:
            figure = for_paper(figure, str(meta.get("title", self.panel.title)), paper)
        return {
            "figure": json.loads(figure.to_json()),
            # As on the page, where a panel about whatever is chosen says its title when it is drawn.
            "title": self.panel.title if isinstance(self.panel, Panel) else meta.get("title", self.panel.title),
            "slice": meta.get("slice", ""),
            "where": self._where(),
            "caption": caption_lines(self._paper_caption(str(meta.get("slice", ""))), width) if paper else [],
            "file": self.file,
            "width": width,
            "height": height,
        }

    def _given(self) -> tuple[Any, ...]:
        if isinstance(self.panel, Computed) and self.run is not None:
            return self.context, self.run, self.cursor, self.asked
        return self.context, self.asked

    def caption(self) -> str:
        """Return what the rows are about, in one line."""
        return f"{self.panel.title} \u00b7 {self._where()}"

    def _paper_caption(self, about: str) -> str:
        """Return run, step, number of sequences and test set of the drawn rows; ``about`` where they state none."""
        return caption(self.rows(), "" if self.run is None else self.run.name) or about

    def _figure(self, theme: Theme, line: bool = True) -> go.Figure:
        if isinstance(self.panel, Panel):
            return self.panel.draw(self.at, theme, 11, line=line)
        if isinstance(self.panel, Computed) and self.run is not None:
            return self.panel.draw(self.context, self.run, self.cursor, self.asked, theme)
        found: go.Figure = self.panel.figure(*self._given(), theme, 11)
        return found

    def _where(self) -> str:
        if self.run is None:
            text: str = self.panel.where(self.asked)
            return text
        place = self.panel.place(self.at) if isinstance(self.panel, Panel) else self.at
        step, length = whole(place.cursor.step), whole(place.cursor.length)
        return " \u00b7 ".join((place.run.name, f"id {place.run.config['id']}", f"step {step}", f"length {length}"))


def whole_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows, steps, lengths and counts as whole numbers, empty where there is none: never ``50.0``."""
    counted = {
        name: rows[name].astype("Int64")
        for name in COUNTED
        if name in rows and pd.api.types.is_float_dtype(rows[name].dtype) and (rows[name].dropna() % 1 == 0).all()
    }
    return rows.assign(**counted)


def to_text_table(export: Export, write: Callable[[Sequence[Sequence[str]]], str], comment: str) -> str:
    """Rows as a table for a paper, below a comment that names run, figure and selection."""
    rows = whole_columns(export.rows())
    table = write(text_cells(rows.astype(object).to_dict("records"), [str(name) for name in rows]))
    return f"{comment}{' '.join(export.caption().split())}\n\n{table}\n"


def to_csv(rows: pd.DataFrame) -> str:
    """Rows as CSV. Text that a spreadsheet would evaluate begins with an apostrophe, unless it is a number.

    Names of runs and tokens come from the author of the run, and a name such as ``=HYPERLINK(...)`` would run as a
    formula.
    """
    texts = {
        name: rows[name].astype(object).map(_harmless)
        for name in rows
        if not pd.api.types.is_numeric_dtype(rows[name].dtype)
    }
    # A lone carriage return, which many take for the end of a line, is not quoted by itself.
    broken = any("\r" in value for one in texts.values() for value in one if isinstance(value, str))
    quoting = csv.QUOTE_NONNUMERIC if broken else csv.QUOTE_MINIMAL
    text: str = rows.assign(**texts).rename(columns=_harmless).to_csv(index=False, quoting=quoting)
    return text


def _harmless(value: Any) -> Any:
    """A cell as it is, or with an apostrophe before what a spreadsheet would read as a formula."""
    if not isinstance(value, str) or not value.startswith(FORMULA) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def to_pdf(export: Export) -> bytes:
    """Print the figure to PDF by Chromium, in the width that its address gives."""
    column = export.asked.get("paper", "single")
    picture = export.picture("light", column if is_column(column) else "single")
    with let_others_run():  # it takes seconds, and readers who move a slider go first
        return print_pdf(page(picture))


def to_animation(export: Export) -> bytes:
    """Return the panel at each checkpoint as an animated GIF.

    Raises:
        Unknown: for a panel that is not a figure of a run's table.
    """
    if not isinstance(export.panel, Panel) or export.panel.form != "graph":
        raise Unknown(f"{export.panel.title} cannot be played over training; save it as SVG")
    with let_others_run():  # it takes seconds, and readers who move a slider go first
        return to_gif(export.panel, export.at)


def to_parquet(rows: pd.DataFrame) -> bytes:
    """Return rows as Parquet. A column that mixes several types is written as text."""
    texts = {}
    for name in rows:
        kinds = {type(value) for value in rows[name].dropna()} if rows[name].dtype == object else set()
        if len(kinds) > 1:
            texts[name] = rows[name].map(lambda value: None if value is None else str(value))
    data = io.BytesIO()
    rows.assign(**texts).to_parquet(data, index=False)
    return data.getvalue()


WRITTEN: dict[str, Callable[[Export], str | bytes]] = {
    "csv": lambda export: to_csv(whole_columns(export.rows())),
    "parquet": lambda export: to_parquet(export.rows()),
    "md": lambda export: to_text_table(export, markdown, ""),
    "tex": lambda export: to_text_table(export, latex, "% "),
    "pdf": to_pdf,
    "gif": to_animation,
}
"""Exports that are saved as files."""
