"""Icons, and the marks that verdicts have."""

from __future__ import annotations

from dash import html

from workbench.core.verdicts import WORDS
from workbench.dashboard.state.cursor import slug


def icon(name: str) -> html.Span:
    """An icon from ``assets/css/icons.css``; decoration only, its button carries the name."""
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
    return html.Span([glyph(verdict), WORDS[verdict]], className=f"chip {slug(verdict)}")
