"""What a reader takes from a figure: its numbers and its words. Widths, colours, fonts and margins are left out."""

from __future__ import annotations

import base64
import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tests.support.printed import told

DIGITS = 5
"""Significant digits of a number: one more than is compared, so that rounding cannot tip the comparison."""
MOST_POINTS, MOST_COLUMNS, MOST_HOVERS = 24, 8, 4
"""Of a longer trace so many points, evenly spaced with both ends, of cells so many columns, and so many different hover texts."""
TAG = re.compile(r"<[^>]+>")


def contents(figure: Any) -> dict[str, Any]:
    """Numbers and words of a figure as small JSON.

    Returns:
        By name and place of a trace its x, y, z, texts and hover texts; under ``layout`` the titles of the axes, the tick
        labels, the annotations with their places, the shapes with their corners, and the title and description of the panel.
    """
    drawn = figure.to_plotly_json()
    traces = {
        f"{place} {trace.get('name') or trace['type']}": of_trace(trace) for place, trace in enumerate(drawn["data"])
    }
    layout = drawn["layout"]
    axes = {key: axis for key, axis in layout.items() if key[1:].startswith("axis")}
    titles = {key: without_tags(axis["title"]["text"]) for key, axis in axes.items() if "text" in axis.get("title", {})}
    ticks = {f"{key} ticks": without_tags(axis["ticktext"]) for key, axis in axes.items() if "ticktext" in axis}
    annotations = [
        [without_tags(one["text"]), rounded(one["x"]), rounded(one["y"])] for one in layout.get("annotations", ())
    ]
    corners = [
        [one.get("name", one["type"]), *(rounded(one.get(key)) for key in ("x0", "y0", "x1", "y1"))]
        for one in layout.get("shapes", ())
    ]
    words = {key: layout.get("meta", {}).get(key, "") for key in ("title", "slice", "alt")}
    return {**traces, "axes": titles | ticks, "annotations": annotations, "shapes": corners, "panel": words}


def of_trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Its numbers and words; a table has columns of words."""
    if trace.get("type") == "table":
        return {
            "columns": [
                without_tags([head, *cells])
                for head, cells in zip(trace["header"]["values"], trace["cells"]["values"], strict=True)
            ]
        }
    found = {
        key: thinned(
            [thinned(one, MOST_COLUMNS) if isinstance(one, list) else one for one in rounded(listed(trace[key]))]
        )
        for key in ("x", "y", "z")
        if trace.get(key) is not None
    }
    texts = [str(one) for one in listed(trace.get("text", ())) if one]
    hovers = list(dict.fromkeys(str(one) for one in flat(listed(trace.get("hovertext", ()))) if one))
    found |= {"text": without_tags(thinned(texts))} if texts else {}
    return found | ({"hover": without_tags(thinned(hovers, MOST_HOVERS))} if hovers else {})


def drawn_numbers(figure: Any) -> np.ndarray:
    """All finite numbers that traces have as x, y and z, sorted."""
    traces = figure.to_plotly_json()["data"]
    numbers = [one for trace in traces for key in ("x", "y", "z") for one in flat(listed(trace.get(key, ())))]
    return np.sort([float(one) for one in numbers if isinstance(one, int | float) and math.isfinite(one)])


def listed(values: Any) -> list[Any]:
    """The values of a trace, which plain figures hold as base64."""
    if isinstance(values, Mapping) and "bdata" in values:
        array = np.frombuffer(base64.b64decode(values["bdata"]), np.dtype(values["dtype"]))
        shape = [int(one) for one in str(values.get("shape", len(array))).split(",")]
        return list(array.reshape(shape).tolist())
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return [values] if isinstance(values, str) else list(values)


def flat(values: Iterable[Any]) -> list[Any]:
    return [one for value in values for one in (flat(value) if isinstance(value, list | tuple) else [value])]


def rounded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def thinned(values: list[Any], most: int = MOST_POINTS) -> list[Any]:
    if len(values) <= most:
        return values
    return [values[int(place)] for place in np.linspace(0, len(values) - 1, most)] + [f"of {len(values)}"]


def without_tags(value: Any) -> Any:
    """The texts in a value of JSON without the HTML that says how they look."""
    if isinstance(value, Mapping):
        return {key: without_tags(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_tags(one) for one in value]
    return TAG.sub(" ", value).strip() if isinstance(value, str) else value


def structure(figure: Any) -> str:
    """How many traces, points, annotations and shapes, e.g. ``6 traces, 48 points, 2 annotations, 1 shapes``."""
    drawn = figure.to_plotly_json()
    points = sum(len(listed(trace.get("x", ()))) for trace in drawn["data"])
    others = ", ".join(f"{len(drawn['layout'].get(kind, ()))} {kind}" for kind in ("annotations", "shapes"))
    return f"{len(drawn['data'])} traces, {points} points, {others}"


def counts_and_sums(figure: Any) -> list[float]:
    """How many traces, points, annotations and shapes; the sum of all drawn numbers, and of their squares."""
    drawn, numbers = figure.to_plotly_json(), drawn_numbers(figure)
    points = sum(len(listed(trace.get("x", ()))) for trace in drawn["data"])
    others = [len(drawn["layout"].get(kind, ())) for kind in ("annotations", "shapes")]
    return rounded([len(drawn["data"]), points, *others, float(numbers.sum()), float((numbers**2).sum())])


def undrawn(figure: Any, values: Iterable[float | None], axis: str = "yaxis") -> list[float]:
    """The finite ones of some values that a figure shows nowhere: as they are, or on a logarithmic axis.

    Values outside the range of their axis are clipped, and count as drawn; a unit axis has margins beyond 0 and 1.
    """
    wanted = np.array([np.nan if one is None else one for one in values], float)
    wanted = wanted[np.isfinite(wanted)]
    numbers = drawn_numbers(figure)
    low, high = sorted(figure.to_plotly_json()["layout"].get(axis, {}).get("range") or (-math.inf, math.inf))
    low, high = 0.0 if low > -0.1 else low, 1.0 if high < 1.1 else high
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = (wanted, np.log2(wanted), np.log10(wanted))
    there = np.any([[_is_near(one, numbers) for one in scale] for scale in scales], axis=0)
    return list(wanted[~(there | (wanted < low) | (wanted > high))])


def _is_near(value: float, numbers: np.ndarray) -> bool:
    at = int(np.searchsorted(numbers, value))
    return any(math.isclose(value, one, rel_tol=1e-6, abs_tol=1e-9) for one in numbers[max(0, at - 1) : at + 1])


def words(value: Any) -> Any:
    """The text of a sentence made of pieces; rows of a table and other values rounded, as JSON."""
    if isinstance(value, list) and value and all(map(_is_piece, value)):
        return "".join(one[0] for one in value)
    if hasattr(value, "names"):
        return {name: thinned(rounded(np.asarray(value[name]).tolist())) for name in value.names}
    if isinstance(value, tuple | list):
        return [words(one) for one in value]
    if dataclasses.is_dataclass(value):
        return {field.name: words(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return rounded(value) if isinstance(value, float) else told(value)


def _is_piece(value: Any) -> bool:
    """Whether it is a text, what it is about, and the rows that it cites."""
    return isinstance(value, tuple) and len(value) >= 2 and isinstance(value[0], str) and isinstance(value[1], str)
