"""How far back does a head attend? The distance that holds most of its attention, over prefix length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.figures.heads.head_curves import in_front
from workbench.figures.labels import join_with_dots, proportion, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.pictures.training_events import HARDMAX
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, numbers
from workbench.figures.rows.select_rows import (
    head_names,
    refuse_empty,
    rows_with_values,
    run_name,
    select,
    series_of,
    setting_of,
    smallest_n,
    stack,
    telling,
    tidy,
)
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import (
    Cursor,
    Label,
    LineEnd,
    add_cursor,
    add_end_labels,
    add_level,
    add_line,
    add_training,
    drawn_points,
    hover,
    places,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.scale import Scale
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import DASH, run_axis, u_length
from workbench.models.base.graph import head_name

MEASUREMENT, DISTANCE = "circuits.positional", "attention_locality"
MASS = "argmax_mass"
DIAGNOSIS, ANSWER_GAP = "diagnosis", "oracle_key_gap"
WHOLE = "whole prefix"
SMALLEST, LARGEST = 4.0, 13.0
"""Diameter of a dot without attention on the top keys, and of one with all of it, pixels."""
WORDS_SHARE = 0.22
"""Share of the upright axis that is added at its lower end for two lines of words."""
Row = Mapping[str, Any]


def attended_distance_rows(frame: Frame, *, step: int, layer: int | None, head: int | None) -> Frame:
    """The rows of :func:`attended_distance`: the distance of each head, the selected one last.

    Of a selected head also its attention on the top keys, and how far the key with the answer scores below the best.
    """
    where = {"quantity": DISTANCE, "law": "matched", "control": "", "step": step}
    rows = select(frame, MEASUREMENT, **where)
    if layer is None or head is None:
        return tidy(rows, head_names(rows), ["layer", "head", "length"])
    mine = select(frame, MEASUREMENT, layer=layer, head=head, **where)
    other = rows.where((rows["layer"] != layer) | (rows["head"] != head))
    at: dict[str, Any] = {"step": step, "law": "matched", "layer": layer, "head": head}
    mass = rows_with_values(frame.where(measurement=HARDMAX, quantity=MASS, control="", **at))
    gap = rows_with_values(frame.where(measurement=DIAGNOSIS, quantity=ANSWER_GAP, **at))
    name = head_name(layer, head)
    further = [tidy(part, f"{name}, {said}", "length") for part, said in ((mass, "top keys"), (gap, "answer's key"))]
    return stack([in_front(mine, other, "length"), *further])


@figure(rows=attended_distance_rows)
def attended_distance(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int | None,
    head: int | None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Distance back within which a head has 95 % of its attention, over prefix length (both axes logarithmic).

    The selected head is the thick line, other heads are grey. On the dashed line a head attends to the whole prefix.
    The area of a dot is the attention on the head's top keys. If a diagnosis tested the head, words at the lower edge
    state how far the key that contains the answer scores below the best key.

    Raises:
        NotMeasured: without these distances at that step, or none for that head.
    """
    distances = data.where(quantity=DISTANCE)
    refuse_empty(distances, "Attended distance")
    t = TOKENS[look.theme]
    chosen = head is not None and layer is not None
    *others, (name, mine) = series_of(distances)
    others, mine = (others, mine) if chosen else (series_of(distances), distances)
    lengths = frame.where(measurement=MEASUREMENT, quantity=DISTANCE, step=step).distinct("length")
    scale = Scale.of_counts(np.concatenate([numbers(distances["value"]), lengths.astype(float)]))
    gaps = data.where(quantity=ANSWER_GAP)
    y_axis = scale.axis() | {"title": {"text": "tokens back"}}
    if len(gaps):
        y_axis["range"] = _with_room_below(y_axis["range"])
    drawing = line_plot(
        "length",
        run_axis("length", frame.distinct("length"), trained, look.theme),
        y_axis,
        title="How far back it attends",
        slice=join_with_dots(
            f"{_share(frame, step)} of the attention",
            "dot: attention on its top keys" if chosen and len(data.where(quantity=MASS)) else "",
            sample_size(smallest_n(mine)),
        ),
        alt=f"Distance back within which {name if chosen else 'each head'} has {_share(frame, step)} of its attention, "
        f"over prefix length at step {whole(step)}: "
        + "; ".join(
            f"{each} {values_in_words(part, 'length', telling(part, 'length', trained))}"
            for each, part in ([(name, mine)] if chosen else others)
        ),
        n=smallest_n(mine),
        name=f"{run_name(data)}/attended_distance",
        look=look,
    )
    drawing.update_layout(margin_r=86)
    _add_whole(drawing, lengths, scale, look)
    for _, part in others:
        add_line(drawing, part, "length", t["line2"], width=1, band=False, place=scale.place)
    labels: list[Label] = [(WHOLE, scale.place(float(max(lengths))), t["ink3"], False)]
    if chosen:
        end = add_line(drawing, mine, "length", t["ink"], place=scale.place)
        _add_dots(drawing, mine, data.where(quantity=MASS), scale, look)
        labels.append((name, end, t["ink"], True))
        _add_gaps(drawing, gaps, look)
    if others:
        labels.append(("other heads" if chosen else "heads", _middle(others, scale), t["ink3"], False))
    add_end_labels(drawing, labels, y_axis["range"], look.size)
    low, high = drawing.layout.yaxis.range
    words = [(u_length(trained), low + at * (high - low)) for at in (0.05, WORDS_SHARE / 2, WORDS_SHARE) if len(gaps)]
    add_training(drawing, trained, look, avoid=[*drawn_points(distances, "length", scale.place), *words])
    add_cursor(drawing, cursor, "length", look.theme)
    return drawing


