"""Picking the rows a figure draws, and the tidy frame that is exactly what it draws."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.figures.errors import AmbiguousRows, NotApplicable, NotMeasured, Undefined
from workbench.figures.labels import whole
from workbench.figures.rows.frame import Frame, Mask, is_in, missing, numbers, present, unique
from workbench.models.base.graph import head_name
from workbench.table.schema import FIELDS, IDENTIFYING

#: Statuses whose value is a number worth drawing; all others leave a gap.
DRAWN = ("ok", "sampled", "unseen_position")

NOT_DRAWN = ("position", "setting", "distinct", "reason")
"""Columns that no figure's rows have: a figure is of one setting of a measurement, and none is about one query."""
COLUMNS = ["series", *(name for name in FIELDS if name not in NOT_DRAWN)]
"""Columns of the rows of every figure: the series a row belongs to, then the row itself."""
PLACE = tuple(name for name in IDENTIFYING if name in COLUMNS)
"""Columns that identify a row of a figure."""


def select(frame: Frame, measurement: str, **equals: Any) -> Frame:
    """Return the rows of one measurement whose columns equal the given values. A list of values means any of them.

    Raises:
        NotMeasured: if there is none; the message states whether the whole measurement is missing.
        AmbiguousRows: if the rows are of several runs, or of several settings of the measurement.
    """
    rows = frame.where(measurement=measurement, **equals)
    if not len(rows):
        raise not_measured(frame, measurement, **equals)
    for column, name in (("run", "runs"), ("setting", "settings")):
        several = unique(rows[column]) if column in rows else []
        if len(several) > 1:
            raise AmbiguousRows(
                f"the rows of {measurement} are of {len(several)} {name}; keep one by filtering the column {column!r}"
            )
    return rows


def not_measured(frame: Frame, measurement: str, **equals: Any) -> NotMeasured:
    """Return the error for a measurement without a row whose columns equal the given values. The caller raises it."""
    rows = frame.where(measurement=measurement)
    if not len(rows):
        return NotMeasured(measurement, f"No rows of {measurement} for this run.")
    if (rows["status"] == "not_applicable").all():
        return NotApplicable(measurement, f"{measurement} does not apply: {rows['note'][0]}.")
    conditions = ", ".join(_condition_text(k, v) for k, v in equals.items() if v != "")
    step = equals.get("step")
    if step is not None and not len(rows.where(step=step)):
        return NotMeasured(measurement, f"{measurement} is not measured at {_condition_text('step', step)}.")
    return NotMeasured(
        measurement, f"{measurement} has rows, but none for {conditions}.{_lengths(rows, equals)}", helps=False
    )


def _lengths(own: Frame, equals: Mapping[str, Any]) -> str:
    """The lengths that a measurement was made at, if another one was requested."""
    have = np.unique(cells(own, "length"))
    if equals.get("length") is None or not len(have) or equals["length"] in have:
        return ""
    return f" It looks at length {', '.join(whole(n) for n in have)}."


def axis_at(step: int | None, length: int | None) -> tuple[str, dict[str, int | None]]:
    """Return the column on the x axis of lines, and the filter for their rows: lengths at a given step, or steps at a
    given length.
    """
    return ("step", {"length": length}) if step is None else ("length", {"step": step})


def refuse_empty(data: Frame, what: str) -> None:
    """Raise an error with the reason if none of a figure's rows has a value.

    Args:
        data: the rows of a figure.
        what: what they are about, at the beginning of a sentence.

    Raises:
        NotApplicable: if the measurement does not apply to this model.
        Undefined: if the rows give a reason why there is no value.
    """
    if not len(data) or len(rows_with_values(data)):
        return
    first = str(data["measurement"][0])
    notes = sorted({str(note).rstrip(".") for note in data["note"] if note})
    why = f": {'; '.join(notes)}" if notes else ""
    if (data["status"] == "not_applicable").all():
        raise NotApplicable(first, f"{what} does not apply here{why}.")
    if (data["status"] == "censored").all():
        raise Undefined(first, f"{what} lies beyond what was measured{why}.")
    raise Undefined(first, f"{what} is undefined here{why}.")


def cells(frame: Frame, column: str, **equals: Any) -> NDArray[np.float64]:
    """Return a column, as numbers without missing values, of the rows whose columns equal the given values."""
    return numbers(frame.where(**equals)[column])


def sites(rows: Frame, ending: str) -> Mask:
    """Return a mask of the rows whose hook name ends with ``ending``."""
    return np.fromiter((str(site).endswith(ending) for site in rows["site"]), dtype=bool, count=len(rows))


