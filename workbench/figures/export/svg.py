"""A picture as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from workbench.figures.export.picture import Area, Line, Mark, Picture, Point

FONT = "Inter, Helvetica, Arial, sans-serif"


def to_svg(picture: Picture) -> bytes:
    """The picture as one SVG document with texts as text."""
    left, top, right, bottom = picture.plot
    size = f'width="{picture.width:g}" height="{picture.height:g}" viewBox="0 0 {picture.width:g} {picture.height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={quoteattr(FONT)}>',
        f"<title>{escape(picture.title)}</title>",
        f"<desc>{escape(picture.about)}</desc>",
        f'<defs><clipPath id="plot"><rect x="{left:g}" y="{top:g}" width="{max(right - left, 0):g}" '
        f'height="{max(bottom - top, 0):g}"/></clipPath></defs>',
        *map(_mark, picture.marks),
        "</svg>",
    ]
    return "\n".join(parts).encode()


def _mark(mark: Mark) -> str:
    if isinstance(mark, Line):
        dash = f' stroke-dasharray="{" ".join(f"{part:g}" for part in mark.dash)}"' if mark.dash else ""
        return (
            f'<polyline points="{_points(mark.points)}" fill="none" stroke="{mark.colour.hex}" '
            f'stroke-opacity="{mark.colour.alpha:g}" stroke-width="{mark.width:g}" stroke-linejoin="round"{dash}'
            f"{_clip(mark.clip)}/>"
        )
    if isinstance(mark, Area):
        return (
            f'<polygon points="{_points(mark.points)}" fill="{mark.fill.hex}" fill-opacity="{mark.fill.alpha:g}"'
            f"{_clip(mark.clip)}/>"
        )
    turn = f' transform="rotate(-90 {mark.x:.2f} {mark.y:.2f})"' if mark.upright else ""
    weight = ' font-weight="600"' if mark.bold else ""
    return (
        f'<text x="{mark.x:.2f}" y="{mark.y:.2f}" font-size="{mark.size:g}" fill="{mark.colour.hex}" '
        f'fill-opacity="{mark.colour.alpha:g}" text-anchor="{mark.anchor}"{weight}{turn}>{escape(mark.text)}</text>'
    )


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


def _clip(clip: bool) -> str:
    return ' clip-path="url(#plot)"' if clip else ""
