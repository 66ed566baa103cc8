"""Which page a link means, and the frame around pages: navigation, status, whether there are new results.

Every page has copies of the frame's stores that it listens to (:data:`SAID_TO_PAGES`). If a callback listened to the
frame and to a page at once, leaving the page before the callback runs would be an error in the browser. A callback
whose inputs are all gone is only dropped.
"""

from __future__ import annotations

import time
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, no_update
from dash.exceptions import PreventUpdate

from workbench.core.errors import LensError
from workbench.core.failures import as_sentence, clause, isolate_errors
from workbench.dashboard.components.page_frame import nav
from workbench.dashboard.pages.all_pages import PAGES, page_at
from workbench.dashboard.pages.base import Astray, Visit
from workbench.dashboard.panels.callbacks import browser
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Notice
from workbench.dashboard.state.run_view import RunView

SAID_TO_PAGES = ("look", "version")
"""Stores of the frame that every page has a copy of, named ``page-look`` and ``page-version``."""


def connect(app: Dash, context: Context) -> None:
    """Register the frame's callbacks: find the page, check the folder for changes, and update the page's stores."""
    for name in SAID_TO_PAGES:
        browser(app, "same", Output(f"page-{name}", "data"), Input(name, "data"))
    browser(app, "start", Output("place", "data"), Output("look", "data"), Input("page", "id"))
    browser(app, "read", Input("read-at", "data"), prevent_initial_call=True)
    browser(app, "write", Input("link", "data"), prevent_initial_call=True)
    browser(app, "changed", Input("version", "data"), prevent_initial_call=True)
    browser(app, "arrived", Input("here", "data"), prevent_initial_call=True)

    @app.callback(
        Output("page", "children"),
        Output("nav", "children"),
        Output("here", "data"),
        Input("place", "data"),
        Input("version", "data"),
        State("here", "data"),
        prevent_initial_call=True,
    )
    def navigate(place: dict[str, Any] | None, _: Any, here: dict[str, Any] | None) -> Any:
        if place is None or (ctx.triggered_id == "version" and not has_arrived(context, here)):
            raise PreventUpdate
        return page(context, place["path"], place["search"], place["last"])

    @app.callback(
        Output("version", "data"),
        Output("status", "children"),
        Output("read-at", "data"),
        Input("poll", "n_intervals"),
        State("version", "data"),
    )
    def look(_: int, known: str | None) -> Any:
        return poll(context, known)


def page(context: Context, path: str, search: str, last: str = "") -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Content, navigation, and data for the browser (run, title, whether it waits for data).

    Args:
        path: the path of the page.
        search: the query part of the address.
        last: the run seen last, which the navigation leads back to.
    """
    runs = context.store.runs()
    target = page_at(path)
    content, notices = None, list[Notice]()
    if target is None:
        notices.append(_instead(f"This link names the page {path}, which does not exist."))
    else:
        with isolate_errors(lambda problem: notices.append(_instead(as_sentence(problem))), f"the page {path}"):
            try:
                content = target.draw(context, Visit(path, search, last))
            except Astray as astray:
                notices.append(astray.notice)
            except LensError as error:
                why = f"The page {path} could not be drawn from what is stored ({clause(error)})."
                notices.append(_instead(why))
    if content is None or target is None:
        target = PAGES[0]
        content = target.draw(context, Visit(path, search, last, notices))
    back = content.run or (last if last in runs else _first(runs))
    here = {"run": content.run, "title": f"{content.title} \u00b7 LengthLens", "waits": content.waits}
    told = [dcc.Store(id=f"page-{name}") for name in SAID_TO_PAGES]
    return [*told, *content.content], nav(PAGES, target, back), here


def _instead(why: str) -> Notice:
    """The notice of the page of all runs when it is shown in place of another page."""
    return Notice(why, "The page shows all runs.", "Keep")


def has_arrived(context: Context, here: dict[str, Any] | None) -> bool:
    """Whether what a page was waiting for is now there: a first run, or a run's first rows."""
    if not here or not here["waits"]:
        return False
    run = context.store.run(here["run"])
    return bool(context.store.runs()) if not here["run"] else run is not None and run.brief.rows > 0


def _first(runs: dict[str, RunView]) -> str | None:
    """The run that *Run* leads to: the first that is measured, else the first."""
    measured = [name for name, run in runs.items() if run.measurement_names]
    return next(iter([*measured, *runs]), None)


def poll(context: Context, known: str | None) -> tuple[Any, str, float]:
    """Version of all that is known (``no_update`` if the same), status line, time of reading."""
    version = context.store.refresh()
    runs = context.store.runs()
    training = sum(run.live for run in runs.values())
    live = f" \u00b7 {training} training" if training else ""
    far = context.store.progress
    many = "" if len(runs) == 1 else "s"
    count = f"{len(runs):,} run{many}" if far is None else f"{far.done:,} of {far.of:,} runs read"
    status = f"{count}{live} \u00b7 "
    return (no_update if version == known else version), status, time.time()
