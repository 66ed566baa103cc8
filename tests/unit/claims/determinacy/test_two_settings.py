"""Two settings at once: which pairs are studied, where their rows are, and the sweeps that train the same runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.claims.determinacy.settings_study import (
    AXES,
    SETTINGS_FILE,
    USUAL,
    AxisEffect,
    axis_effects,
    levels_of,
)
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.two_settings import (
    PAIR_SEEDS,
    PAIRS,
    PAIRS_FILE,
    SettingPair,
    combinations,
    combine_levels,
    pairs_of,
    place_of,
    planned_combinations,
    random_range,
)
from workbench.cli.sweeping.shipped_sweeps import shipped_sweeps
from workbench.cli.sweeping.sweep_cells import check_cells
from workbench.cli.sweeping.sweep_file import read_sweep

ROWS = [*read_rows(*SETTINGS_FILE), *read_rows(*PAIRS_FILE)]
SWEEPS = {"positions_and_share": PAIRS[0], "positions_and_decay": PAIRS[1]}


def effect(cell: str, axis: str, p_holm: float) -> AxisEffect:
    """An effect of which only p matters."""
    return AxisEffect(cell, axis, (), p_holm, p_holm, 12, 0.0, 1.0)


def test_the_study_of_single_settings_selects_the_pairs() -> None:
    assert pairs_of(axis_effects(read_rows(*SETTINGS_FILE))) == PAIRS


def test_the_smallest_p_values_select_and_the_order_of_the_settings_breaks_ties() -> None:
    cell = PAIRS[0].cell
    effects = [
        effect(cell.name, "queries", 0.004), effect(cell.name, "positions", 0.004),
        effect(cell.name, "weight_decay", 0.004), effect(cell.name, "schedule", 0.2),
    ]  # fmt: skip
    assert pairs_of(effects) == (SettingPair(cell, "positions", "weight_decay"),)
    assert pairs_of(effects[2:]) == (), "one setting alone makes no pair"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.axis)
def test_a_combination_changes_both_settings_and_nothing_else(pair: SettingPair) -> None:
    for first in AXES[pair.first]:
        for second in AXES[pair.second]:
            levels = AXES[pair.first][first], AXES[pair.second][second]
            made = combine_levels(*levels).config(pair.cell, 3)
            single = [level.config(pair.cell, 3) for level in levels]
            assert made.model.positions.name == single[0].model.positions.name
            assert made.training.weight_decay == single[1].training.weight_decay
            assert made.training.curriculum == single[1].training.curriculum
            assert (made.task, made.seeds) == (single[0].task, single[0].seeds)


def test_each_combination_is_trained_once() -> None:
    planned = planned_combinations()
    assert len(planned) == len(set(planned)) == 3 * 4 + 3 * 5
    for pair in PAIRS:
        first = next(name for name, place in levels_of(pair.cell, pair.first).items() if place == (USUAL, USUAL))
        assert all(place_of(pair, first, second)[0] != pair.axis for second in AXES[pair.second])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.axis)
def test_the_published_table_has_all_runs(pair: SettingPair) -> None:
    found = combinations(pair, ROWS)
    assert [(one.first, one.second) for one in found] == [(a, b) for a in AXES[pair.first] for b in AXES[pair.second]]
    assert all(one.runs == PAIR_SEEDS for one in found)


def test_a_combination_with_few_solving_runs_has_no_interval() -> None:
    pair = PAIRS[1]
    rows = [
        {"cell": pair.cell.name, "axis": "positions", "level": "none", "seed": seed, "solves": solves, "reach": 0.5}
        for seed, solves in enumerate([1.0, 0.2])
    ]
    (one,) = combinations(pair, rows)
    assert (one.reach, one.solving, one.runs) == (0.5, 1, 2)
    assert one.low != one.low


def test_random_combinations_stay_in_their_range() -> None:
    """With one reach for all runs of a seed, a combination has the mean over seeds, however it is permuted."""
    pair = PAIRS[1]
    rows = [
        {"cell": pair.cell.name, "axis": axis, "level": level, "seed": seed, "solves": 1.0, "reach": seed / 8}
        for axis, level in dict.fromkeys(
            place_of(pair, first, second) for first in AXES[pair.first] for second in AXES[pair.second]
        )
        for seed in range(PAIR_SEEDS)
    ]
    assert random_range(pair, rows) == pytest.approx((3.5 / 8, 3.5 / 8))
    for row in rows:
        row["reach"] = float(row["level"].startswith("none"))
    low, high = random_range(pair, rows)
    assert low == 0.0
    assert 0.3 < high < 0.7, "6 of 24 combinations have reach 1, so one mean of eight is at most 5/8 in 95 %"


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_trains_the_same_runs(name: str, tmp_path: Path) -> None:
    """Its runs have the settings of the study, with a checkpoint at the end in place of none."""
    file, pair = shipped_sweeps()[name], SWEEPS[name]
    sweep = read_sweep(file)
    assert sweep.out == Path("checkpoints") / name
    configs = check_cells(file, sweep, tmp_path)
    studied = [
        combine_levels(AXES[pair.first][first], AXES[pair.second][second]).config(pair.cell, seed)
        for first in AXES[pair.first]
        for second in AXES[pair.second]
        for seed in range(PAIR_SEEDS)
    ]
    assert len(configs) == len(studied)
    for trained, study in zip(configs.values(), studied, strict=True):
        assert trained.task == study.task
        assert trained.model == study.model
        assert (trained.seeds.init, trained.seeds.data) == (study.seeds.init, study.seeds.data)
        without = {"checkpoints": study.training.checkpoints}
        assert trained.training.model_copy(update=without) == study.training
