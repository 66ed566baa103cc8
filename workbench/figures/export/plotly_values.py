"""Values of a plotly figure as Python values: arrays, texts with tags, dashes and nested settings."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.figures.export.picture import Colour, Point

CAP = 0.36
"""Half of the height of a capital letter, as a share of the type size."""
DASHES = {"dash": (6.0, 4.0), "dot": (1.5, 3.0), "dashdot": (6.0, 3.0, 1.5, 3.0), "longdash": (10.0, 4.0)}


def text_lines(text: str) -> list[tuple[str, Colour | None]]:
    """Lines of a text of plotly, without its tags, each with the colour of a span in it."""
    found = []
    for line in re.split(r"<br\s*/?>", text):
        colour = re.search(r"color:\s*(#[0-9a-fA-F]{3,6}|rgba?\([^)]*\))", line)
        plain = html.unescape(re.sub(r"<[^<>]*>", "", line))
        found.append((plain, Colour.of(colour[1]) if colour else None))
    return found


def dashes(given: Any) -> tuple[float, ...]:
    """Lengths of dashes and gaps in pixels; none for a solid line."""
    if given in (None, "", "solid"):
        return ()
    if given in DASHES:
        return DASHES[given]
    return tuple(float(part) for part in re.findall(r"[0-9.]+", str(given)))


def corners(x0: float, y0: float, x1: float, y1: float) -> list[Point]:
    """The corners of a box."""
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def as_list(values: Any) -> list[Any]:
    """An array or a sequence as a list; empty if there is none."""
    if values is None:
        return []
    return values.tolist() if hasattr(values, "tolist") else list(values)


def as_many(value: Any, count: int) -> list[Any]:
    """A value for each point: one for all, or a list."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else [value] * count


def decode_arrays(part: Any) -> Any:
    """A part of a figure in which arrays are lists, also those that plotly has packed into base64."""
    if isinstance(part, Mapping):
        if {*part} >= {"dtype", "bdata"}:
            numbers = np.frombuffer(base64.b64decode(part["bdata"]), part["dtype"])
            shape = [int(size) for size in str(part.get("shape", numbers.size)).split(",")]
            return numbers.reshape(shape).tolist()
        return {key: decode_arrays(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [decode_arrays(value) for value in part]
    return part.tolist() if hasattr(part, "tolist") else part


def merge_settings(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with those above in place of those below, also inside nested settings."""
    found = dict(below)
    for key, value in above.items():
        held = found.get(key)
        found[key] = merge_settings(held, value) if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return found


def number_text(value: Any) -> str:
    """A tick as text, with at most six digits."""
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)
