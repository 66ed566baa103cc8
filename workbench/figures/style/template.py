"""The plot template of both themes, the fixed margins, and the two axes every figure shares.

Axes are linear in u: ``log2(1 + step)`` and ``log2(length)``. Their ranges depend only on the steps and lengths of a
run. A figure therefore does not move while a slider does, and the line of the selection can be placed with only the
margins and the range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures.export.titled_figure import TitledFigure
from workbench.figures.labels import short, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.style.design_tokens import DIFFERENCE, PERFORMANCE, TOKENS
from workbench.figures.style.plain_figure import Drawing, PlainFigure, drawing_plainly

FONT = "Inter, system-ui, sans-serif"
DASH = "4px,3px"
DOTS = "1.2px,2.4px"

#: Fixed margins in pixels per kind of column.
MARGINS: dict[str, dict[str, int]] = {
    "step": {"l": 50, "r": 58, "t": 6, "b": 36},
    "length": {"l": 44, "r": 58, "t": 6, "b": 36},
    "dumbbell": {"l": 58, "r": 14, "t": 6, "b": 36},
    "failure": {"l": 112, "r": 14, "t": 6, "b": 36},
    "sequence": {"l": 64, "r": 64, "t": 6, "b": 36},
}

#: Plot area (inside the margins) of the narrowest and lowest panel the figures are laid out for, pixels.
PLOT_WIDTH, PLOT_HEIGHT = 300, 108
#: A character's width, the room between two labels side by side, and between two above one another, pixels.
_CHARACTER, _BETWEEN, _STACKED = 6.2, 10, 12.5


def u_step(step: float) -> float:
    """Return the position of a training step on its axis: log2(1 + step)."""
    return math.log2(1 + step)


def u_length(n: float) -> float:
    """Return the position of a prefix length on its axis: log2(n)."""
    return math.log2(n)


def cell_edges(u: Sequence[float]) -> NDArray[np.float64]:
    """Return the n + 1 edges of n heatmap cells with ascending centres ``u``.

    Inner edges are midpoints. The first and last cell extend outwards by half a cell, at most 5 % of the axis.
    """
    x = np.asarray(u, dtype=float)
    if len(x) == 1:
        return np.array([x[0] - 0.5, x[0] + 0.5])
    middle = (x[1:] + x[:-1]) / 2
    most = 0.05 * (x[-1] - x[0])
    first = x[0] - min(middle[0] - x[0], most)
    last = x[-1] + min(x[-1] - middle[-1], most)
    return np.concatenate([[first], middle, [last]])


def choose_ticks(
    wanted: Sequence[tuple[float, str]], low: float, high: float, pixels: int, vertical: bool = False
) -> list[int]:
    """Choose the tick labels that fit on an axis without touching.

    Args:
        wanted: (position, text), the most important first.
        low: lower end of the axis.
        high: upper end of the axis.
        pixels: length of the axis on the smallest panel.
        vertical: whether labels stand above one another rather than side by side.

    Returns:
        indices into ``wanted``, sorted by position.
    """
    unit = (high - low) / pixels
    half = [0.0 if vertical else len(re.sub("<[^>]*>", "", text)) * _CHARACTER / 2 for _, text in wanted]
    between = _STACKED if vertical else _BETWEEN
    chosen: list[int] = []
    for i, (place, _) in enumerate(wanted):
        clear = all(abs(place - wanted[j][0]) >= (half[i] + half[j] + between) * unit for j in chosen)
        if low <= place <= high and clear:
            chosen.append(i)
    return sorted(chosen, key=lambda i: wanted[i][0])


def _axis(
    wanted: list[tuple[float, str]], low: float, high: float, title: str, pixels: int, vertical: bool = False
) -> dict[str, Any]:
    chosen = choose_ticks(wanted, low, high, pixels, vertical)
    return {
        "range": [low, high],
        "tickmode": "array",
        "tickvals": [wanted[i][0] for i in chosen],
        "ticktext": [wanted[i][1] for i in chosen],
        "title": {"text": title},
    }


def step_axis(steps: Iterable[float], pixels: int = PLOT_WIDTH) -> dict[str, Any]:
    """Return the settings of an axis of training steps.

    Args:
        steps: every step the run has rows for (not only those drawn, so that the axis stays fixed).
        pixels: length of the axis on the smallest panel.
    """
    found = sorted({float(s) for s in steps})
    edges = cell_edges([u_step(s) for s in found])
    decades = [10.0**k for k in range(0, 10)]
    order = [found[-1], found[0], *sorted(decades, key=lambda s: -s)]
    wanted = [(u_step(s), short(s)) for s in order]
    return _axis(wanted, float(edges[0]), float(edges[-1]), "training step", pixels)


def length_axis(
    lengths: Iterable[float],
    trained: float,
    theme: Theme | None = None,
    pixels: int = PLOT_WIDTH,
    span: tuple[float, float] | None = None,
    vertical: bool = False,
) -> dict[str, Any]:
    """Return the settings of an axis of prefix lengths. The longest trained length always has a tick.

    Args:
        lengths: every length the run has rows for.
        trained: N, the longest prefix length seen in training.
        theme: writes the training length in its colour; None leaves it plain.
        pixels: length of the axis on the smallest panel.
        span: lowest and highest length of the axis, where they are not those of ``lengths``.
        vertical: whether the axis is a y axis.
    """
    values = sorted({float(n) for n in lengths})
    edges = cell_edges([u_length(n) for n in values])
    low, high = (float(edges[0]), float(edges[-1])) if span is None else (u_length(span[0]), u_length(span[1]))
    name = whole(trained)
    if theme is not None:
        name = f'<span style="color:{TOKENS[theme]["train"]}">{name}</span>'
    # fewer ticks inside training: what happens past it is what the axis is for
    powers = [2.0**k for k in range(23, -1, -1) if 2.0**k > trained or k % 2 == 0]
    wanted = [(u_length(trained), name)]
    wanted += [(u_length(n), whole(n)) for n in (values[-1], values[0], *powers)]
    return _axis(wanted, low, high, "prefix length", pixels, vertical)


def run_axis(along: str, places: Iterable[float], trained: float, theme: Theme) -> dict[str, Any]:
    """Return the settings of an x axis of training steps or prefix lengths that covers everything measured in a run."""
    return step_axis(places) if along == "step" else length_axis(places, trained, theme)


UNIT = (0.0, 1.0)
"""The range of shares, to which lines on a unit axis are clipped."""


def unit_axis(low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    """Return the settings of an axis from 0 to 1."""
    pad = 0.05 * (high - low)
    middle = (low + high) / 2
    ticks = [low, middle, high]
    return {"range": [low - pad, high + pad], "tickvals": ticks, "ticktext": [f"{t:.1f}" for t in ticks]}


def accuracy_axis(chance: float) -> dict[str, Any]:
    """Return the settings of an axis of accuracies, from chance - 0.06 to 1.04."""
    ticks = [chance, (1 + chance) / 2, 1.0]
    return {"range": [chance - 0.06, 1.04], "tickvals": ticks, "ticktext": [f"{t:.2f}" for t in ticks]}


def plotly_scale(colours: Sequence[tuple[float, str]]) -> list[list[Any]]:
    """Convert a colour map to the form that plotly needs."""
    return [[stop, colour] for stop, colour in colours]


def colorbar(look: Look, ticks: Sequence[float], texts: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a heatmap's colour bar: thin, to the right of the plot, with the given ticks and texts."""
    return {
        "thickness": 8,
        "x": 1.02,
        "xpad": 0,
        "ypad": 0,
        "outlinewidth": 0,
        "ticks": "",
        "tickvals": list(ticks),
        "ticktext": list(texts),
        "ticklabeloverflow": "allow",
        "tickfont": {"size": look.size, "color": TOKENS[look.theme]["ink3"]},
    }


