"""The frame every page sits in: header, page area, help, and the stores they share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import dash_mantine_components as dmc
from dash import dcc, html

from workbench.core.thresholds import FITTED, HORIZON, LOOKS, ROBUST
from workbench.dashboard.components import theme
from workbench.dashboard.state.cursor import VERDICTS, Notice, link, slug
from workbench.dashboard.state.store import shown as shown_path

POLL_MS = 2000

KEYS = (
    ("\u2190 \u2192", "previous, next checkpoint (Shift: five)"),
    ("\u2193 \u2191", "shorter, longer prefix"),
    ("[ ]", "previous, next head"),
    ("+ \u2212 0", "closer, wider, all of an attention pattern (or drag over it)"),
    ("Space", "play through training"),
    ("/", "filter runs"),
    ("1 \u2013 9", "focus a panel; then T table, M maximise, E menu"),
    ("C", "copy the link to this view"),
    ("D", "light or dark"),
    ("?", "this help"),
    ("Esc", "close"),
)

MEANINGS = (
    (
        "scale-robust",
        f"Skill is shown to be at least {ROBUST:g} at every judged length up to the horizon, at least {HORIZON} times "
        "the trained length, on matched and on challenge strings. Near ties are told beside it.",
    ),
    (
        "length-coupled",
        f"Fitted, and skill is shown to be below {ROBUST:g} of its trained value at some longer length, and at the "
        "next one too; at the last one, in a second batch of strings.",
    ),
    (
        "not fitted",
        f"Skill is shown to be below {FITTED:g} at some trained length; nothing can be said of longer ones.",
    ),
    (
        "unseen position",
        "The model reads position ids that training never showed, so longer inputs test that instead.",
    ),
    (
        "undecided",
        f"Neither is shown: too few strings so far, at most {LOOKS[-1]:,} a length; or skill lies at a bar, or between "
        "the bars. The sentence says which.",
    ),
)


def icon(name: str) -> html.Span:
    """An icon from ``assets/02-icons.css``; decoration only, its button carries the name."""
    return html.Span(className=f"icon {name}", **{"aria-hidden": "true"})


def icon_button(name: str, label: str, ident: str | None = None, **props: object) -> html.Button:
    """A 22 px button with an accessible name."""
    extra = {"id": ident} if ident else {}
    return html.Button(
        icon(name), className="ib", type="button", title=label, **{"aria-label": label}, **extra, **props
    )


def chevron() -> html.Span:
    """What a select shows at its right end."""
    return icon("chevron")


def glyph(verdict: str) -> html.Span:
    """The small drawn accuracy curve of a verdict."""
    return html.Span(className=f"icon glyph {slug(verdict)}", **{"aria-hidden": "true"})


def chip(verdict: str) -> html.Span:
    """A verdict as tint, glyph and word."""
    return html.Span([glyph(verdict), VERDICTS[verdict]], className=f"chip {slug(verdict)}")


def banner(notices: Sequence[Notice], href: str | None = None) -> list[html.Div]:
    """What a stale link asked for and what is shown, with what accepts it: a link, or else a button."""

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


def problems(sentences: Sequence[str], most: int = 4) -> list[html.Div]:
    """What could not be read, and is left out."""
    shown_here = list(sentences[:most])
    if len(sentences) > most:
        shown_here.append(f"\u2026 and {len(sentences) - most:,} more.")
    return [html.Div([icon("warn"), html.P(text)], className="banner error", role="status") for text in shown_here]


def command(text: str) -> html.Div:
    """A command with a copy button."""
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


def layout(roots: Sequence[Path], *also: Any) -> dmc.MantineProvider:
    """Everything that stays while pages change."""
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
                            icon_button("link", "Copy the link to this view", "copy-link"),
                            icon_button("moon", "Dark theme", "theme-toggle"),
                            icon_button("ask", "Help", "help-open"),
                        ],
                        className="tools",
                    ),
                ],
                className="header",
            ),
            html.Main(id="page", tabIndex=-1),
            html.Div(id="toast", role="status", **{"aria-live": "polite"}),
            *also,
            _help(),
        ],
        theme=theme.MANTINE,
        defaultColorScheme="auto",
    )


class Linked(Protocol):
    """A page, as the navigation knows it."""

    @property
    def path(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def needs_run(self) -> bool: ...


def nav(pages: Sequence[Linked], shown: Linked, run: str | None) -> list[html.A]:
    """The pages there are; those about one run lead to ``run``; while there is none, only the first is listed.

    A link to a page under the cursor bar carries the cursor along (``data-carry``, see ``assets/actions.js``).
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
    """A data root as it is shown: as short as it can be typed, with a slash at its end."""
    text = shown_path(root)
    return text if text.endswith("/") else text + "/"


def _help() -> dmc.Drawer:
    keys = [html.Div([html.Dt(html.Kbd(key)), html.Dd(what)]) for key, what in KEYS]
    verdicts = [html.Div([html.Dt(chip(name)), html.Dd(what)]) for name, what in MEANINGS]
    return dmc.Drawer(
        [
            html.H3("Verdicts"),
            html.Dl(verdicts, className="help verdicts"),
            html.P(
                "A verdict comes from behaviour alone. Probes and attention explain it; they do not make it. "
                "All intervals are 95 %, and a sequence is the unit.",
                className="soft",
            ),
            html.H3("Colours"),
            html.P(
                [
                    html.Span("Blue", className="summary"),
                    " does not depend on length; ",
                    html.Span("orange", className="position"),
                    " depends on position or length; ",
                    html.Span("magenta", className="train strong"),
                    " is the longest length seen in training.",
                ]
            ),
            html.H3("Keys"),
            html.Dl(keys, className="help keys"),
            dmc.Switch(id="letters", label="Single-letter keys", checked=True, size="sm", persistence=True),
        ],
        id="help",
        title="Help",
        position="right",
        size=420,
        closeButtonProps={"aria-label": "Close help"},
    )
