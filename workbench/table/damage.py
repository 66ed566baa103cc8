"""Detects damaged rows: rows that no measurement writes. The check runs when code that draws or prints rows fails.

There are millions of rows, so they are not checked whenever they are read. The check decides whether an error is
reported as damaged rows or as a defect of LengthLens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd

from workbench.core.errors import LensError, quoted_value
from workbench.core.verdicts import VERDICTS
from workbench.table.errors import TableError
from workbench.table.last_verdict import VERDICT_QUANTITIES
from workbench.table.schema import COLUMNS, IDENTIFYING, TEXTS

SERIES = ("measurement", "quantity", "target", "mode", "control")
"""Rows that are equal in these columns, and have a value, use the same columns of :data:`PLACES`."""
PLACES = ("step", "length", "head")
REMEDY = "delete the folder measurements and the file table.parquet of this run, and measure again"


@contextmanager
def blaming_damage(
    problems: Callable[[], Iterable[tuple[str, str | None]]], passes: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Raise a :class:`TableError` instead of an unexpected error if the rows used in the block are damaged.

    Args:
        problems: returns, for each run whose rows the block reads, its name and the result of :func:`damage`.
        passes: expected errors, which are not caught.
    """
    expected: tuple[type[Exception], ...] = (LensError, OSError, MemoryError, *passes)
    try:
        yield
    except expected:
        raise
    except Exception as error:
        for run, problem in problems():
            if problem is not None:
                raise TableError(damage_sentence(run, problem)) from error
        raise


def damage_sentence(run: str, problem: str) -> str:
    """The error message for a run with damaged rows. ``problem`` is the clause that :func:`damage` returns."""
    return f"the rows of {run} are damaged ({problem}): {REMEDY}"


def damage(rows: pd.DataFrame) -> str | None:
    """The first sign that no measurement wrote these rows, as a clause; None if the rows are intact.

    Args:
        rows: with any of the columns of :data:`workbench.table.schema.COLUMNS`.
    """
    checks = (
        _text_missing,
        _number_below_least,
        _limits_without_order,
        _settings_without_object,
        _head_without_layer,
        _repeated_row,
        _place_left_out,
        _unknown_verdict,
    )
    return next((problem for check in checks if (problem := check(rows)) is not None), None)


def _text_missing(rows: pd.DataFrame) -> str | None:
    return next((f"a row has no {name}" for name in TEXTS if name in rows and rows[name].isna().any()), None)


def _number_below_least(rows: pd.DataFrame) -> str | None:
    for column in COLUMNS:
        if column.least is not None and column.name in rows:
            smallest = rows[column.name].min()
            if smallest < column.least:
                return f"{column.name} {smallest:,.0f} is below {column.least}"
    return None


def _limits_without_order(rows: pd.DataFrame) -> str | None:
    for name in ("value", "low", "high"):
        if name in rows and np.isinf(rows[name].to_numpy(float)).any():
            return f"a {name} is infinite"
    if {"low", "high"} <= set(rows) and (rows["low"] > rows["high"]).any():
        return "the lower end of an interval is above its upper end"
    return None


def _settings_without_object(rows: pd.DataFrame) -> str | None:
    for text in rows["setting"].unique() if "setting" in rows else ():
        try:
            known = isinstance(json.loads(text), dict)
        except (TypeError, ValueError, RecursionError):
            known = False
        if not known:
            return f"setting {text!r:.40} is no JSON object"
    return None


def _head_without_layer(rows: pd.DataFrame) -> str | None:
    if {"layer", "head"} <= set(rows) and (rows["head"].notna() & rows["layer"].isna()).any():
        return "a row names a head and no layer"
    return None


def _repeated_row(rows: pd.DataFrame) -> str | None:
    if set(IDENTIFYING) <= set(rows) and (repeated := rows.duplicated(list(IDENTIFYING))).any():
        row = rows[repeated].iloc[0]
        return f"{row['quantity']} at step {row['step']} and length {row['length']} is there twice"
    return None


def _place_left_out(rows: pd.DataFrame) -> str | None:
    if not {*SERIES, *PLACES, "value"} <= set(rows):
        return None
    valued = rows[rows["value"].notna()]
    for place in PLACES:
        filled = valued[place].notna().groupby([valued[name] for name in SERIES], observed=True).agg(["any", "all"])
        mixed = filled[filled["any"] & ~filled["all"]]
        if len(mixed):
            return f"some rows of {mixed.index[0][1]} name no {place}"
    return None


def _unknown_verdict(rows: pd.DataFrame) -> str | None:
    if not {"quantity", "label", "status"} <= set(rows):
        return None
    verdicts = rows[rows["quantity"].isin(VERDICT_QUANTITIES) & (rows["status"] == "ok")]
    unknown = verdicts[~verdicts["label"].isin(list(VERDICTS))]
    return f"no verdict is called {quoted_value(unknown['label'].iloc[0])}" if len(unknown) else None
