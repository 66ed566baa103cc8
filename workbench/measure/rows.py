"""Rows computed from one value per sequence, with the interval that suits each kind of value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.core.thresholds import CLAIM
from workbench.measure.intervals import Bounds, discordant, mean_ends, sign_test, tango, wilson
from workbench.measure.measurement import Quantity
from workbench.table.schema import Row, row

P = "_p"
"""Suffix of the quantity that contains the p value of a paired difference."""


def share_row(flags: ArrayLike, why_none: str, **fields: Any) -> Row:
    """Return a row with a share of sequences, from one 0/1 value each (Wilson interval); undefined for no sequence."""
    x = np.asarray(flags, dtype=bool)
    if not len(x):
        return row(status="undefined", **add_note(fields, why_none))
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
    """Return a row with the mean over sequences of one number each; NaN values are left out.

    The interval is a bootstrap. If all values are equal, it follows from ``bounds``, or there is none.
    """
    x = np.asarray(values, dtype=np.float64)
    x = x[~np.isnan(x)]
    if not len(x):
        return row(status="undefined", **add_note(fields, why_none))
    ends = mean_ends(x, rng, resamples, bounds)
    value = float(x[0] if ends.note else x.mean())  # a mean of equal numbers would only add rounding
    return row(value=value, low=ends.low, high=ends.high, n=len(x), **add_note(fields, ends.note))


def difference_rows(first: ArrayLike, second: ArrayLike, why_none: str, *, quantity: str, **fields: Any) -> list[Row]:
    """Return two rows: the mean of first - second, and the p value of the sign test.

    Both inputs have one 0/1 value per sequence. The interval of the difference is Tango's.

    Args:
        first, second: ``[sequence]``.
        why_none: note of the rows if there is no sequence.
        quantity: name of the difference; :func:`p_quantity` gives the name of the p value.
        fields: columns of both rows.
    """
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(gap):
        return [missing_row("undefined", why_none, quantity=name, **fields) for name in (quantity, quantity + P)]
    b, c = discordant(gap)
    low, high = tango(b, c, len(gap))
    shared: dict[str, Any] = {"n": len(gap), **fields}
    return [
        row(quantity=quantity, value=(b - c) / len(gap), low=low, high=high, **shared),
        row(quantity=quantity + P, value=sign_test(b, c), **add_note(shared, f"{b} against {c} sequences")),
    ]


def p_quantity(of: str, what: str, controls: tuple[str, ...] = ()) -> Quantity:
    """Return the quantity for the p value of a paired difference."""
    return Quantity(
        of + P,
        f"Two-sided p value of the exact sign test on the sequences where only one side is correct: {what}. Above "
        f"{CLAIM:g}, no difference is claimed.",
        "probability",
        0,
        1,
        formula="min(1, 2 Σ_{k ≥ max(b, c)} Pr[X = k])",
        where="b, c: sequences that are correct on only one side, and on only the other, X: heads of b + c fair coins",
        controls=controls,
        interval=False,
    )


def missing_row(status: str, why: str, **fields: Any) -> Row:
    """Return a row without a value, with the reason as its note."""
    return row(status=status, **add_note(fields, why))


def add_note(fields: dict[str, Any], note: str) -> dict[str, Any]:
    """Return the fields of a row with a further clause in its note."""
    notes = [part for part in (fields.get("note", ""), note) if part]
    return {**fields, "note": "; ".join(notes)}