def _share(frame: Frame, step: int) -> str:
    """The share of the attention that a distance holds, as its rows were measured."""
    rows = frame.where(measurement=MEASUREMENT, quantity=DISTANCE, step=step)
    eps = setting_of(rows.row(0), "eps")
    return f"{100 * (1 - (0.05 if eps is None else eps)):g} %"


def _with_room_below(ends: Sequence[float]) -> list[float]:
    """The range of the upright axis, with room at its lower end for words that would cover points."""
    low, high = ends
    return [low - WORDS_SHARE * (high - low), high]


def _middle(others: list[tuple[str, Frame]], scale: Scale) -> LineEnd | None:
    """The height between the ends of the other heads' lines."""
    ends = [part.row(len(part) - 1) for _, part in others]
    known = [(scale.place(float(row["value"])), u_length(float(row["length"]))) for row in ends if row["value"] > 0]
    return LineEnd(float(np.median([y for y, _ in known])), max(x for _, x in known)) if known else None


def _add_whole(drawing: Drawing, lengths: np.ndarray, scale: Scale, look: Look) -> None:
    """The dashed line on which a head attends to the whole prefix."""
    ends = [float(min(lengths)), float(max(lengths))]
    add_level(drawing, [u_length(n) for n in ends], [scale.place(n) for n in ends], look.theme, DASH, WHOLE)


def _add_dots(drawing: Drawing, mine: Frame, masses: Frame, scale: Scale, look: Look) -> None:
    """A dot per length on the selected head's line, as large as its attention on its top keys."""
    t = TOKENS[look.theme]
    mass = {float(row["length"]): row for row in masses.rows()}
    rows = [row for row in rows_with_values(mine).rows() if float(row["length"]) in mass]
    if not rows:
        return
    shares = [float(mass[float(row["length"])]["value"]) for row in rows]
    drawing.add_scatter(
        x=places(Frame.from_rows(rows), "length"),
        y=np.array([scale.place(float(row["value"])) for row in rows]),
        mode="markers",
        marker={
            "size": [SMALLEST + (LARGEST - SMALLEST) * share**0.5 for share in shares],
            "color": t["bar"],
            "line": {"color": t["surface"], "width": 1},
        },
        hovertext=[
            f"{hover(row)}<br>attention on its top keys <b>{proportion(share, 3)}</b>"
            for row, share in zip(rows, shares, strict=True)
        ],
        hoverinfo="text",
        name="top keys",
    )


def _add_gaps(drawing: Drawing, gaps: Frame, look: Look) -> None:
    """At the lower edge, at each diagnosed length, how far the answer's key scores below the best key."""
    t = TOKENS[look.theme]
    bottom = float(drawing.layout.yaxis.range[0])
    for row in gaps.rows():
        x = u_length(float(row["length"]))
        side = "above" if row["value"] > 0 else "below"
        drawing.add_annotation(
            x=x, y=bottom, xanchor="right", yanchor="bottom", xshift=6, yshift=2, align="right", bgcolor=t["surface"],
            text=f"on wrong answers, the answer's key<br>is {abs(row['value']):.1f} nats {side} the best \u25be",
            font={"color": t["ink2"], "size": look.size}, name="answer's key",
        )  # fmt: skip
