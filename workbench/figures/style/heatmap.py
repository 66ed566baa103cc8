"""Heatmaps with cells of unequal width: pooling, edges, the training length, lines at the selected step and length."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.figures.look import Look, Theme
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import run_name, smallest_n
from workbench.figures.style.design_tokens import TOKENS, TRAIN_ON_HEATMAP, ColourMap
from workbench.figures.style.marks import Cursor, add_across, add_upright, hover, span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import (
    DASH,
    PLOT_HEIGHT,
    blank,
    cell_edges,
    colorbar,
    length_axis,
    plotly_scale,
    step_axis,
    u_length,
    u_step,
)

#: Most cells per side: beyond it drawing takes seconds and no screen shows more.
CAP = 512

Pooling = Literal["max", "mean"]


def pool(values: NDArray[np.floating], cap: int = CAP, how: Pooling = "max") -> tuple[NDArray[np.float32], int, int]:
    """A matrix reduced to at most ``cap`` x ``cap`` cells by pooling equal blocks, never by striding.

    Args:
        values: ``[row, column]``; NaN = nothing there, left out of a block unless all of it is NaN.
        cap: most cells per side.
        how: maximum (keeps single strong cells visible) or mean of a block.

    Returns:
        the pooled matrix (contiguous float32), and rows and columns per block (the last may be smaller).
    """
    rows, columns = values.shape
    by, bx = -(-rows // cap), -(-columns // cap)
    if by == bx == 1:
        return np.ascontiguousarray(values, dtype=np.float32), 1, 1
    padded = np.full((-(-rows // by) * by, -(-columns // bx) * bx), np.nan)
    padded[:rows, :columns] = values
    blocks = padded.reshape(padded.shape[0] // by, by, padded.shape[1] // bx, bx)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=RuntimeWarning)  # blocks of nothing stay NaN
        pooled = np.nanmax(blocks, axis=(1, 3)) if how == "max" else np.nanmean(blocks, axis=(1, 3))
    return np.ascontiguousarray(pooled, dtype=np.float32), by, bx


def pooled_edges(edges: NDArray[np.floating], block: int) -> NDArray[np.float64]:
    """Return the edges of blocks of cells, from the edges of the cells."""
    return np.append(edges[:-1:block], edges[-1])


def step_length_map(
    data: Frame,
    *,
    steps: Iterable[float],
    lengths: Iterable[float],
    trained: float,
    colours: ColourMap,
    low: float,
    high: float,
    ticks: Sequence[tuple[float, str]],
    edge: str | None,
    name: str,
    words: Mapping[str, str],
    look: Look,
    cursor: Cursor | None,
) -> Drawing:
    """A heatmap of ``data`` over training step (x) and prefix length (y).

    Args:
        data: one row per step and length.
        steps: every step that has a column, measured or not: an unmeasured one shows the sunken ground, never the
            colours of its neighbours.
        lengths: every length the y axis is laid out for.
        trained: N.
        colours: the colours of the cells.
        low: value of the lowest colour.
        high: value of the highest colour.
        ticks: values and texts next to the colour bar.
        edge: colour of the line at N, see :func:`add_training_edge`.
        name: the name of the figure, after the run's.
        words: title, slice and alternative text.
        look: theme and base text size.
        cursor: selected ``step`` and ``length``, which lines mark.
    """
    lines = np.unique(data["length"].astype(int)).tolist()
    columns = sorted({*data["step"].astype(int).tolist(), *(int(step) for step in steps)})
    x_axis = step_axis(columns)
    y_axis = length_axis(lengths, trained, look.theme, PLOT_HEIGHT, vertical=True)
    y_axis["title"] = {"text": "prefix length"}
    meta: dict[str, Any] = {
        **words,
        "x": span_meta("step", x_axis),
        "y": span_meta("length", y_axis),
        "n": smallest_n(data),
    }
    where = f"{run_name(data)}/{name}"
    figure = blank(look, column="step", xaxis=x_axis, yaxis=y_axis, meta=meta, uirevision=where)
    values, texts = grid_of(data, columns, lines)
    add_heatmap(
        figure,
        values,
        cell_edges([u_step(s) for s in columns]),
        cell_edges([u_length(m) for m in lines]),
        texts=texts,
        colours=colours,
        low=low,
        high=high,
        ticks=ticks,
        look=look,
    )
    add_training_edge(figure, lines, trained, edge)
    add_heatmap_cursor(figure, cursor)
    return figure


def grid_of(data: Frame, steps: Sequence[int], lengths: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Values and tooltips as ``[length, step]`` matrices; NaN and empty where there is no value."""
    values = np.full((len(lengths), len(steps)), np.nan)
    texts = np.full(values.shape, "", dtype=object)
    column, line = {s: i for i, s in enumerate(steps)}, {n: i for i, n in enumerate(lengths)}
    for row in data.rows():
        place = line[int(row["length"])], column[int(row["step"])]
        if not np.isnan(row["value"]):
            values[place] = row["value"]
            texts[place] = hover(row)
    return values, texts.astype(str)


