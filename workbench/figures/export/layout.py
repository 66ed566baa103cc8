"""A plotly figure laid out in pixels, as plotly would draw it: traces of points, bars and cells, shapes and texts."""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.figures.export.picture import Anchor, Area, Colour, Line, Mark, Picture, Point, Text, text_width

SIZE = (640.0, 400.0)
"""Width and height of a picture in pixels, unless the figure or the caller says otherwise."""
TITLE_HEIGHT = 40.0
"""Height of the title and of the line below it, pixels."""
_COLOURS = ("#3B6FD4", "#D4803B", "#3B9D6B", "#A8127A", "#626C7B", "#8A6FD4", "#B8A13B", "#14181F")
_DASHES = {"dash": (6.0, 4.0), "dot": (1.5, 3.0), "dashdot": (6.0, 3.0, 1.5, 3.0), "longdash": (10.0, 4.0)}
_CAP = 0.36
"""Half of the height of a capital letter, as a share of the type size."""


class Axis:
    """One axis: where its values are in pixels.

    Args:
        settings: its layout, with that of the template below it.
        values: all values drawn along it, from which it takes its range if it has none.
        start, end: pixels of the two ends of the whole plot area; a domain takes a part of it.
        with_zero: whether the range has to contain 0.
    """

    def __init__(
        self, settings: Mapping[str, Any], values: Iterable[Any], start: float, end: float, with_zero: bool = False
    ) -> None:
        self.settings = settings
        low, high = settings.get("domain") or (0.0, 1.0)
        self.start, self.end = start + low * (end - start), start + high * (end - start)
        listed = [value for value in values if value is not None]
        self.categories: dict[Any, float] = {}
        if settings.get("type") == "category" or any(isinstance(value, str) for value in listed):
            order = [*_listed(settings.get("categoryarray")), *listed]
            self.categories = {value: float(index) for index, value in enumerate(dict.fromkeys(order))}
        self.log = settings.get("type") == "log"
        self.range = self._range(listed, with_zero)

    def number(self, value: Any) -> float:
        """A value as a number along the axis; NaN if the axis cannot show it."""
        if value in self.categories:
            return self.categories[value]
        try:
            number = float(value)
        except (TypeError, ValueError):
            return math.nan
        if self.log:
            return math.log10(number) if number > 0 else math.nan
        return number

    def at(self, value: Any) -> float:
        """The pixel of a value."""
        low, high = self.range
        return self.start + (self.number(value) - low) / ((high - low) or 1.0) * (self.end - self.start)

    def _range(self, values: Sequence[Any], with_zero: bool) -> tuple[float, float]:
        given = self.settings.get("range")
        if given is not None and len(given) == 2 and all(one is not None for one in given):
            return float(given[0]), float(given[1])
        numbers = [number for value in values if math.isfinite(number := self.number(value))]
        numbers += [0.0] if with_zero and not self.log else []
        low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
        pad = 0.5 if self.categories else 0.05 * ((high - low) or 1.0)
        ends = low - pad, high + pad
        return (ends[1], ends[0]) if self.settings.get("autorange") == "reversed" else ends

    def ticks(self) -> list[tuple[float, str]]:
        """Pixel and text of each tick inside the range."""
        values, texts = self.settings.get("tickvals"), self.settings.get("ticktext")
        if values is None:
            values, texts = self._own_ticks()
        labels = texts if texts is not None else [_number_text(value) for value in values]
        low, high = sorted((self.start, self.end))
        placed = [(self.at(value), str(text)) for value, text in zip(values, labels, strict=False)]
        return [(at, text) for at, text in placed if low - 0.5 <= at <= high + 0.5]

    def _own_ticks(self) -> tuple[list[Any], list[str]]:
        if self.categories:
            return list(self.categories), [str(name) for name in self.categories]
        low, high = sorted(self.range)
        if self.log:
            powers = range(math.ceil(low), math.floor(high) + 1)
            return [10.0**power for power in powers], [_number_text(10.0**power) for power in powers]
        rough = ((high - low) or 1.0) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        gap = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
        values = [round(index * gap, 12) for index in range(math.ceil(low / gap), math.floor(high / gap) + 1)]
        return list(values), [_number_text(value) for value in values]


