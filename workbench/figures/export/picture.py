"""What a picture is made of: lines, areas and texts in pixels. SVG, PDF and PNG are written from these three."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]

WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 "
    "556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 "
    "667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 "
    "556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
"""Widths of the ASCII characters in Helvetica, in thousandths of the type size (Adobe's font metrics)."""
_WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, WIDTHS.split()), strict=True))
_OTHER_WIDTH = 556
_NAMED = {"white": "#FFFFFF", "black": "#000000", "grey": "#808080", "gray": "#808080", "transparent": "rgba(0,0,0,0)"}


@dataclass(frozen=True)
class Colour:
    """A colour: red, green and blue from 0 to 255, and opacity from 0 to 1."""

    red: int
    green: int
    blue: int
    alpha: float = 1.0

    @classmethod
    def of(cls, text: object, opacity: float = 1.0) -> Colour:
        """Parse a colour as plotly writes it: ``#RRGGBB``, ``rgb(...)``, ``rgba(...)`` or a name.

        Example:

            >>> Colour.of("#FF0080"), Colour.of("rgba(1, 2, 3, .5)")
            (Colour(red=255, green=0, blue=128, alpha=1.0), Colour(red=1, green=2, blue=3, alpha=0.5))
        """
        written = _NAMED.get(str(text).lower(), str(text))
        if digits := re.fullmatch(r"#([0-9a-fA-F]{6})", written):
            number = int(digits[1], 16)
            return cls(number >> 16, number >> 8 & 255, number & 255, opacity)
        if digits := re.fullmatch(r"#([0-9a-fA-F]{3})", written):
            return cls.of("#" + "".join(2 * one for one in digits[1]), opacity)
        parts = [float(part) for part in re.findall(r"[0-9.]+", written)] if written.startswith("rgb") else []
        if len(parts) < 3:
            return cls(0, 0, 0, opacity)
        red, green, blue = (round(part) for part in parts[:3])
        return cls(red, green, blue, opacity * (parts[3] if len(parts) > 3 else 1.0))

    @property
    def hex(self) -> str:
        """Return the colour as ``#RRGGBB``, without its opacity."""
        return f"#{self.red:02X}{self.green:02X}{self.blue:02X}"


@dataclass(frozen=True)
class Line:
    """A drawn line through several points.

    Attributes:
        points: in pixels from the upper left corner.
        colour, width: of the line; the width in pixels.
        dash: lengths of dashes and gaps in pixels; empty = solid.
        clip: whether it is cut at the edge of the plot area.
    """

    points: Sequence[Point]
    colour: Colour
    width: float
    dash: tuple[float, ...] = ()
    clip: bool = True


@dataclass(frozen=True)
class Area:
    """A filled polygon of an exported figure."""

    points: Sequence[Point]
    fill: Colour
    clip: bool = True


@dataclass(frozen=True)
class Text:
    """One line of text in an exported figure.

    Attributes:
        x, y: of its anchor, on its baseline.
        text: the characters.
        size: in pixels.
        colour: the colour of the characters.
        bold: whether they are bold.
        anchor: which end of the line is at ``x``.
        upright: whether it runs from bottom to top.
    """

    x: float
    y: float
    text: str
    size: float
    colour: Colour
    bold: bool = False
    anchor: Anchor = "start"
    upright: bool = False


Mark = Line | Area | Text


@dataclass(frozen=True)
class Picture:
    """All marks of a figure, the lowest first.

    Attributes:
        width, height: in pixels.
        plot: left, top, right and bottom of the plot area.
        marks: what is drawn.
        title: the title of the document.
        about: what the picture shows, for readers who do not see it.
    """

    width: float
    height: float
    plot: tuple[float, float, float, float]
    marks: Sequence[Mark]
    title: str = ""
    about: str = ""


_ASCII = str.maketrans(
    {"\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "x", "\u2265": ">=", "\u2264": "<=", "\u2192": "->",
     "\u2190": "<-", "\u2009": " ", "\u00a0": " ", "\u2019": "'", "\u201c": '"', "\u201d": '"'}
)  # fmt: skip


def in_ascii(text: str) -> str:
    """A text with ASCII in place of signs that simple fonts lack.

    Example:

        >>> in_ascii("\u22120.5 \u2264 32")
        '-0.5 <= 32'
    """
    return text.translate(_ASCII)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a line of text in pixels, as in Helvetica.

    Example:

        >>> text_width("100", 10)
        16.68
    """
    units = sum(_WIDTHS.get(char, _OTHER_WIDTH) for char in text)
    return units * size / 1000 * (1.06 if bold else 1.0)
