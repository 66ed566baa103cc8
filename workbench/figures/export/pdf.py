"""A picture as PDF of one page, with texts as text in Helvetica, which every PDF reader has."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from workbench.figures.export.picture import Area, Colour, Line, Mark, Picture, Point, Text, text_width

POINT = 0.75
"""Points of a pixel: 72 of an inch, which has 96 pixels."""
_PLAIN = str.maketrans({"\u2212": "-", "\u2265": ">=", "\u2264": "<=", "\u2192": "->", "\u2190": "<-", "\u2009": " "})
"""What stands for characters that the font of a PDF lacks."""


def to_pdf(picture: Picture) -> bytes:
    """The picture as a PDF of one page, as large as the picture."""
    alphas = sorted({_colour_of(mark).alpha for mark in picture.marks})
    states = {alpha: f"/A{index}" for index, alpha in enumerate(alphas)}
    content = "\n".join(_mark(mark, picture, states) for mark in picture.marks).encode("cp1252", "replace")
    packed = zlib.compress(content)
    width, height = picture.width * POINT, picture.height * POINT
    graphics = " ".join(f"{name} << /ca {alpha:.3f} /CA {alpha:.3f} >>" for alpha, name in states.items())
    fonts = "/F1 4 0 R /F2 5 0 R"
    title = picture.title.translate(_PLAIN).encode("cp1252", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2f} {height:.2f}] /Contents 6 0 R "
        f"/Resources << /Font << {fonts} >> /ExtGState << {graphics} >> >> >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream",
        b"<< /Title " + _quoted(title) + b" /Producer (LengthLens) >>",
    ]
    return _file(objects)


def _file(objects: Sequence[bytes]) -> bytes:
    data, places = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()


def _mark(mark: Mark, picture: Picture, states: dict[float, str]) -> str:
    colour = _colour_of(mark)
    shade = f"{colour.red / 255:.3f} {colour.green / 255:.3f} {colour.blue / 255:.3f}"
    begin = f"q {states[colour.alpha]} gs"
    if not isinstance(mark, Text) and mark.clip:
        left, top, right, bottom = picture.plot
        x, y = left * POINT, (picture.height - bottom) * POINT
        begin += f" {x:.2f} {y:.2f} {(right - left) * POINT:.2f} {(bottom - top) * POINT:.2f} re W n"
    if isinstance(mark, Line):
        dash = " ".join(f"{part * POINT:.2f}" for part in mark.dash)
        return (
            f"{begin} {shade} RG {mark.width * POINT:.2f} w 1 j [{dash}] 0 d {_points(mark.points, picture.height)} S Q"
        )
    if isinstance(mark, Area):
        return f"{begin} {shade} rg {_points(mark.points, picture.height)} h f Q"
    text = mark.text.translate(_PLAIN)
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[mark.anchor] * text_width(text, mark.size, mark.bold)
    x, y = (mark.x, mark.y + shift) if mark.upright else (mark.x - shift, mark.y)
    turn = "0 1 -1 0" if mark.upright else "1 0 0 1"
    place = f"{turn} {x * POINT:.2f} {(picture.height - y) * POINT:.2f} Tm"
    quoted = _quoted(text.encode("cp1252", "replace")).decode("cp1252")
    return f"{begin} {shade} rg BT /F{2 if mark.bold else 1} {mark.size * POINT:.2f} Tf {place} {quoted} Tj ET Q"


def _colour_of(mark: Mark) -> Colour:
    return mark.fill if isinstance(mark, Area) else mark.colour


def _points(points: Sequence[Point], height: float) -> str:
    places = [f"{x * POINT:.2f} {(height - y) * POINT:.2f}" for x, y in points]
    return " ".join([f"{places[0]} m", *(f"{place} l" for place in places[1:])])


def _quoted(text: bytes) -> bytes:
    return b"(" + text.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") + b")"
