"""Figures for papers: one or two columns wide, without marks of the selection, every axis named, printable to PDF.

The browser makes SVG and PNG of the same figure itself (``assets/js/export.js``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any, Literal, TypeGuard

import plotly.graph_objects as go

from workbench.dashboard.components.plotly_bundle import plotly_js
from workbench.dashboard.components.theme import ASSETS
from workbench.figures.export.titled_figure import counts

Column = Literal["single", "double"]
INCHES: Mapping[Column, tuple[float, float]] = {"single": (3.25, 2.25), "double": (6.75, 3.2)}
"""Width and height of a figure, inches."""
PIXELS = 96
"""Of an inch, as browsers have it: the base size of text, 11 pixels, is 8.25 points."""
HEAD = 18
"""Height of the title's line, pixels."""
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
    width, height = picture["width"], picture["height"] + HEAD
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
        f"<title>{escape(picture['title'])}</title><style>{style}</style></head>"
        f"<body><h1>{escape(picture['title'])}</h1><div id='plot'></div>"
        f"<script>{plotly_js()}</script><script>{script}</script></body></html>"
    )
