"""Named lines between 0 and 1 over training or prefix length: the shape that several figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from workbench.figures.labels import sample_size
from workbench.figures.marks import Cursor, add_cursor, add_end_labels, add_line, last_value, said, span_meta
from workbench.figures.rows import distinct, run_name, series_of, smallest_n
from workbench.figures.template import blank, run_axis, unit_axis
from workbench.figures.tokens import Theme

DOTS = "1.2px,2.4px"
UNIT = (0.0, 1.0)


@dataclass(frozen=True)
class Look:
    """How one series is drawn; ``band``: whether with its interval. The first one of a figure is named in bold."""

    colour: str
    width: float = 2.2
    dash: str = "solid"
    band: bool = True


def series_figure(
    frame: pd.DataFrame,
    data: pd.DataFrame,
    along: str,
    *,
    trained: float,
    looks: Mapping[str, Look],
    title: str,
    theme: Theme,
    size: int,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Lines with bands and names at their ends; what leaves 0..1 is drawn at the edge, tooltips keep the value.

    Args:
        frame: all rows of the run, which the axis is laid out for.
        data: the rows to draw, as ``rows.tidy`` gives them.
        along: ``step`` or ``length``.
        trained: N.
        looks: by series, the boldest first.
        title: of the panel.
        theme: light or dark.
        size: base text size, pixels.
        cursor: see ``marks.add_cursor``.
    """
    x_axis, y_axis, n = run_axis(along, distinct(frame, along), trained, theme), unit_axis(), smallest_n(data)
    figure = blank(
        theme,
        size,
        column=along,
        xaxis=x_axis,
        yaxis=y_axis,
        meta={"title": title, "slice": sample_size(n), "x": span_meta(along, x_axis), "n": n},
        uirevision=f"{run_name(data)}/{title.lower().replace(' ', '_')}_over_{along}",
    )
    parts = series_of(data)
    labels = []
    for name, rows in parts:
        look = looks[name]
        add_line(figure, rows, along, look.colour, width=look.width, dash=look.dash, band=look.band, clip=UNIT)
        end = last_value(rows["value"].clip(*UNIT).to_numpy(dtype=float))
        if end is not None:
            labels.append((name, end, look.colour, name == next(iter(looks))))
    add_end_labels(figure, labels, y_axis["range"], size)
    add_cursor(figure, cursor, along, theme, [(rows, looks[name].colour, "circle") for name, rows in parts], clip=UNIT)
    return figure


def spoken(data: pd.DataFrame, along: str, at: Sequence[float]) -> str:
    """What the lines say at some places, for those who do not see them."""
    return "; ".join(f"{name} {said(rows, along, list(at))}" for name, rows in series_of(data))
