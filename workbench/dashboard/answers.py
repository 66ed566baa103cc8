"""What the server answers: plain functions from stores and cursor to components, without Dash's wiring."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dash import no_update

from workbench.core.apart import apart, clause
from workbench.dashboard import headgrid, panel
from workbench.dashboard.ahead import Ahead
from workbench.dashboard.brief import Brief
from workbench.dashboard.cursor import Cursor, Filters, Notice
from workbench.dashboard.drawing import At, Panel
from workbench.dashboard.expectations import Expectations, held
from workbench.dashboard.pages import runs as runs_page
from workbench.dashboard.redrawing import drawing
from workbench.dashboard.registry import Astray, Visit, page_at, pages
from workbench.dashboard.runview import RunView
from workbench.dashboard.shell import command, nav, problems
from workbench.dashboard.store import Store
from workbench.dashboard.summaries import matches, summarise
from workbench.dashboard.together import by_configuration
from workbench.dashboard.worker import Worker
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole

ASKING = "asking \u2026"
"""Stands where it is not known yet what theory expects."""
READY, STATE, TABLE = "body ready", "body stated", "body tabled"


@dataclass
class Answers:
    """Everything a callback may need; one per app.

    Attributes:
        store: runs and rows.
        worker: what computes with models.
        measurer: what measures on demand, which takes long.
        ahead: draws what sliders will ask for next.
        expectations: what theory expects of the runs.
    """

    store: Store
    worker: Worker
    measurer: Worker = field(default_factory=Worker)
    ahead: Ahead = field(init=False)
    expectations: Expectations = field(init=False)

    def __post_init__(self) -> None:
        self.ahead = Ahead(partial(drawing, self))
        self.expectations = Expectations(self.worker)

    def close(self) -> None:
        """End the processes; safe to call twice."""
        self.worker.close()
        self.measurer.close()
        self.ahead.close()

    # ---- pages -----------------------------------------------------------------------------------
    def page(self, path: str, search: str, last: str = "") -> tuple[list[Any], list[Any], dict[str, Any]]:
        """Content, navigation, and what the browser is told (run, title, whether it waits for data).

        Args:
            path: of the page.
            search: the query string.
            last: the run seen last, which the navigation leads back to.
        """
        runs = self.store.runs()
        page = page_at(path)
        try:
            if page is None:
                notice = Notice(f"This link names the page {path}, which does not exist.", "Shown: all runs.", "Keep")
                raise Astray(notice)
            drawn = page.draw(self, Visit(path, search, last))
        except Astray as astray:
            page = pages()[0]
            drawn = page.draw(self, Visit(path, search, last, [astray.notice]))
        except Exception as error:  # noqa: BLE001 - what one run's rows hold must not take the pages of the others
            said = f"The page {path} could not be drawn from what is stored ({clause(error)})."
            page = pages()[0]
            drawn = page.draw(self, Visit(path, search, last, [Notice(said, "Shown: all runs.", "Keep")]))
        back = drawn.run or (last if last in runs else self._first(runs))
        here = {"run": drawn.run, "title": f"{drawn.title} \u00b7 LengthLens", "waits": drawn.waits}
        return drawn.content, nav(pages(), page, back), here

    def arrived(self, here: dict[str, Any] | None) -> bool:
        """Whether what a page was waiting for is now there: a first run, or a run's first rows."""
        if not here or not here["waits"]:
            return False
        run = self.store.run(here["run"])
        return bool(self.store.runs()) if not here["run"] else run is not None and run.brief.rows > 0

    @staticmethod
    def _first(runs: dict[str, RunView]) -> str | None:
        """The run that *Run* leads to: the first that is measured, else the first."""
        measured = [name for name, run in runs.items() if run.measured]
        return next(iter([*measured, *runs]), None)

    def summary(self, run: RunView) -> dict[str, Any]:
        """The run's line on the Runs page, made once per state of the run."""
        row = dict(run.memo("summary", lambda: _summary(run)))
        said = self.expectations.known(run)
        if said is None:  # not to be taken for "no claim"
            return row | {"expects": ASKING}
        if not said["verdict"]:
            kind, _, what = said.get("reason", "").partition(": ")
            return row | {"theory": what, "expects": kind or "not known"}
        return row | {"theory": said["verdict"], "expects": held(said["verdict"], row["verdict"])}

    def poll(self, known: str | None) -> tuple[Any, str, float]:
        """Version of all that is known (``no_update`` if the same), status line, time of reading."""
        version = self.store.refresh()
        runs = self.store.runs()
        training = sum(run.live for run in runs.values())
        live = f" \u00b7 {training} training" if training else ""
        status = f"{len(runs):,} run{'' if len(runs) == 1 else 's'}{live} \u00b7 "
        return (no_update if version == known else version), status, time.time()

    def troubles(self, name: str) -> list[str]:
        """What is wrong with a run that is on screen: damaged rows, or that it has gone meanwhile."""
        run = self.store.run(name)
        if run is not None:
            return list(run.problems)
        reasons = [one for one in self.store.problems if name in one]
        gone = f"The run {name} is no longer here: its folder was removed or cannot be read. Shown: as last read."
        return [gone, *reasons]

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
        troubles = self.store.problems
        if filters.seeds:
            with apart(troubles.append, "Seeds could not be put together"):
                shown = by_configuration(self.store.runs(), shown)
        return {
            "rows": shown,
            "cards": runs_page.cards(counted, filters),
            "chips": runs_page.chips(counted, filters),
            "shown": text,
            "problems": problems(troubles),
            "link": runs_page.runs_link(filters),
        }

    def at(self, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> At:
        """Where a panel is asked; the key ``run2`` of a page's address names the run beside."""
        return At(run, cursor, self.store.run(extras.get("run2", "")), self.store, extras)

    # ---- Run ---------------------------------------------------------------------------------------
    def panel(self, one: Panel, at: At, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
        """Figure, table, state, slice, spoken description and class of a panel's body."""
        run = one.place(at).run
        try:
            if mode == "table":
                return no_update, panel.as_table(one.data(at), one.title), [], no_update, no_update, TABLE
            figure = dict(one.plain(at, look["theme"], look["size"]).to_plotly_json())
        except NotMeasured as missing:
            state = panel.without_rows(missing, run)
            return no_update, [], state, "", missing.message, STATE
        except Exception as error:  # noqa: BLE001 - whatever the rows of one panel hold, the others are drawn
            return no_update, [], _undrawn(error, run), "", "not drawn", STATE
        said = figure["layout"]["meta"]
        return figure, [], [], said["slice"], said["alt"], READY

    def heads(self, one: Panel, at: At, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
        """Cells, grid style, table, state, slice and class of a head grid."""
        run = one.place(at).run
        try:
            if mode == "table":
                return no_update, no_update, panel.as_table(one.data(at), one.title), [], no_update, TABLE
            cells, style, said = headgrid.cells(one, at, look["theme"])
        except NotMeasured as missing:
            state = panel.without_rows(missing, run)
            return [], {}, [], state, "", STATE
        except Exception as error:  # noqa: BLE001 - as above
            return [], {}, [], _undrawn(error, run), "", STATE
        return cells, style, [], [], said, READY


def _summary(run: RunView) -> dict[str, Any]:
    """The run's line; without its rows where these hold what no line can say."""
    said: list[str] = []
    with apart(said.append, "its rows cannot be put into a line"):
        return summarise(run)
    return summarise(replace(run, brief=Brief(specs={}))) | {"question": said[0]}


def _undrawn(error: Exception, run: RunView) -> list[Any]:
    """What stands in a panel whose rows cannot be drawn."""
    return panel.failed(
        "This cannot be drawn",
        f"The rows stored for it are not what it shows ({clause(error)}).",
        command(f"lengthlens check {run.shown_path}"),
    )
