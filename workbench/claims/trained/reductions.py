"""Functions that compute the statistic of a claim from the stored rows of runs.

Every function takes the claim and the table of runs and returns rows for :mod:`workbench.claims.verdict_rule`. Its
arguments are those of the claim. Runs of two cells are compared in pairs of one seed. A pair solves the trained lengths
if both runs do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import f_oneway

from workbench.claims.claim import Claim, Row
from workbench.claims.errors import ClaimError
from workbench.claims.resampling import RESAMPLES, contrast, contrast_of_shares, drawn_shares, spearman
from workbench.claims.trained.claim_runs import (
    OneRun,
    Pair,
    about_several,
    as_it_is,
    correlation_row,
    entering_pairs,
    pairs_of,
    rng_of,
    runs_of,
)

# The stored table names these functions by their address in this module.
from workbench.claims.trained.orderings import label_lead as label_lead
from workbench.claims.trained.orderings import separation as separation
from workbench.claims.trained.plateaus import bound_tau as bound_tau
from workbench.claims.trained.plateaus import needed_lengths as needed_lengths
from workbench.claims.trained.plateaus import plateau_ratio as plateau_ratio
from workbench.claims.trained.plateaus import plateau_steps as plateau_steps
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained_cells import TrainedCell
from workbench.core.verdicts import LENGTH_COUPLED, UNSEEN_POSITION
from workbench.measure.intervals import clopper_pearson


# ---- a quantity of each run ----------------------------------------------------------------------
def values(claim: Claim, table: RunTable) -> list[Row]:
    """Return the quantity of each condition for every run of every configuration."""
    wanted = list(dict.fromkeys(condition.quantity for condition in claim.conditions))
    return [as_it_is(run, told) for told in wanted for cell in claim.cells for run in runs_of(cell, table)]


def values_where(claim: Claim, table: RunTable, where: str, least: float) -> list[Row]:
    """Return :func:`values` for runs in which another quantity is at least ``least``, from all configurations
    together.
    """
    rows = [
        as_it_is(run, condition.quantity, item=f"{where} of {least:g} or more")
        for condition in claim.conditions
        for cell in claim.cells
        for run in runs_of(cell, table)
        if (run.row(where).value or 0.0) >= least
    ]
    none = [
        Row(one.quantity, "no run holds", 0.0, -math.inf, math.inf, entered=0, planned=1) for one in claim.conditions
    ]
    return rows or none


def of_cells(claim: Claim, table: RunTable, of: Mapping[str, tuple[int, str]]) -> list[Row]:
    """Return quantities of single settings for each run; ``of`` maps the name of a condition to the index of its
    setting and to its quantity.
    """
    return [
        as_it_is(run, told, name) for name, (index, told) in of.items() for run in runs_of(claim.cells[index], table)
    ]


def best_heads(claim: Claim, table: RunTable, of: Mapping[str, Sequence[tuple[int, str]]]) -> list[Row]:
    """Return, for each run, the highest score of a head at N on sequences of the task, with that head's interval.

    ``of`` gives the cells of each condition, and which score to take from each.
    """
    rows = []
    for name, scores in of.items():
        for index, score in scores:
            cell = claim.cells[index]
            for run in runs_of(cell, table):
                best = best_head(run, score, "task")
                rows.append(as_it_is(run, best.full_name, name, f"{cell.name}, {score}"))
    return rows


def best_head(run: OneRun, score: str, strings: str) -> RunRow:
    """Return the highest score of a head at N.

    Args:
        run: it.
        score: name of the quantity.
        strings: ``task`` or ``repeats``: the sequences that it is evaluated on.

    Raises:
        ClaimError: if there is none.
    """
    heads = [row for told, row in run.rows.items() if told.startswith(f"{score} at 1 N, {strings}, ")]
    if not heads:
        raise ClaimError(
            f"{run.cell.name}, seed {run.seed}, has no row of {score} for any head at length N on the {strings} test "
            "set"
        )
    return max(heads, key=lambda row: -math.inf if row.value is None else row.value)


def by_setting(claim: Claim, table: RunTable, settings: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return the quantity of each condition under several settings; ``settings`` names the settings of each
    configuration.
    """
    return [
        as_it_is(run, f"{condition.quantity}, {setting}", condition.quantity, f"{cell.name}, {setting}")
        for condition in claim.conditions
        for cell in claim.cells
        for setting in settings[cell.name]
        for run in runs_of(cell, table)
    ]


