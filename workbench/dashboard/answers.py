"""What the server answers: plain functions from stores and cursor to components, without Dash's wiring."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from dash import no_update

from workbench.dashboard import attention, headgrid, panel
from workbench.dashboard.cursor import (
    Cursor,
    Filters,
    Notice,
    check_filters,
    parse,
    read_filters,
    resolve,
    write,
    write_filters,
)
from workbench.dashboard.pages import run as run_page
from workbench.dashboard.pages import runs as runs_page
from workbench.dashboard.panels import Panel
from workbench.dashboard.shell import nav, problems
from workbench.dashboard.store import RunView, Store
from workbench.dashboard.summaries import matches, summarise
from workbench.dashboard.worker import Worker
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole

READY, STATE, TABLE = "body ready", "body stated", "body tabled"


@dataclass
class Answers:
    """Everything a callback may need; one per app.

    Attributes:
        store: runs and rows.
        worker: what computes with models.
        sample: ``"module:function"`` that draws a sequence and its attention.
    """

    store: Store
    worker: Worker
    sample: str = attention.SAMPLE

    # ---- pages -----------------------------------------------------------------------------------
    def page(self, path: str, search: str, last: str = "") -> tuple[list[Any], list[Any], dict[str, Any]]:
        """Content, navigation, and what the browser is told (run, title, whether it waits for data).

        Args:
            path: ``/`` or ``/run``.
            search: the query string.
            last: the run seen last, which *Run* in the navigation leads back to.
        """
        runs = self.store.runs()
        asked = parse(search).get("run", "")
        if path == "/run" and asked in runs:
            run = runs[asked]
            cursor, notices = resolve(search, run)
            content = run_page.page(run, cursor, notices, list(runs))
            return (
                content,
                nav("run", asked),
                {"run": asked, "title": f"{asked} \u00b7 LengthLens", "waits": not len(run.frame)},
            )
        notices = self._astray(path, asked)
        filters, stale = read_filters(search if path == "/" else "")
        rows = [self.summary(view) for view in runs.values()]
        filters, more = check_filters(filters, [row["task"] for row in rows], [row["positions"] for row in rows])
        content = runs_page.page(runs, filters, [*notices, *stale, *more], rows, self.store.roots, self.store.problems)
        return (
            content,
            nav("runs", last if last in runs else self._first(runs)),
            {"run": "", "title": "Runs \u00b7 LengthLens", "waits": not rows},
        )

    def arrived(self, here: dict[str, Any] | None) -> bool:
        """Whether what a page was waiting for is now there: a first run, or a run's first rows."""
        if not here or not here["waits"]:
            return False
        run = self.store.run(here["run"])
        return bool(self.store.runs()) if not here["run"] else run is not None and len(run.frame) > 0

    def _astray(self, path: str, asked: str) -> list[Notice]:
        if path == "/":
            return []
        if path != "/run":
            return [Notice(f"This link names the page {path}, which does not exist.", "Shown: all runs.", "Keep")]
        if asked:
            return [
                Notice(
                    f"This link names the run {asked}, which is not in this folder.",
                    "Shown: all runs.",
                    "Keep",
                )
            ]
        return [Notice("This link names no run.", "Shown: all runs.", "Keep")]

    @staticmethod
    def _first(runs: dict[str, RunView]) -> str | None:
        """The run that *Run* leads to: the first that is measured, else the first."""
        measured = [name for name, run in runs.items() if run.measured]
        return next(iter([*measured, *runs]), None)

    def summary(self, run: RunView) -> dict[str, Any]:
        """The run's line on the Runs page, made once per state of the run."""
        return dict(run.memo("summary", lambda: summarise(run)))

    def poll(self, known: str | None) -> tuple[Any, str, float]:
        """Version of all that is known (``no_update`` if the same), status line, time of reading."""
        version = self.store.refresh()
        runs = self.store.runs()
        training = sum(run.live for run in runs.values())
        live = f" \u00b7 {training} training" if training else ""
        status = f"{len(runs):,} run{'' if len(runs) == 1 else 's'}{live} \u00b7 "
        return (no_update if version == known else version), status, time.time()

    def run_version(self, name: str, known: str, known_log: str) -> tuple[Any, ...]:
        """The run's signature and that of its log, each ``no_update`` if it has not changed."""
        pairs = zip(self.store.version(name), (known, known_log), strict=True)
        return tuple(no_update if new in ("", old) else new for new, old in pairs)

    # ---- Runs --------------------------------------------------------------------------------------
    def rows(self, filters: Filters) -> dict[str, Any]:
        """Lines that pass, cards and chips with counts, how many are shown, the canonical link."""
        rows = [self.summary(view) for view in self.store.runs().values()]
        counted = [row for row in rows if matches(row, filters, verdict=False)]
        shown = [row for row in counted if matches(row, filters)]
        text = "" if len(shown) == len(rows) else f"{whole(len(shown))} of {whole(len(rows))} runs"
        return {
            "rows": shown,
            "cards": runs_page.cards(counted, filters),
            "chips": runs_page.chips(counted, filters),
            "shown": text,
            "problems": problems(self.store.problems),
            "link": {"path": "/", "run": "", "href": write_filters(filters)},
        }

    # ---- Run ---------------------------------------------------------------------------------------
    def link(self, run: RunView, cursor: Cursor) -> dict[str, str]:
        return {"path": "/run", "run": run.name, "href": write(cursor, run)}

    def panel(self, one: Panel, run: RunView, cursor: Cursor, look: dict[str, Any], mode: str) -> tuple[Any, ...]:
        """Figure, table, state, slice, spoken description and class of a panel's body."""
        try:
            if mode == "table":
                return (
                    no_update,
                    panel.as_table(one.data(run, cursor), one.title),
                    [],
                    no_update,
                    no_update,
                    TABLE,
                )
            theme, size = look["theme"], look["size"]
            key = (one.id, theme, size, one.version(run), *one.arguments(run, cursor).values())
            figure = run.memo(key, lambda: one.draw(run, cursor, theme, size).to_plotly_json())
        except NotMeasured as missing:
            state = panel.without_rows(missing, run.shown_path)
            return no_update, [], state, "", missing.message, STATE
        said = figure["layout"]["meta"]
        return figure, [], [], said["slice"], said["alt"], READY

    def head_grid(self, one: Panel, run: RunView, cursor: Cursor, look: dict[str, Any], mode: str) -> tuple[Any, ...]:
        """Cells, grid style, table, state, slice and class of the head grid."""
        try:
            if mode == "table":
                table = panel.as_table(one.data(run, cursor), one.title)
                return no_update, no_update, table, [], no_update, TABLE
            cells, style, said = headgrid.cells(run, cursor, look["theme"])
        except NotMeasured as missing:
            state = panel.without_rows(missing, run.shown_path)
            return [], {}, [], state, "", STATE
        return cells, style, [], [], said, READY

    # ---- attention -----------------------------------------------------------------------------------
    def ask(self, run: RunView, cursor: Cursor, session: str = "attention") -> str:
        """Ask the worker for this cursor's pattern; returns the job's key, "" where no model has such a pattern."""
        if not run.n_heads:
            return ""
        return self.worker.submit(self.sample, attention.request(run, cursor), slot=session)

    def attention(
        self, key: str | None, run: RunView, cursor: Cursor, look: dict[str, Any], mode: str
    ) -> dict[str, Any]:
        """All outputs of the attention panel for a job in whatever state it is."""
        job = self.worker.job(key) if key and not attention.too_long(cursor) else None
        made: dict[str, Any] = {
            "figure": no_update,
            "strip": [],
            "note": [],
            "table": [],
            "state": [],
            "slice": "",
            "alt": "",
            "class": STATE,
            "poll": True,
        }
        if not run.n_heads:
            return made | {"state": attention.without_heads()}
        if attention.too_long(cursor):
            return made | {"state": attention.unfit()}
        if job is None:
            return made | {"class": "body first"}
        if job.pending:
            return made | {
                "state": attention.waiting(job),
                "strip": no_update,
                "note": no_update,
                "slice": no_update,
                "alt": no_update,
                "poll": False,
            }
        if job.state != "done":
            return made | {"state": attention.broken(job, run)}
        if mode == "table":
            table = panel.as_table(attention.data(job.result, cursor), "Attention")
            return made | {
                "table": table,
                "class": TABLE,
                "slice": no_update,
                "alt": no_update,
                "note": no_update,
            }
        figure = attention.draw(job.result, run, cursor, look["theme"], look["size"])
        said = figure.layout.meta
        return made | {
            "figure": figure,
            "strip": attention.strip(job.result, look["theme"]),
            "note": attention.note(job.result, cursor),
            "slice": f"{said['slice']} \u00b7 one sequence, length {whole(cursor.length)}",
            "alt": said["alt"],
            "class": READY,
        }


def cursor_of(run: str, step: int, length: int, head: str, view: str = "attention", sample: int = 0) -> Cursor:
    """The cursor from the page's stores."""
    layer, _, which = head.partition(".")
    return Cursor(run, int(step), int(length), int(layer), int(which), view, int(sample))
