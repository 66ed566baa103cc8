"""Functions that compute the statistic of a claim from the stored rows of runs.

Every function takes the claim and the table of runs and returns rows for :mod:`workbench.claims.verdict_rule`. Its
arguments are those of the claim. Runs of two cells are compared in pairs of one seed. A pair solves the trained lengths
if both runs do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.stats import f_oneway

from workbench.claims.claim import Claim, Row
from workbench.claims.errors import ClaimError
from workbench.claims.resampling import (
    RESAMPLES,
    OverSeeds,
    Share,
    Statistic,
    cell_correlation,
    cell_means,
    contrast,
    contrast_of_shares,
    drawn_shares,
    each_draw,
    kendall,
    over_seeds,
    spearman,
)
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained_cells import TrainedCell
from workbench.claims.typical_run import FEWEST, floor_of
from workbench.core.seeds import seed_of
from workbench.core.verdicts import LENGTH_COUPLED, UNSEEN_POSITION
from workbench.measure.intervals import clopper_pearson

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

    def made(
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


# ---- a quantity of each run ----------------------------------------------------------------------
def values(claim: Claim, table: RunTable) -> list[Row]:
    """Return the quantity of each condition for every run of every configuration."""
    wanted = list(dict.fromkeys(condition.quantity for condition in claim.conditions))
    return [as_it_is(run, told) for told in wanted for cell in claim.cells for run in runs_of(cell, table)]


def as_it_is(run: OneRun, told: str, quantity: str | None = None, item: str | None = None) -> Row:
    """Return a row of a run as a row of a claim, with another quantity name or item if one is given."""
    row = run.row(told)
    low, high = row.ends
    value = low if row.value is None else row.value
    named = run.cell.name if item is None else item
    return run.made(quantity or told, named, value, low, high, row.n, floor_of_share(row))


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


def undefined(quantity: str, item: str, planned: int) -> Row:
    """Return a row about several runs whose number is undefined, or for which no run could be used."""
    return Row(quantity, item, 0.0, -math.inf, math.inf, entered=0, planned=planned, fewest=0)


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
        raise ClaimError(f"{run.cell.name}, seed {run.seed}, has no score {score} of a head at N on {strings}")
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
                rows.append(run.made(f"{quantity}, {setting} over {base}", cell.name, value, low, high, above.n))
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
            rows.append(run.made("slope on k", cell.name, value, float(low), float(high), run_rows[0].n))
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


# ---- orderings over cells ------------------------------------------------------------------------
def separation(claim: Claim, table: RunTable, quantity: str, inside: int) -> list[Row]:
    """Return the smallest mean of the first ``inside`` configurations minus the largest mean of the others; seeds are
    resampled.

    In the first ``inside`` cells only runs that solve the trained lengths enter, and a cell needs enough of them. In
    the other cells all runs enter if the claim is exempt.
    """
    groups = [
        [run for run in runs_of(cell, table) if run.fitted or (claim.exempt and place >= inside)]
        for place, cell in enumerate(claim.cells)
    ]
    enough = [len(runs) >= min(FEWEST, len(cell.seeds)) for runs, cell in zip(groups, claim.cells, strict=True)]
    runs = [run for group, whole in zip(groups, enough, strict=True) if whole for run in group]
    place = np.array([claim.cells.index(run.cell) for run in runs])
    if not len(runs) or place.min() >= inside or place.max() < inside:
        return [undefined("separation", "", len(claim.cells))]
    value = np.array([run.row(quantity).value or 0.0 for run in runs])

    entering = np.unique(place)
    split = int(np.searchsorted(entering, inside))

    def means(chosen: np.ndarray) -> np.ndarray:
        """``[cell, draw]`` means of the cells that enter, in order."""
        return np.stack([cell_means(value[chosen], place[chosen[0]] == at) for at in entering])

    def apart(chosen: np.ndarray) -> np.ndarray:
        """``[draw]`` the least mean inside, minus the greatest outside."""
        mean = means(chosen)
        difference: np.ndarray = mean[:split].min(0) - mean[split:].max(0)
        return difference

    observed = means(np.arange(len(runs))[None])[:, 0]
    least, greatest = int(entering[observed[:split].argmin()]), int(entering[split + observed[split:].argmax()])
    rng = rng_of(claim)

    def strings() -> np.ndarray:
        shares = [(run.share(quantity), at) for run, at in zip(runs, place.tolist(), strict=True)]
        one, other = (
            np.stack([drawn_shares(share, RESAMPLES, rng) for share, at in shares if at == cell]).mean(0)
            for cell in (least, greatest)
        )
        difference: np.ndarray = one - other
        return difference

    found = over_seeds(place.tolist(), apart, rng, strings, (-1.0, 1.0))
    if found is None:
        return [undefined("separation", "", len(claim.cells))]
    item = f"{claim.cells[least].name} against {claim.cells[greatest].name}"
    return [about_several("separation", item, found, sum(enough), len(claim.cells))]


def label_lead(claim: Claim, table: RunTable, quantity: str, inside: int, other: Sequence[str]) -> list[Row]:
    """Return the area under the ROC curve of a quantity for the first ``inside`` configurations, minus that of another
    label.

    ``other`` are the tasks that the other label leaves out. The interval is from drawing seeds within cells.
    """
    runs = [run for cell in claim.cells for run in runs_of(cell, table) if run.fitted]
    place = np.array([claim.cells.index(run.cell) for run in runs], dtype=int)
    value = np.array([run.row(quantity).value or 0.0 for run in runs])
    cell_indices = list(dict.fromkeys(place.tolist()))
    is_inside = np.array([i < inside for i in cell_indices])
    two = np.array([claim.cells[i].task not in other for i in cell_indices])
    planned = len(claim.cells)
    if not (0 < is_inside.sum() < len(cell_indices) and 0 < two.sum() < len(cell_indices)):
        return [undefined("lead over in AC0", "", planned)]

    def lead(chosen: np.ndarray) -> float:
        means = np.array([value[chosen][place[chosen] == i].mean() for i in cell_indices])
        return area_under_curve(means, is_inside) - area_under_curve(means, two)

    found = over_seeds(place.tolist(), each_draw(lead), rng_of(claim), bounds=(-1.0, 1.0))
    if found is None:
        return [undefined("lead over in AC0", "", planned)]
    return [about_several("lead over in AC0", "", found, len(cell_indices), planned)]


def area_under_curve(value: np.ndarray, label: np.ndarray) -> float:
    """Return the area under the ROC curve: share of labelled and other values in the right order; ties count half."""
    yes, no = value[label][:, None], value[~label][None, :]
    return float(((yes > no) + 0.5 * (yes == no)).mean())


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
            rows.append(run.made("fails beyond N", cell.name, fails, fails, fails, run.row("verdict").n))
    return rows


# ---- plateaus ------------------------------------------------------------------------------------
PLATEAU = "loss at 32 N"


def plateau_ratio(claim: Claim, table: RunTable) -> list[Row]:
    """Return, for each run, the loss at 32N divided by the loss at 16N, with the interval of the log of two independent
    means.
    """
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            far, near = run.row(PLATEAU), run.row("loss at 16 N")
            ratio = (far.value or 0.0) / max(near.value or 0.0, 1e-30)
            half = 1.96 * math.hypot(_relative_error(far), _relative_error(near))
            low, high = ratio * math.exp(-half), ratio * math.exp(half)
            rows.append(run.made("loss at 32N over 16N", cell.name, ratio, low, high, far.n))
    return rows


def _relative_error(row: RunRow) -> float:
    """Standard error of a mean over the mean."""
    return (row.spread or 0.0) / math.sqrt(row.n or 1) / max(row.value or 0.0, 1e-30)


def plateau_steps(
    claim: Claim, table: RunTable, quantity: str, groups: Sequence[Sequence[int]], sign: int
) -> list[Row]:
    """Return ``sign`` times the difference of the log loss between each configuration of a group and the one before."""
    rows = []
    for group in groups:
        for i, j in pairwise(group):
            name = f"{claim.cells[j].name} after {claim.cells[i].name}"
            runs = _Plateaus([claim.cells[i], claim.cells[j]], table, rng_of(claim, name))
            found = over_seeds(runs.place, partial(_rise, runs, sign), runs.rng, partial(_drawn_rises, runs, sign))
            assert found is not None
            seeds = min(len(claim.cells[i].seeds), len(claim.cells[j].seeds))
            rows.append(about_several(quantity, name, found, seeds, seeds))
    return rows


def _rise(runs: _Plateaus, sign: int, chosen: np.ndarray) -> np.ndarray:
    """``[draw]`` ``sign`` times the log of the second cell's plateau less that of the first."""
    one, other = runs.logs(chosen)
    rise: np.ndarray = sign * (other - one)
    return rise