def over_own(claim: Claim, table: RunTable, quantity: str, base: str, settings: Sequence[str]) -> list[Row]:
    """Return, for each run, a share under one setting divided by the same share under another."""
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            below = run.row(f"{quantity}, {base}")
            for setting in settings:
                above = run.row(f"{quantity}, {setting}")
                # The ends that make the ratio least and greatest: wider than 95 %. A skill may lie below 0.
                ratios = [over / max(under, 1e-9) for over in above.ends for under in below.ends]
                low, high = min(ratios), max(ratios)
                value = (above.value or 0.0) / max(below.value or 0.0, 1e-9)
                rows.append(run.new_row(f"{quantity}, {setting} over {base}", cell.name, value, low, high, above.n))
    return rows


def slope_on_setting(claim: Claim, table: RunTable, quantity: str, settings: Sequence[str]) -> list[Row]:
    """Return, for each run, the least-squares slope of a share on the index of its setting 1, 2, ...; sequences are
    resampled.
    """
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            named = [f"{quantity}, {setting}" for setting in settings]
            run_rows = [run.row(told) for told in named]
            rng = rng_of(claim, run.seed)
            drawn = np.stack([drawn_shares(run.share(told), RESAMPLES, rng) for told in named])
            x = np.arange(1, len(run_rows) + 1) - (len(run_rows) + 1) / 2
            slopes = x @ drawn / (x @ x)
            value = float(x @ np.array([row.value for row in run_rows]) / (x @ x))
            low, high = np.percentile(slopes, (2.5, 97.5))
            rows.append(run.new_row("slope on k", cell.name, value, float(low), float(high), run_rows[0].n))
    return rows


# ---- differences, paired by seed -----------------------------------------------------------------
def difference(claim: Claim, table: RunTable, quantity: str) -> list[Row]:
    """Return a share of the first configuration minus that of the second, over pairs of seeds that solve the trained
    lengths.
    """
    told = f"difference of {quantity.partition(', k')[0]}"
    return [_difference(claim, table, claim.cells[0], claim.cells[1], quantity, told)]


def named_differences(claim: Claim, table: RunTable, quantity: str, pairs: Mapping[str, Sequence[int]]) -> list[Row]:
    """Return :func:`difference` for several named pairs of configurations."""
    return [
        _difference(claim, table, claim.cells[i], claim.cells[j], quantity, f"difference of {quantity}, {name}")
        for name, (i, j) in pairs.items()
    ]


def differences(claim: Claim, table: RunTable, quantities: Sequence[str]) -> list[Row]:
    """Return :func:`difference` for several quantities."""
    return [row for quantity in quantities for row in difference(claim, table, quantity)]


def value_and_difference(claim: Claim, table: RunTable, quantity: str) -> list[Row]:
    """Return a share of the first configuration for each run, and this share minus that of the second configuration."""
    first = [as_it_is(run, quantity) for run in runs_of(claim.cells[0], table)]
    one, other = claim.cells[:2]
    return [*first, _difference(claim, table, one, other, quantity, f"difference of {quantity}")]


def steps_down(claim: Claim, table: RunTable, quantity: str, told: str, groups: Sequence[Sequence[int]]) -> list[Row]:
    """Return a share of one configuration minus that of the next, for several pairs of configurations."""
    return [
        _difference(claim, table, claim.cells[i], claim.cells[j], quantity, told, f"{claim.cells[i].name} and next")
        for i, j in groups
    ]


def _difference(
    claim: Claim, table: RunTable, one: TrainedCell, other: TrainedCell, quantity: str, told: str, item: str = ""
) -> Row:
    """One row for all seeds: the mean of paired differences with its interval, seeds drawn and then strings."""
    found, rng = pairs_of(one, other, table), rng_of(claim, told, item)
    return mean_of_pairs(claim, found, quantity, told, item or f"{one.name} less {other.name}", rng)


def mean_of_pairs(
    claim: Claim, found: Sequence[Pair], quantity: str, told: str, item: str, rng: np.random.Generator
) -> Row:
    """Return the mean difference of a share over the pairs that count, or over all pairs if none does."""
    enter = entering_pairs(claim, found)
    shares = [(a.share(quantity), b.share(quantity)) for a, b in enter or found]
    cells = [(a.cell.name, b.cell.name) for a, b in enter or found]
    row = about_several(told, item, contrast_of_shares(shares, (1, -1), rng, cells), len(enter), len(found))
    return replace(row, each=tuple(contrast(pair, (1, -1)) for pair in shares) if len(set(cells)) == 1 else ())


def mean_difference(claim: Claim, table: RunTable, quantity: str, pairs: Sequence[Sequence[int]]) -> list[Row]:
    """Return the mean over several differences between two settings, with all pairs of seeds together."""
    found = [pair for i, j in pairs for pair in pairs_of(claim.cells[i], claim.cells[j], table)]
    return [mean_of_pairs(claim, found, quantity, f"difference of {quantity}", "", rng_of(claim))]


