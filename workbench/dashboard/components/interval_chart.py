"""Numbers as dots with their intervals, against a threshold. Made of HTML and CSS, so that they follow the theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dash import html

from workbench.figures.labels import whole

MOST_LINES = 24
"""Numbers of one part that are drawn; the page of the documentation lists all."""
MARGIN = 0.05
"""Share of the axis that is empty at either end."""
WIDE = 1000
"""Ratio of the greatest to the least positive value from which the axis is logarithmic."""


@dataclass(frozen=True)
class Scale:
    """The axis of a part.

    Attributes:
        low: its left end; the logarithm of it on a logarithmic axis.
        high: its right end, likewise.
        logarithmic: whether it is.
    """

    low: float
    high: float
    logarithmic: bool = False

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Scale:
        """The axis that shows all values."""
        finite = [value for value in values if value is not None]
        low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
        logarithmic = low > 0 and high / low >= WIDE
        if logarithmic:
            low, high = math.log(low), math.log(high)
        pad = MARGIN * (high - low) or max(abs(low) * MARGIN, MARGIN)
        return cls(low - pad, high + pad, logarithmic)

    def at(self, value: float) -> float:
        """The position of a value in percent of the axis, to two decimals."""
        place = math.log(value) if self.logarithmic else value
        share = (place - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


def scale_of(part: Mapping[str, Any]) -> Scale:
    """Return the axis of a part: all numbers, limits, expected values and thresholds are on it."""
    rows = part["rows"][:MOST_LINES]
    median = part["median"] or {}
    values = [row[name] for row in rows for name in ("value", "low", "high", "expected")]
    return Scale.of([*values, part["at_least"], part["at_most"], *median.values()])


def thresholds(part: Mapping[str, Any]) -> list[float]:
    """Return the thresholds of a part: the least and the greatest value on the claim's side."""
    return [value for value in dict.fromkeys((part["at_least"], part["at_most"])) if value is not None]


def strip(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cell of the table draws (``assets/js/claims.js``): positions in percent, and a sentence."""
    scale, rows = scale_of(part), part["rows"][:MOST_LINES]
    return {
        "dots": [
            {
                "at": scale.at(row["value"]),
                "from": scale.at(row["value"] if row["low"] is None else row["low"]),
                "to": scale.at(row["value"] if row["high"] is None else row["high"]),
                "kind": _kind(row),
            }
            for row in rows
            if row["value"] is not None
        ],
        "lines": [scale.at(value) for value in thresholds(part)],
        "side": _side(part, scale),
        "said": spoken_sentence(part),
    }


def spoken_sentence(part: Mapping[str, Any]) -> str:
    """Return a part in one sentence, for readers who hear the page."""
    rows = [row for row in part["rows"] if row["value"] is not None]
    unit = "seed" if part["of_seeds"] else "case"
    count = f"{len(rows)} {unit}{'' if len(rows) == 1 else 's'}"
    if not rows:
        return f"{part['quantity']}: no number"
    low, high = min(row["value"] for row in rows), max(row["value"] for row in rows)
    span = number(low) if low == high else f"{number(low)} to {number(high)}"
    return f"{part['quantity']}: {count}, {span}"


def number(value: float) -> str:
    """Return a number as this page shows it: a whole number with commas, others with three digits."""
    if value == int(value) and abs(value) < 1e15:
        return whole(int(value))
    return f"{value:.3g}".replace("-", "\u2212")


def chart(part: Mapping[str, Any]) -> html.Div:
    """Return a part as a picture: a line for each seed or case, the median of the seeds, and the threshold."""
    scale, rows = scale_of(part), part["rows"][:MOST_LINES]
    lines = [_line(scale, part, _name(part, row), row, _kind(row)) for row in rows if row["value"] is not None]
    if part["median"] and len(rows) > 1:
        lines.append(_line(scale, part, "median", part["median"], "median"))
    more = len(part["rows"]) - len(rows)
    case = html.Div(part["item"], className="case") if part["item"] else None
    children = [
        html.Div([html.Div(part["quantity"], className="quantity"), case], className="caption"),
        html.Div(lines, className="numbers"),
        _axis(scale, part),
        html.Div(f"{more:,} more in the documentation.", className="soft") if more > 0 else None,
    ]
    said = {"role": "group", "aria-label": spoken_sentence(part)}
    return html.Div([child for child in children if child is not None], className="interval-chart", **said)


def _name(part: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if not part["of_seeds"]:
        return str(row["item"]) or "value"
    return f"seed {row['seed']}" if row["seed"] is not None else "run"


def _kind(row: Mapping[str, Any]) -> str:
    """On the claim's side, on the other, neither, or left out because the run does not solve its trained lengths."""
    return {"holds": "on", "fails": "off"}.get(row["side"], "open") if row["counts"] else "left-out"


def _line(scale: Scale, part: Mapping[str, Any], name: str, row: Mapping[str, Any], kind: str) -> html.Div:
    value, low, high = row["value"], row["low"], row["high"]
    interval = f" [{number(low)}, {number(high)}]" if low is not None and high is not None and low < high else ""
    marks: list[Any] = [*_backdrop(part, scale)]
    if interval:
        width = round(scale.at(high) - scale.at(low), 2)
        marks.append(html.I(className="interval", style={"left": f"{scale.at(low)}%", "width": f"{width}%"}))
    if row.get("expected") is not None:
        marks.append(html.I(className="expected", style={"left": f"{scale.at(row['expected'])}%"}))
    marks.append(html.I(className="mark", style={"left": f"{scale.at(value)}%"}))
    left_out = "does not solve its trained lengths, not counted" if kind == "left-out" else ""
    counted = f"n = {row['n']:,}" if row.get("n") else ""
    title = ", ".join(filter(None, (f"{name}: {number(value)}{interval}", counted, left_out)))
    return html.Div(
        [
            html.Span(name, className="name", title=name),
            html.Span(marks, className="track"),
            html.Span([number(value), html.Span(interval, className="soft")], className="value num"),
        ],
        className=f"number {kind}",
        title=title,
    )


def _backdrop(part: Mapping[str, Any], scale: Scale) -> list[Any]:
    """The claim's side as a tint, and the thresholds as lines."""
    lines = [html.I(className="threshold", style={"left": f"{scale.at(value)}%"}) for value in thresholds(part)]
    if not (side := _side(part, scale)):
        return lines
    width = round(side[1] - side[0], 2)
    return [html.I(className="side", style={"left": f"{side[0]}%", "width": f"{width}%"}), *lines]


def _side(part: Mapping[str, Any], scale: Scale) -> list[float]:
    """Both ends of the claim's side in percent; empty where the claim compares with expected values."""
    if not thresholds(part):
        return []
    low = 0.0 if part["at_least"] is None else scale.at(part["at_least"])
    high = 100.0 if part["at_most"] is None else scale.at(part["at_most"])
    return [low, high]


def _axis(scale: Scale, part: Mapping[str, Any]) -> html.Div:
    """Both ends of the axis, and the thresholds between them."""
    values: Sequence[float] = thresholds(part)
    ticks = [html.Span(number(value), style={"left": f"{scale.at(value)}%"}) for value in values]
    scaled = " The axis is logarithmic." if scale.logarithmic else ""
    expected = any(row["expected"] is not None for row in part["rows"])
    note = f"The thick line is the expected value.{scaled}" if expected and not ticks else scaled.strip()
    ends = [*ticks, *([html.Span(note, className="soft")] if note and not ticks else [])]
    return html.Div([html.Span(className="name"), html.Div(ends, className="ticks num")], className="axis")