@cache  # a figure takes a copy
def template(look: Look = LIGHT) -> go.layout.Template:
    """Return the plotly template of a theme.

    Args:
        look: theme and base text size.

    Raises:
        ValueError: for a theme that does not exist.
    """
    if look.theme not in TOKENS:
        raise ValueError(f"unknown theme {look.theme!r}; the themes are light and dark")
    t = TOKENS[look.theme]
    axis = {
        "gridcolor": t["grid"],
        "zeroline": False,
        "showline": False,
        "ticks": "outside",
        "ticklen": 3,
        "tickcolor": t["line2"],
        "tickfont": {"size": look.size, "color": t["ink3"]},
        "title": {"font": {"size": look.size, "color": t["ink2"]}, "standoff": 6},
        "automargin": False,
        "fixedrange": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": look.size, "color": t["ink2"]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "showlegend": False,
            "hovermode": "closest",
            "dragmode": False,
            "clickanywhere": True,
            "colorscale": {
                "sequential": plotly_scale(PERFORMANCE),
                "diverging": plotly_scale(DIFFERENCE[look.theme]),
            },
            "xaxis": axis,
            "yaxis": axis | {"ticks": "", "ticklabelstandoff": 3},
            "hoverlabel": {
                "bgcolor": t["ink"],
                "bordercolor": t["ink"],
                "font": {"family": FONT, "size": 12, "color": t["surface"]},
                "align": "left",
            },
            "annotationdefaults": {"showarrow": False, "font": {"size": look.size, "color": t["ink2"]}},
        }
    )


@cache  # nobody writes into it
def plain_template(look: Look = LIGHT) -> dict[str, Any]:
    """Return :func:`template` as plain data, in the form that the browser receives."""
    made: dict[str, Any] = template(look).to_plotly_json()
    return made


def blank(
    look: Look,
    *,
    column: str,
    xaxis: Mapping[str, Any],
    yaxis: Mapping[str, Any],
    meta: Mapping[str, Any],
    uirevision: str,
) -> Drawing:
    """Return an empty figure with axes, in the size of one kind of column, and with the data for the panel around it.

    Inside :func:`workbench.figures.style.plain_figure.plain_figures` the result is a plain figure, otherwise a plotly
    figure.
    """
    layout: dict[str, Any] = {
        "template": plain_template(look) if drawing_plainly() else template(look),
        "margin": MARGINS[column] | {"pad": 0},
        "xaxis": dict(xaxis),
        "yaxis": dict(yaxis),
        "meta": dict(meta),
        "uirevision": uirevision,
    }
    return PlainFigure(layout) if drawing_plainly() else TitledFigure(layout=layout)
