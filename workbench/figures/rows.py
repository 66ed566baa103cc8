"""Picking the rows a figure draws, and the tidy frame that is exactly what it draws.

Every frame may be pandas' or a :class:`workbench.figures.light.Frame`, which answers the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.figures.errors import NotApplicable, NotMeasured, Undefined
from workbench.figures.labels import head_name, whole
from workbench.figures.light import Frame

T = TypeVar("T")

#: Statuses whose value is a number worth drawing; all others leave a gap.
DRAWN = ("ok", "sampled", "unseen_position")

#: Columns of every ``*_data`` frame: the series a row belongs to, then the row itself.
COLUMNS = [
    "series",
    "run",
    "step",
    "law",
    "length",
    "site",
    "layer",
    "head",
    "measurement",
    "quantity",
    "target",
    "mode",
    "control",
    "value",
    "label",
    "low",
    "high",
    "n",
    "status",
    "note",
]


def select(frame: pd.DataFrame, measurement: str, **equals: Any) -> pd.DataFrame:
    """Rows of one measurement whose columns equal the given values (a list means any of them).

    Raises:
        NotMeasured: if there is none; the message says whether the measurement is missing altogether.
        ValueError: if the rows are of several runs, or of several settings of the measurement.
    """
    found = pick(frame, measurement=measurement, **equals)
    if found.empty:
        raise nothing(frame, measurement, **equals)
    for column, name in (("run", "runs"), ("setting", "settings")):
        if column in found and found[column].nunique() > 1:
            raise ValueError(
                f"the rows of {measurement} are of {found[column].nunique()} {name}; "
                f"keep one by filtering the column {column!r}"
            )
    return found


def nothing(frame: pd.DataFrame, measurement: str, **equals: Any) -> NotMeasured:
    """What is to be said where a measurement has no row whose columns equal the given values.

    Returns:
        an error to raise: that it does not apply to this model, or was not measured; and whether measuring would help.
    """
    own = pick(frame, measurement=measurement)
    if own.empty:
        return NotMeasured(measurement, f"No rows of {measurement} for this run.")
    if (own["status"] == "not_applicable").all():
        return NotApplicable(measurement, f"{measurement} does not apply: {own['note'].iloc[0]}.")
    asked = ", ".join(_said(k, v) for k, v in equals.items() if v != "")
    step = equals.get("step")
    if step is not None and pick(own, step=step).empty:
        return NotMeasured(measurement, f"{measurement} is not measured at {_said('step', step)}.")
    return NotMeasured(
        measurement, f"{measurement} has rows, but none for {asked}.{_lengths(own, equals)}", helps=False
    )


def _lengths(own: pd.DataFrame, equals: Mapping[str, Any]) -> str:
    """At which lengths a measurement looks, where another one was asked for."""
    have = np.unique(cells(own, "length"))
    if equals.get("length") is None or not len(have) or equals["length"] in have:
        return ""
    return f" It looks at length {', '.join(whole(n) for n in have)}."


def refuse_empty(data: pd.DataFrame, what: str) -> None:
    """Say why there is nothing to draw where rows are there and none has a value: a blank panel would leave it open.

    Args:
        data: the rows of a figure.
        what: what they are about, at the beginning of a sentence.

    Raises:
        NotApplicable: where the rows say that it is not about this model.
        Undefined: where they say why there is no value.
    """
    if not len(data) or valued(data)["value"].notna().any():
        return
    first = str(data["measurement"].iloc[0])
    notes = sorted({str(note).rstrip(".") for note in data["note"] if note})
    why = f": {'; '.join(notes)}" if notes else ""
    if (data["status"] == "not_applicable").all():
        raise NotApplicable(first, f"{what} does not apply here{why}.")
    if (data["status"] == "censored").all():
        raise Undefined(first, f"{what} lies beyond what was measured{why}.")
    raise Undefined(first, f"{what} is undefined here{why}.")


def pick(frame: pd.DataFrame, **equals: Any) -> pd.DataFrame:
    """Rows whose columns equal the given values (a list means any); an empty frame where there are none."""
    return frame.iloc[_where(frame, equals)]


def cells(frame: pd.DataFrame, column: str, **equals: Any) -> NDArray[np.float64]:
    """One column of the rows that :func:`pick` would find, as numbers without missing ones (much cheaper)."""
    every: NDArray[np.float64] = frame[column].to_numpy(dtype=float, na_value=np.nan)
    found = every[_where(frame, equals)]
    return found[~np.isnan(found)]


def distinct(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """Every different number of one column, ascending: what an axis is laid out for."""
    return frame.distinct(column) if isinstance(frame, Frame) else np.unique(cells(frame, column))


def kept(frame: pd.DataFrame, key: str, make: Callable[[], T]) -> T:
    """What is found of a whole frame: once, if it is one that remembers."""
    return frame.kept(key, make) if isinstance(frame, Frame) else make()


def as_pandas(rows: pd.DataFrame) -> pd.DataFrame:
    """Few rows as pandas' frame, for what needs more of it than a light one answers."""
    return rows.to_pandas() if isinstance(rows, Frame) else rows


def _where(frame: pd.DataFrame, equals: Mapping[str, Any]) -> NDArray[np.intp]:
    """Positions of the rows whose columns equal the given values."""
    if isinstance(frame, Frame):
        return frame.places(equals)
    keep = np.ones(len(frame), dtype=bool)
    for column, value in equals.items():
        held = frame[column]
        same = held.isin(value) if isinstance(value, list | tuple) else held == value
        keep &= same.to_numpy(dtype=bool, na_value=False)  # nullable columns compare to NA, which is no
    return np.flatnonzero(keep)


