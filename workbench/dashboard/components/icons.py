"""Icons, and the glyphs of verdicts."""

from __future__ import annotations

from dash import html

from workbench.core.verdicts import WORDS
from workbench.dashboard.state.cursor import slug


def icon(name: str) -> html.Span:
    """Return an icon from ``assets/css/icons.css``. It is decoration only; the button around it has the accessible
    name.
    """
    return html.Span(className=f"icon {name}", **{"aria-hidden": "true"})


def icon_button(name: str, label: str, ident: str | None = None, **props: object) -> html.Button:
    """Return a 22 px icon button with an accessible name."""
    extra = {"id": ident} if ident else {}
    return html.Button(
        icon(name), className="ib", type="button", title=label, **{"aria-label": label}, **extra, **props
    )


def chevron() -> html.Span:
    """Return the arrow at the right end of a select box."""
    return icon("chevron")


def glyph(verdict: str) -> html.Span:
    """Return the small drawn accuracy curve that stands for a verdict."""
    return html.Span(className=f"icon glyph {slug(verdict)}", **{"aria-hidden": "true"})


def chip(verdict: str) -> html.Span:
    """Return a verdict as a coloured label with its glyph and its word."""
    return html.Span([glyph(verdict), WORDS[verdict]], className=f"chip {slug(verdict)}")
