"""Figures for papers: one or two columns wide, without marks of the selection, every axis named, printable to PDF.

Below the figure, a caption states the run, the step, the number of sequences and the test set.

The browser makes SVG and PNG of the same figure itself (``assets/js/export.js``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any, Literal, TypeGuard

import pandas as pd
import plotly.graph_objects as go

from workbench.dashboard.components.plotly_bundle import plotly_js
from workbench.dashboard.components.theme import ASSETS
from workbench.figures.export.picture import text_width
from workbench.figures.export.titled_figure import counts
from workbench.figures.labels import whole

Column = Literal["single", "double"]
INCHES: Mapping[Column, tuple[float, float]] = {"single": (3.25, 2.25), "double": (6.75, 3.2)}
"""Width and height of a figure, inches."""
PIXELS = 96
"""Of an inch, as browsers have it: the base size of text, 11 pixels, is 8.25 points."""
HEAD = 18
"""Height of the title's line, pixels."""
CAPTION, CAPTION_LINE, CAPTION_LEFT = 9, 12, 6
"""Size of the caption's letters, height of its line, and room on each side of it, pixels."""
_CAPTION_STYLE = (
    f"p{{margin:0 {CAPTION_LEFT}px;font:400 {CAPTION}px/{CAPTION_LINE}px Inter,sans-serif;"
    "color:#4A5160;white-space:nowrap}"
)
SEPARATOR = " \u00b7 "
MOST_RUNS = 3
"""Runs that a caption names; of more it gives how many there are."""
NAMED = 16
"""Room for the name of an upright axis, pixels."""
WEIGHTS = (400, 600)
"""Of the fonts: instances of the variable one that pages have, which in a PDF is Type 3, and journals refuse that."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; font-src data:; img-src data: blob:"
)


def is_column(text: str | None) -> TypeGuard[Column]:
    """Whether an address names one of the widths."""
    return text in INCHES


def size_of(column: Column) -> tuple[int, int]:
    """Width and height of the figure, pixels."""
    width, height = INCHES[column]
    return round(width * PIXELS), round(height * PIXELS)


def for_paper(figure: go.Figure, name: str, column: Column) -> go.Figure:
    """The figure in the size of a column, each axis of numbers with its name.

    Args:
        figure: without lines that mark the selection.
        name: the name of what it shows, for an upright axis that has none.
        column: single or double.
    """
    width, height = size_of(column)
    figure.update_layout(width=width, height=height, autosize=False, paper_bgcolor="#FFFFFF")
    axis = figure.layout.yaxis
    named = axis.title is not None and axis.title.text
    if not named and axis.visible is not False and counts(axis.ticktext):
        figure.update_layout(yaxis={"title": {"text": name}}, margin_l=(figure.layout.margin.l or 0) + NAMED)
    return figure


def caption(rows: pd.DataFrame, run: str = "") -> str:
    """Return what the drawn rows are about, in one line: run, step, number of sequences and test set.

    Args:
        rows: the rows of the figure. What they do not state is left out.
        run: the run, if the rows do not name it.

    Example:

        >>> rows = pd.DataFrame({"run": ["a", "a"], "step": [70, 400], "n": [512, 512], "law": ["matched", "matched"]})
        >>> caption(rows)
        'a \u00b7 steps 70 to 400 \u00b7 n = 512 \u00b7 matched test set'
    """
    runs = [str(name) for name in _values(rows, "run")] or [run] * bool(run)
    named = ", ".join(runs) if len(runs) <= MOST_RUNS else f"{whole(len(runs))} runs"
    laws = [str(law) for law in _values(rows, "law")]
    test_sets = f"{' and '.join(laws)} test set{'s' * (len(laws) > 1)}" if laws else ""
    step, steps = _span(_values(rows, "step"))
    n, _ = _span(_values(rows, "n"))
    parts = (named, f"step{'s' * steps} {step}" if step else "", f"n = {n}" if n else "", test_sets)
    return SEPARATOR.join(part for part in parts if part)


def _values(rows: pd.DataFrame, column: str) -> list[Any]:
    """The values of a column, each once; none where the rows have no such column."""
    return [] if column not in rows else [value for value in rows[column].dropna().unique() if value != ""]


def _span(values: Sequence[float]) -> tuple[str, bool]:
    """The smallest and the largest of whole numbers, and whether they differ."""
    if not values:
        return "", False
    low, high = min(values), max(values)
    return (whole(low), False) if low == high else (f"{whole(low)} to {whole(high)}", True)


def caption_lines(text: str, width: int) -> list[str]:
    """Break a caption between its parts, or within a long part between words, so that each line fits into a figure."""
    room = width - 2 * CAPTION_LEFT - CAPTION
    lines: list[str] = []
    for part in text.split(SEPARATOR):
        words = [part] if text_width(part, CAPTION) <= room else part.split()
        for place, word in enumerate(words):
            longer = f"{lines[-1]}{' ' if place else SEPARATOR}{word}" if lines else word
            if lines and text_width(longer, CAPTION) <= room:
                lines[-1] = longer
            else:
                lines.append(word)
    return lines


@cache
def _faces() -> str:
    """The fonts of papers, as CSS that carries them."""
    made = []
    for weight in WEIGHTS:
        data = base64.b64encode((ASSETS / "fonts" / f"inter-{weight}.woff2").read_bytes()).decode()
        made.append(f"@font-face{{font-family:Inter;font-weight:{weight};src:url(data:font/woff2;base64,{data})}}")
    return "".join(made)


def page(picture: Mapping[str, Any]) -> str:
    """A page that draws the figure, fonts and plotly.js in it, of the figure's size.

    Args:
        picture: as ``/data/<panel>.json`` gives it.
    """
    lines = picture.get("caption", [])
    width, height = picture["width"], picture["height"] + HEAD + CAPTION_LINE * len(lines)
    figure = picture["figure"]
    data = json.dumps([figure["data"], figure["layout"]]).replace("<", "\\u003c")
    style = (
        f"@page {{ size: {width / PIXELS}in {height / PIXELS}in; margin: 0 }}"
        f"{_faces()}"
        "body { margin: 0; font: 600 11px/18px Inter, sans-serif; color: #14181F }"
        f"h1 {{ margin: 0; padding-left: 6px; height: {HEAD}px; font: inherit; overflow: hidden }}"
    )
    loaded = "Promise.all(['400', '600'].map((weight) => document.fonts.load(weight + ' 11px Inter')))"
    script = (
        f"const [data, layout] = {data};"
        f"{loaded}.then(() => Plotly.newPlot('plot', data, layout, {{ staticPlot: true }}));"
    )
    return (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(picture['title'])}</title><style>{style}{_CAPTION_STYLE}</style></head>"
        f"<body><h1>{escape(picture['title'])}</h1><div id='plot'></div>"
        f"{''.join(f'<p>{escape(line)}</p>' for line in lines)}"
        f"<script>{plotly_js()}</script><script>{script}</script></body></html>"
    )
