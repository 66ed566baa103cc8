"""Any quantity of any measurement over training or over prefix length: also what has no figure of its own.

Rows of one quantity differ in law, target, mode, control, layer and head. What differs names the lines; of heads the
chosen one is drawn in ink and the others faint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import dotted, head_name, layer_name, magnitude, sample_size, whole
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame, absent, missing, present, unique
from workbench.figures.rows.picking import refuse_empty, run_name, select, series_of, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS, Theme
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_cursor,
    add_end_labels,
    add_line,
    add_training,
    drawn_points,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import DASH, run_axis

#: What tells the lines of one quantity apart, the most telling first.
APART = ("control", "target", "mode", "law", "site", "layer", "head")
#: Most lines that are told apart by their labels; beyond, only the chosen head's is.
_MOST_LABELS = 8


@figure
def quantity_over_training(
    frame: Frame,
    *,
    measurement: str,
    quantity: str,
    trained: float,
    length: int,
    layer: int | None = None,
    head: int | None = None,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Any quantity over training at one prefix length (or at none, where it has none).

    Args:
        frame: rows of one run.
        measurement: that made it.
        quantity: its name.
        trained: N, the longest prefix length seen in training.
        length: prefix length; quantities without one ignore it.
        layer: of the chosen head.
        head: the chosen head.
        theme: light or dark.
        size: base text size, pixels.
        cursor: draws the cursor line at ``step``.

    Raises:
        NotMeasured: without rows of that quantity there.
    """
    where = {"measurement": measurement, "quantity": quantity}
    data = quantity_over_training_data(frame, **where, length=length)
    at = f"at length {whole(length)}" if present(data["length"]).any() else "of the whole model"
    return _lines(frame, data, "step", at, quantity, trained, (layer, head), theme, size, cursor)


@data_of(quantity_over_training)
def quantity_over_training_data(frame: Frame, *, measurement: str, quantity: str, length: int) -> Frame:
    """The rows of :func:`quantity_over_training`."""
    rows = select(frame, measurement, quantity=quantity)
    here = rows.where(absent(rows["length"]) | (rows["length"] == length))
    return _series(here, "step", measurement, f"{quantity} has no value at length {whole(length)}.")


