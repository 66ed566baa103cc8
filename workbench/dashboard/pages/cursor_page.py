"""Pages about one run at one selection: the bar, its stores, its link, and the callbacks that synchronize them.

The selection (:class:`~workbench.dashboard.state.cursor.Cursor`) is a step, a prefix length, and a layer and head.

Such a page reacts to the ``dcc.Store``s ``step``, ``length``, ``head`` (``"layer.head"``), ``axis`` (the unit of
lengths), ``run``, ``run-version`` and ``log-version``. The store ``late`` has step, length and head for what is below
the first screen. A page declares further keys of its address as ``extras`` (query key -> default). It writes them as
texts into the store ``extras``: ``Output("extras", "data", allow_duplicate=True)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from pydantic import Field
from typing_extensions import TypedDict

from workbench.dashboard.components.cursorbar import bar
from workbench.dashboard.components.icons import glyph
from workbench.dashboard.components.page_frame import banner, problems
from workbench.dashboard.components.slider_curves import scent_over_lengths, scent_over_steps, verdict_at
from workbench.dashboard.pages.base import CURSOR_KEYS, Astray, Drawn, Page, Visit, unknown_keys
from workbench.dashboard.panels.callbacks import PARTS, browser, place, unless
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import VIEWS, Cursor, Notice, RunLike, axis_of, default_cursor, resolve, write
from workbench.dashboard.state.request_values import Head, Name, Text, View, Whole, declare, exact
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import pair
from workbench.figures.rows.multiples import LengthAxis

Digits = Annotated[str, Field(pattern=r"^[0-9]{0,18}\z")]
Ordinal = Annotated[str, Field(pattern=r"^[0-9]{1,18}\z")]
Layer = Annotated[str, Field(pattern=r"^(-1|[0-9]{0,6})\z")]
"""A layer that probes read; -1 is the embedding, nothing the last."""


@exact
class Extras(TypedDict, total=False):
    """The choices that a page stores in its link in addition to the selection."""

    quantity: Name
    connection: Name
    run2: Name
    seeds: Name
    steps: Name
    configs: Text
    seq: Text
    law: Name
    edits: Name
    pos: Digits
    site: Layer
    zoom: Name
    q: Name
    view: View
    sample: Ordinal
    strength: Annotated[str, Field(pattern=r"^(0|1|0\.[0-9]{1,2})?\z")]
    pick: Name
    pins: Name
    panels: Text
    effect: Name


@exact
class Late(TypedDict):
    """The selection as sent to panels that are not on the screen yet."""

    step: Whole
    length: Whole
    head: Head


class Link(TypedDict):
    """The address of a view in its canonical form."""

    path: Name
    run: Name
    href: Text


declare(
    {
        "run.data": Name,
        "run-version.data": Name | None,
        "log-version.data": Name | None,
        "run-check.data": Any,
        "keep-run.data": Any,
        "late.data": Late,
        "extras.data": Extras,
        "link.data": Link,
    }
)

Content = Callable[["Context", RunView, Cursor, Mapping[str, str]], list[Any]]
Pick = Callable[[Mapping[str, str]], html.Div]
Opening = Callable[["RunView", Cursor, Mapping[str, str]], Mapping[str, str]]
Check = Callable[["Context", RunView, Mapping[str, str]], tuple[dict[str, str], list[Notice]]]


SCENTS = {"step": ("length", scent_over_steps), "length": ("step", scent_over_lengths)}
"""Slider -> the part of the selection that the curve behind it depends on, and the function that draws the curve."""


def accept_all(_: Context, __: RunView, extras: Mapping[str, str]) -> tuple[dict[str, str], list[Notice]]:
    """Return every extra as the link gives it."""
    return dict(extras), []


def nothing_more(_: RunView, __: Cursor, ___: Mapping[str, str]) -> Mapping[str, str]:
    """Return no further extras: the page opens with the defaults."""
    return {}


@dataclass(frozen=True, kw_only=True)
class CursorPage(Page):
    """A page with a selection bar.

    Attributes:
        content: what is below it, for a run, a selection and the extras.
        extras: further query keys and their defaults, which are left out of links.
        check: turns the extras of a link into valid ones, with a notice for each that was not.
        pick: the bar's first cell; None = a select of runs.
        opening: extras with which the page opens at a selection, given the keys of the link, where the link leaves them
            open.
        explicit: whether links state extras that are the default here too, since that changes as runs come.
    """

    content: Content = field(repr=False)
    extras: Mapping[str, str] = field(default_factory=dict)
    check: Check = field(default=accept_all, repr=False)
    pick: Pick | None = field(default=None, repr=False)
    opening: Opening = field(default=nothing_more, repr=False)
    explicit: bool = False
    needs_run: bool = True

    def draw(self, context: Context, visit: Visit) -> Drawn:
        """Return bar, notices and content at the selection that the link gives."""
        run = self._run(context, visit)
        cursor, notices = resolve(visit.search, run)
        asked = {key: visit.query.get(key, default) for key, default in self.extras.items()}
        asked |= self.opening(run, cursor, visit.query)
        extras, more = self.check(context, run, asked)
        notices += unknown_keys(visit.query, (*CURSOR_KEYS, *self.extras), self.name)
        axis = axis_of(visit.query, run)
        run, beside = pair(context.store, run, extras)
        content = [
            *stores(context, self, run, cursor, extras, axis),
            html.Section(
                bar(
                    run,
                    cursor,
                    list(context.store.runs()),
                    self.pick(extras) if self.pick else None,
                    beside,
                    axis,
                ),
                id="cursorbar",
                className="cursorbar",
                role="region",
                **{"aria-label": "Selected step and length"},
            ),
            html.Div(
                [
                    html.Div(banner([*visit.notices, *notices, *more]), id="banner"),
                    html.Div(problems(troubles(context, run.name, extras)), id="problems"),
                    *self.content(context, run, cursor, extras),
                ],
                className=f"content cursor-page {self.path.strip('/')}-page",
            ),
        ]
        title = run.name if self.path == "/run" else f"{self.name} \u00b7 {run.name}"
        return Drawn(content, title, run.name, waits=not run.brief.rows)

    @staticmethod
    def _run(context: Context, visit: Visit) -> RunView:
        asked = visit.query.get("run", "")
        run = context.store.run(asked)
        if run is not None:
            return run
        said = f"This link names the run {asked}, which is not in this folder." if asked else "This link names no run."
        raise Astray(Notice(said, "The page shows all runs.", "Keep"))


def stores(
    context: Context, page: CursorPage, run: RunView, cursor: Cursor, extras: Mapping[str, str], axis: LengthAxis
) -> list[dcc.Store]:
    """Return the selection as one store per part, so that a change redraws only what depends on that part."""
    parts = {"step": cursor.step, "length": cursor.length, "head": cursor.head_key}
    data: dict[str, Any] = {
        "run": run.name,
        **parts,
        "late": parts,
        "axis": axis,
        "extras": {**extras, "view": cursor.view, "sample": str(cursor.sample)},
        "run-version": run.signature,
        "log-version": run.log_signature,
        "run-check": None,
        "keep-run": None,
        "link": link(context, page, run, cursor, extras, axis),
    }
    return [dcc.Store(id=name, data=value) for name, value in data.items()]


def link(
    context: Context, page: CursorPage, run: RunView, cursor: Cursor, extras: Mapping[str, str], axis: LengthAxis
) -> dict[str, str]:
    """Return the address of the view, and to which page and run it belongs."""
    usual = page.extras if page.explicit else page.check(context, run, page.extras)[0]
    said = {key: extras[key] for key in page.extras if key in extras and extras[key] != usual[key]}
    said |= {"axis": axis} if axis != axis_of({}, run) else {}
    return {"path": page.path, "run": run.name, "href": write(cursor, run, page.path, said)}


def connect(app: Dash, context: Context, pages: Sequence[Page]) -> None:
    """Register what every page with a selection bar shares; called once, with all pages."""
    under_bar = {page.path: page for page in pages if isinstance(page, CursorPage)}
    browser(
        app,
        "step",
        Output("step-value", "children"),
        Output("step-where", "children"),
        Output("length-note", "children"),
        Input("step-slider", "value"),
        Input("scale", "data"),
    )
    browser(
        app,
        "length",
        Output("length-value", "children"),
        Output("length-where", "children"),
        Output("length-where", "className"),
        Output("step-note", "children"),
        Input("length-slider", "value"),
        Input("scale", "data"),
    )
    browser(app, "head", Output("head", "data"), Input("head-select", "value"), prevent_initial_call=True)
    browser(app, "openRun", Input("run-select", "value"), prevent_initial_call=True)
    browser(app, "late", *[Input(part, "data") for part in PARTS])
    _follow(app, context, under_bar)

    @app.callback(
        Output("link", "data"),
        Output("banner", "children"),
        Output("run-select", "leftSection"),
        *[Output(f"{part}-scent", "style") for part in SCENTS],
        *[Input(part, "data") for part in PARTS],
        Input("extras", "data"),
        Input("axis", "data"),
        Input("keep-run", "data"),
        State("run", "data"),
        State("link", "data"),
        State("banner", "children"),
        State("run-select", "leftSection"),
        *[State(f"{part}-scent", "style") for part in SCENTS],
        prevent_initial_call=True,
    )
    def moved(
        step: int, length: int, head: str, extras: Any, axis: LengthAxis, keep: Any, run: str, known: Any, said: Any,
        mark: Any, *scents: Any,
    ) -> Any:  # fmt: skip
        extras = extras or {}
        shown = (extras.get("view", VIEWS[0]), extras.get("sample", 0))
        view, cursor = place(context, run, step, length, head, *shown)
        page = _under_bar(known["path"], under_bar)
        address = link(context, page, view, cursor, extras, axis_of({"axis": axis}, view)) | {"kept": keep}
        if address["href"] == known["href"] and not keep:  # nothing moved: a stale link keeps its banner
            raise PreventUpdate
        view, other = pair(context.store, view, extras)
        drawn = [draw(view, getattr(cursor, along), other) for along, draw in SCENTS.values()]
        return address, unless(said or [], []), unless(mark, glyph(verdict_at(view, step))), *map(unless, scents, drawn)


def _under_bar(path: str, pages: Mapping[str, CursorPage]) -> CursorPage:
    if path not in pages:
        raise PreventUpdate  # the reader has left for another page
    return pages[path]


def _follow(app: Dash, context: Context, under_bar: Mapping[str, CursorPage]) -> None:
    """A run that grows, or whose log does, is read again; the bar follows."""

    @app.callback(
        Output("run-version", "data"),
        Output("log-version", "data"),
        Output("problems", "children", allow_duplicate=True),
        Input("run-check", "data"),
        State("run", "data"),
        State("run-version", "data"),
        State("log-version", "data"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def changed(_: Any, run: str, known: str, known_log: str, extras: Any) -> Any:
        return (*run_version(context, run, known, known_log), problems(troubles(context, run, extras or {})))

    @app.callback(
        Output("cursorbar", "children"),
        *[Output(part, "data", allow_duplicate=True) for part in ("step", "length")],
        Input("run-version", "data"),
        Input("axis", "data"),
        State("run", "data"),
        *[State(part, "data") for part in PARTS],
        State("extras", "data"),
        State("link", "data"),
        State("scale", "data"),
        prevent_initial_call=True,
    )
    def grown(
        _: Any, axis: LengthAxis, run: str, step: int, length: int, head: str, extras: Any, known: Any,
        scale: Mapping[str, Any] | None,
    ) -> Any:  # fmt: skip
        view, cursor = place(context, run, step, length, head)
        cursor = follow_last_checkpoint(cursor, view, scale)
        page = _under_bar(known["path"], under_bar)
        view, beside = pair(context.store, view, extras)
        children = bar(
            view,
            cursor,
            list(context.store.runs()),
            page.pick(extras) if page.pick else None,
            beside,
            axis_of({"axis": axis}, view),
        )
        return children, unless(step, cursor.step), unless(length, cursor.length)


def troubles(context: Context, name: str, extras: Mapping[str, str]) -> list[str]:
    """Return messages about the runs on screen: damaged rows, rows left out, or a run that was deleted."""
    run = context.store.run(name)
    if run is not None:
        shown = [one for one in pair(context.store, run, extras) if one is not None]
        return list(dict.fromkeys(said for one in shown for said in one.problems))
    reasons = [one for one in context.store.problems if name in one]
    gone = (
        f"The run {name} is no longer here: its folder was removed or cannot be read. The page shows what it loaded "
        "last."
    )
    return [gone, *reasons]


def run_version(context: Context, name: str, known: str, known_log: str) -> tuple[Any, ...]:
    """Return texts that change with the files of a run and with its log, each ``no_update`` if it has not changed."""
    pairs = zip(context.store.version(name), (known, known_log), strict=True)
    return tuple(no_update if new in ("", old) else new for new, old in pairs)


def follow_last_checkpoint(cursor: Cursor, run: RunLike, scale: Mapping[str, Any] | None) -> Cursor:
    """Return the selection after a run has new results: if the last checkpoint was selected, the new last one is.

    The longest length is treated in the same way while no length was measured. Any other selection stays.

    Args:
        cursor: the selection before.
        run: as it is now.
        scale: the stops that the sliders had, as :func:`workbench.dashboard.components.cursorbar.bar` gives them.
    """
    had = scale if scale is not None and scale.get("run") == run.name else {}
    steps, lengths = had.get("steps") or [0], list(had.get("lengths") or [])
    now = default_cursor(run)
    step = now.step if cursor.step == steps[-1] or cursor.step not in run.steps else cursor.step
    unmeasured = lengths == [run.trained] and cursor.length == run.trained
    length = now.length if unmeasured and run.lengths else cursor.length
    return replace(cursor, step=step, length=length)
