"""What the traces of a figure become in a picture: lines, markers, bars, cells and colour bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.figures.export.picture import Anchor, Area, Colour, Line, Mark, Point, Text
from workbench.figures.export.plot_area import Axis, Frame
from workbench.figures.export.plotly_values import CAP, as_list, as_many, corners, dashes, text_lines


def trace_marks(trace: Mapping[str, Any], frame: Frame, usual: Colour, ink: Colour, base: float) -> Iterator[Mark]:
    """The marks of a trace: points and lines, bars, or cells."""
    x, y = frame.axes[trace.get("xaxis", "x")], frame.axes[trace.get("yaxis", "y")]
    kind = trace.get("type", "scatter")
    if kind == "heatmap":
        yield from _cells(trace, x, y)
        if trace.get("showscale", True) and trace.get("colorbar"):
            yield from _colour_bar(trace, frame, ink, base)
    elif kind == "bar":
        yield from _bars(trace, x, y, usual)
    else:
        yield from _points(trace, x, y, usual, ink, base)


def values_along(trace: Mapping[str, Any], side: str) -> list[Any]:
    """The values of a trace along the axis ``x`` or ``y``; of a heatmap without any, the numbers of its cells."""
    values = as_list(trace.get(side))
    if trace.get("type") == "heatmap" and not values:
        z = np.asarray(trace.get("z"))
        return list(range(z.shape[1 if side == "x" else 0])) if z.ndim == 2 else []
    return values


def _points(trace: Mapping[str, Any], x: Axis, y: Axis, usual: Colour, ink: Colour, base: float) -> Iterator[Mark]:
    xs, ys = as_list(trace.get("x")), as_list(trace.get("y"))
    xs = xs or list(range(len(ys)))
    places = [(x.at(a), y.at(b)) for a, b in zip(xs, ys, strict=False)]
    opacity = float(trace.get("opacity") or 1.0)
    line, mode = trace.get("line") or {}, str(trace.get("mode") or "lines+markers")
    marker = trace.get("marker") or {}
    own = marker.get("color") if isinstance(marker.get("color"), str) else None
    colour = Colour.of(line.get("color") or own or usual.hex, opacity)
    pieces = list(_pieces(places, bool(trace.get("connectgaps"))))
    if str(trace.get("fill") or "none") != "none":
        fill = Colour.of(trace.get("fillcolor") or colour.hex, opacity)
        zero = y.at(0)
        for piece in pieces:
            closed = [(piece[0][0], zero), *piece, (piece[-1][0], zero)] if trace["fill"] == "tozeroy" else piece
            yield Area(closed, fill)
    width = float(line["width"] if line.get("width") is not None else 2)
    if "lines" in mode and width:
        for piece in pieces:
            steps = _steps(piece) if line.get("shape") == "hv" else piece
            if len(steps) > 1:
                yield Line(steps, colour, width, dashes(line.get("dash")))
    for side, axis in (("error_y", y), ("error_x", x)):
        yield from _whiskers(trace.get(side) or {}, xs, ys, x, y, axis, colour)
    if "markers" in mode:
        yield from _markers(marker, places, colour, opacity)
    if "text" in mode:
        where = as_many(trace.get("textposition") or "middle center", len(places))
        font = trace.get("textfont") or {}
        for (px, py), text, position in zip(places, as_many(trace.get("text"), len(places)), where, strict=False):
            if text and math.isfinite(px + py):
                size = float(font.get("size") or base) if not isinstance(font.get("size"), list | tuple) else base
                across: Anchor = "start" if "right" in position else "end" if "left" in position else "middle"
                down = size + 2 if "bottom" in position else -4 if "top" in position else size * CAP
                shown = font.get("color") if isinstance(font.get("color"), str) else ink.hex
                yield Text(px, py + down, text_lines(str(text))[0][0], size, Colour.of(shown), anchor=across)


def _whiskers(
    bars: Mapping[str, Any], xs: Sequence[Any], ys: Sequence[Any], x: Axis, y: Axis, along: Axis, usual: Colour
) -> Iterator[Mark]:
    above = as_list(bars.get("array"))
    below = as_list(bars.get("arrayminus")) or above
    colour, width = Colour.of(bars.get("color") or usual.hex), float(bars.get("thickness") or 1)
    for a, b, up, down in zip(xs, ys, above, below, strict=False):
        centre = along.number(a if along is x else b)
        if up is None or down is None or not math.isfinite(centre + float(up) + float(down)):
            continue
        ends = (centre - float(down), centre + float(up))
        if along is x:
            yield Line([(x.at(ends[0]), y.at(b)), (x.at(ends[1]), y.at(b))], colour, width)
        else:
            yield Line([(x.at(a), y.at(ends[0])), (x.at(a), y.at(ends[1]))], colour, width)


def _markers(marker: Mapping[str, Any], places: Sequence[Point], usual: Colour, opacity: float) -> Iterator[Mark]:
    count = len(places)
    sizes, symbols = as_many(marker.get("size", 6), count), as_many(marker.get("symbol") or "circle", count)
    colours = as_many(marker.get("color") if marker.get("color") is not None else usual.hex, count)
    edge = marker.get("line") or {}
    own = marker.get("opacity")
    shown = (float(own) if isinstance(own, int | float) else 1.0) * opacity
    for (px, py), size, symbol, colour in zip(places, sizes, symbols, colours, strict=False):
        if not math.isfinite(px + py) or not size:
            continue
        outline = _outline(str(symbol), px, py, float(size) / 2)
        fill = Colour.of(colour, shown) if isinstance(colour, str) else Colour.of(usual.hex, shown)
        if str(symbol).endswith("-open"):
            yield Line([*outline, outline[0]], fill, float(edge.get("width") or 1.2), clip=False)
            continue
        yield Area(outline, fill, clip=False)
        if isinstance(edge.get("width"), int | float) and edge["width"] and isinstance(edge.get("color"), str):
            yield Line([*outline, outline[0]], Colour.of(edge["color"], shown), float(edge["width"]), clip=False)


def _outline(symbol: str, x: float, y: float, radius: float) -> list[Point]:
    """The corners of a marker."""
    corners: dict[str, list[Point]] = {
        "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
        "triangle-up": [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
        "triangle-down": [(0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
        "triangle-right": [(1.2, 0), (-0.8, 1.1), (-0.8, -1.1)],
        "triangle-left": [(-1.2, 0), (0.8, 1.1), (0.8, -1.1)],
        "line-ns": [(-0.15, -1), (0.15, -1), (0.15, 1), (-0.15, 1)],
    }
    circle = [(math.cos(math.tau * part / 20), math.sin(math.tau * part / 20)) for part in range(20)]
    return [(x + radius * a, y + radius * b) for a, b in corners.get(symbol.removesuffix("-open"), circle)]


def _bars(trace: Mapping[str, Any], x: Axis, y: Axis, usual: Colour) -> Iterator[Mark]:
    flat = trace.get("orientation") == "h"
    xs, ys = as_list(trace.get("x")), as_list(trace.get("y"))
    count = max(len(xs), len(ys))
    marker = trace.get("marker") or {}
    colours = as_many(marker.get("color") if marker.get("color") is not None else usual.hex, count)
    widths, bases = as_many(trace.get("width") or 0.8, count), as_many(trace.get("base") or 0, count)
    for a, b, colour, width, base in zip(xs, ys, colours, widths, bases, strict=False):
        value, place, along, across = (a, b, x, y) if flat else (b, a, y, x)
        if not math.isfinite(along.number(value)):
            continue
        centre = across.number(place)
        share = (across.end - across.start) / (across.range[1] - across.range[0])
        ends = [across.start + (centre + sign * float(width) / 2 - across.range[0]) * share for sign in (-1, 1)]
        near, far = (along.at(0), along.at(value)) if not base else (along.at(base), along.at(base + value))
        box = corners(near, ends[0], far, ends[1]) if flat else corners(ends[0], near, ends[1], far)
        yield Area(box, Colour.of(colour))
    for side, axis in (("error_y", y), ("error_x", x)):
        yield from _whiskers(trace.get(side) or {}, xs, ys, x, y, axis, usual)


def _cells(trace: Mapping[str, Any], x: Axis, y: Axis) -> Iterator[Mark]:
    z = np.asarray(trace.get("z"), float)
    if z.ndim != 2 or not z.size:
        return
    rows, columns = z.shape
    x_edges, y_edges = (_edges(values_along(trace, side), count, axis) for side, count, axis in
                        (("x", columns, x), ("y", rows, y)))  # fmt: skip
    finite = z[np.isfinite(z)]
    low = float(trace["zmin"]) if trace.get("zmin") is not None else float(finite.min(initial=0.0))
    high = float(trace["zmax"]) if trace.get("zmax") is not None else float(finite.max(initial=1.0))
    scale = _scale(trace)
    gap_x, gap_y = float(trace.get("xgap") or 0) / 2, float(trace.get("ygap") or 0) / 2
    for row in range(rows):
        for column in range(columns):
            value = z[row, column]
            if np.isfinite(value):
                (left, right), (one, other) = (sorted(edges[at : at + 2]) for edges, at in
                                               ((x_edges, column), (y_edges, row)))  # fmt: skip
                box = corners(left + gap_x, one + gap_y, right - gap_x, other - gap_y)
                yield Area(box, _of_scale(scale, (float(value) - low) / ((high - low) or 1.0)))


def _edges(values: Sequence[Any], count: int, axis: Axis) -> list[float]:
    """Pixels of the edges of cells, which are given themselves or by their centres."""
    at = [axis.at(value) for value in values]
    if len(at) == count + 1:
        return at
    if count == 1:
        return [at[0] - 20, at[0] + 20]
    middle = [(one + other) / 2 for one, other in pairwise(at)]
    return [2 * at[0] - middle[0], *middle, 2 * at[-1] - middle[-1]]


def _scale(trace: Mapping[str, Any]) -> list[tuple[float, Colour]]:
    given = trace.get("colorscale")
    stops: Sequence[Any] = given if isinstance(given, list | tuple) else [[0.0, "#00224E"], [1.0, "#FEE838"]]
    return [(float(stop), Colour.of(colour)) for stop, colour in stops]


def _of_scale(scale: Sequence[tuple[float, Colour]], share: float) -> Colour:
    share = min(1.0, max(0.0, share))
    for (low, one), (high, other) in pairwise(scale):
        if share <= high:
            part = (share - low) / ((high - low) or 1.0)
            mixed = [round(a + part * (b - a)) for a, b in
                     ((one.red, other.red), (one.green, other.green), (one.blue, other.blue))]  # fmt: skip
            return Colour(mixed[0], mixed[1], mixed[2], one.alpha + part * (other.alpha - one.alpha))
    return scale[-1][1]


def _colour_bar(trace: Mapping[str, Any], frame: Frame, ink: Colour, base: float) -> Iterator[Mark]:
    bar, scale, parts = trace["colorbar"], _scale(trace), 48
    left = frame.left + float(bar.get("x") or 1.02) * (frame.right - frame.left)
    width, length = float(bar.get("thickness") or 8), float(bar.get("len") or 1.0)
    height = (frame.bottom - frame.top) * length
    top = frame.top + (frame.bottom - frame.top - height) / 2
    for part in range(parts):
        upper, lower = top + height * part / parts, top + height * (part + 1) / parts
        yield Area(corners(left, upper, left + width, lower), _of_scale(scale, 1 - (part + 0.5) / parts), clip=False)
    low, high = float(trace.get("zmin") or 0.0), float(trace["zmax"] if trace.get("zmax") is not None else 1.0)
    texts = as_list(bar.get("ticktext"))
    for value, text in zip(as_list(bar.get("tickvals")), texts, strict=False):
        at = top + height * (1 - (float(value) - low) / ((high - low) or 1.0))
        yield Text(left + width + 4, at + base * CAP, text_lines(str(text))[0][0], base, ink)


def _pieces(places: Sequence[Point], connect: bool) -> Iterator[list[Point]]:
    """Runs of points that have a place."""
    piece: list[Point] = []
    for point in places:
        if math.isfinite(point[0] + point[1]):
            piece.append(point)
        elif piece and not connect:
            yield piece
            piece = []
    if piece:
        yield piece


def _steps(points: Sequence[Point]) -> list[Point]:
    stepped = [points[0]]
    for before, after in pairwise(points):
        stepped += [(after[0], before[1]), after]
    return stepped