@figure
def quantity_over_length(
    frame: Frame,
    *,
    measurement: str,
    quantity: str,
    trained: float,
    step: int,
    layer: int | None = None,
    head: int | None = None,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Any quantity over prefix length at one step; arguments as :func:`quantity_over_training`, ``step`` for length.

    Raises:
        NotMeasured: without rows of that quantity there, or if it has no prefix length.
    """
    where = {"measurement": measurement, "quantity": quantity}
    data = quantity_over_length_data(frame, **where, step=step)
    at = f"at step {whole(step)}"
    return _lines(frame, data, "length", at, quantity, trained, (layer, head), theme, size, cursor)


@data_of(quantity_over_length)
def quantity_over_length_data(frame: Frame, *, measurement: str, quantity: str, step: int) -> Frame:
    """The rows of :func:`quantity_over_length`."""
    rows = select(frame, measurement, quantity=quantity, step=step)
    said = f"{quantity.replace('_', ' ')} is of the whole model, not of one prefix length."
    return _series(rows.where(present(rows["length"])), "length", measurement, said)


def _series(rows: Frame, along: str, measurement: str, otherwise: str) -> Frame:
    """A series per combination of what differs between the rows."""
    if not len(rows):
        raise NotMeasured(measurement, otherwise[:1].upper() + otherwise[1:], helps=False)
    refuse_empty(rows, str(rows["quantity"][0]).replace("_", " ").capitalize())
    rows = rows.where(present(rows["value"]))
    differ = [column for column in APART if len(unique(rows[column])) > 1]
    if not differ:
        return tidy(rows, "value", along)
    parts = []
    for key, part in sorted(rows.group(*differ), key=_missing_last):
        last = {place: index for index, place in enumerate(part[along].tolist())}
        part = part.take(sorted(last.values()))
        parts.append(tidy(part, _name(dict(zip(differ, key, strict=True))), along))
    return stack(parts)


def _missing_last(group: tuple[tuple[Any, ...], Frame]) -> list[tuple[bool, Any]]:
    """Order of lines, by what tells them apart: a column holds texts, "" too, or numbers; missing ones are last."""
    return [(one is None, "" if one is None else one) for one in group[0]]


def _name(parts: Mapping[str, Any]) -> str:
    """The name of a line, from what tells it apart."""
    words: list[str] = []
    layer, head = parts.get("layer"), parts.get("head")
    if head is not None and not missing(head) and layer is not None and not missing(layer):
        words.append(head_name(int(layer), int(head)))
    elif layer is not None and not missing(layer):
        words.append(layer_name(int(layer)))
    elif head is not None and not missing(head):
        words.append(f"head {int(head)}")
    words += [str(parts[c]).replace("_", " ") for c in APART[:-2] if c in parts and parts[c] not in ("", None)]
    return ", ".join(words) or "value"


def _is_of(title: str, rows: Frame, layer: int | None, head: int | None) -> bool:
    """Whether a line is named after the chosen head: with its layer, or without where all heads are of one."""
    if layer is None or head is None or rows["layer"][0] != layer:
        return False
    return title.partition(", ")[0] in (head_name(layer, head), f"head {head}")


def _lines(
    frame: Frame,
    data: Frame,
    along: str,
    at: str,
    quantity: str,
    trained: float,
    chosen: tuple[int | None, int | None],
    theme: Theme,
    size: int,
    cursor: Cursor | None,
) -> Drawing:
    t = TOKENS[theme]
    limits = np.concatenate([data[name].astype(float) for name in ("value", "low", "high")])
    limits = limits[~np.isnan(limits)]
    low, high = (float(limits.min()), float(limits.max())) if len(limits) else (0.0, 1.0)
    low, high = (min(0.0, low), max(1.0, high)) if low >= 0 and high <= 1 else (low, high)
    pad = 0.06 * ((high - low) or 1.0)
    ticks = [low, (low + high) / 2, high]
    parts = series_of(data)
    n = smallest_n(data)
    figure = line_plot(
        along,
        run_axis(along, frame.distinct(along), trained, theme),
        {"range": [low - pad, high + pad], "tickvals": ticks, "ticktext": [magnitude(tick) for tick in ticks]},
        title=quantity.replace("_", " ").capitalize(),
        slice=dotted(at, sample_size(n)),
        alt=f"{quantity.replace('_', ' ')} over {'training' if along == 'step' else 'prefix length'} {at}: "
        f"{len(parts)} lines between {magnitude(low)} and {magnitude(high)}",
        n=n,
        name=f"{run_name(frame)}/{quantity}/{along}",
        theme=theme,
        size=size,
    )
    mine = {title for title, rows in parts if _is_of(title, rows, *chosen)}
    heads = bool(mine)
    labels: list[Label] = []
    for title, rows in sorted(parts, key=lambda part: part[0] in mine):
        first = title in mine if heads else len(parts) <= _MOST_LABELS
        colour = t["ink"] if first else t["line2"]
        dash = DASH if rows["control"][0] not in ("", None) or "challenge" in title else "solid"
        thick, band = 1.8 if first else 1, first and len(parts) <= 4
        end = add_line(figure, rows, along, colour, width=thick, dash=dash, band=band)
        if end is not None and first:
            labels.append((title if len(parts) > 1 else "", end, colour, heads))
    figure.update_layout(margin_r=max(58, min(150, 12 + 6 * max((len(text) for text, *_ in labels), default=0))))
    add_end_labels(figure, labels[:_MOST_LABELS], [low - pad, high + pad], size)
    if along == "length":
        add_training(figure, trained, theme, size, avoid=drawn_points(data, along))
    add_cursor(figure, cursor, along, theme)
    return figure
