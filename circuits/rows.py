"""Rows from per-sequence values: one way to make an interval for each kind of value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.measure.intervals import bootstrap_mean, interval, resampled_means, wilson
from workbench.table.schema import Row, row


def share_row(flags: ArrayLike, why_none: str, **fields: Any) -> Row:
    """A share of sequences, from one 0/1 value each (Wilson interval); undefined without any."""
    x = np.asarray(flags, dtype=bool)
    if not len(x):
        return row(status="undefined", **_noted(fields, why_none))
    low, high = wilson(int(x.sum()), len(x))
    return row(value=float(x.mean()), low=low, high=high, n=len(x), **fields)


def mean_row(values: ArrayLike, rng: np.random.Generator, resamples: int, why_none: str, **fields: Any) -> Row:
    """A mean over sequences of one number each, NaN = not defined there (bootstrap interval)."""
    x = np.asarray(values, dtype=np.float64)
    x = x[~np.isnan(x)]
    if not len(x):
        return row(status="undefined", **_noted(fields, why_none))
    low, high = bootstrap_mean(x, rng, resamples)
    fields = _noted(fields, "all sequences equal: the interval has no width" if low == high and len(x) > 1 else "")
    return row(value=float(x.mean()), low=float(low), high=float(high), n=len(x), **fields)


def head_rows(
    found: Mapping[str, NDArray[np.float64]], rng: np.random.Generator, resamples: int, why_none: str, **fields: Any
) -> list[Row]:
    """Means over sequences for every quantity and head of a layer, with one set of resamples for all.

    Args:
        found: quantity -> ``[sequence, head]``; NaN = not defined there.
        rng, resamples: of the bootstrap.
        why_none: note of rows that no sequence defines.
        fields: of all rows.
    """
    stacked = np.stack(list(found.values()), 1)
    low, high = bootstrap_mean(stacked, rng, resamples)
    count = (~np.isnan(stacked)).sum(0)
    mean = np.divide(np.nansum(stacked, 0), count, out=np.full(count.shape, np.nan), where=count > 0)
    rows = []
    for (place, head), n in np.ndenumerate(count):
        named = {**fields, "quantity": list(found)[place], "head": head}
        if n == 0:
            rows.append(missing_row("undefined", why_none, **named))
            continue
        equal = low[place, head] == high[place, head] and n > 1
        note = "all sequences equal: the interval has no width" if equal else ""
        ends = {"low": float(low[place, head]), "high": float(high[place, head]), "n": int(n)}
        rows.append(row(value=float(mean[place, head]), **ends, **_noted(named, note)))
    return rows


def ratio_row(
    above: ArrayLike, below: ArrayLike, rng: np.random.Generator, resamples: int, why_none: str, **fields: Any
) -> Row:
    """mean(above) / mean(below) over the same sequences; undefined where ``below`` is not clearly above 0.

    Args:
        above, below: ``[sequence]``, resampled together.
        rng, resamples: of the bootstrap.
        why_none: why ``below`` may be too near 0.
        fields: of the row.
    """
    pairs = np.stack([np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)], 1)
    if not len(pairs):
        return row(status="undefined", **_noted(fields, why_none))
    means: NDArray[np.float64] = resampled_means(pairs, rng, resamples)
    if interval(means[:, 1])[0] <= 0:
        return row(status="undefined", n=len(pairs), **_noted(fields, why_none))
    ratios = np.full(resamples, np.nan)
    np.divide(means[:, 0], means[:, 1], out=ratios, where=means[:, 1] > 0)
    low, high = interval(ratios)
    value = float(pairs[:, 0].mean() / pairs[:, 1].mean())
    return row(value=value, low=float(low), high=float(high), n=len(pairs), **fields)


def missing_row(status: str, why: str, **fields: Any) -> Row:
    """A row without a value, and why."""
    return row(status=status, **_noted(fields, why))


def _noted(fields: dict[str, Any], note: str) -> dict[str, Any]:
    notes = [part for part in (fields.get("note", ""), note) if part]
    return {**fields, "note": "; ".join(notes)}