@dataclass(frozen=True)
class Frame:
    """The plot area: left, top, right, bottom in pixels, and the axes by name (``x``, ``y2``)."""

    left: float
    top: float
    right: float
    bottom: float
    axes: Mapping[str, Axis]

    def x(self, value: Any, ref: str) -> float:
        """The pixel of an x in the units of ``ref``: an axis, its domain, or ``paper``."""
        return self._place(value, ref, self.left, self.right)

    def y(self, value: Any, ref: str) -> float:
        """The pixel of a y in the units of ``ref``."""
        return self._place(value, ref, self.bottom, self.top)

    def _place(self, value: Any, ref: str, start: float, end: float) -> float:
        if ref == "paper":
            return start + float(value) * (end - start)
        axis = self.axes[ref.removesuffix(" domain")]
        if ref.endswith(" domain"):
            return axis.start + float(value) * (axis.end - axis.start)
        return axis.at(value)


def laid_out(figure: Mapping[str, Any], width: float | None = None, height: float | None = None) -> Picture:
    """A figure as a picture.

    Args:
        figure: plotly's figure as a dict, ``figure.to_dict()``.
        width, height: in pixels; None = as in the figure, else :data:`SIZE`.
    """
    figure = _decoded(figure)
    layout = figure["layout"]
    template = (layout.get("template") or {}).get("layout") or {}
    traces = [trace for trace in figure["data"] if trace.get("visible", True) is True]
    wide = float(width or layout.get("width") or SIZE[0])
    high = float(height or layout.get("height") or SIZE[1])
    meta = layout.get("meta") or {}
    title, below = _titles(layout, meta)
    margin = {"l": 60.0, "r": 30.0, "t": 10.0, "b": 46.0} | dict(layout.get("margin") or {})
    top = float(margin["t"]) + (TITLE_HEIGHT if title else 0.0)
    left, right = _sides(layout, template, margin, wide)
    bottom = high - float(margin["b"])
    axes = {}
    names = {"x", "y"} | {trace.get(f"{side}axis", side) for trace in traces for side in "xy"}
    names |= {f"{key[0]}{key[5:]}" for key in layout if re.fullmatch(r"[xy]axis\d*", key)}
    for name in sorted(names):
        side = name[0]
        key = f"{side}axis{name[1:]}"
        settings = _merged(template.get(f"{side}axis") or {}, layout.get(key) or {})
        drawn = [trace for trace in traces if trace.get(f"{side}axis", side) == name]
        values = [value for trace in drawn for value in _along(trace, side)]
        zero = any(trace.get("type") == "bar" and (trace.get("orientation") == "h") == (side == "x") for trace in drawn)
        ends = (left, right) if side == "x" else (bottom, top)
        axes[name] = Axis(settings, values, *ends, with_zero=zero)
    frame = Frame(left, top, right, bottom, axes)
    font = _merged(template.get("font") or {}, layout.get("font") or {})
    ink, base = Colour.of(font.get("color", "#14181F")), float(font.get("size", 11))
    paper = Colour.of(layout.get("paper_bgcolor") or template.get("paper_bgcolor") or "#FFFFFF")
    marks: list[Mark] = [Area(_box(0, 0, wide, high), paper if paper.alpha else Colour(255, 255, 255), clip=False)]
    plot = Colour.of(layout.get("plot_bgcolor") or template.get("plot_bgcolor") or "rgba(0,0,0,0)")
    marks += [Area(_box(left, top, right, bottom), plot)] if plot.alpha else []
    shapes = layout.get("shapes") or ()
    marks += [mark for shape in shapes if shape.get("layer") == "below" for mark in _shape(shape, frame)]
    marks += [mark for name, axis in axes.items() for mark in _grid(name, axis, frame)]
    for index, trace in enumerate(traces):
        marks += _trace(trace, frame, Colour.of(_COLOURS[index % len(_COLOURS)]), ink, base)
    marks += [mark for shape in shapes if shape.get("layer") != "below" for mark in _shape(shape, frame)]
    marks += [mark for name, axis in axes.items() for mark in _axis_marks(name, axis, frame, ink, base)]
    default = template.get("annotationdefaults") or {}
    for note in layout.get("annotations") or ():
        marks += _annotation(_merged(default, note), frame, ink, base)
    if layout.get("showlegend"):
        marks += _legend(traces, frame, ink, base)
    if title:
        marks.append(Text(8, 18, title, base + 2, Colour.of("#14181F"), bold=True))
        marks += [Text(8, 34, below, base, ink)] if below else []
    return Picture(wide, high, (left, top, right, bottom), marks, title, str(meta.get("alt", "")))


