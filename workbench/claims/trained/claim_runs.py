"""The runs that a claim is about, and rows of claims made from their stored rows.

The functions that claims name are in :mod:`workbench.claims.trained.reductions` and the modules that it imports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.claims.claim import Claim, Row
from workbench.claims.errors import ClaimError
from workbench.claims.resampling import OverSeeds, Share, Statistic, cell_correlation
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained_cells import TrainedCell
from workbench.claims.typical_run import floor_of
from workbench.core.seeds import seed_of

SKILL = re.compile(r"^(?:(?P<bin>b\d) skill|skill at)")
"""How the name of a skill begins: what stands in place of that in the name of the share that it was made from."""
OF_STRINGS = re.compile(r"^(b\d\b|skill at |accuracy (at|of) |answer token |zero-shot )")
"""How the names of shares of strings, and of skills made from them, begin."""
BINS = re.compile(r"^b\d\b")
"""How the names of shares that can have been counted begin."""


@dataclass(frozen=True)
class OneRun:
    """The rows of one run in the table of runs.

    Attributes:
        cell: what it is one of.
        seed: the seed of weights and data.
        rows: by quantity with its setting; of a quantity at several lengths, the last.
    """

    cell: TrainedCell
    seed: int
    rows: Mapping[str, RunRow]

    @property
    def fitted(self) -> bool:
        """Return whether the run significantly solves its trained lengths."""
        return self.rows["fitted"].label == "pass"

    def row(self, told: str) -> RunRow:
        """Return the row of a quantity.

        Raises:
            ClaimError: if it has none.
        """
        if told not in self.rows:
            raise ClaimError(f"{self.cell.name}, seed {self.seed}, has no row of {told}")
        return self.rows[told]

    def share(self, told: str) -> Share:
        """Return a share or a skill in a form that can be resampled."""
        row = self.row(told)
        value, strings = row.value or 0.0, 0 if row.low is None else row.n or 0
        raw = SKILL.sub(lambda found: found["bin"] or "accuracy at", told)
        if raw == told or not strings:
            return Share(value, strings)
        above, below = row.ends[0], self.row(raw).ends[0]
        return Share(value, strings, (below - above) / (1 - above))

    def new_row(
        self,
        quantity: str,
        item: str,
        value: float,
        low: float,
        high: float,
        n: int | None = None,
        floor: float | None = None,
    ) -> Row:
        """Return a row of a claim about this run."""
        run, step = self.rows["fitted"].run, self.rows["fitted"].step
        return Row(quantity, item, value, low, high, None, n, run, step, self.seed, self.fitted, floor=floor)


def runs_of(cell: TrainedCell, table: RunTable) -> list[OneRun]:
    """Return the runs of a configuration, in the order of its seeds."""
    return [OneRun(cell, seed, {row.full_name: row for row in table.of(cell.recipe(seed))}) for seed in cell.seeds]


Pair = tuple[OneRun, OneRun]
"""Runs of two cells that have the same seed."""


def pairs_of(one: TrainedCell, other: TrainedCell, table: RunTable) -> list[Pair]:
    """Return the pairs of runs of two settings that have the same seed."""
    others = {run.seed: run for run in runs_of(other, table)}
    return [(run, others[run.seed]) for run in runs_of(one, table) if run.seed in others]


def entering_pairs(claim: Claim, found: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of runs that both solve the trained lengths; all pairs for claims that do not require this."""
    return [pair for pair in found if claim.exempt or all(run.fitted for run in pair)]


def rng_of(claim: Claim, *parts: object) -> np.random.Generator:
    """Return a generator seeded only by the claim, so that the same rows give the same bytes."""
    return np.random.default_rng(seed_of("claim", claim.id, *parts))


def as_it_is(run: OneRun, told: str, quantity: str | None = None, item: str | None = None) -> Row:
    """Return a row of a run as a row of a claim, with another quantity name or item if one is given."""
    row = run.row(told)
    low, high = row.ends
    value = low if row.value is None else row.value
    named = run.cell.name if item is None else item
    return run.new_row(quantity or told, named, value, low, high, row.n, floor_of_share(row))


def floor_of_share(row: RunRow) -> float | None:
    """Return the share at which a number is 0, for shares of sequences and skills; otherwise None."""
    if row.value is None or not row.n or not OF_STRINGS.match(row.full_name):
        return None
    if row.low is None or row.high is None:
        return 0.0 if BINS.match(row.full_name) else None  # all was counted
    return floor_of(row.value, row.low, row.high, row.n)


def about_several(quantity: str, item: str, found: OverSeeds, entered: int, planned: int) -> Row:
    """Return a row about several runs."""
    return Row(
        quantity,
        item,
        found.value,
        found.low,
        found.high,
        entered=entered,
        planned=planned,
        freedom=found.freedom,
        fewest=found.fewest,
    )


def undefined_row(quantity: str, item: str, planned: int) -> Row:
    """Return a row about several runs whose number is undefined, or for which no run could be used."""
    return Row(quantity, item, 0.0, -math.inf, math.inf, entered=0, planned=planned, fewest=0)


def correlation_row(
    claim: Claim, told: str, x: np.ndarray, y: np.ndarray, runs: Sequence[OneRun], statistic: Statistic, planned: int
) -> Row:
    """Return a row with a correlation over runs, undefined for fewer than three cells or constant values."""
    cells = [run.cell.name for run in runs]
    if len(set(cells)) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return undefined_row(told, "", planned)
    return about_several(told, "", cell_correlation(x, y, cells, rng_of(claim), statistic), len(runs), planned)
