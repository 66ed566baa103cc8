"""Picking the rows a figure draws, and the tidy frame that is exactly what it draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole

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
    rows = pick(frame, measurement=measurement)
    if rows.empty:
        raise NotMeasured(measurement, f"No rows of {measurement} for this run.")
    found = pick(rows, **equals)
    if found.empty:
        asked = ", ".join(_said(k, v) for k, v in equals.items() if v != "")
        raise NotMeasured(measurement, f"{measurement} has rows, but none for {asked}.")
    for column, name in (("run", "runs"), ("setting", "settings")):
        if column in found and found[column].nunique() > 1:
            raise ValueError(
                f"the rows of {measurement} are of {found[column].nunique()} {name}; "
                f"keep one by filtering the column {column!r}"
            )
    return found


def pick(frame: pd.DataFrame, **equals: Any) -> pd.DataFrame:
    """Rows whose columns equal the given values; an empty frame where there are none."""
    keep = np.ones(len(frame), dtype=bool)
    for column, value in equals.items():
        cells = frame[column]
        same = cells.isin(value) if isinstance(value, list | tuple) else cells == value
        keep &= same.to_numpy(dtype=bool, na_value=False)  # nullable columns compare to NA, which is no
    return frame[keep]


def tidy(rows: pd.DataFrame, series: str, along: str) -> pd.DataFrame:
    """One series of a figure: sorted ``along`` a column, its value NaN where nothing may be drawn.

    Raises:
        ValueError: if two rows share a place, because a line through both would mean nothing.
    """
    made = rows.assign(series=series).sort_values(along, kind="stable")[COLUMNS].reset_index(drop=True)
    if made[along].duplicated().any():
        place = made.loc[made[along].duplicated(), along].iloc[0]
        raise ValueError(f"two rows of {series} at {along} {place}; filter the frame so that one remains")
    made[["value", "low", "high"]] = made[["value", "low", "high"]].astype(float)
    made.loc[~made["status"].isin(DRAWN), ["value", "low", "high"]] = np.nan
    return made


def stack(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Several series as one frame."""
    kept = [part for part in parts if not part.empty]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=COLUMNS)


def series_of(data: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The series of a ``*_data`` frame in the order of first appearance."""
    return [(str(name), part) for name, part in data.groupby("series", sort=False)]


def highest(rows: pd.DataFrame, along: str) -> pd.DataFrame:
    """Per place along a column, the row with the highest value (rows without a value left out)."""
    usable = rows[rows["status"].isin(DRAWN) & rows["value"].notna()]
    return usable.loc[usable.groupby(along)["value"].idxmax()]


def smallest_n(data: pd.DataFrame) -> int | None:
    """The smallest number of sequences behind any row of ``data``."""
    counts = data["n"].dropna()
    return None if counts.empty else int(counts.min())


def run_name(frame: pd.DataFrame) -> str:
    """The name of the run the rows are of."""
    return "" if frame.empty else str(frame["run"].iloc[0])


def _said(column: Hashable, value: Any) -> str:
    many = isinstance(value, list | tuple)
    values = value if many else [value]
    name = "training step" if column == "step" else str(column).replace("_", " ")
    return name + " " + " or ".join(whole(v) if isinstance(v, int | float) else str(v) for v in values)
