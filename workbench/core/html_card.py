"""The card that a notebook shows for an object: its title, and one fact per line."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from workbench.core.direction_marks import without_direction_marks


def card(title: str, facts: Iterable[tuple[str, object]], text: str = "") -> str:
    """HTML of an object's card; all of its text is escaped.

    Args:
        title: the title of the card.
        facts: names and values; facts without a value are left out.
        text: lines that are shown unchanged in a monospaced font, such as a program.
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in facts
        if value not in ("", None)
    )
    lines = f"<pre>{escape(text)}</pre>" if text else ""
    html = f"<div><b>{escape(title)}</b>{f'<table>{rows}</table>' if rows else ''}{lines}</div>"
    return without_direction_marks(html)