def lead_over_better(claim: Claim, table: RunTable, quantity: str, others: int) -> list[Row]:
    """Return the share of each of the first ``others`` configurations minus the better share of the other
    configurations of its task.
    """
    rows = []
    for cell in claim.cells[:others]:
        alike = [one for one in claim.cells[others:] if one.task == cell.task]
        better = max(alike, key=lambda one: _mean(runs_of(one, table), quantity))
        rows.append(_difference(claim, table, cell, better, quantity, "lead over the better", cell.name))
    return rows


def _mean(runs: Sequence[OneRun], quantity: str) -> float:
    """Mean over the runs that solve the trained lengths; minus infinity if none does."""
    found = [run.row(quantity).value or 0.0 for run in runs if run.fitted]
    return float(np.mean(found)) if found else -math.inf


# ---- runs that fail, settings, correlations ----
def hidden_failures(claim: Claim, table: RunTable) -> list[Row]:
    """Return, among runs that are correct up to 3N, the share that are length-coupled by 8N."""
    every = [run for cell in claim.cells for run in runs_of(cell, table)]
    passing = [run for run in every if all((run.row(f"{b} every prefix").value or 0.0) >= 0.9 for b in ("b1", "b2"))]
    coupled = sum(run.row("verdict").label == LENGTH_COUPLED for run in passing)
    if not passing:
        return [Row("share length-coupled by 8N", "", 0.0, 0.0, 1.0, n=0)]
    low, high = clopper_pearson(coupled, len(passing))
    return [Row("share length-coupled by 8N", "", coupled / len(passing), low, high, n=len(passing))]


def settings_matter(claim: Claim, table: RunTable, quantity: str, groups: Sequence[int]) -> list[Row]:
    """Return the p value of an F-test (one-way analysis of variance) between the configurations of each group."""
    rows, start = [], 0
    for size in groups:
        cells = claim.cells[start : start + size]
        start += size
        found = [[run.row(quantity).value or 0.0 for run in runs_of(cell, table)] for cell in cells]
        flat = np.concatenate(found)
        p = 1.0 if np.ptp(flat) == 0 else float(f_oneway(*found).pvalue)
        p = 0.0 if math.isnan(p) else p
        fewest = min(map(len, found))
        rows.append(Row("p of the F-test", cells[0].task, p, entered=len(flat), planned=len(flat), fewest=fewest))
    return rows


def fails_beyond(claim: Claim, table: RunTable) -> list[Row]:
    """Return 1 for each run whose verdict is length-coupled or unseen position, otherwise 0."""
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            fails = float(run.row("verdict").label in (LENGTH_COUPLED, UNSEEN_POSITION))
            rows.append(run.new_row("fails beyond N", cell.name, fails, fails, fails, run.row("verdict").n))
    return rows


def run_correlation(claim: Claim, table: RunTable, one: str, other: str) -> list[Row]:
    """Return Spearman's correlation of two quantities, one a mean over heads, over runs that solve the trained
    lengths.
    """
    runs = [run for cell in claim.cells for run in runs_of(cell, table)]
    means = [mean_by_weights(run, one) for run in runs]
    whole = [(run, mean) for run, mean in zip(runs, means, strict=True) if run.fitted and mean is not None]
    x = np.array([mean for _, mean in whole])
    y = np.array([run.row(other).value or 0.0 for run, _ in whole])
    return [correlation_row(claim, "correlation", x, y, [run for run, _ in whole], spearman, len(runs))]


def mean_by_weights(run: OneRun, quantity: str) -> float | None:
    """Return the mean of a quantity over heads with the given weights; None if it is undefined."""
    named = f"{quantity}, weights"
    found = [row.value for told, row in run.rows.items() if told.startswith(named) and row.value is not None]
    return float(np.mean(found)) if found else None


NEEDED = {"aa_star": 2, "aaaa_star": 4}
"""Period that a language needs."""


def period_strength(claim: Claim, table: RunTable) -> list[Row]:
    """Return how strongly the weights contain the required period, or a multiple of it, in the head with the strongest
    one.

    Of runs with b1 of 0.9 or more; 0 where no head has such a period.
    """
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            if (run.row("b1 every prefix").value or 0.0) < 0.9:
                continue
            strengths = [0.0]
            for told, row in run.rows.items():
                if told.startswith("period, weights") and row.value and round(row.value) % NEEDED[cell.task] == 0:
                    strengths.append(run.row(told.replace("period,", "period_strength,")).value or 0.0)
            most = max(strengths)
            rows.append(run.new_row("strength of the period", cell.name, most, most, most))
    return rows or [Row("strength of the period", "no run holds", 0.0, 0.0, 1.0, entered=0, planned=len(claim.cells))]