def _drawn_rises(runs: _Plateaus, sign: int) -> np.ndarray:
    """``[draw]`` the same of all runs, with their sequences resampled."""
    one, other = runs.drawn_logs()
    found: np.ndarray = sign * (other - one)
    return found


class _Plateaus:
    """The plateaus of the runs of some cells.

    Attributes:
        place: ``[run]`` index of the cell of each run.
        rng: what strings are drawn with.
    """

    def __init__(self, cells: Sequence[TrainedCell], table: RunTable, rng: np.random.Generator) -> None:
        rows = [(at, run.row(PLATEAU)) for at, cell in enumerate(cells) for run in runs_of(cell, table)]
        self.place = [at for at, _ in rows]
        self.rng = rng
        self._cells = np.array(self.place)
        self._mean = np.array([row.value or 0.0 for _, row in rows])
        self._error = np.array([_relative_error(row) for _, row in rows])

    def logs(self, chosen: np.ndarray) -> np.ndarray:
        """Return the log of the mean plateau ``[cell, draw]`` over the runs ``chosen [draw, run]``."""
        of, mean = self._cells[chosen[0]], self._mean[chosen]
        found: np.ndarray = np.log([cell_means(mean, of == at) for at in range(max(self.place) + 1)])
        return found

    def drawn_logs(self) -> np.ndarray:
        """Return the log of the mean plateau ``[cell, draw]`` over all runs, with resampled sequences in each run."""
        noise = self.rng.standard_normal((len(self._mean), RESAMPLES))
        drawn = self._mean[:, None] * np.exp(self._error[:, None] * noise)
        found: np.ndarray = np.log([drawn[self._cells == at].mean(0) for at in range(max(self.place) + 1)])
        return found


