"""A plotly figure laid out in pixels, as plotly would draw it: traces of points, bars and cells, shapes and texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.figures.export.picture import Anchor, Area, Colour, Line, Mark, Picture, Point, Text, text_width
from workbench.figures.export.plot_area import Axis, Frame, axis_marks, grid_marks
from workbench.figures.export.plotly_values import (
    CAP,
    as_list,
    corners,
    dashes,
    decode_arrays,
    merge_settings,
    text_lines,
)
from workbench.figures.export.traces import trace_marks, values_along

SIZE = (640.0, 400.0)
"""Width and height of a picture in pixels, unless the figure or the caller says otherwise."""
TITLE_HEIGHT = 40.0
"""Height of the title and of the line below it, pixels."""
_COLOURS = ("#3B6FD4", "#D4803B", "#3B9D6B", "#A8127A", "#626C7B", "#8A6FD4", "#B8A13B", "#14181F")


def laid_out(figure: Mapping[str, Any], width: float | None = None, height: float | None = None) -> Picture:
    """A figure as a picture.

    Args:
        figure: plotly's figure as a dict, ``figure.to_dict()``.
        width, height: in pixels; None = as in the figure, else :data:`SIZE`.
    """
    figure = decode_arrays(figure)
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
        settings = merge_settings(template.get(f"{side}axis") or {}, layout.get(key) or {})
        drawn = [trace for trace in traces if trace.get(f"{side}axis", side) == name]
        values = [value for trace in drawn for value in values_along(trace, side)]
        zero = any(trace.get("type") == "bar" and (trace.get("orientation") == "h") == (side == "x") for trace in drawn)
        ends = (left, right) if side == "x" else (bottom, top)
        axes[name] = Axis(settings, values, *ends, with_zero=zero)
    frame = Frame(left, top, right, bottom, axes)
    font = merge_settings(template.get("font") or {}, layout.get("font") or {})
    ink, base = Colour.of(font.get("color", "#14181F")), float(font.get("size", 11))
    paper = Colour.of(layout.get("paper_bgcolor") or template.get("paper_bgcolor") or "#FFFFFF")
    marks: list[Mark] = [Area(corners(0, 0, wide, high), paper if paper.alpha else Colour(255, 255, 255), clip=False)]
    plot = Colour.of(layout.get("plot_bgcolor") or template.get("plot_bgcolor") or "rgba(0,0,0,0)")
    marks += [Area(corners(left, top, right, bottom), plot)] if plot.alpha else []
    shapes = layout.get("shapes") or ()
    marks += [mark for shape in shapes if shape.get("layer") == "below" for mark in _shape(shape, frame)]
    marks += [mark for name, axis in axes.items() for mark in grid_marks(name, axis, frame)]
    for index, trace in enumerate(traces):
        marks += trace_marks(trace, frame, Colour.of(_COLOURS[index % len(_COLOURS)]), ink, base)
    marks += [mark for shape in shapes if shape.get("layer") != "below" for mark in _shape(shape, frame)]
    marks += [mark for name, axis in axes.items() for mark in axis_marks(name, axis, frame, ink, base)]
    default = template.get("annotationdefaults") or {}
    for note in layout.get("annotations") or ():
        marks += _annotation(merge_settings(default, note), frame, ink, base)
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
    axis = merge_settings(template.get("yaxis") or {}, layout.get("yaxis") or {})
    size = float((axis.get("tickfont") or {}).get("size") or 11)
    lines = [text for label in as_list(axis.get("ticktext")) for text, _ in text_lines(str(label))]
    title = axis.get("title") or {}
    titled = title.get("text") if isinstance(title, Mapping) else title
    left = max((text_width(text, size) for text in lines), default=24.0) + 12 + (size + 10 if titled else 0)
    right = 0.0
    for note in layout.get("annotations") or ():
        if note.get("xref") == "paper" and note.get("xanchor") == "left" and float(note.get("x") or 0) >= 1:
            font = note.get("font") or {}
            widths = [
                text_width(text, float(font.get("size") or 11), True) for text, _ in text_lines(str(note.get("text")))
            ]
            right = max(right, float(note.get("xshift") or 0) + max(widths) + 6)
    return max(float(margin["l"]), left), width - min(max(float(margin["r"]), right), 0.45 * width)


def _titles(layout: Mapping[str, Any], meta: Mapping[str, Any]) -> tuple[str, str]:
    """The title and the line below it."""
    title = layout.get("title")
    if isinstance(title, Mapping) and title.get("text"):
        lines = text_lines(str(title["text"]))
        return lines[0][0], " ".join(text for text, _ in lines[1:])
    return str(meta.get("title", "")), str(meta.get("slice", ""))


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
                yield Line(points, colour, width, dashes(line.get("dash")))
        return
    x0, x1 = (frame.x(shape[key], x_ref) for key in ("x0", "x1"))
    y0, y1 = (frame.y(shape[key], y_ref) for key in ("y0", "y1"))
    if not all(map(math.isfinite, (x0, x1, y0, y1))):
        return
    if shape.get("type") == "line":
        if width:
            yield Line([(x0, y0), (x1, y1)], colour, width, dashes(line.get("dash")), clip=not whole)
        return
    box = corners(x0, y0, x1, y1)
    if shape.get("fillcolor"):
        yield Area(box, Colour.of(shape["fillcolor"], opacity))
    if width:
        yield Line([*box, box[0]], colour, width, dashes(line.get("dash")))


def _path(path: str, frame: Frame, x_ref: str, y_ref: str) -> list[Point]:
    """The corners of an SVG path of straight lines."""
    numbers = re.findall(r"[MLQC]\s*([-+0-9.eE]+)[ ,]+([-+0-9.eE]+)", path)
    return [(frame.x(float(a), x_ref), frame.y(float(b), y_ref)) for a, b in numbers]


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
    lines = text_lines(str(note["text"]))
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
            corners(start - 2, upper - 1, start + wide + 2, upper + height + 1), Colour.of(note["bgcolor"]), clip=False
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
        yield Line([(frame.right - 110, y), (frame.right - 92, y)], colour, 2, dashes(line.get("dash")), clip=False)
        yield Text(frame.right - 88, y + base * CAP, text_lines(str(trace["name"]))[0][0], base, ink)
