"""Does the code turn with length? The angle between the code at each length and the code at N, as a fan of rays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.names import MATCHED
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import join_with_dots, layer_said, multiple, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import (
    after_last_block,
    has_value,
    not_measured,
    refuse_empty,
    run_name,
    select,
    smallest_n,
    stack,
    tidy,
)
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import hover
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank

MEASUREMENT, QUANTITY = "probes.drift", "drift"
OWN, CONTROL = "code", "highest control"
GUIDES = (0, 30, 60, 90, 120, 150, 180)
"""Angles with a guide line, degrees."""
_SMOOTH = 48
"""Points of an arc of 90 degrees."""
_OUTER = 0.35
"""Room outside of the longest length, in powers of two of the length."""
Row = Mapping[str, Any]


def code_fan_rows(frame: Frame, *, trained: float, step: int) -> Frame:
    """The rows of :func:`code_fan`: the cosine between the code at N and at every other length, after the last block.

    The series ``highest control`` has, for each length, the control whose cosine is highest.
    """
    rows = select(frame, MEASUREMENT, quantity=QUANTITY, mode="length", law=MATCHED, step=step)
    at_n = (rows["length"].astype(float) == trained) | (rows["target"] == f"{int(trained)}")
    rows = after_last_block(rows.where(at_n))
    if not len(rows):
        raise not_measured(frame, MEASUREMENT, quantity=QUANTITY, step=step, length=int(trained))
    controls: dict[int, Row] = {}
    for row in rows.rows():
        other = other_length(row, trained)
        if row["control"] and has_value(row) and (other not in controls or row["value"] > controls[other]["value"]):
            controls[other] = row
    highest = [tidy(Frame.from_rows([row]), CONTROL, "length") for _, row in sorted(controls.items())]
    own = rows.where(control="").rows()
    own = sorted(own, key=lambda row: other_length(row, trained))
    return stack([*(tidy(Frame.from_rows([row]), OWN, "length") for row in own), *highest])


def other_length(row: Row, trained: float) -> int:
    """Return the length that a row compares with N."""
    return int(row["target"]) if float(row["length"]) == trained else int(row["length"])


def angle_of(cosine: float) -> float:
    """Return the angle of a cosine, in degrees; a cosine beyond 1 is 0 degrees."""
    return math.degrees(math.acos(min(1.0, max(-1.0, cosine))))


@figure(rows=code_fan_rows)
def code_fan(data: Frame, frame: Frame, *, trained: float, step: int, look: Look = LIGHT) -> Drawing:
    """The rotation of the code of the task state against the code at N: one ray per prefix length.

    The radius of a dot is its length (powers of two), and its angle is the rotation, with the interval as an arc. Rays
    that lie together on the lower axis are one direction at all lengths; an open fan is a code that turns. A hollow
    diamond is the highest control at that length. Only a rotation that is smaller than that of the control is evidence
    for one direction. The angle does not depend on the size of the code.

    Raises:
        NotMeasured: without cosines between N and other lengths at that step.
    """
    refuse_empty(data.where(series=OWN), "The rotation of the code")
    rows = [row for row in data.where(series=OWN).rows() if has_value(row)]
    controls = [row for row in data.where(series=CONTROL).rows() if has_value(row)]
    lengths = sorted({int(trained), *(other_length(row, trained) for row in rows)})
    if len(lengths) < 2:
        raise NotMeasured(MEASUREMENT, "No length besides N was compared with N.", helps=False)
    drawing = _empty(frame, data, rows, lengths, trained, step, look)
    t = TOKENS[look.theme]
    for row in rows:
        radius, angle = radius_of(other_length(row, trained), lengths), angle_of(row["value"])
        x, y = _place(radius, angle)
        _line(drawing, [0.0, x], [0.0, y], t["summary"], 1.4, "ray")
        _add_arc(drawing, row, radius, t["summary"], 3.0)
    _add_note(drawing, _against_controls(rows, controls, trained), look)
    _add_marks(drawing, controls, lengths, trained, look, own=False)
    _add_marks(drawing, rows, lengths, trained, look, own=True)
    return drawing


def radius_of(length: float, lengths: Sequence[int]) -> float:
    """Return the distance of a length from the origin: 1 for the shortest, and 1 more for each doubling."""
    return 1.0 + math.log2(length / min(lengths))


def _place(radius: float, angle: float) -> tuple[float, float]:
    return radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle))


def _empty(
    frame: Frame,
    data: Frame,
    rows: Sequence[Row],
    lengths: Sequence[int],
    trained: float,
    step: int,
    look: Look,
) -> Drawing:
    """Rings for lengths, and guide lines for angles."""
    t = TOKENS[look.theme]
    outer = radius_of(max(lengths), lengths) + _OUTER
    ends = [float(row[name]) for row in data.rows() for name in ("value", "low") if not missing(row[name])]
    widest = 180.0 if min(ends, default=1.0) < -0.02 else 90.0
    ticks = [n for n in lengths if n >= trained and math.log2(n / trained) % 1 < 0.1] or [int(trained)]
    named = [
        f'<span style="color:{t["train"]}">N</span>' if n == trained else f"{multiple(n / trained)} N" for n in ticks
    ]
    drawing = blank(
        look,
        column="length",
        xaxis={
            "range": [-outer * 1.06 if widest > 90 else -0.06 * outer, outer * 1.12],
            "tickvals": [radius_of(n, lengths) for n in ticks],
            "ticktext": named,
            "title": {"text": "prefix length (distance from the corner)"},
            "showgrid": False,
        },
        yaxis={"range": [-0.06 * outer, outer * 1.06], "tickvals": [], "showgrid": False, "title": {"text": ""}},
        meta={
            "title": "Rotation of the code over length",
            "slice": join_with_dots(
                layer_said(float(rows[0]["layer"])),
                sample_size(smallest_n(data)),
                "hollow: highest control",
                "0\u00b0: code at N",
            ),
            "alt": f"Angle between the code of the task state at each length and at length {whole(trained)}, step "
            f"{whole(step)}: " + "; ".join(_said(row, trained) for row in rows),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(frame)}/code_fan",
    )
    drawing.update_layout(margin_l=16, margin_r=24)
    for n in lengths:
        angles = np.linspace(0.0, widest, int(_SMOOTH * widest / 90) + 1)
        points = [_place(radius_of(n, lengths), float(angle)) for angle in angles]
        colour = t["train"] if n == trained else t["grid"]
        _line(drawing, [x for x, _ in points], [y for _, y in points], colour, 1.0, "ring")
    for angle in (guide for guide in GUIDES if guide <= widest):
        x, y = _place(outer, angle)
        _line(drawing, [0.0, x], [0.0, y], t["grid"], 1.0, "guide")
        drawing.add_annotation(
            x=x, y=y, text=f"{angle}\u00b0", xanchor="left" if angle < 90 else "center" if angle == 90 else "right",
            yanchor="middle" if angle < 60 else "bottom", xshift=3 if angle < 90 else 0,
            font={"color": t["ink3"], "size": look.size}, name="guide",
        )  # fmt: skip
    return drawing


def _against_controls(rows: Sequence[Row], controls: Sequence[Row], trained: float) -> str:
    """At how many lengths past N the code is shown to turn less than every control, in words."""
    own = {other_length(row, trained): row for row in rows}
    pairs = [(own[n], row) for row in controls if (n := other_length(row, trained)) > trained and n in own]
    if not pairs:
        return "no control to compare with"
    less = sum(_end(row, "low") > _end(control, "high") for row, control in pairs)
    return f"shown to turn less than the controls<br>at {less} of {len(pairs)} lengths past N"


def _end(row: Row, name: str) -> float:
    return float(row["value"] if missing(row[name]) else row[name])


def _add_note(drawing: Drawing, text: str, look: Look) -> None:
    """Words in the upper right corner, which no ring reaches."""
    drawing.add_annotation(
        x=1, y=1, xref="paper", yref="paper", xanchor="right", yanchor="top", align="right", text=text,
        font={"color": TOKENS[look.theme]["ink3"], "size": look.size}, name="controls",
    )  # fmt: skip


def _line(drawing: Drawing, x: Sequence[float], y: Sequence[float], colour: str, width: float, name: str) -> None:
    line = {"color": colour, "width": width}
    drawing.add_scatter(x=list(x), y=list(y), mode="lines", line=line, hoverinfo="skip", name=name)


def _add_arc(drawing: Drawing, row: Row, radius: float, colour: str, width: float) -> None:
    """The interval of one angle as an arc at its radius."""
    if missing(row["low"]) or missing(row["high"]):
        return
    first, last = angle_of(row["high"]), angle_of(row["low"])
    points = [_place(radius, float(angle)) for angle in np.linspace(first, last, max(2, int((last - first) / 2)))]
    _line(drawing, [x for x, _ in points], [y for _, y in points], colour, width, "interval")


def _add_marks(
    drawing: Drawing, rows: Sequence[Row], lengths: Sequence[int], trained: float, look: Look, *, own: bool
) -> None:
    """A dot per length of the code, or a hollow diamond per length of its highest control."""
    if not rows:
        return
    t = TOKENS[look.theme]
    places = [_place(radius_of(other_length(row, trained), lengths), angle_of(row["value"])) for row in rows]
    hollow = {"symbol": "diamond-open", "size": 8, "color": t["control"], "line": {"color": t["control"], "width": 1.3}}
    drawing.add_scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers",
        marker={"size": 7, "color": t["summary"], "line": {"color": t["surface"], "width": 1}} if own else hollow,
        hovertext=[f"{hover(row)}<br>{_said(row, trained)}" for row in rows],
        hoverinfo="text",
        name=OWN if own else CONTROL,
    )


def _said(row: Row, trained: float) -> str:
    """One angle in words, with its interval."""
    low, high = (None if missing(row[end]) else angle_of(row[end]) for end in ("high", "low"))
    limits = "" if low is None or high is None else f" [{low:.0f}, {high:.0f}]"
    n = other_length(row, trained)
    return f"{angle_of(row['value']):.0f}{limits} degrees at length {whole(n)} ({multiple(n / trained)} N)"
