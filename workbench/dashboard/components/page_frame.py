"""The frame around every page: header, page area, help, and shared stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import dash_mantine_components as dmc
from dash import dcc, html
from pydantic import Field
from typing_extensions import TypedDict

from workbench.dashboard.components import theme
from workbench.dashboard.components.icons import icon, icon_button
from workbench.dashboard.components.verdict_help import help_drawer
from workbench.dashboard.state.cursor import Notice, link
from workbench.dashboard.state.request_values import Name, Text, declare, exact
from workbench.dashboard.state.run_view import quote_path
from workbench.dashboard.state.series_rows import Reading
from workbench.dashboard.state.store import display_path as shown_path


class PanelPlace(TypedDict):
    """The page on which a browser is, and the run that it showed last."""

    path: Text
    search: Text
    last: Name


class Here(TypedDict):
    """What a browser sends with a request about the page that it shows."""

    run: Name
    waits: bool


@exact
class StyleShape(TypedDict):
    """The theme and the text size that a browser has chosen."""

    theme: Literal["light", "dark"]
    size: Annotated[int, Field(ge=6, le=40)]


declare(
    {
        "place.data": PanelPlace | None,
        "here.data": Here | None,
        "look.data": StyleShape | None,
        "page-look.data": StyleShape | None,
        "version.data": Name | None,
        "page-version.data": Name | None,
        "banner.children": Any,
    }
)

POLL_MS = 2000


def banner(notices: Sequence[Notice], href: str | None = None) -> list[html.Div]:
    """Return a notice for each part of a link that does not exist any more, and what is shown instead, with a link or
    button to accept it.
    """

    def accept(text: str) -> html.A | html.Button:
        if href is not None:
            return html.A(text, href=href, className="button", **{"data-nav": "replace"})
        return html.Button(text, className="button", type="button", **{"data-keep": "1"})

    return [
        html.Div(
            [
                icon("warn"),
                html.P([html.Strong(notice.asked), " ", notice.shown]),
                accept(notice.keep),
            ],
            className="banner",
            role="status",
        )
        for notice in notices
    ]


def problems(sentences: Sequence[str], part: Reading | None = None, most: int = 4) -> list[html.Div]:
    """Return messages about runs or files that could not be read and are left out."""
    shown_here = list(sentences[:most])
    if len(sentences) > most:
        shown_here.append(f"\u2026 and {len(sentences) - most:,} more.")
    made = [html.Div([icon("warn"), html.P(text)], className="banner error", role="status") for text in shown_here]
    if part is None:
        return made
    said = f"{part.done:,} of {part.of:,} runs have been loaded so far. The page shows only these."
    return [html.Div([icon("info"), html.P(said)], className="banner", role="status"), *made]


def command(text: str) -> html.Div:
    """Return a command with a copy button."""
    return html.Div(
        [
            html.Code(text, tabIndex=0),  # it may scroll
            html.Button(
                icon("copy"),
                className="ib",
                type="button",
                title="Copy",
                **{"data-copy": text, "aria-label": f"Copy: {text}"},
            ),
        ],
        className="command",
    )


def offline(roots: Sequence[Path]) -> html.Div:
    """Return the message shown while the server does not answer; ``assets/js/offline.js`` shows and hides it."""
    message = [
        html.Strong("The server does not answer."),
        " The page shows what it loaded last. It retries every two seconds and continues when the server answers. If "
        "the server was stopped, start it again:",
    ]
    ways = html.Div([html.P(message), command(f"lengthlens app {' '.join(map(quote_path, roots))}")], className="ways")
    return html.Div(html.Div([icon("warn"), ways], className="banner error"), id="offline", role="status", hidden=True)


def layout(roots: Sequence[Path], *also: Any) -> dmc.MantineProvider:
    """Return everything that stays while pages change."""
    return dmc.MantineProvider(
        [
            dcc.Store(id="place"),
            dcc.Store(id="look"),
            dcc.Store(id="version"),
            dcc.Store(id="here"),
            dcc.Store(id="read-at"),
            dcc.Interval(id="poll", interval=POLL_MS),
            html.A("Skip to content", href="#page", className="skip"),
            html.Header(
                [
                    html.Button(
                        icon("burger"),
                        id="nav-toggle",
                        className="ib nav-toggle",
                        type="button",
                        title="Pages",
                        **{"aria-label": "Pages", "aria-controls": "nav", "aria-expanded": "false"},
                    ),
                    html.A([icon("mark"), "LengthLens"], href="/", className="brand", **{"data-nav": "1"}),
                    html.Nav(id="nav", className="nav", **{"aria-label": "Pages"}),
                    html.Div(
                        [
                            html.Span(id="dot", className="dot", title="Reading the folder every 2 s"),
                            html.Span(", ".join(folder_text(root) for root in roots), className="mono folder"),
                            html.Span(id="status", className="num"),
                            html.Span(id="age", className="num"),
                        ],
                        className="source",
                    ),
                    html.Div(
                        [
                            html.Button(
                                [icon("search"), html.Span("Find"), html.Kbd("Ctrl K")],
                                id="palette-open",
                                className="palette-open",
                                type="button",
                                title="Find a run, quantity, head, step, term or command",
                                **{"aria-label": "Find, Ctrl K", "aria-haspopup": "dialog"},
                            ),
                            icon_button("bookmark", "Saved views", "views-open"),
                            icon_button("link", "Copy the link to this view", "copy-link"),
                            icon_button("moon", "Dark theme", "theme-toggle"),
                            icon_button("ask", "Help", "help-open"),
                        ],
                        className="tools",
                    ),
                ],
                className="header",
            ),
            offline(roots),
            # What it says stands in assets/js/libraries.js, which knows what the page waits for.
            html.Div(
                [html.Span(), html.A("Reload", href="", className="button", hidden=True)],
                id="library-note",
                role="status",
                hidden=True,
            ),
            html.Main(id="page", tabIndex=-1),
            html.Div(id="toast", role="status", **{"aria-live": "polite"}),
            *also,
            help_drawer(),
        ],
        theme=theme.MANTINE,
        defaultColorScheme="auto",
    )


@runtime_checkable
class Linked(Protocol):
    """A page as the navigation shows it."""

    @property
    def path(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def needs_run(self) -> bool: ...


def nav(pages: Sequence[Linked], shown: Linked, run: str | None) -> list[html.A]:
    """Return links to all pages; those about one run lead to ``run``. Without runs only the first page is listed.

    A link to a page with a selection bar keeps the selection (``data-carry``, see ``assets/js/keys.js``).
    """
    return [
        html.A(
            page.name,
            href=link(run or "", page.path) if page.needs_run else page.path,
            className="on" if page is shown else "",
            **({"aria-current": "page"} if page is shown else {}),
            **({"data-carry": "1"} if page.needs_run else {}),
            **{"data-nav": "1"},
        )
        for page in pages[: None if run is not None else 1]
    ]


def folder_text(root: Path) -> str:
    """Return a folder in its shortest form, with a slash at the end."""
    text = shown_path(root)
    return text if text.endswith("/") else text + "/"