def tidy(rows: Frame, series: str | Sequence[str], along: str | Sequence[str]) -> Frame:
    """Return the rows of one or several lines, sorted along the x axis. Values that must not be drawn become NaN.

    Args:
        rows: rows of the table.
        series: one name for all, or a name per row.
        along: the column (or columns) to sort by, whose values distinguish the rows of a series.

    Raises:
        AmbiguousRows: if two rows of a series share a value of ``along``, because a line through both would be
            meaningless.
    """
    keys = [along] if isinstance(along, str) else list(along)
    sorted_rows = rows.with_columns(series=series).sort(*keys).only(COLUMNS)
    twice = sorted_rows.repeats("series", *keys)
    if twice.any():
        first = sorted_rows.row(int(np.flatnonzero(twice)[0]))
        place = ", ".join(_condition_text(key, first[key]) for key in keys)
        raise AmbiguousRows(f"two rows of {first['series']} at {place}; filter the frame so that one remains")
    drawn = is_in(sorted_rows["status"], DRAWN)
    return sorted_rows.with_columns(
        **{name: np.where(drawn, sorted_rows[name].astype(float), np.nan) for name in ("value", "low", "high")}
    )


def stack(parts: Iterable[Frame]) -> Frame:
    """Return the rows of several lines as one frame."""
    filled = [part for part in parts if len(part)]
    return Frame.concat(filled) if filled else Frame.from_rows([], COLUMNS)


def series_of(data: Frame) -> list[tuple[str, Frame]]:
    """Return the lines of a figure, as pairs of name and rows, in the order of first appearance."""
    return [(str(name), part) for (name,), part in data.group("series")]


def has_value(row: Mapping[str, Any]) -> bool:
    """Whether a row has a value that may be drawn."""
    return row["status"] in DRAWN and not missing(row["value"])


def rows_with_values(rows: Frame) -> Frame:
    """Return the rows that have a value that may be drawn."""
    return rows.where(is_in(rows["status"], DRAWN) & present(rows["value"]))


def latest(rows: Frame, column: str) -> Frame:
    """Return, for each run, the rows at the run's highest value of a column (step, length or layer)."""
    values, runs = rows[column].astype(float), rows["run"].tolist()
    last: dict[str, float] = {}
    for run, value in zip(runs, values.tolist(), strict=True):
        last[run] = max(value, last.get(run, value))
    return rows.where(values == np.array([last[run] for run in runs], dtype=float))


def after_last_block(rows: Frame) -> Frame:
    """Return the rows about the residual stream after the last measured block."""
    after = rows.where(sites(rows, "hook_resid_post"))
    layers = numbers(after["layer"])
    return after.where(layer=layers.max()) if len(layers) else after


def nearest(lengths: Sequence[int], trained: float) -> int:
    """Return the largest of ``lengths`` that is at most N, the longest trained length; if there is none, the smallest
    of ``lengths``.
    """
    inside = [n for n in lengths if n <= trained]
    return max(inside) if inside else min(lengths)


def edges(data: Frame, along: str) -> list[float]:
    """Return the first and the last x value of a line."""
    places = numbers(data[along])
    return [float(places.min()), float(places.max())] if len(places) else []


def telling(data: Frame, along: str, trained: float) -> list[float]:
    """Return the two x values at which a line is labelled: the first and the last training step, or the largest trained
    and the longest length.
    """
    if along == "step":
        return edges(data, along)
    lengths = [int(n) for n in unique(data[along])]
    return [nearest(lengths, trained), max(lengths)]


def highest(rows: Frame, along: str) -> Frame:
    """Return, for each value of a column, the row with the highest measured value. Rows without a value are left
    out.
    """
    usable = rows_with_values(rows)
    values = usable["value"].astype(float)
    best: dict[float, int] = {}
    for i, place in enumerate(usable[along]):
        if place not in best or values[i] > values[best[place]]:
            best[place] = i
    return usable.take([best[place] for place in sorted(best)])


def smallest_n(data: Frame) -> int | None:
    """Return the smallest number of sequences from which a row of ``data`` was computed; None if it is unknown."""
    counts = numbers(data["n"])
    return None if not len(counts) else int(counts.min())


def head_names(rows: Frame) -> list[str]:
    """Return the name of the attention head of each row."""
    return [head_name(int(layer), int(head)) for layer, head in zip(rows["layer"], rows["head"], strict=True)]


def run_name(frame: Frame) -> str:
    """Return the name of the run to which the rows belong."""
    return "" if not len(frame) else str(frame["run"][0])


def setting_of(row: Mapping[str, Any], name: str) -> float | None:
    """Return a numeric setting with which a row was measured, e.g. a threshold; None if the row does not have it."""
    found = json.loads(str(row.get("setting") or "{}")).get(name)
    return None if found is None else float(found)


def _condition_text(column: Hashable, value: Any) -> str:
    many = isinstance(value, list | tuple)
    values = value if many else [value]
    name = "training step" if column == "step" else str(column).replace("_", " ")
    said = (str(v) if isinstance(v, str) else whole(float(v)) for v in values)
    return f"{name} {' or '.join(said)}"
