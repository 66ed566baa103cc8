"""Any quantity of any measurement over training or over prefix length: also what has no figure of its own.

Rows of one quantity differ in test set, target, mode, control, layer and head. The columns that differ name the lines.
The line of the selected head is solid and dark, and the others are faint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import join_with_dots, layer_name, magnitude, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import lines
from workbench.figures.rows.frame import Frame, absent, missing, present, unique
from workbench.figures.rows.select_rows import (
    axis_at,
    refuse_empty,
    run_name,
    select,
    series_of,
    smallest_n,
    stack,
    tidy,
)
from workbench.figures.style.design_tokens import CONFIGURATIONS, TOKENS
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
from workbench.models.base.graph import head_name
from workbench.table.schema import SEPARATING
from workbench.table.wording import quantity_label, sentence_case

#: Most lines that are told apart by their labels; beyond, only the chosen head's is.
_MOST_LABELS = 8
MOST_BANDS = 4
"""Lines that have bands at most."""


def quantity_rows(
    frame: Frame, *, measurement: str, quantity: str, step: int | None = None, length: int | None = None
) -> Frame:
    """Return any quantity over prefix length at one step, or over training at one prefix length (or without a
    length).
    """
    title = quantity_label(quantity)
    if step is None:
        rows = select(frame, measurement, quantity=quantity)
        at_length = rows.where(absent(rows["length"]) | (rows["length"] == length))
        return _series(at_length, "step", measurement, f"{quantity} has no value at length {whole(length or 0)}.")
    rows = select(frame, measurement, quantity=quantity, step=step)
    at_length = rows.where(present(rows["length"]))
    if not len(at_length):
        refuse_empty(rows, title.capitalize())  # what has no value has no length either, and says why
    return _series(at_length, "length", measurement, f"{title} is of the whole model, not of one prefix length.")


@lines(rows=quantity_rows)
def quantity_lines(
    data: Frame,
    frame: Frame,
    *,
    measurement: str,
    quantity: str,
    trained: float,
    step: int | None = None,
    length: int | None = None,
    layer: int | None = None,
    head: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Any quantity {over}; of what has no prefix length, over training as it is.

    Args:
        measurement: that made it.

    Raises:
        NotMeasured: without rows of that quantity there, or over prefix length if it has none.
    """
    along, _ = axis_at(step, length)
    at = f"at step {whole(step)}" if step is not None else "of the whole model"
    if step is None and present(data["length"]).any():
        at = f"at length {whole(length or 0)}"
    t = TOKENS[look.theme]
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
        run_axis(along, frame.distinct(along), trained, look.theme),
        {"range": [low - pad, high + pad], "tickvals": ticks, "ticktext": [magnitude(tick) for tick in ticks]},
        title=sentence_case(quantity_label(quantity)),
        slice=join_with_dots(at, sample_size(n)),
        alt=f"{quantity.replace('_', ' ')} over {'training' if along == 'step' else 'prefix length'} {at}: "
        f"{len(parts)} lines between {magnitude(low)} and {magnitude(high)}",
        n=n,
        name=f"{run_name(frame)}/{quantity}/{along}",
        look=look,
    )
    mine = {title for title, rows in parts if _is_of(title, rows, layer, head)}
    heads = bool(mine)
    labels: list[Label] = []
    names = [title for title, _ in parts]
    for title, rows in sorted(parts, key=lambda part: part[0] in mine):
        first = title in mine if heads else len(parts) <= _MOST_LABELS
        colour = t["ink"] if first else t["line2"]
        if first and not heads and len(parts) > 1:  # lines that differ in nothing but a name need colours
            colour = CONFIGURATIONS[look.theme][names.index(title)]
        dash = DASH if rows["control"][0] not in ("", None) or "challenge" in title else "solid"
        thick, band = 1.8 if first else 1, first and len(parts) <= MOST_BANDS
        end = add_line(figure, rows, along, colour, width=thick, dash=dash, band=band)
        if end is not None and first:
            labels.append((title if len(parts) > 1 else "", end, colour, heads))
    figure.update_layout(margin_r=max(58, min(150, 12 + 6 * max((len(text) for text, *_ in labels), default=0))))
    add_end_labels(figure, labels[:_MOST_LABELS], [low - pad, high + pad], look.size)
    if along == "length":
        add_training(figure, trained, look, avoid=drawn_points(data, along))
    add_cursor(figure, cursor, along, look.theme)
    return figure


quantity_over_training = quantity_lines.over("step")
quantity_over_length = quantity_lines.over("length")


def _series(rows: Frame, along: str, measurement: str, otherwise: str) -> Frame:
    """A series per combination of what differs between the rows."""
    if not len(rows):
        raise NotMeasured(measurement, otherwise[:1].upper() + otherwise[1:], helps=False)
    refuse_empty(rows, sentence_case(quantity_label(str(rows["quantity"][0]))))
    rows = rows.where(present(rows["value"]))
    differ = [column for column in SEPARATING if len(unique(rows[column])) > 1]
    if not differ:
        return tidy(rows, "value", along)
    parts = []
    for key, part in sorted(rows.group(*differ), key=_missing_last):
        last = {place: index for index, place in enumerate(part[along].tolist())}
        part = part.take(sorted(last.values()))
        parts.append(tidy(part, _name(dict(zip(differ, key, strict=True))), along))
    return stack(parts)


def _missing_last(group: tuple[tuple[Any, ...], Frame]) -> list[tuple[bool, Any]]:
    """Sort key of lines by the columns that distinguish them: texts ("" too) or numbers; missing values are last."""
    return [(one is None, "" if one is None else one) for one in group[0]]


def _name(parts: Mapping[str, Any]) -> str:
    """The name of a line, from the values that distinguish it."""
    words: list[str] = []
    layer, head = parts.get("layer"), parts.get("head")
    if head is not None and not missing(head) and layer is not None and not missing(layer):
        words.append(head_name(int(layer), int(head)))
    elif layer is not None and not missing(layer):
        words.append(layer_name(int(layer)))
    elif head is not None and not missing(head):
        words.append(f"head {int(head)}")
    for column in (name for name in parts if name not in ("layer", "head")):
        value = parts[column]
        if isinstance(value, str):
            words += [value.replace("_", " ")] if value else []
        elif not missing(value):
            words.append(f"{column} {int(value)}")
    return ", ".join(words) or "value"


def _is_of(title: str, rows: Frame, layer: int | None, head: int | None) -> bool:
    """Whether a line is named after the chosen head: with its layer, or without where all heads are of one."""
    if layer is None or head is None or rows["layer"][0] != layer:
        return False
    return title.partition(", ")[0] in (head_name(layer, head), f"head {head}")
