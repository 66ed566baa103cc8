"""Rows of all heads of a layer at once, and of ratios of accuracies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.measure.intervals import Bounds, Ends, discordant, equal_ends, interval, resampled_means, tango
from workbench.measure.rows import missing_row, noted
from workbench.table.schema import Row, row


def head_rows(
    found: Mapping[str, NDArray[np.float64]],
    rng: np.random.Generator,
    resamples: int,
    why_none: str,
    bounds: Mapping[str, Bounds | None] | None = None,
    **fields: Any,
) -> list[Row]:
    """Means over sequences for every quantity and head of a layer, with one set of resamples for all.

    Args:
        found: quantity -> ``[sequence, head]``; NaN = not defined there.
        rng, resamples: of the bootstrap.
        why_none: note of rows that no sequence defines.
        bounds: quantity -> between which its values lie, for where all are equal.
        fields: of all rows.
    """
    stacked = np.stack(list(found.values()), 1)
    low, high = interval(resampled_means(stacked, rng, resamples))
    rows = []
    for place, head in np.ndindex(*stacked.shape[1:]):
        quantity = list(found)[place]
        named = {**fields, "quantity": quantity, "head": head}
        own = stacked[:, place, head]
        own = own[~np.isnan(own)]
        if not len(own):
            rows.append(missing_row("undefined", why_none, **named))
            continue
        ends = Ends(float(low[place, head]), float(high[place, head]))
        if own.min() == own.max():
            ends = equal_ends(float(own[0]), len(own), (bounds or {}).get(quantity))
        value = float(own[0] if ends.note else own.mean())
        made = row(value=value, low=ends.low, high=ends.high, n=len(own), **noted(named, ends.note))
        rows.append(made)
    return rows


def ratio_row(
    above: ArrayLike, below: ArrayLike, rng: np.random.Generator, resamples: int, why_none: str, **fields: Any
) -> Row:
    """mean(above) / mean(below), differences of 0/1 values of the same sequences.

    Undefined where ``below`` is not clearly above 0: where its interval (Tango's) reaches down to it. Where
    ``above`` is the same multiple of ``below`` in every sequence, resampling shows nothing; then the interval is as
    wide as that of a paired difference of which none was seen, over the least that ``below`` may be.

    Args:
        above, below: ``[sequence]``, resampled together.
        rng, resamples: of the bootstrap.
        why_none: why ``below`` may be too near 0.
        fields: of the row.
    """
    pairs = np.stack([np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)], 1)
    if not len(pairs):
        return row(status="undefined", **noted(fields, why_none))
    n = len(pairs)
    least, _ = tango(*discordant(pairs[:, 1]), n)
    if least <= 0:
        return row(status="undefined", n=n, **noted(fields, why_none))
    value = float(pairs[:, 0].mean() / pairs[:, 1].mean())
    if np.array_equal(pairs[:, 0], value * pairs[:, 1]):
        half = tango(0, 0, n)[1] / least
        return row(value=value, low=value - half, high=value + half, n=n, **fields)
    means: NDArray[np.float64] = resampled_means(pairs, rng, resamples)
    ratios = np.full(resamples, np.nan)
    np.divide(means[:, 0], means[:, 1], out=ratios, where=means[:, 1] > 0)
    low, high = interval(ratios)
    return row(value=value, low=float(low), high=float(high), n=n, **fields)
