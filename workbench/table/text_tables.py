"""Rows as text tables in Markdown and LaTeX, for reports and papers, from notebooks and the dashboard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

ALWAYS = ("quantity", "value", "low", "high")
"""Columns that are shown even if all rows have the same value."""


def text_cells(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[list[str]]:
    """Return a table as texts, with the column names as the first row. Columns that are empty or constant are left out.

    Args:
        rows: the rows of any columns.
        names: the columns that may be shown, in order.
    """
    texts = [{name: _text(row.get(name)) for name in names} for row in rows]
    differ = {name for name in names if len({one[name] for one in texts}) > 1}
    shown = [name for name in names if name in differ or (name in ALWAYS and any(one[name] for one in texts))]
    shown = shown or list(names)
    return [shown, *([one[name] for name in shown] for one in texts)]


def markdown(cells: Sequence[Sequence[str]]) -> str:
    """A table of text in Markdown; characters with a meaning in Markdown are escaped."""
    head, *rows = cells
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_plain(cell) for cell in line)} |" for line in lines)


def latex(cells: Sequence[Sequence[str]]) -> str:
    """A table of text as a ``tabular`` with the rules of booktabs; characters with a meaning in LaTeX are escaped."""
    head, *rows = (r" & ".join(_latex(cell) for cell in line) + r" \\" for line in cells)
    begin = rf"\begin{{tabular}}{{{'l' * len(cells[0])}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"])


def _text(value: object) -> str:
    """A cell: numbers to four digits, integers in full."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>":
        return ""
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


def _plain(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;")


def _latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
