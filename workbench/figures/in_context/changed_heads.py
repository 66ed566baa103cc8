"""What changing the heads that read an answer does to a model that is given a task in its prompt, over items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.figures.labels import dotted, over_length, sample_size, signed
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame, numbers
from workbench.figures.rows.picking import refuse_empty, run_name, select, series_of, smallest_n, stack, tidy, valued
from workbench.figures.style.design_tokens import TOKENS, Theme
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_across,
    add_cursor,
    add_end_labels,
    add_line,
    add_training,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, line_plot, spoken
from workbench.figures.style.template import DASH, run_axis

MEASUREMENT, QUANTITY = "circuits.in_context", "changed_gain"
READERS, OTHERS, ALL = "readers", "other heads of their layers", "all heads"
HELD = "held"
SHOWN_CHANGES = {
    "readers held": (HELD, READERS),
    "others held": (HELD, OTHERS),
    "all, log K": ("logn", ALL),
    "readers, log K": ("logn", READERS),
    "readers out": ("ablated", READERS),
    "others out": ("ablated", OTHERS),
}
"""Series -> mode and target of its rows: a repair with an oracle, two without, what the readers are needed for, and the
same of as many other heads where it is a control."""
RIGHT = 96
"""Pixels beside the plot: the names of the lines."""


@figure
def changed_heads_over_length(
    frame: Frame,
    *,
    trained: float,
    step: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy among all tokens with heads changed, minus that of the model as it is, over the items of a question.

    *Held*: all weight on the keys that hold the answer, which no model could do by itself. *log K*: scores times
    log K / log K0, K keys seen, K0 in the shortest prompt. *Out*: outputs replaced by their means over strings. Dashed:
    as many other heads of the same layers.

    Args:
        frame: rows of one run.
        trained: the most items of which the model's window holds a question.
        step: the checkpoint.
        theme: light or dark.
        size: base text size, pixels.
        cursor: draws the cursor line at ``length``.

    Raises:
        NotMeasured: without such rows at that step.
    """
    data, t = changed_heads_over_length_data(frame, step=step), TOKENS[theme]
    refuse_empty(data, "What changing heads does")
    looks = {
        "readers held": LineStyle(t["summary"], strong=True),
        "others held": LineStyle(t["summary"], width=1.2, dash=DASH, band=False),
        "all, log K": LineStyle(t["a"]),
        "readers, log K": LineStyle(t["a"], width=1.2, band=False),
        "readers out": LineStyle(t["ink"]),
        "others out": LineStyle(t["ink3"], width=1.2, dash=DASH, band=False),
    }
    y_axis = gain_axis([*numbers(data["low"]), *numbers(data["high"]), *numbers(data["value"])])
    n, parts = smallest_n(data), dict(series_of(data))
    drawn = line_plot(
        "length", run_axis("length", data.distinct("length"), trained, theme), y_axis, title="With heads changed",
        slice=dotted("gain in accuracy", sample_size(n)), n=n,
        name=f"{run_name(data)}/changed_heads_over_length", theme=theme, size=size,
    )  # fmt: skip
    drawn.update_layout(margin_r=RIGHT)
    add_across(drawn, 0.0, {"color": t["line2"], "width": 1, "dash": "dot"}, "as it is")
    labels: list[Label] = []
    for name, look in reversed(looks.items()):
        if name in parts:
            end = add_line(drawn, parts[name], "length", look.colour, width=look.width, dash=look.dash, band=look.band)
            labels.append((name, end, look.colour, look.strong))
    add_end_labels(drawn, labels[::-1], y_axis["range"], size)
    longest = [max(float(at) for at in data["length"])]
    drawn.layout.meta["alt"] = (
        f"Gain in accuracy with heads changed, {over_length(step)}: {spoken(data, 'length', longest)}"
    )
    add_training(drawn, trained, theme, size, label=False)
    marked = [(parts[name], look.colour, look.symbol) for name, look in looks.items() if name in parts and look.band]
    add_cursor(drawn, cursor, "length", theme, marked)
    return drawn


@data_of(changed_heads_over_length)
def changed_heads_over_length_data(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`changed_heads_over_length`, a series for each of :data:`SHOWN_CHANGES` that has a value."""
    rows = select(frame, MEASUREMENT, quantity=QUANTITY, law="matched", step=step)
    parts = {name: rows.where(mode=mode, target=target) for name, (mode, target) in SHOWN_CHANGES.items()}
    kept = {name: part for name, part in parts.items() if len(valued(part))} or parts
    return stack([tidy(part, name, "length") for name, part in kept.items() if len(part)])


TOLD = ("readers held", "others held", "all, log K")
"""Series that a sentence names: an oracle with its control, and a change that needs none."""


def changed_rows(frame: Frame, *, step: int, length: int) -> dict[str, dict[str, Any]]:
    """Series of :data:`TOLD` -> its row at one number of items, as far as it has a value."""
    found = {}
    for name in TOLD:
        mode, target = SHOWN_CHANGES[name]
        where = {"measurement": MEASUREMENT, "quantity": QUANTITY, "law": "matched", "step": step, "length": length}
        rows = valued(frame.where(**where, mode=mode, target=target)).rows()
        if rows:
            found[name] = rows[0]
    return found


def gain_axis(values: Sequence[float]) -> dict[str, Any]:
    """Axis for differences of shares: to one half on both sides, or to 1 where something is beyond it."""
    end = 1.0 if max(map(abs, values)) > 0.54 else 0.5
    ticks = [-end, -end / 2, 0.0, end / 2, end]
    return {"range": [-1.08 * end, 1.08 * end], "tickvals": ticks, "ticktext": [signed(tick) for tick in ticks]}