def needed_lengths(claim: Claim, table: RunTable, knobs: Sequence[float], lengths: Sequence[int]) -> list[Row]:
    """Return the increase of log2 N* from one setting of the task to the next harder one. N* is the trained length at
    which the plateau, interpolated in log-log, reaches a common level.

    The level is half way, in logs, between the highest plateau at the longest and the lowest at the shortest length.
    """
    shape = (len(knobs), len(lengths))
    x = np.log2(np.array(lengths, dtype=float))
    runs = _Plateaus(claim.cells, table, rng_of(claim))
    observed = runs.logs(np.arange(len(runs.place))[None]).reshape(shape)
    level = (observed[:, -1].max() + observed[:, 0].min()) / 2
    rows = []
    for k in range(1, len(knobs)):

        def rise(chosen: np.ndarray, k: int = k) -> np.ndarray:
            needed = _crossing(x, runs.logs(chosen).reshape(*shape, -1), level)
            risen: np.ndarray = needed[k] - needed[k - 1]
            return risen

        def strings(k: int = k) -> np.ndarray:
            needed = _crossing(x, runs.drawn_logs().reshape(*shape, RESAMPLES), level)
            drawn: np.ndarray = needed[k] - needed[k - 1]
            return drawn

        found = over_seeds(runs.place, rise, runs.rng, strings)
        assert found is not None
        seeds = len(claim.cells[0].seeds)
        rows.append(about_several("rise of log2 N*", f"{knobs[k]:g} after {knobs[k - 1]:g}", found, seeds, seeds))
    return rows


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> np.ndarray:
    """``[knob, draw]`` where the least-squares line through ``y [knob, length, draw]`` has the level; falls only."""
    centred = x - x.mean()
    slope = np.minimum(np.einsum("l,kld->kd", centred, y) / (centred @ centred), -1e-6)
    found: np.ndarray = x.mean() + (level - y.mean(1)) / slope
    return found


def bound_tau(claim: Claim, table: RunTable, quantity: str, target: str) -> list[Row]:
    """Return Kendall's tau, over runs, of the plateau and a part of the bound; gamma enters as 1/gamma."""
    label = f"{quantity}, {target}"
    runs = [run for cell in claim.cells for run in runs_of(cell, table)]
    if runs and not any(label in run.rows for run in runs):
        raise LookupError(f"no run of {claim.id} has the row {label} that the claim needs")
    whole = [run for run in runs if label in run.rows and run.rows[label].value]
    parts = np.array([run.row(label).value or 0.0 for run in whole])
    x = -parts if target == "gamma" else parts
    y = np.array([run.row(PLATEAU).value or 0.0 for run in whole])
    return [_correlation(claim, "tau", x, y, whole, kendall, len(runs))]


def run_correlation(claim: Claim, table: RunTable, one: str, other: str) -> list[Row]:
    """Return Spearman's correlation of two quantities, one a mean over heads, over runs that solve the trained
    lengths.
    """
    runs = [run for cell in claim.cells for run in runs_of(cell, table)]
    means = [mean_by_weights(run, one) for run in runs]
    whole = [(run, mean) for run, mean in zip(runs, means, strict=True) if run.fitted and mean is not None]
    x = np.array([mean for _, mean in whole])
    y = np.array([run.row(other).value or 0.0 for run, _ in whole])
    return [_correlation(claim, "correlation", x, y, [run for run, _ in whole], spearman, len(runs))]


def mean_by_weights(run: OneRun, quantity: str) -> float | None:
    """Return the mean of a quantity over heads with the given weights; None if it is undefined."""
    named = f"{quantity}, weights"
    found = [row.value for told, row in run.rows.items() if told.startswith(named) and row.value is not None]
    return float(np.mean(found)) if found else None


def _correlation(
    claim: Claim, told: str, x: np.ndarray, y: np.ndarray, runs: Sequence[OneRun], statistic: Statistic, planned: int
) -> Row:
    cells = [run.cell.name for run in runs]
    if len(set(cells)) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return undefined(told, "", planned)
    return about_several(told, "", cell_correlation(x, y, cells, rng_of(claim), statistic), len(runs), planned)


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
            rows.append(run.made("strength of the period", cell.name, most, most, most))
    return rows or [Row("strength of the period", "no run holds", 0.0, 0.0, 1.0, entered=0, planned=len(claim.cells))]
