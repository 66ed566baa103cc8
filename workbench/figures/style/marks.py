"""What every figure is drawn with: lines with bands and gaps, labels, wash, selection marks, hover texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.figures.export.titled_figure import END_LABEL, LEADER, TitledFigure
from workbench.figures.labels import (
    LABEL_SEPARATION,
    all_counted,
    interval,
    layer_name,
    length_said,
    line_name_heights,
    magnitude,
    proportion,
    whole,
)
from workbench.figures.look import Look, Theme
from workbench.figures.rows.frame import Frame, missing, present
from workbench.figures.style.design_tokens import TOKENS, rgba
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import DASH, DOTS, PLOT_HEIGHT, PLOT_WIDTH, u_length, u_step
from workbench.models.base.graph import head_name

Floats = NDArray[np.float64]
Cursor = Mapping[str, float]
#: Text, height in axis units (None: the line has no end to stand at), colour, whether it is a name rather than a note.
Label = tuple[str, float | None, str, bool]


class LineEnd(float):
    """The end of a line: its height in axis units, and ``x``, its position on the other axis."""

    x: float

    def __new__(cls, height: float, x: float) -> LineEnd:
        made = super().__new__(cls, height)
        made.x = x
        return made


BAND_OPACITY = 0.16
#: Part of an axis by which all lines may stop before its end and still be seen to be what the names there are of.
_SHORT = 0.25
_PLACE = {"step": u_step, "length": u_length, "layer": float}


def places(data: Frame, along: str) -> Floats:
    """Return the positions of the rows of ``data`` on the axis ``along`` ("step", "length" or "layer")."""
    return np.array([_PLACE[along](float(x)) for x in data[along]], dtype=float)


def hover(row: Mapping[str, Any], decimals: int = 3) -> str:
    """Return the tooltip of a row: quantity, position, value, interval, n, and the status unless it is ok."""
    head = [str(row["series"])]
    if row["layer"] is not None and not missing(row["layer"]):
        layer = int(row["layer"])
        named = missing(row["head"])
        head.append(layer_name(layer) if named else head_name(layer, int(row["head"])))
        if head[0] in ("others", head[1]):
            head = head[1:]
    if row["control"]:
        head.append(str(row["control"]).replace("_", " "))
    where = [] if missing(row["step"]) else [f"step {whole(row['step'])}"]
    where += [] if missing(row["length"]) else [length_said(row["length"], row.get("note"))]
    number = proportion if abs(row["value"]) <= 1.5 else (lambda x, _: magnitude(x))
    value = number(row["value"], decimals)
    every = all_counted(row.get("note"))
    limits = interval(row["low"], row["high"], decimals) or every
    counted = "" if missing(row["n"]) or every else f" \u00b7 n {whole(row['n'])}"
    lines = [" \u00b7 ".join(head), " \u00b7 ".join(where), f"<b>{value}</b> {limits}{counted}"]
    if row["status"] != "ok":
        note = f": {row['note']}" if row["note"] else ""
        lines.append(str(row["status"]).replace("_", " ") + note)
    return "<br>".join(lines)


def hovers(data: Frame, about: str = "") -> list[str]:
    """Return the tooltips of the rows of ``data``, each with ``about`` as its last line."""
    return [hover(row) + (f"<br>{about}" if about else "") for row in data.rows()]


def runs_of(valid: NDArray[np.bool_]) -> list[slice]:
    """Return the stretches of consecutive True values, as slices."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], valid.astype(np.int8), [0]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def add_band(figure: Drawing, x: Floats, low: Floats, high: Floats, colour: str) -> None:
    """Draw the band of intervals around a line: 16 % of the line's colour, no edge, broken where a limit is missing."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for part in runs_of(np.isfinite(low) & np.isfinite(high)):
        xs += [*x[part], *x[part][::-1], None]
        ys += [*high[part], *low[part][::-1], None]
    if not xs:
        return
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=rgba(colour, BAND_OPACITY),
        hoverinfo="skip",
        name="band",
    )


def add_line(
    figure: Drawing,
    data: Frame,
    along: str,
    colour: str,
    *,
    width: float = 2.2,
    dash: str = "solid",
    band: bool = True,
    clip: tuple[float, float] | None = None,
    place: Callable[[float], float] | None = None,
    shift: float = 0.0,
    about: str = "",
) -> LineEnd | None:
    """Draw one line with its band. Undefined rows leave gaps, and a point without neighbours is drawn as a dot.

    Args:
        figure: the figure to draw into.
        data: rows of one series, sorted along the axis.
        along: ``step`` or ``length``.
        colour: ``#RRGGBB``.
        width: the width of the line, pixels.
        dash: plotly dash.
        band: whether to draw the interval.
        clip: limits to draw within (tooltips keep the value).
        place: value to axis units, where the axis is not linear in the value.
        shift: how far to the right of its rows it is drawn, in axis units; tooltips keep the true value.
        about: a further line of each tooltip.

    Returns:
        where the line ends, None where nothing of it is drawn.
    """
    x = places(data, along) + shift
    y, low, high = (data[c].astype(float) for c in ("value", "low", "high"))
    if place is not None:
        y, low, high = (np.array([place(float(v)) for v in values]) for values in (y, low, high))
    if clip is not None:
        y, low, high = (np.clip(v, *clip) for v in (y, low, high))
    if band:
        add_band(figure, x, low, high, colour)
    sizes = np.zeros(len(x))
    for part in runs_of(np.isfinite(y)):
        if part.stop - part.start == 1:
            sizes[part] = 2 * width + 1
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers",
        line={"color": colour, "width": width, "dash": dash},
        marker={"size": sizes, "color": colour, "line": {"width": 0}},
        connectgaps=False,
        hovertext=hovers(data, about),
        hoverinfo="text",
        name=str(data["series"][0]),
    )
    drawn = np.flatnonzero(np.isfinite(y))
    return LineEnd(float(y[drawn[-1]]), float(x[drawn[-1]])) if len(drawn) else None


def last_value(y: Sequence[float] | Floats) -> float | None:
    """Return the last finite value; None if no value is finite."""
    values = np.asarray(y, dtype=float)
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if len(finite) else None


def add_end_labels(
    figure: Drawing,
    labels: Sequence[Label],
    yrange: Sequence[float],
    size: int,
    pixels: float = PLOT_HEIGHT,
) -> None:
    """Write the names of the lines at their right ends, in their colours, without overlap.

    A thin line connects a line that ends early to its name.

    Args:
        figure: the figure to draw into.
        labels: the labels of the lines; those without an end are left out.
        yrange: the axis range.
        size: text size, pixels.
        pixels: height of the axis on the smallest panel.
    """
    low, high = float(yrange[0]), float(yrange[1])
    ended = [(text, height, colour, role) for text, height, colour, role in labels if height is not None]
    heights = line_name_heights([h for _, h, _, _ in ended], low, high, pixels)
    left, right = (float(v) for v in figure.layout.xaxis.range)
    near = min(max((end.x for _, end, *_ in ended if isinstance(end, LineEnd)), default=right), right)
    near = max(near, right - _SHORT * (right - left))
    for (text, end, colour, role), height in zip(ended, heights, strict=True):
        if isinstance(end, LineEnd) and end.x < near:
            # On beyond the axis, which may be laid out anew, with other ends.
            path = f"M{end.x:g},{end:g}L{right:g},{height:g}L{2 * right - left:g},{height:g}"
            line = {"color": colour, "width": 1, "dash": DOTS}
            figure.add_shape(type="path", path=path, line=line, opacity=0.7, layer="below", name=LEADER)
        figure.add_annotation(
            x=1,
            xref="paper",
            xanchor="left",
            xshift=4,
            y=height,
            yanchor="middle",
            text=text,
            font={"color": colour, "size": size, "weight": 600 if role else 400},
            name=END_LABEL,
        )
    if isinstance(figure, TitledFigure) and pixels == PLOT_HEIGHT:  # the only axis; a larger figure has more room
        figure.line_ends = tuple(float(end) for _, end, *_ in ended)


def add_zone(figure: Drawing, low: float, high: float, colour: str, opacity: float | None = None) -> None:
    """Draw a background between two positions of the x axis, over the whole height."""
    figure.add_shape(
        type="rect",
        x0=low,
        x1=high,
        y0=0,
        y1=1,
        yref="paper",
        fillcolor=colour,
        opacity=opacity,
        line_width=0,
        layer="below",
    )


def add_hatching(figure: Drawing, low: float, high: float, yrange: Sequence[float], theme: Theme) -> None:
    """Draw thin slanted lines between two positions of the x axis. They mean that values there are drawn but not
    tested.

    Args:
        figure: the figure to draw into.
        low, high: the two positions, in axis units.
        yrange: from where to where on the other axis, in axis units.
        theme: light or dark.
    """
    bottom, top = float(yrange[0]), float(yrange[1])
    figure.add_scatter(
        x=[low, high, high, low],
        y=[bottom, bottom, top, top],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor="rgba(0,0,0,0)",
        fillpattern={"shape": "/", "size": 9, "solidity": 0.06, "fgcolor": rgba(TOKENS[theme]["ink3"], 0.5)},
        hoverinfo="skip",
        name="not tested",
    )


def add_upright(figure: Drawing, x: float, line: Mapping[str, Any], name: str) -> None:
    """Draw a line over the whole height at one position of the x axis."""
    figure.add_shape(type="line", x0=x, x1=x, y0=0, y1=1, yref="paper", line=dict(line), name=name)


def add_across(figure: Drawing, y: float, line: Mapping[str, Any], name: str) -> None:
    """Draw a line over the whole width at one position of the y axis."""
    figure.add_shape(type="line", x0=0, x1=1, xref="paper", y0=y, y1=y, line=dict(line), name=name)


def add_training(
    figure: Drawing,
    trained: float,
    look: Look,
    *,
    avoid: Sequence[tuple[float, float]] = (),
    label: bool = True,
) -> None:
    """Mark N, the longest trained length, on a length axis: a light background over trained lengths, a dashed line and
    its name.

    Args:
        figure: its x axis is a length axis, its y axis has a range.
        trained: N.
        look: theme and base text size.
        avoid: drawn points (x, y) the name should keep away from.
        label: whether to write the name.
    """
    t = TOKENS[look.theme]
    low, high = (float(v) for v in figure.layout.xaxis.range)
    u = u_length(trained)
    if u < low:
        return
    add_zone(figure, low, min(u, high), t["train_wash"])
    if u > high:
        return
    add_upright(figure, u, {"color": t["train"], "width": 1.5, "dash": DASH}, "training length")
    if not label:
        return
    text = f"trained \u2264 {whole(trained)}"
    wide = (6.2 * len(text) + 10) / PLOT_WIDTH * (high - low)
    fits_left = u - wide >= low
    span = (u - wide, u) if fits_left else (u, u + wide)
    figure.add_annotation(
        x=u,
        y=_free_height(figure, span, avoid),
        xanchor="right" if fits_left else "left",
        xshift=-5 if fits_left else 5,
        yanchor="middle",
        text=text,
        font={"color": t["train"], "size": look.size, "weight": 400},
        name="training label",
    )


def _free_height(figure: Drawing, span: tuple[float, float], avoid: Sequence[tuple[float, float]]) -> float:
    """The lowest height inside the y range that keeps off what is drawn within ``span``, or the furthest."""
    low, high = (float(v) for v in figure.layout.yaxis.range)
    pad = 0.1 * (span[1] - span[0])
    near = [y for x, y in avoid if span[0] - pad <= x <= span[1] + pad and np.isfinite(y)]
    heights = [low + (0.12 + 0.04 * i) * (high - low) for i in range(20)]
    enough = LABEL_SEPARATION * 1.3 * (high - low) / PLOT_HEIGHT
    # the lowest height with room enough, because low in the plot is where these figures have the least
    return max(heights, key=lambda h: round(min(*(abs(h - y) for y in near), enough, enough), 6))


def drawn_points(
    data: Frame, along: str, place: Callable[[float], float] = float, steps: int = 8
) -> list[tuple[float, float]]:
    """Return points on the lines of ``data``, including points between two rows, in axis units."""
    points: list[tuple[float, float]] = []
    for _, rows in data.group("series"):
        x, y = places(rows, along), np.array([place(float(v)) for v in rows["value"]])
        for part in runs_of(np.isfinite(y)):
            count = part.stop - part.start
            fine = np.linspace(0, count - 1, (count - 1) * steps + 1)
            at = np.arange(count)
            points += zip(np.interp(fine, at, x[part]), np.interp(fine, at, y[part]), strict=True)
    return points


def add_level(
    figure: Drawing,
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    theme: Theme,
    dash: str = DASH,
    name: str = "level",
) -> None:
    """Draw a dashed or dotted grey reference line (chance level, best shortcut, or zero)."""
    figure.add_scatter(
        x=list(x),
        y=list(y),
        mode="lines",
        line={"color": TOKENS[theme]["control"], "width": 1, "dash": dash},
        hoverinfo="skip",
        name=name,
    )


def add_cursor(
    figure: Drawing,
    cursor: Cursor | None,
    along: str,
    theme: Theme,
    series: Sequence[tuple[Frame, str, str]] = (),
    clip: tuple[float, float] | None = None,
) -> None:
    """Draw the line at the selected step or length, in notebooks and exports. (The dashboard draws its own line over
    the figure.)

    Args:
        figure: the figure to draw into.
        cursor: ``{"step": ..., "length": ...}``, or None for no line.
        along: which of the two this figure's x axis shows.
        theme: light or dark.
        series: (rows, colour, marker symbol) of the lines to mark where they meet that line.
        clip: limits the lines were drawn within.
    """
    if cursor is None or cursor.get(along) is None:
        return
    t = TOKENS[theme]
    x = _PLACE[along](float(cursor[along]))
    add_upright(figure, x, {"color": t["ink"], "width": 1.2}, "cursor")
    for rows, colour, symbol in series:
        here = rows.where(present(rows["value"]), **{along: cursor[along]})
        if len(here):
            y = float(here["value"][0])
            figure.add_scatter(
                x=[x],
                y=[y if clip is None else min(max(y, clip[0]), clip[1])],
                mode="markers",
                marker={
                    "size": 7,
                    "color": colour,
                    "symbol": symbol,
                    "line": {"color": t["surface"], "width": 1},
                },
                hoverinfo="skip",
                name="selected",
            )


def span_meta(kind: str, axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the browser needs to draw a selection line on an axis: the kind of axis, and its range in axis
    units.
    """
    return {"kind": kind, "low": float(axis["range"][0]), "high": float(axis["range"][1])}


def values_in_words(data: Frame, along: str, at: Sequence[float]) -> str:
    """Return the values of a line at some x values, in words: ``1.00 at length 50, 0.52 at length 1,024``."""
    parts = []
    for x in dict.fromkeys(at):
        here = data.where(present(data["value"]), **{along: x})
        if len(here):
            parts.append(f"{proportion(float(here['value'][0]))} at {along} {whole(x)}")
    return ", ".join(parts) if parts else "nowhere defined"