def sites(rows: pd.DataFrame, ending: str) -> NDArray[np.bool_]:
    """Where the hook name ends as given."""
    return np.fromiter((str(site).endswith(ending) for site in rows["site"]), dtype=bool, count=len(rows))


def tidy(rows: pd.DataFrame, series: str | Sequence[str], along: str | Sequence[str]) -> pd.DataFrame:
    """Rows of one or several series: sorted, their values NaN where nothing may be drawn.

    Args:
        rows: rows of the table.
        series: one name for all, or a name per row.
        along: the column (or columns) to sort by, whose values tell the rows of a series apart.

    Raises:
        ValueError: if two rows of a series share a place, because a line through both would mean nothing.
    """
    keys = [along] if isinstance(along, str) else list(along)
    made = _plain(rows.assign(series=series).sort_values(keys, kind="stable")[COLUMNS].reset_index(drop=True))
    twice = made.duplicated(["series", *keys])
    if twice.any():
        first = made[twice].iloc[0]
        place = ", ".join(_said(key, first[key]) for key in keys)
        raise ValueError(f"two rows of {first['series']} at {place}; filter the frame so that one remains")
    drawn = made["status"].isin(DRAWN)
    return made.assign(**{c: made[c].astype("float64").where(drawn) for c in ("value", "low", "high")})


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Categories as the texts they stand for: few rows are left, and they are about to be put together with others."""
    if isinstance(rows, Frame):
        return rows
    texts = {c: rows[c].astype(object) for c in rows if isinstance(rows[c].dtype, pd.CategoricalDtype)}
    return rows.assign(**texts) if texts else rows


def stack(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Several series as one frame."""
    kept = [part for part in parts if not part.empty]
    return joined(kept) if kept else pd.DataFrame(columns=COLUMNS)


def joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several frames below each other."""
    if isinstance(parts[0], Frame):
        return Frame.concat(parts)
    return pd.concat(parts, ignore_index=True)


def series_of(data: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The series of a ``*_data`` frame in the order of first appearance."""
    return [(str(name), part) for name, part in data.groupby("series", sort=False)]


def known(row: Mapping[str, Any] | pd.Series) -> bool:
    """Whether a row has a value that may be drawn."""
    return row["status"] in DRAWN and not pd.isna(row["value"])


def valued(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that are :func:`known`."""
    return rows[rows["status"].isin(DRAWN) & rows["value"].notna()]


def latest(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Of each of several runs, the rows at its own highest step, length or layer (pandas' frame)."""
    return rows[rows[column] == rows.groupby("run")[column].transform("max")]


def after_last_block(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows about the residual stream after the last block that was read."""
    after = rows[sites(rows, "hook_resid_post")]
    return after[after["layer"] == after["layer"].max()]


def nearest(lengths: Sequence[int], trained: float) -> int:
    """The largest of ``lengths`` that was trained, or the smallest one."""
    inside = [n for n in lengths if n <= trained]
    return max(inside) if inside else min(lengths)


def edges(data: pd.DataFrame, along: str) -> list[float]:
    """The first and the last place of a line."""
    return [float(data[along].min()), float(data[along].max())]


def telling(data: pd.DataFrame, along: str, trained: float) -> list[float]:
    """The two places that tell most of a line: both ends of training; of lengths the last trained and the longest."""
    if along == "step":
        return edges(data, along)
    lengths = [int(n) for n in data[along].unique()]
    return [nearest(lengths, trained), max(lengths)]


def highest(rows: pd.DataFrame, along: str) -> pd.DataFrame:
    """Per place along a column, the row with the highest value (rows without a value left out)."""
    usable = valued(rows)
    values = usable["value"].to_numpy(dtype=float)
    best: dict[float, int] = {}
    for i, place in enumerate(usable[along]):
        if place not in best or values[i] > values[best[place]]:
            best[place] = i
    return usable.iloc[[best[place] for place in sorted(best)]]


def smallest_n(data: pd.DataFrame) -> int | None:
    """The smallest number of sequences behind any row of ``data``."""
    counts = data["n"].dropna()
    return None if counts.empty else int(counts.min())


def head_names(rows: pd.DataFrame) -> list[str]:
    """The head that each row is about."""
    return [head_name(int(layer), int(head)) for layer, head in zip(rows["layer"], rows["head"], strict=True)]


def run_name(frame: pd.DataFrame) -> str:
    """The name of the run the rows are of."""
    return "" if frame.empty else str(frame["run"].iloc[0])


def setting_of(rows: pd.DataFrame, name: str, default: float) -> float:
    """A number among the settings that rows were made with, e.g. a threshold; ``default`` where they tell none."""
    if "setting" not in rows or rows.empty:
        return default
    found = json.loads(str(rows["setting"].iloc[0]) or "{}").get(name, default)
    return float(found)


def _said(column: Hashable, value: Any) -> str:
    many = isinstance(value, list | tuple)
    values = value if many else [value]
    name = "training step" if column == "step" else str(column).replace("_", " ")
    said = (str(v) if isinstance(v, str) else whole(float(v)) for v in values)
    return f"{name} {' or '.join(said)}"
