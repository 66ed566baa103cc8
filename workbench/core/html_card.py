"""The card that a notebook shows for an object: its title, and one fact per line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from workbench.core.direction_marks import without_direction_marks


def ends_of(values: Sequence[object]) -> str:
    """Values for a line of a card: all up to eight, else the first four and the last three."""
    texts = [str(value) for value in values]
    return ", ".join(texts if len(texts) <= 8 else [*texts[:4], "...", *texts[-3:]])


def card(
    title: str,
    facts: Iterable[tuple[str, object]],
    text: str = "",
    columns: Sequence[str] = (),
    lines: Iterable[Sequence[object]] = (),
) -> str:
    """HTML of an object's card; all of its text is escaped.

    Args:
        title: the title of the card.
        facts: names and values; facts without a value are left out.
        text: lines that are shown unchanged in a monospaced font, such as a program.
        columns: headings of a second table, below the facts; none = no such table.
        lines: the lines of this table.
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in facts
        if value not in ("", None)
    )
    plain = f"<pre>{escape(text)}</pre>" if text else ""
    grid = _grid(columns, lines) if columns else ""
    html = f"<div><b>{escape(title)}</b>{f'<table>{rows}</table>' if rows else ''}{grid}{plain}</div>"
    return without_direction_marks(html)


def _grid(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table with one heading for each column."""

    def row(tag: str, cells: Sequence[object]) -> str:
        shown = (f'<{tag} style="text-align:left">{escape(str(cell))}</{tag}>' for cell in cells)
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(row("td", line) for line in lines)
    return f"<table><thead>{row('th', columns)}</thead><tbody>{body}</tbody></table>"
