"""From losses of single texts to rows of claims: what a few bytes regain, and differences paired by seed and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.claims.claim import Claim, Row
from workbench.claims.errors import ClaimError
from workbench.claims.resampling import RESAMPLES, TAILS, paired_difference
from workbench.claims.trained.claim_runs import OneRun, about_several, entering_pairs, pairs_of, rng_of, runs_of
from workbench.claims.trained.run_rows import RunTable

Values = NDArray[np.float64]
CORRELATION, SLOPE, CONTROL = "correlation", "slope", "slope with random tokens"


def by_text(run: OneRun, quantity: str, setting: str = "") -> Values:
    """Return the values of a quantity ``[text]``, in the order of the texts.

    Raises:
        ClaimError: if there are none.
    """
    start = ", ".join(filter(None, (quantity, setting, "text ")))
    found = {int(told.removeprefix(start)): row.value for told, row in run.rows.items() if told.startswith(start)}
    if not found:
        raise ClaimError(f"{run.cell.name}, seed {run.seed}, has no row of {quantity} for single texts")
    return np.array([found[place] for place in sorted(found)], dtype=np.float64)


def regained_gain_rows(claim: Claim, table: RunTable, choices: Sequence[str]) -> list[Row]:
    """Return how much of the gain from distant context a few tokens recover, over texts: correlation, slope, and the
    slope of the control.

    Of each run and each choice of tokens; least squares with a constant, texts drawn for the intervals.

    Args:
        claim, table: them.
        choices: whose losses with whose tokens, as settings of the rows.
    """
    return [
        row
        for cell in claim.cells
        for choice in choices
        for run in runs_of(cell, table)
        for row in _of_run(claim, run, choice)
    ]


def _of_run(claim: Claim, run: OneRun, choice: str) -> list[Row]:
    long, short, sparse, random = (
        by_text(run, f"loss, {kind}", choice) for kind in ("long", "short", "sparse", "random")
    )
    gain = short - long
    samples = rng_of(claim, choice, run.seed).integers(0, len(gain), (RESAMPLES, len(gain)))
    rows = []
    for label, function, rest_of_name in (
        (CORRELATION, correlations, short - sparse),
        (SLOPE, slopes, short - sparse),
        (CONTROL, slopes, short - random),
    ):
        value = float(function(gain[None], rest_of_name[None])[0])
        low, high = np.percentile(function(gain[samples], rest_of_name[samples]), TAILS)
        rows.append(run.new_row(label, f"{run.cell.name}, {choice}", value, float(low), float(high), len(gain)))
    return rows


def slopes(x: Values, y: Values) -> Values:
    """Return least-squares slopes ``[draw]`` of y on x, both ``[draw, text]``; 0 where x does not vary."""
    centred = x - x.mean(1, keepdims=True)
    total = (centred**2).sum(1)
    found: Values = np.divide((centred * y).sum(1), total, out=np.zeros_like(total), where=total > 0)
    return found


def correlations(x: Values, y: Values) -> Values:
    """Return Pearson's correlations ``[draw]`` of x and y, both ``[draw, text]``; 0 where one of them does not vary."""
    one, other = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    total = np.sqrt((one**2).sum(1) * (other**2).sum(1))
    found: Values = np.divide((one * other).sum(1), total, out=np.zeros_like(total), where=total > 0)
    return found


def text_difference(claim: Claim, table: RunTable, quantity: str, told: str) -> list[Row]:
    """Return a loss of the first configuration minus that of the second, paired by seed and text; seeds are resampled,
    then texts.

    Args:
        claim, table: them.
        quantity: the quantity of single texts.
        told: name of the row.
    """
    one, other = claim.cells[:2]
    found = pairs_of(one, other, table)
    enter = entering_pairs(claim, found)
    differences = [by_text(a, quantity) - by_text(b, quantity) for a, b in enter or found]
    row = about_several(
        told, f"{one.name} less {other.name}", paired_difference(differences, rng_of(claim)), len(enter), len(found)
    )
    return [replace(row, each=tuple(float(one.mean()) for one in differences))]
