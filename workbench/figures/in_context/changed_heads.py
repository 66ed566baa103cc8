"""What changing the heads that read an answer does to a model that is given a task in its prompt, over items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.names import ALL_HEADS, OTHER_HEADS, READERS
from workbench.figures.labels import join_with_dots, over_length, sample_size, signed_number
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, numbers
from workbench.figures.rows.select_rows import refuse_empty, rows_with_values, run_name, select, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import (
    Cursor,
    add_across,
    add_cursor,
    add_end_labels,
    add_training,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, add_series, alt_text, line_plot
from workbench.figures.style.template import DASH, run_axis

MEASUREMENT, QUANTITY = "circuits.in_context", "changed_gain"
OTHERS, ALL = OTHER_HEADS, ALL_HEADS
HELD = "held"
SHOWN_CHANGES = {
    "readers forced": (HELD, READERS),
    "others forced": (HELD, OTHERS),
    "all, log K": ("logn", ALL),
    "readers, log K": ("logn", READERS),
    "readers out": ("ablated", READERS),
    "others out": ("ablated", OTHERS),
}
"""Series -> mode and target of its rows.

The series are an intervention with an oracle, two without, an ablation of the reading heads, and the same edits of as
many other heads as controls.
"""
RIGHT = 96
"""Right margin in pixels, for the names of the lines."""


def changed_head_rows(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`changed_heads_over_length`, a series for each of :data:`SHOWN_CHANGES` that has a value."""
    rows = select(frame, MEASUREMENT, quantity=QUANTITY, law="matched", step=step)
    parts = {name: rows.where(mode=mode, target=target) for name, (mode, target) in SHOWN_CHANGES.items()}
    kept = {name: part for name, part in parts.items() if len(rows_with_values(part))} or parts
    return stack([tidy(part, name, "length") for name, part in kept.items() if len(part)])


@figure(rows=changed_head_rows)
def changed_heads_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy among all tokens with heads changed, minus that of the model as it is, over the number of items in a
    prompt.

    *Forced*: all weight on the keys that hold the answer, which no model could do by itself. *log K*: scores times log
    K / log K0, K keys seen, K0 in the shortest prompt. *Out*: outputs replaced by their means over sequences. Dashed:
    as many other heads of the same layers.

    Args:
        trained: the largest number of items that fits into the model's window.

    Raises:
        NotMeasured: without such rows at that step.
    """
    t = TOKENS[look.theme]
    refuse_empty(data, "What changing heads does")
    looks = {
        "readers forced": LineStyle(t["summary"], strong=True),
        "others forced": LineStyle(t["summary"], width=1.2, dash=DASH, band=False, symbol=""),
        "all, log K": LineStyle(t["a"]),
        "readers, log K": LineStyle(t["a"], width=1.2, band=False, symbol=""),
        "readers out": LineStyle(t["ink"]),
        "others out": LineStyle(t["ink3"], width=1.2, dash=DASH, band=False, symbol=""),
    }
    y_axis = gain_axis([*numbers(data["low"]), *numbers(data["high"]), *numbers(data["value"])])
    n = smallest_n(data)
    drawing = line_plot(
        "length", run_axis("length", data.distinct("length"), trained, look.theme), y_axis, title="Interventions on "
        "heads",
        slice=join_with_dots("gain in accuracy", sample_size(n)), n=n,
        name=f"{run_name(data)}/changed_heads_over_length", look=look,
    )  # fmt: skip
    drawing.update_layout(margin_r=RIGHT)
    add_across(drawing, 0.0, {"color": t["line2"], "width": 1, "dash": "dot"}, "as it is")
    labels, marked = add_series(drawing, data, "length", dict(reversed(looks.items())))
    add_end_labels(drawing, labels[::-1], y_axis["range"], look.size)
    longest = [max(float(at) for at in data["length"])]
    drawing.layout.meta["alt"] = (
        f"Gain in accuracy with heads changed, {over_length(step)}: {alt_text(data, 'length', longest)}"
    )
    add_training(drawing, trained, look, label=False)
    add_cursor(drawing, cursor, "length", look.theme, marked[::-1])
    return drawing


TOLD = {
    "readers forced": "all weight of the reading heads put on the keys that hold the answer",
    "others forced": "that of as many other heads put there (control)",
    "all, log K": "the scores of all heads scaled by log K",
}
"""Series that a sentence names -> what is changed: an oracle with its control, and a change that needs none."""


def changed_rows(frame: Frame, *, step: int, length: int) -> dict[str, dict[str, Any]]:
    """Return the row of each line of :data:`TOLD` at one number of items, if it has a value."""
    rows_by_series = {}
    for name in TOLD:
        mode, target = SHOWN_CHANGES[name]
        where = {"measurement": MEASUREMENT, "quantity": QUANTITY, "law": "matched", "step": step, "length": length}
        rows = rows_with_values(frame.where(**where, mode=mode, target=target)).rows()
        if rows:
            rows_by_series[name] = rows[0]
    return rows_by_series


def gain_axis(values: Sequence[float]) -> dict[str, Any]:
    """Axis for differences of shares: to one half on both sides, or to 1 where something is beyond it."""
    end = 1.0 if max(map(abs, values)) > 0.54 else 0.5
    ticks = [-end, -end / 2, 0.0, end / 2, end]
    return {"range": [-1.08 * end, 1.08 * end], "tickvals": ticks, "ticktext": [signed_number(tick) for tick in ticks]}
