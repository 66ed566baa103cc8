"""The answers of one sequence at every prefix: the model as it is above the edited model, wrong prefixes marked."""

from __future__ import annotations

import numpy as np
import pandas as pd

from workbench.figures.labels import whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure_of_pass
from workbench.figures.sequence.attention_pattern import position_ticks
from workbench.figures.sequence.sequence_data import sequence_rows
from workbench.figures.sequence.sequence_marks import Axes, add_outputs
from workbench.figures.sequence.sequence_window import Window, window_of
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import DASH, blank
from workbench.measure.edits.reading import PassName, SequenceReading

_LANE, _TITLE, _GAP = 0.09, 0.11, 0.03
"""Heights of the lane of crosses, of the line above a map, and of the space below it, as shares of the plot."""


def rows_of_answers(found: SequenceReading) -> pd.DataFrame:
    """Return the outputs of both passes, one row per position and answer, with whether the answer there is wrong.

    Returns:
        columns part, position, token, name, value, true and wrong. ``part`` is the pass: clean or edited. ``true`` is
        the oracle's answer. ``wrong`` is 1 where the model's answer differs from it, 0 where not, and missing where the
        task has no answer.
    """
    parts = []
    for part, one in found.passes:
        rows = sequence_rows(found, part=part, rows=("outputs",))
        wrong = [None if one.correct[at] is None else float(not one.correct[at]) for at in rows["position"]]
        parts.append(rows.assign(part=part, wrong=pd.array(wrong, dtype="Float64")))
    columns = ["part", "position", "token", "name", "value", "true", "wrong"]
    return pd.concat(parts, ignore_index=True).reindex(columns=columns)


@figure_of_pass(rows=rows_of_answers)
def answer_maps(found: SequenceReading, *, query: int | None = None, look: Look = LIGHT) -> Drawing:
    """Answers of the model as it is above the answers of the edited model, at every prefix of one sequence.

    Squares: the oracle's answers. A cross above a column: the model's answer at this prefix is wrong.

    Args:
        found: what :func:`circuits.one_sequence.look` returned.
        query: index of a query to mark.
    """
    t, window = TOKENS[look.theme], window_of(found)
    passes: list[PassName] = [part for part, _ in found.passes]
    ticks = position_ticks(window.keys.stop, window.keys.start)
    limits = list(window.limits(window.keys))
    drawing = blank(
        look,
        column="sequence",
        xaxis={
            "range": limits,
            "tickvals": ticks,
            "ticktext": [whole(v) for v in ticks],
            "title": {"text": "prefix length" if found.bos else "position"},
            "anchor": f"y{2 * len(passes)}",
            "showgrid": False,
            "fixedrange": True,
        },
        yaxis={},
        meta=_meta(found, passes, window),
        uirevision=f"answers/{window.range_text}",
    )
    drawing.update_layout(dragmode=False, margin_autoexpand=False)
    edge = found.trained + (0.5 if found.bos else -0.5)
    for i, part in enumerate(passes):
        low, high, lane = _place(i, len(passes))
        _lane(drawing, found, part, Axes("y" if i == 0 else f"y{2 * i + 1}", (high, lane), look.theme, look.size))
        add_outputs(drawing, found, part, Axes(f"y{2 * i + 2}", (low, high), look.theme, look.size))
        drawing.add_annotation(
            x=0, xref="paper", xanchor="left", y=lane, yref="paper", yanchor="bottom",
            text=pass_title(found, part), font={"size": look.size, "color": t["ink"], "weight": 600}, name="pass",
        )  # fmt: skip
        if query is not None and query in window.keys:
            ink = {"color": t["ink"], "width": 1.2}
            drawing.add_shape(type="line", x0=query, x1=query, y0=low, y1=high, yref="paper", line=ink, name="query")
    if limits[0] < edge < limits[1]:
        line = {"color": t["train"], "width": 1.5, "dash": DASH}
        drawing.add_shape(type="line", x0=edge, x1=edge, y0=0, y1=1, yref="paper", line=line, name="training length")
    return drawing


def pass_title(found: SequenceReading, part: PassName) -> str:
    """Return the line above the map of a pass: which pass it is, and how many of its answers are right."""
    name = "as is" if part == "clean" else f"with {found.intervention or 'the edits'}"
    answers = [correct for correct in found.of(part).correct if correct is not None]
    return f"{name}: {whole(sum(answers))} of {whole(len(answers))} right"


def wrong_positions(found: SequenceReading, part: PassName) -> list[int]:
    """Return the positions in view at which the answer of a pass is wrong."""
    return [at for at in window_of(found).keys if found.of(part).correct[at] is False]


def _place(index: int, count: int) -> tuple[float, float, float]:
    """Lower and upper end of a map, and the upper end of the lane above it, as shares of the plot's height."""
    height = (1 - count * (_LANE + _TITLE) - (count - 1) * _GAP) / count
    top = 1 - index * (height + _LANE + _TITLE + _GAP) - _TITLE
    return max(0.0, top - _LANE - height), top - _LANE, top


def _lane(drawing: Drawing, found: SequenceReading, part: PassName, axes: Axes) -> None:
    """A cross above each column in which the answer is wrong."""
    axes.place(drawing, {"range": [0, 1], "tickvals": [], "showgrid": False, "fixedrange": True})
    wrong = wrong_positions(found, part)
    count = len(window_of(found).keys)
    drawing.add_scatter(
        x=wrong if wrong else [None],
        y=[0.5] * len(wrong) if wrong else [None],
        yaxis=axes.y,
        mode="markers",
        marker={
            "symbol": "x-thin",
            "size": float(np.clip(700 / count, 3, 7)),
            "line": {"width": 1.6, "color": TOKENS[axes.theme]["ink"]},
        },
        hovertext=[f"prefix {whole(float(at if found.bos else at + 1))}: the answer is wrong" for at in wrong],
        hoverinfo="text",
        name="wrong",
    )


def _meta(found: SequenceReading, passes: list[PassName], window: Window) -> dict[str, object]:
    told = [pass_title(found, part) for part in passes]
    rows = {part: [_place(i, len(passes))[0], _place(i, len(passes))[1]] for i, part in enumerate(passes)}
    pooled = f"cells are means of {window.pool} positions" if window.pool > 1 else ""
    return {
        "title": "Answers at every prefix",
        "slice": " \u00b7 ".join(one for one in ("\u00d7 above a column: wrong", pooled, window.range_text) if one),
        "alt": f"Answers of one sequence of {whole(window.count)} positions, {'; '.join(told)}.",
        "n": 1,
        "x": {"kind": "position"} | dict(zip(("low", "high"), window.limits(window.keys), strict=True)),
        "window": {"queries": list(found.queries), "keys": list(found.keys)},
        "rows": rows,
        "part": "edited",
        "pool": window.pool,
    }
