"""Two settings at once: how far runs reach at each combination of their levels.

The study of single settings selects the pairs. For each kind of run, they are the two settings with the smallest p
after correction by the method of Holm, if both are below 0.05. Of equal p values, the setting that comes first in
:data:`AXES` is taken.
This rule was written down before the first run with two changed settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from workbench.claims.determinacy.cells import SOLVED, StudyCell, cell_named
from workbench.claims.determinacy.settings_study import (
    AXES,
    PERMUTATIONS,
    SETTINGS_CELLS,
    USUAL,
    AxisEffect,
    Level,
    Planned,
    levels_of,
    rows_of_level,
)
from workbench.claims.determinacy.statistics import mean_interval

PAIRS_FILE = Path(__file__).parent, "two_settings.parquet"
"""Folder and name of the published table. Its columns are those of the table of single settings."""
PAIR_SEEDS = 8
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class SettingPair:
    """Two settings that are changed together in one kind of run.

    Attributes:
        cell: the kind of run.
        first, second: the settings.
    """

    cell: StudyCell
    first: str
    second: str

    @property
    def axis(self) -> str:
        """The name of the pair in the rows."""
        return f"{self.first} x {self.second}"


PAIRS = (
    SettingPair(cell_named("bounded_dyck_2-none"), "positions", "share of sequences at 2 N"),
    SettingPair(cell_named("flip_flop-rotary"), "positions", "weight_decay"),
)
"""The pairs that the study of single settings selects (:func:`pairs_of`)."""


def pairs_of(effects: Sequence[AxisEffect]) -> tuple[SettingPair, ...]:
    """Return the pairs that the effects of single settings select.

    Args:
        effects: of all settings and cells.
    """
    found = []
    for cell in SETTINGS_CELLS:
        shown = [one for one in effects if one.cell == cell.name and one.p_holm < SIGNIFICANT]
        order = list(AXES)
        chosen = sorted(shown, key=lambda one: (one.p_holm, order.index(one.axis)))[:2]
        if len(chosen) == 2:
            first, second = sorted((one.axis for one in chosen), key=order.index)
            found.append(SettingPair(cell, first, second))
    return tuple(found)


def combine_levels(first: Level, second: Level) -> Level:
    """Return the level that makes both changes."""
    return Level(
        model={**(first.model or {}), **(second.model or {})},
        training={**(first.training or {}), **(second.training or {})},
        task={**(first.task or {}), **(second.task or {})},
        longest=max(first.longest, second.longest),
        lengths=first.lengths or second.lengths,
    )


def place_of(pair: SettingPair, first: str, second: str) -> tuple[str, str]:
    """Return where the rows of a combination are: (axis, level).

    If one of the levels is that of the cell, they are rows of the single setting.
    """
    one, other = levels_of(pair.cell, pair.first)[first], levels_of(pair.cell, pair.second)[second]
    if one == (USUAL, USUAL):
        return other
    return one if other == (USUAL, USUAL) else (pair.axis, f"{first}, {second}")


def planned_combinations() -> list[Planned]:
    """Return the combinations that the table of single settings does not have."""
    places = [
        (pair, place_of(pair, first, second))
        for pair in PAIRS
        for first in AXES[pair.first]
        for second in AXES[pair.second]
    ]
    return [(pair.cell, *place) for pair, place in places if place[0] == pair.axis]


def combination_rows(cell: StudyCell, axis: str, name: str) -> list[dict[str, Any]]:
    """Train the runs of a combination, and return their rows.

    Args:
        cell, axis, name: as :func:`planned_combinations` returns them.
    """
    pair = next(pair for pair in PAIRS if (pair.cell, pair.axis) == (cell, axis))
    first, _, second = name.partition(", ")
    level = combine_levels(AXES[pair.first][first], AXES[pair.second][second])
    return rows_of_level(cell, axis, name, level, PAIR_SEEDS)


@dataclass(frozen=True)
class Combination:
    """Runs with one combination of levels.

    Attributes:
        first, second: the levels.
        reach: mean over the runs that solve their trained lengths; NaN if none does.
        low, high: its 95 % t interval; NaN for fewer than two runs.
        solving: how many solve their trained lengths.
        runs: how many were trained.
    """

    first: str
    second: str
    reach: float
    low: float
    high: float
    solving: int
    runs: int


def _runs_of(pair: SettingPair, rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[int, float]]:
    """Reach by combination and seed, of all combinations that have rows; NaN if a run solves no trained lengths."""
    found = {}
    for first, second in product(AXES[pair.first], AXES[pair.second]):
        place = (pair.cell.name, *place_of(pair, first, second))
        here = [row for row in rows if (row["cell"], row["axis"], row["level"]) == place and row["seed"] < PAIR_SEEDS]
        if here:
            reach = {row["seed"]: float(row["reach"]) if row["solves"] >= SOLVED else np.nan for row in here}
            found[first, second] = reach
    return found


def combinations(pair: SettingPair, rows: Sequence[Mapping[str, Any]]) -> list[Combination]:
    """Return the combinations of a pair that have rows.

    Args:
        pair: the pair.
        rows: of single settings and of pairs.
    """
    found = []
    for (first, second), runs in _runs_of(pair, rows).items():
        reach = [value for value in runs.values() if not np.isnan(value)]
        found.append(Combination(first, second, *mean_interval(reach), len(reach), len(runs)))
    return found


def change_of_reach(
    pair: SettingPair, rows: Sequence[Mapping[str, Any]], first: str, levels: tuple[str, str]
) -> dict[int, float]:
    """Return the reach at one level of the second setting less that at another, by seed, for seeds that solve both.

    Args:
        pair: the pair.
        rows: of single settings and of pairs.
        first: the level of the first setting.
        levels: the two levels of the second setting; the change is from the first of them to the second.
    """
    runs = _runs_of(pair, rows)
    before, after = (runs[first, level] for level in levels)
    changes = {seed: after[seed] - before[seed] for seed in before.keys() & after.keys()}
    return {seed: change for seed, change in sorted(changes.items()) if not np.isnan(change)}


def random_range(pair: SettingPair, rows: Sequence[Mapping[str, Any]], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % range of the mean reach of a combination if combinations are permuted within each seed.

    Args:
        pair: the pair.
        rows: of single settings and of pairs.
        seed: of the permutations.
    """
    runs = _runs_of(pair, rows).values()
    reach = np.array([[of_seed.get(number, np.nan) for of_seed in runs] for number in range(PAIR_SEEDS)])
    rng = np.random.default_rng(seed)
    drawn = np.array([np.nanmean(rng.permuted(reach, axis=1), axis=0) for _ in range(PERMUTATIONS)])
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)
