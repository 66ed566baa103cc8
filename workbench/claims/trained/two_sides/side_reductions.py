"""Functions that compute the statistics of claims about right and left from rows of runs; see
:mod:`workbench.claims.trained.reductions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.claims.claim import Claim, Row
from workbench.claims.resampling import Share, contrast, contrast_of_shares
from workbench.claims.trained.claim_runs import OneRun, about_several, as_it_is, pairs_of, rng_of, runs_of
from workbench.claims.trained.reductions import best_head, named_differences
from workbench.claims.trained.run_rows import RunTable

LEAD = "right less left"


def right_less_left(claim: Claim, table: RunTable, sizes: Sequence[int]) -> list[Row]:
    """Return the accuracy of forward minus backward zero-shot copies, by the number of symbols before them, over all
    seeds.
    """
    return [row for row, _ in (_lead(claim, runs_of(claim.cells[0], table), size) for size in sizes)]


def vanishing_lead(claim: Claim, table: RunTable, sizes: Sequence[int]) -> list[Row]:
    """Return whether the advantage of copies forwards is absent in the first setting, and how much larger it is in the
    second.

    ``0 within the interval``: 1 where the interval of the first cell's lead includes 0, else 0. ``lead there less
    here``: paired by seed. ``copies gone on with, either way``: of each run of the first cell, each side.
    """
    rows = []
    for run in runs_of(claim.cells[0], table):
        for size in sizes:
            for side in ("right", "left"):
                told, item = f"zero-shot {side}, n {size}", f"{side}, n {size}"
                rows.append(as_it_is(run, told, "copies gone on with, either way", item))
    pairs = pairs_of(claim.cells[0], claim.cells[1], table)
    for size in sizes:
        lead, item = _lead(claim, [one for one, _ in pairs], size)
        gone = float(lead.ends[0] <= 0.0 <= lead.ends[1])
        shares = [(*_sides(there, size), *_sides(one, size)) for one, there in pairs]
        signs = (1, -1, -1, 1)
        more = contrast_of_shares(shares, signs, rng_of(claim, "there", item))
        count = len(pairs)
        rows.append(Row("0 within the interval", item, gone, gone, gone, entered=count, planned=count, fewest=count))
        row = about_several("lead there less here", item, more, len(pairs), len(pairs))
        rows.append(replace(row, each=tuple(contrast(pair, signs) for pair in shares)))
        rows.append(lead)
    return rows


def _lead(claim: Claim, runs: Sequence[OneRun], size: int) -> tuple[Row, str]:
    """One row over some runs, and its item."""
    item = f"n {size}"
    shares = [_sides(run, size) for run in runs]
    found = contrast_of_shares(shares, (1, -1), rng_of(claim, item))
    row = about_several(LEAD, item, found, len(runs), len(runs))
    return replace(row, each=tuple(contrast(pair, (1, -1)) for pair in shares)), item


def _sides(run: OneRun, size: int) -> tuple[Share, Share]:
    """Copies gone on with forwards, and backwards."""
    right, left = (run.share(f"zero-shot {side}, n {size}") for side in ("right", "left"))
    return right, left


def lead_of_induction(claim: Claim, table: RunTable) -> list[Row]:
    """Return, for each run, the highest induction score of a head minus the highest anti-induction score, on random
    tokens that occur twice.

    The two are of other heads; the interval takes the ends that make the difference least and greatest.
    """
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            induction, anti = (best_head(run, score, "repeats") for score in ("induction", "anti_induction"))
            value = (induction.value or 0.0) - (anti.value or 0.0)
            low, high = induction.ends[0] - anti.ends[1], induction.ends[1] - anti.ends[0]
            rows.append(run.new_row("lead of induction", cell.name, value, low, high, induction.n))
    return rows


def values_and_differences(
    claim: Claim, table: RunTable, quantity: str, pairs: Mapping[str, Sequence[int]]
) -> list[Row]:
    """Return a share of every run of every setting, and its differences between named pairs of settings, paired by
    seed.
    """
    each = [as_it_is(run, quantity) for cell in claim.cells for run in runs_of(cell, table)]
    return [*each, *named_differences(claim, table, quantity, pairs)]
