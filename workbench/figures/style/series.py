"""Lines over training or prefix length: the plot they stand in, and named lines between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.figures.labels import join_with_dots, sample_size
from workbench.figures.look import Look
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import refuse_empty, run_name, series_of, smallest_n
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_cursor,
    add_end_labels,
    add_line,
    span_meta,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import UNIT, blank, run_axis, unit_axis


def line_plot(
    along: str,
    x_axis: Mapping[str, Any],
    y_axis: Mapping[str, Any],
    *,
    title: str,
    n: int | None,
    name: str,
    look: Look,
    **words: str,
) -> Drawing:
    """An empty plot over ``along`` ("step" or "length").

    Args:
        along: what the x axis shows.
        x_axis: its axis.
        y_axis: the other axis.
        title: the title of the panel.
        n: sequences behind each value, None where that is unknown.
        name: the name of the figure; two figures of one name keep a reader's view of them.
        look: theme and base text size.
        words: ``slice`` (what is shown) and ``alt`` (its description), if they are known already.
    """
    meta: dict[str, Any] = {"title": title, **words, "x": span_meta(along, x_axis), "n": n}
    return blank(look, column=along, xaxis=x_axis, yaxis=y_axis, meta=meta, uirevision=name)


@dataclass(frozen=True)
class LineStyle:
    """The style in which one line of a figure is drawn.

    Attributes:
        colour: the colour of the line.
        width: the width of the line, pixels.
        dash: plotly dash.
        band: whether with its interval.
        written: colour of its name; the line's if empty, None = without a name.
        strong: whether its name is bold.
        symbol: the symbol of the marker at the selection; "" for none.
    """

    colour: str
    width: float = 2.2
    dash: str = "solid"
    band: bool = True
    written: str | None = ""
    strong: bool = False
    symbol: str = "circle"


def series_figure(
    frame: Frame,
    data: Frame,
    along: str,
    *,
    trained: float,
    looks: Mapping[str, LineStyle],
    title: str,
    alt: str,
    place: str = "",
    look: Look,
    cursor: Cursor | None = None,
) -> Drawing:
    """Draw lines with bands of intervals, and with names at their ends.

    Values outside 0 to 1 are drawn at the edge, and tooltips show them.

    Args:
        frame: all rows of the run, which the axis is laid out for.
        data: the rows to draw, as ``rows.tidy`` gives them.
        along: ``step`` or ``length``.
        trained: N.
        looks: by series, those in front last; a series that has none is not drawn.
        title: the title of the panel.
        alt: description of the lines for screen readers.
        place: location in the model, if it is to be named.
        look: theme and base text size.
        cursor: see ``marks.add_cursor``.
    """
    refuse_empty(data, title)
    y_axis, n = unit_axis(), smallest_n(data)
    figure = line_plot(
        along,
        run_axis(along, frame.distinct(along), trained, look.theme),
        y_axis,
        title=title,
        slice=join_with_dots(place, sample_size(n)),
        n=n,
        name=f"{run_name(data)}/{title.lower().replace(' ', '_')}_over_{along}",
        look=look,
    )
    labels, marked = add_series(figure, data, along, looks, clip=UNIT)
    add_end_labels(figure, sorted(labels, key=lambda label: not label[3]), y_axis["range"], look.size)
    add_cursor(figure, cursor, along, look.theme, marked, clip=UNIT)
    figure.layout.meta["alt"] = alt
    return figure


def add_series(
    figure: Drawing,
    data: Frame,
    along: str,
    looks: Mapping[str, LineStyle],
    *,
    clip: tuple[float, float] | None = None,
) -> tuple[list[Label], list[tuple[Frame, str, str]]]:
    """Lines of the series that have a style, in the order of the styles.

    Returns:
        the labels of their ends, and what :func:`workbench.figures.style.marks.add_cursor` marks of them.
    """
    parts = dict(series_of(data))
    labels: list[Label] = []
    marked = []
    for name, line in looks.items():
        if name not in parts:
            continue
        rows = parts[name]
        end = add_line(figure, rows, along, line.colour, width=line.width, dash=line.dash, band=line.band, clip=clip)
        if line.written is not None:
            labels.append((name, end, line.written or line.colour, line.strong))
        if line.symbol:
            marked.append((rows, line.colour, line.symbol))
    return labels, marked


def alt_text(data: Frame, along: str, at: Sequence[float], names: Sequence[str] | None = None) -> str:
    """Return the values of lines at some x values, in words, for screen readers."""
    parts = dict(series_of(data))
    return "; ".join(f"{name} {values_in_words(parts[name], along, at)}" for name in names or parts if name in parts)
