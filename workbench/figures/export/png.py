"""A picture as PNG, drawn with Pillow where it is installed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.figures.errors import ExportError
from workbench.figures.export.picture import Area, Colour, Line, Picture, Point, Text, in_ascii

SCALE = 2
"""Pixels of the file per pixel of the figure: 192 of an inch."""
_SMOOTH = 2
"""Times as large as that it is drawn, before it is made smaller."""


def to_png(picture: Picture, scale: int = SCALE) -> bytes:
    """The picture as PNG.

    Args:
        picture: what is drawn.
        scale: pixels of the file per pixel of the picture.

    Raises:
        ExportError: if Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise ExportError("a PNG needs Pillow: run `pip install pillow`, or choose a file .svg or .pdf") from None
    factor = scale * _SMOOTH
    size = round(picture.width * factor), round(picture.height * factor)
    image = Image.new("RGBA", size, "white")
    left, top, right, bottom = (round(value * factor) for value in picture.plot)
    for mark in picture.marks:
        layer = Image.new("RGBA", size, (0, 0, 0, 0))
        draw = ImageDraw.Draw(layer)
        if isinstance(mark, Area):
            draw.polygon(_scaled(mark.points, factor), fill=_rgba(mark.fill))
        elif isinstance(mark, Line):
            for piece in _dashes(mark):
                draw.line(_scaled(piece, factor), fill=_rgba(mark.colour), width=max(1, round(mark.width * factor)))
        else:
            _write(layer, draw, mark, ImageFont.load_default(mark.size * factor), factor, Image)
        if not isinstance(mark, Text) and mark.clip:
            clipped = Image.new("RGBA", size, (0, 0, 0, 0))
            clipped.paste(layer.crop((left, top, right, bottom)), (left, top))
            layer = clipped
        image = Image.alpha_composite(image, layer)
    data = io.BytesIO()
    small = image.convert("RGB").resize(
        (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS
    )
    small.save(data, "PNG", dpi=(96 * scale, 96 * scale))
    return data.getvalue()


def _write(layer: Any, draw: Any, mark: Text, font: Any, factor: int, images: Any) -> None:
    text = in_ascii(mark.text)
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
    stroke = round(0.03 * mark.size * factor) if mark.bold else 0
    if not mark.upright:
        draw.text((mark.x * factor, mark.y * factor), text, _rgba(mark.colour), font, anchor, stroke_width=stroke)
        return
    wide = round(font.getlength(text)) + 8
    strip = images.new("RGBA", (wide, round(2 * mark.size * factor)), (0, 0, 0, 0))
    from PIL import ImageDraw

    ImageDraw.Draw(strip).text((wide / 2, 1.4 * mark.size * factor), text, _rgba(mark.colour), font, "ms")
    turned = strip.rotate(90, expand=True)
    layer.paste(turned, (round((mark.x - 1.4 * mark.size) * factor), round(mark.y * factor - wide / 2)))


def _dashes(line: Line) -> Iterator[Sequence[Point]]:
    """The pieces of a line that are drawn."""
    if not line.dash:
        yield line.points
        return
    pattern = [max(part, 0.5) for part in line.dash]
    pattern = pattern if len(pattern) % 2 == 0 else pattern * 2
    at, left, drawn = 0, pattern[0], True
    for (x0, y0), (x1, y1) in zip(line.points, line.points[1:], strict=False):
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        begun = 0.0
        while length - begun > 1e-6:
            step = min(left, length - begun)
            if drawn:
                ends = [(begun + part) / length for part in (0.0, step)]
                yield [(x0 + end * (x1 - x0), y0 + end * (y1 - y0)) for end in ends]
            begun, left = begun + step, left - step
            if left <= 1e-6:
                at = (at + 1) % len(pattern)
                left, drawn = pattern[at], not drawn


def _scaled(points: Sequence[Point], factor: int) -> list[Point]:
    return [(x * factor, y * factor) for x, y in points]


def _rgba(colour: Colour) -> tuple[int, int, int, int]:
    return colour.red, colour.green, colour.blue, round(255 * colour.alpha)