def _sides(
    layout: Mapping[str, Any], template: Mapping[str, Any], margin: Mapping[str, Any], width: float
) -> tuple[float, float]:
    """Left and right end of the plot area: the margins of the figure, or more where its texts need it."""
    axis = _merged(template.get("yaxis") or {}, layout.get("yaxis") or {})
    size = float((axis.get("tickfont") or {}).get("size") or 11)
    lines = [text for label in _listed(axis.get("ticktext")) for text, _ in _lines(str(label))]
    title = axis.get("title") or {}
    titled = title.get("text") if isinstance(title, Mapping) else title
    left = max((text_width(text, size) for text in lines), default=24.0) + 12 + (size + 10 if titled else 0)
    right = 0.0
    for note in layout.get("annotations") or ():
        if note.get("xref") == "paper" and note.get("xanchor") == "left" and float(note.get("x") or 0) >= 1:
            font = note.get("font") or {}
            widths = [
                text_width(text, float(font.get("size") or 11), True) for text, _ in _lines(str(note.get("text")))
            ]
            right = max(right, float(note.get("xshift") or 0) + max(widths) + 6)
    return max(float(margin["l"]), left), width - min(max(float(margin["r"]), right), 0.45 * width)


def _titles(layout: Mapping[str, Any], meta: Mapping[str, Any]) -> tuple[str, str]:
    """The title and the line below it."""
    title = layout.get("title")
    if isinstance(title, Mapping) and title.get("text"):
        lines = _lines(str(title["text"]))
        return lines[0][0], " ".join(text for text, _ in lines[1:])
    return str(meta.get("title", "")), str(meta.get("slice", ""))


def _along(trace: Mapping[str, Any], side: str) -> list[Any]:
    values = _listed(trace.get(side))
    if trace.get("type") == "heatmap" and not values:
        z = np.asarray(trace.get("z"))
        return list(range(z.shape[1 if side == "x" else 0])) if z.ndim == 2 else []
    return values


def _trace(trace: Mapping[str, Any], frame: Frame, usual: Colour, ink: Colour, base: float) -> Iterator[Mark]:
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


def _points(trace: Mapping[str, Any], x: Axis, y: Axis, usual: Colour, ink: Colour, base: float) -> Iterator[Mark]:
    xs, ys = _listed(trace.get("x")), _listed(trace.get("y"))
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
                yield Line(steps, colour, width, _dash(line.get("dash")))
    for side, axis in (("error_y", y), ("error_x", x)):
        yield from _whiskers(trace.get(side) or {}, xs, ys, x, y, axis, colour)
    if "markers" in mode:
        yield from _markers(marker, places, colour, opacity)
    if "text" in mode:
        where = _each(trace.get("textposition") or "middle center", len(places))
        font = trace.get("textfont") or {}
        for (px, py), text, position in zip(places, _each(trace.get("text"), len(places)), where, strict=False):
            if text and math.isfinite(px + py):
                size = float(font.get("size") or base) if not isinstance(font.get("size"), list | tuple) else base
                across: Anchor = "start" if "right" in position else "end" if "left" in position else "middle"
                down = size + 2 if "bottom" in position else -4 if "top" in position else size * _CAP
                shown = font.get("color") if isinstance(font.get("color"), str) else ink.hex
                yield Text(px, py + down, _lines(str(text))[0][0], size, Colour.of(shown), anchor=across)


def _whiskers(
    bars: Mapping[str, Any], xs: Sequence[Any], ys: Sequence[Any], x: Axis, y: Axis, along: Axis, usual: Colour
) -> Iterator[Mark]:
    above = _listed(bars.get("array"))
    below = _listed(bars.get("arrayminus")) or above
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
    sizes, symbols = _each(marker.get("size", 6), count), _each(marker.get("symbol") or "circle", count)
    colours = _each(marker.get("color") if marker.get("color") is not None else usual.hex, count)
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
    xs, ys = _listed(trace.get("x")), _listed(trace.get("y"))
    count = max(len(xs), len(ys))
    marker = trace.get("marker") or {}
    colours = _each(marker.get("color") if marker.get("color") is not None else usual.hex, count)
    for a, b, colour, width in zip(xs, ys, colours, _each(trace.get("width") or 0.8, count), strict=False):
        value, place, along, across = (a, b, x, y) if flat else (b, a, y, x)
        if not math.isfinite(along.number(value)):
            continue
        centre = across.number(place)
        share = (across.end - across.start) / (across.range[1] - across.range[0])
        ends = [across.start + (centre + sign * float(width) / 2 - across.range[0]) * share for sign in (-1, 1)]
        near, far = along.at(0), along.at(value)
        box = _box(near, ends[0], far, ends[1]) if flat else _box(ends[0], near, ends[1], far)
        yield Area(box, Colour.of(colour))
    for side, axis in (("error_y", y), ("error_x", x)):
        yield from _whiskers(trace.get(side) or {}, xs, ys, x, y, axis, usual)


