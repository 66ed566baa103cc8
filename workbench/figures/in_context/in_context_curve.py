"""Does a model that was given the task in its prompt keep answering? Accuracy over items, with token counts below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.names import IN_CONTEXT
from workbench.core.thresholds import FITTED, LEVEL_TEXT, ROBUST
from workbench.core.verdicts import NOT_CAPABLE, VERDICTS
from workbench.figures.errors import NotShared
from workbench.figures.labels import join_with_dots, over_length, sample_size, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.panels.differences import difference
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import run_name, select, series_of, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import (
    Cursor,
    add_band,
    add_cursor,
    add_end_labels,
    add_level,
    add_training,
    add_upright,
    places,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, add_series, line_plot
from workbench.figures.style.template import DASH, accuracy_axis, length_axis, u_length

MEASUREMENT = IN_CONTEXT
ALL, SYMBOLS = "all tokens", "the symbols"
SERIES = {ALL: "answer_accuracy", SYMBOLS: "candidate_accuracy", "chance": "candidate_chance"}
"""Series -> its quantity: right among the whole vocabulary, right among the task's symbols, and guessing of these."""
BOTTOM, RIGHT = 52, 82
"""Margins in pixels: below the plot two lines of tick labels and the axis title, at its right the names of the
lines."""


def answer_rows(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`in_context_over_length`: series all tokens, the symbols, chance; ``note`` has the tokens."""
    tokens = prompt_tokens(frame, step)
    parts = []
    for name, quantity in SERIES.items():
        if name != SYMBOLS or len(_rows(frame, quantity, step, needed=False)):  # answers may come without weights
            rows = _rows(frame, quantity, step)
            notes = [f"{tokens[int(row['length'])]:,} tokens; {row['note']}".rstrip("; ") for row in rows.rows()]
            parts.append(tidy(rows.with_columns(note=notes), name, "length"))
    return stack(parts)


@figure(rows=answer_rows)
def in_context_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy among all tokens and among the task's symbols over the number of items in a prompt, at one step.

    The band shows skill of at least 0.9, the share of a perfect reference that *holds* needs. The mark is the length
    that the verdict names: the first of two lengths in a row that show a decay, or the longest up to which it holds.

    Args:
        trained: the largest number of items that fits into the model's window.

    Raises:
        NotMeasured: without answers in context at that step.
    """
    t = TOKENS[look.theme]
    parts = dict(series_of(data))
    main, chance = parts[ALL], parts["chance"]
    floor = chance["value"].astype(float)
    axis = _items_axis([float(n) for n in main["length"]], prompt_tokens(frame, step), trained, look.theme)
    y_axis = accuracy_axis(float(floor.min()))
    drawing = line_plot(
        "length", axis, y_axis, title="Accuracy in context", n=smallest_n(main),
        name=f"{run_name(data)}/in_context_over_length", look=look,
    )  # fmt: skip
    drawing.update_layout(margin_b=BOTTOM, margin_r=RIGHT)
    x = places(chance, "length")
    add_band(drawing, x, floor + ROBUST * (1 - floor), np.ones_like(floor), t["control"])
    add_level(drawing, x, floor, look.theme)
    looks = {SYMBOLS: LineStyle(t["ink2"], 1.2, symbol=""), ALL: LineStyle(t["ink"], strong=True)}
    labels, marked = add_series(drawing, data, "length", looks)
    add_end_labels(drawing, [("chance", float(floor[-1]), t["ink3"], False), *labels], y_axis["range"], look.size)
    verdict = _mark_verdict(drawing, frame, step, look)
    presented = f"presented as {main.row(0)['target']}"
    ends = [float(main["length"][0]), float(main["length"][-1])]
    drawing.layout.meta |= {
        "slice": join_with_dots(presented, verdict, sample_size(smallest_n(main))),
        "alt": f"Accuracy in context, {presented}, {over_length(step)}: "
        f"{values_in_words(main, 'length', ends)}; chance is {floor.min():.3f}; {verdict}",
    }
    add_training(drawing, trained, look, label=False)
    add_cursor(drawing, cursor, "length", look.theme, marked)
    return drawing


def answer_difference_rows(frame_a: Frame, frame_b: Frame, *, step: int, step_b: int | None = None) -> Frame:
    """The rows of :func:`in_context_difference`: see :func:`workbench.figures.panels.differences.difference`."""
    at = (step, step if step_b is None else step_b)
    a, b = (
        answer_rows(frame, step=one).where(series=[ALL, SYMBOLS]).with_columns(target="", step=step)
        for frame, one in zip((frame_a, frame_b), at, strict=True)
    )
    found = difference(a, b)
    if not len(found):
        raise NotShared(MEASUREMENT, "There is no number of items at which both A and B were evaluated.")
    return found


@figure(rows=answer_difference_rows)
def in_context_difference(
    data: Frame,
    frame_a: Frame,
    frame_b: Frame,
    *,
    trained: float,
    step: int,
    step_b: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy in context of A minus that of B over the numbers of items that both were evaluated at, each at its step.

    Args:
        trained: the largest number of items that fits into A's window.

    Raises:
        NotMeasured: without answers in context of one of them, or at no length of both.
    """
    t = TOKENS[look.theme]
    parts = dict(series_of(data))
    axis = length_axis([float(n) for n in data.distinct("length")], trained, look.theme)
    n = smallest_n(data)
    last = values_in_words(parts[ALL], "length", [float(parts[ALL]["length"][-1])])
    drawing = line_plot(
        "length", axis | {"title": {"text": "items of the question"}},
        {"range": [-1.08, 1.08], "tickvals": [-1, 0, 1], "ticktext": ["\u22121", "0", "+1"]},
        title="Accuracy in context, A \u2212 B",
        slice=f"same items · {LEVEL_TEXT} CI of the difference · {sample_size(n)}",
        alt=f"Accuracy in context, A minus B: {last}",
        n=n, name=f"{run_name(data)}/in_context_difference", look=look,
    )  # fmt: skip
    drawing.update_layout(margin_r=RIGHT)
    add_level(drawing, axis["range"], [0.0, 0.0], look.theme)
    looks = {SYMBOLS: LineStyle(t["ink2"], symbol=""), ALL: LineStyle(t["ink"], strong=True)}
    labels, marked = add_series(drawing, data, "length", looks, clip=(-1.0, 1.0))
    add_end_labels(drawing, labels, (-1.08, 1.08), look.size)
    add_training(drawing, trained, look, label=False)
    add_cursor(drawing, cursor, "length", look.theme, marked, clip=(-1.0, 1.0))
    return drawing


def prompt_tokens(frame: Frame, step: int) -> dict[int, int]:
    """Number of items -> tokens of the prompt, at a step; empty for a run that was not evaluated in a prompt."""
    rows = _rows(frame, "prompt_tokens", step, needed=False).rows()
    return {int(row["length"]): round(float(row["value"])) for row in rows}


def _rows(frame: Frame, quantity: str, step: int, *, needed: bool = True) -> Frame:
    where = {"quantity": quantity, "mode": "teacher_forced", "step": step}
    return select(frame, MEASUREMENT, **where) if needed else frame.where(measurement=MEASUREMENT, **where)


def _items_axis(lengths: list[float], tokens: Mapping[int, int], trained: float, theme: Theme) -> dict[str, Any]:
    """The axis of items, whose ticks show the number of tokens too."""
    axis = length_axis(lengths, trained, theme)
    beside = {u_length(n): f"<br>{whole(tokens[int(n)])}" for n in lengths}
    axis["ticktext"] = [
        text + beside.get(place, "") for place, text in zip(axis["tickvals"], axis["ticktext"], strict=True)
    ]
    return axis | {"title": {"text": "items of the question; below, tokens of the prompt"}}


def _mark_verdict(drawn: Drawing, frame: Frame, step: int, look: Look) -> str:
    """Mark the length that the verdict names; returns a description of the mark."""
    rows = frame.where(measurement=MEASUREMENT, quantity="in_context_verdict", step=step).rows()
    if not rows:
        return ""
    row, t = rows[0], TOKENS[look.theme]
    label, there = str(row["label"] or row["status"]), not missing(row["length"])
    if label == NOT_CAPABLE:
        return f"not capable: skill below {FITTED:g} at every tested length"
    kind = VERDICTS.get(label)
    if not there or kind is None or kind.at_length is None:
        return label
    text = f"{kind.at_length[0]} {whole(row['length'])}"
    place = u_length(float(row["length"]))
    add_upright(drawn, place, {"color": t["ink2"], "width": 1.2, "dash": DASH}, "verdict")
    low, high = (float(v) for v in drawn.layout.xaxis.range)
    left = place > (low + high) / 2
    drawn.add_annotation(
        x=place, y=0.02, yref="paper", yanchor="bottom", xanchor="right" if left else "left",
        xshift=-5 if left else 5, text=text, name="verdict",
        font={"color": t["ink2"], "size": look.size, "weight": 600},
    )  # fmt: skip
    return text
