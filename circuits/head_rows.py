"""Rows of all heads of a layer at once, and of ratios of accuracies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.measure.intervals import (
    Bounds,
    Ends,
    all_the_same,
    discordant,
    equal_ends,
    interval,
    resampled_means,
    tango,
)
from workbench.measure.rows import add_note, missing_row
from workbench.table.schema import Row, row


def head_rows(
    found: Mapping[str, NDArray[np.float64]],
    rng: np.random.Generator,
    resamples: int,
    why_none: str,
    bounds: Mapping[str, Bounds | None] | None = None,
    **fields: Any,
) -> list[Row]:
    """Return means over sequences for every quantity and head of a layer, with one set of resamples for all.

    Args:
        found: quantity -> ``[sequence, head]``; NaN = undefined.
        rng, resamples: generator and number of bootstrap resamples.
        why_none: note of rows that no sequence defines.
        bounds: quantity -> smallest and largest possible value, used if all values are equal.
        fields: columns of all rows.
    """
    stacked = np.stack(list(found.values()), 1)
    low, high = interval(resampled_means(stacked, rng, resamples))
    rows = []
    for place, head in np.ndindex(*stacked.shape[1:]):
        quantity = list(found)[place]
        columns = {**fields, "quantity": quantity, "head": head}
        values = stacked[:, place, head]
        values = values[~np.isnan(values)]
        if not len(values):
            rows.append(missing_row("undefined", why_none, **columns))
            continue
        ends = Ends(float(low[place, head]), float(high[place, head]))
        if all_the_same(values):
            ends = equal_ends(float(values[0]), len(values), (bounds or {}).get(quantity))
        value = float(values[0] if ends.note else values.mean())
        made = row(value=value, low=ends.low, high=ends.high, n=len(values), **add_note(columns, ends.note))
        rows.append(made)
    return rows


def ratio_row(
    above: ArrayLike, below: ArrayLike, rng: np.random.Generator, resamples: int, why_none: str, **fields: Any
) -> Row:
    """Return mean(above) / mean(below), both differences of 0/1 values of the same sequences.

    The ratio is undefined unless ``below`` is clearly above 0: its Tango interval must exclude 0. If ``above`` is the
    same multiple of ``below`` in every sequence, a bootstrap has no width. The interval is then that of a paired
    difference without any discordant pair, divided by the lower limit of ``below``.

    Args:
        above, below: ``[sequence]``, resampled together.
        rng, resamples: generator and number of bootstrap resamples.
        why_none: why ``below`` may be too close to 0.
        fields: columns of the row.
    """
    pairs = np.stack([np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)], 1)
    if not len(pairs):
        return row(status="undefined", **add_note(fields, why_none))
    n = len(pairs)
    least, _ = tango(*discordant(pairs[:, 1]), n)
    if least <= 0:
        return row(status="undefined", n=n, **add_note(fields, why_none))
    value = float(pairs[:, 0].mean() / pairs[:, 1].mean())
    if np.array_equal(pairs[:, 0], value * pairs[:, 1]):
        half = tango(0, 0, n)[1] / least
        return row(value=value, low=value - half, high=value + half, n=n, **fields)
    means: NDArray[np.float64] = resampled_means(pairs, rng, resamples)
    ratios = np.full(resamples, np.nan)
    np.divide(means[:, 0], means[:, 1], out=ratios, where=means[:, 1] > 0)
    low, high = interval(ratios)
    return row(value=value, low=float(low), high=float(high), n=n, **fields)