def _cells(trace: Mapping[str, Any], x: Axis, y: Axis) -> Iterator[Mark]:
    z = np.asarray(trace.get("z"), float)
    if z.ndim != 2 or not z.size:
        return
    rows, columns = z.shape
    x_edges, y_edges = (_edges(_along(trace, side), count, axis) for side, count, axis in
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
                box = _box(left + gap_x, one + gap_y, right - gap_x, other - gap_y)
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
        yield Area(_box(left, upper, left + width, lower), _of_scale(scale, 1 - (part + 0.5) / parts), clip=False)
    low, high = float(trace.get("zmin") or 0.0), float(trace["zmax"] if trace.get("zmax") is not None else 1.0)
    texts = _listed(bar.get("ticktext"))
    for value, text in zip(_listed(bar.get("tickvals")), texts, strict=False):
        at = top + height * (1 - (float(value) - low) / ((high - low) or 1.0))
        yield Text(left + width + 4, at + base * _CAP, _lines(str(text))[0][0], base, ink)


def _shape(shape: Mapping[str, Any], frame: Frame) -> Iterator[Mark]:
    opacity = float(shape["opacity"]) if shape.get("opacity") is not None else 1.0
    line = shape.get("line") or {}
    width = float(line["width"] if line.get("width") is not None else 2)
    colour = Colour.of(line.get("color") or "#444444", opacity)
    x_ref, y_ref = str(shape.get("xref") or "x"), str(shape.get("yref") or "y")
    whole = "paper" in (x_ref, y_ref) and "domain" not in f"{x_ref}{y_ref}"
    if shape.get("type") == "path":
        points = _path(str(shape.get("path", "")), frame, x_ref, y_ref)
        if len(points) > 1:
            if shape.get("fillcolor"):
                yield Area(points, Colour.of(shape["fillcolor"], opacity))
            if width:
                yield Line(points, colour, width, _dash(line.get("dash")))
        return
    x0, x1 = (frame.x(shape[key], x_ref) for key in ("x0", "x1"))
    y0, y1 = (frame.y(shape[key], y_ref) for key in ("y0", "y1"))
    if not all(map(math.isfinite, (x0, x1, y0, y1))):
        return
    if shape.get("type") == "line":
        if width:
            yield Line([(x0, y0), (x1, y1)], colour, width, _dash(line.get("dash")), clip=not whole)
        return
    box = _box(x0, y0, x1, y1)
    if shape.get("fillcolor"):
        yield Area(box, Colour.of(shape["fillcolor"], opacity))
    if width:
        yield Line([*box, box[0]], colour, width, _dash(line.get("dash")))


def _path(path: str, frame: Frame, x_ref: str, y_ref: str) -> list[Point]:
    """The corners of an SVG path of straight lines."""
    numbers = re.findall(r"[MLQC]\s*([-+0-9.eE]+)[ ,]+([-+0-9.eE]+)", path)
    return [(frame.x(float(a), x_ref), frame.y(float(b), y_ref)) for a, b in numbers]


def _grid(name: str, axis: Axis, frame: Frame) -> Iterator[Mark]:
    if axis.settings.get("visible") is False or axis.settings.get("showgrid") is False:
        return
    colour = Colour.of(axis.settings.get("gridcolor") or "#E3E7EC")
    for at, _ in axis.ticks():
        ends: list[Point] = (
            [(at, frame.top), (at, frame.bottom)] if name[0] == "x" else [(frame.left, at), (frame.right, at)]
        )
        yield Line(ends, colour, 1.0)


def _axis_marks(name: str, axis: Axis, frame: Frame, ink: Colour, base: float) -> Iterator[Mark]:
    if axis.settings.get("visible") is False:
        return
    across = name[0] == "x"
    if axis.settings.get("showticklabels") is not False:
        font = axis.settings.get("tickfont") or {}
        size, usual = float(font.get("size") or base), Colour.of(font.get("color") or ink.hex)
        for at, label in axis.ticks():
            for line, (text, colour) in enumerate(_lines(label)):
                shade = usual if colour is None else colour
                if across:
                    yield Text(at, frame.bottom + size + 3 + 1.2 * size * line, text, size, shade, anchor="middle")
                else:
                    yield Text(frame.left - 6, at + size * _CAP + 1.2 * size * line, text, size, shade, anchor="end")
    title = axis.settings.get("title") or {}
    titled = title.get("text") if isinstance(title, Mapping) else title
    if titled:
        size = float((title.get("font") or {}).get("size") or base) if isinstance(title, Mapping) else base
        words = " ".join(line for line, _ in _lines(str(titled)))
        middle = (axis.start + axis.end) / 2
        if across:
            yield Text(middle, frame.bottom + 2 * base + 10, words, size, ink, anchor="middle")
        else:
            ticks = [line for _, label in axis.ticks() for line, _ in _lines(label)]
            aside = max((text_width(line, size) for line in ticks), default=24.0) + 14
            yield Text(max(size + 1, frame.left - aside), middle, words, size, ink, anchor="middle", upright=True)


def _annotation(note: Mapping[str, Any], frame: Frame, ink: Colour, base: float) -> Iterator[Mark]:
    if note.get("visible") is False or not note.get("text"):
        return
    font = note.get("font") or {}
    size, colour = float(font.get("size") or base), Colour.of(font.get("color") or ink.hex)
    bold = (
        float(font.get("weight") or 400) >= 600 if not isinstance(font.get("weight"), str) else font["weight"] == "bold"
    )
    x_ref, y_ref = str(note.get("xref") or "x"), str(note.get("yref") or "y")
    x = frame.x(note.get("x", 0.5), x_ref) + float(note.get("xshift") or 0)
    y = frame.y(note.get("y", 0.5), y_ref) - float(note.get("yshift") or 0)
    lines = _lines(str(note["text"]))
    if not math.isfinite(x + y):
        return
    anchors: dict[str, Anchor] = {"left": "start", "right": "end", "center": "middle"}
    usual = "center"
    if x_ref == "paper":
        usual = "left" if float(note["x"]) < 0.34 else "right" if float(note["x"]) > 0.66 else "center"
    given = str(note.get("xanchor") or "auto")
    anchor = anchors[usual if given == "auto" else given]
    height = 1.25 * size * len(lines)
    upper = {"top": y, "bottom": y - height}.get(str(note.get("yanchor")), y - height / 2)
    if note.get("bgcolor"):
        wide = max(text_width(text, size, bold) for text, _ in lines)
        start = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
        yield Area(
            _box(start - 2, upper - 1, start + wide + 2, upper + height + 1), Colour.of(note["bgcolor"]), clip=False
        )
    upright = float(note.get("textangle") or 0) in (-90, 270)
    for index, (text, own) in enumerate(lines):
        down = upper + 1.25 * size * index + size * 0.98
        yield Text(x, y if upright else down, text, size, own or colour, bold, "middle" if upright else anchor, upright)


def _legend(traces: Sequence[Mapping[str, Any]], frame: Frame, ink: Colour, base: float) -> Iterator[Mark]:
    named = [
        (index, trace) for index, trace in enumerate(traces) if trace.get("name") and trace.get("showlegend", True)
    ]
    for row, (index, trace) in enumerate(named):
        line = trace.get("line") or {}
        colour = Colour.of(line.get("color") or _COLOURS[index % len(_COLOURS)])
        y = frame.top + 8 + 1.4 * base * row
        yield Line([(frame.right - 110, y), (frame.right - 92, y)], colour, 2, _dash(line.get("dash")), clip=False)
        yield Text(frame.right - 88, y + base * _CAP, _lines(str(trace["name"]))[0][0], base, ink)


def _lines(text: str) -> list[tuple[str, Colour | None]]:
    """Lines of a text of plotly, without its tags, each with the colour of a span in it."""
    found = []
    for line in re.split(r"<br\s*/?>", text):
        colour = re.search(r"color:\s*(#[0-9a-fA-F]{3,6}|rgba?\([^)]*\))", line)
        plain = html.unescape(re.sub(r"<[^<>]*>", "", line))
        found.append((plain, Colour.of(colour[1]) if colour else None))
    return found


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


def _dash(given: Any) -> tuple[float, ...]:
    if given in (None, "", "solid"):
        return ()
    if given in _DASHES:
        return _DASHES[given]
    return tuple(float(part) for part in re.findall(r"[0-9.]+", str(given)))


def _box(x0: float, y0: float, x1: float, y1: float) -> list[Point]:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _each(value: Any, count: int) -> list[Any]:
    """A value for each point: one for all, or a list."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else [value] * count


def _decoded(part: Any) -> Any:
    """A part of a figure in which arrays are lists, also those that plotly has packed into base64."""
    if isinstance(part, Mapping):
        if {*part} >= {"dtype", "bdata"}:
            numbers = np.frombuffer(base64.b64decode(part["bdata"]), part["dtype"])
            shape = [int(size) for size in str(part.get("shape", numbers.size)).split(",")]
            return numbers.reshape(shape).tolist()
        return {key: _decoded(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_decoded(value) for value in part]
    return part.tolist() if hasattr(part, "tolist") else part


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for key, value in above.items():
        held = found.get(key)
        found[key] = _merged(held, value) if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return found


def _number_text(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)
