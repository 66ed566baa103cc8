"""The evidence for a verdict at the top of the Run page: chips, what is inconclusive, and the full table."""

from __future__ import annotations

import json
from typing import Any

from dash import html

from workbench.dashboard.components import prose
from workbench.dashboard.panels.ledger import HEADS, NUMBERS, STANDINGS, Ledger, LedgerRow
from workbench.dashboard.state.cursor import slug


def chips(found: Ledger) -> list[Any]:
    """Return a chip for each clause: its sign, and its words on focus and hover. A chip marks its panel."""
    return [_chip(row) for row in found.rows]


def _chip(row: LedgerRow) -> html.Button:
    standing = STANDINGS[row.standing]
    clause, (value, limits, n, control, where) = plain_text(row.clause), row.cells
    numbers = [("Value", f"{value} {limits}".rstrip() + f", n {n}"), ("Control", control), ("Where", where)]
    lines = [(standing.capitalize(), f"{clause}."), *((name, text) for name, text in numbers if _stated(text))]
    return html.Button(
        [html.Span(f"{standing}: ", className="sr"), *prose.pieces(row.short)],
        type="button",
        className=f"evidence-chip standing {slug(row.standing)}",
        **{"data-mark": row.panel, "data-about": json.dumps(lines, ensure_ascii=False)},
    )


def _stated(text: str) -> bool:
    return bool(text) and not text.startswith("\u2013")


def plain_text(pieces: Any) -> str:
    """The pieces of a sentence as text."""
    return "".join(text for text, _ in pieces)


def inconclusive(found: Ledger) -> str:
    """Return one line on the clauses that speak neither for nor against the verdict; "" if there are none."""
    rows = found.neutral
    if not rows:
        return ""
    count = "1 measurement is inconclusive" if len(rows) == 1 else f"{len(rows)} measurements are inconclusive"
    return f"{count}: {'; '.join(plain_text(row.short) for row in rows)}"


def inconclusive_clauses(found: Ledger) -> list[Any]:
    """Return the clauses of :func:`inconclusive` in full."""
    return [html.Ul([html.Li([*prose.pieces(row.clause), "."]) for row in found.neutral])]


def table(found: Ledger) -> list[Any]:
    """Return the table of evidence, in which each sentence is a button that marks its panel."""
    if not found.rows:
        return []
    heads = [html.Th(name, scope="col", className="right" if name in NUMBERS else "") for name in HEADS]
    rows = []
    for one in found.rows:
        mark = html.Button(prose.pieces(one.clause), type="button", className="clause", **{"data-mark": one.panel})
        cells = [html.Td(text, className="num right") for text in one.cells[:4]]
        standing = html.Span(STANDINGS[one.standing], className=f"standing {slug(one.standing)}")
        rows.append(html.Tr([html.Th(mark, scope="row"), *cells, html.Td(one.cells[4]), html.Td(standing)]))
    return [html.Table([html.Thead(html.Tr(heads)), html.Tbody(rows)], className="ledger")]