def add_heatmap(
    figure: Drawing,
    values: NDArray[np.floating],
    x_edges: NDArray[np.float64],
    y_edges: NDArray[np.float64],
    *,
    texts: NDArray[np.str_],
    colours: ColourMap,
    low: float,
    high: float,
    ticks: Sequence[tuple[float, str]],
    look: Look,
) -> None:
    """Cells between the given edges with a fixed colour range; what has no value shows the sunken ground."""
    z, by, bx = pool(values)
    x_range, y_range = figure.layout.xaxis.range, figure.layout.yaxis.range
    add_ground(figure, x_range, y_range, look.theme)
    figure.add_heatmap(
        x=pooled_edges(x_edges, bx),
        y=pooled_edges(y_edges, by),
        z=z,
        zmin=low,
        zmax=high,
        colorscale=plotly_scale(colours),
        colorbar=colorbar(look, [v for v, _ in ticks], [s for _, s in ticks]),
        hovertext=texts if by == bx == 1 else None,
        hoverinfo="text" if by == bx == 1 else "z",
        hoverongaps=False,
        name="cells",
    )
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(showgrid=False)


def add_ground(figure: Drawing, x_range: Sequence[float], y_range: Sequence[float], theme: Theme) -> None:
    """The sunken ground that shows where cells have no value."""
    figure.add_shape(
        type="rect",
        x0=x_range[0],
        x1=x_range[1],
        y0=y_range[0],
        y1=y_range[1],
        fillcolor=TOKENS[theme]["sunken"],
        line_width=0,
        layer="below",
    )


def add_training_edge(figure: Drawing, lengths: Sequence[float], trained: float, colour: str | None = None) -> None:
    """Draw a line after the longest trained length on a heatmap whose y axis is length.

    Args:
        figure: the figure to draw into.
        lengths: the rows' lengths, ascending.
        trained: N.
        colour: a plain dashed line of this colour; None = magenta on white, for the performance map.
    """
    inside = sum(n <= trained for n in lengths)
    edge = float(cell_edges([u_length(n) for n in lengths])[inside])
    lines = [(TRAIN_ON_HEATMAP, 1.5, DASH)] if colour is None else [(colour, 1.5, DASH)]
    if colour is None:
        lines.insert(0, ("#FFFFFF", 3.5, "solid"))
    for line, width, dash in lines:
        add_across(figure, edge, {"color": line, "width": width, "dash": dash}, "training length")


def add_heatmap_cursor(figure: Drawing, cursor: Cursor | None) -> None:
    """Lines at the selected step and length of a heatmap: white with a dark edge, readable on every colour."""
    if cursor is None:
        return
    for colour, width in (("#14181F", 3.5), ("#FFFFFF", 1.5)):
        line = {"color": colour, "width": width}
        if cursor.get("step") is not None:
            add_upright(figure, u_step(float(cursor["step"])), line, "cursor")
        if cursor.get("length") is not None:
            add_across(figure, u_length(float(cursor["length"])), line, "cursor")
