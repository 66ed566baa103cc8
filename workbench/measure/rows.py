"""Rows from one value per sequence: one way to make an interval for each kind of value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.core.thresholds import CLAIM
from workbench.measure.intervals import Bounds, discordant, mean_ends, sign_test, tango, wilson
from workbench.measure.measurement import Quantity
from workbench.table.schema import Row, row

P = "_p"
"""What the p of a paired difference is called, behind the name of the difference."""


def share_row(flags: ArrayLike, why_none: str, **fields: Any) -> Row:
    """A share of sequences, from one 0/1 value each (Wilson interval); undefined without any."""
    x = np.asarray(flags, dtype=bool)
    if not len(x):
        return row(status="undefined", **noted(fields, why_none))
    low, high = wilson(int(x.sum()), len(x))
    return row(value=float(x.mean()), low=low, high=high, n=len(x), **fields)


def mean_row(
    values: ArrayLike,
    rng: np.random.Generator,
    resamples: int,
    why_none: str,
    bounds: Bounds | None = None,
    **fields: Any,
) -> Row:
    """A mean over sequences of one number each, NaN = not defined there.

    The interval is a bootstrap's; where all are equal it follows from ``bounds``, or there is none.
    """
    x = np.asarray(values, dtype=np.float64)
    x = x[~np.isnan(x)]
    if not len(x):
        return row(status="undefined", **noted(fields, why_none))
    ends = mean_ends(x, rng, resamples, bounds)
    value = float(x[0] if ends.note else x.mean())  # a mean of equal numbers would only add rounding
    return row(value=value, low=ends.low, high=ends.high, n=len(x), **noted(fields, ends.note))


def difference_rows(first: ArrayLike, second: ArrayLike, why_none: str, *, quantity: str, **fields: Any) -> list[Row]:
    """The mean of first - second, two 0/1 values of each sequence (Tango's interval), and the p of the sign test.

    Args:
        first, second: ``[sequence]``.
        why_none: note where there is no sequence.
        quantity: the name of the difference; the p is called as :func:`p_quantity` says.
        fields: of both rows.
    """
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(gap):
        return [missing_row("undefined", why_none, quantity=name, **fields) for name in (quantity, quantity + P)]
    b, c = discordant(gap)
    low, high = tango(b, c, len(gap))
    shared: dict[str, Any] = {"n": len(gap), **fields}
    return [
        row(quantity=quantity, value=(b - c) / len(gap), low=low, high=high, **shared),
        row(quantity=quantity + P, value=sign_test(b, c), **noted(shared, f"{b} against {c} sequences")),
    ]


def p_quantity(of: str, what: str, controls: tuple[str, ...] = ()) -> Quantity:
    """The quantity that goes with a paired difference."""
    return Quantity(
        of + P,
        f"two-sided p of the exact sign test on the sequences that differ: {what}; above {CLAIM:g} nothing is claimed",
        "probability",
        0,
        1,
        formula="min(1, 2 Σ_{k ≥ max(b, c)} Pr[X = k])",
        where="b, c: sequences right only on the one side, and only on the other, X: heads of b + c fair coins",
        controls=controls,
        interval=False,
    )


def missing_row(status: str, why: str, **fields: Any) -> Row:
    """A row without a value, and why."""
    return row(status=status, **noted(fields, why))


def noted(fields: dict[str, Any], note: str) -> dict[str, Any]:
    """The fields of a row with a further clause in its note."""
    notes = [part for part in (fields.get("note", ""), note) if part]
    return {**fields, "note": "; ".join(notes)}
