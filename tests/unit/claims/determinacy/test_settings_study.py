"""Runs in which one setting is changed: what their levels share, their rows, and the test of an effect."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workbench.claims.determinacy import settings_study
from workbench.claims.determinacy.cells import StudyCell
from workbench.claims.determinacy.settings_study import (
    AXES,
    SETTINGS_CELLS,
    SETTINGS_FILE,
    USUAL,
    Level,
    axis_effects,
    level_rows,
    levels_of,
    permutation_test,
    planned_levels,
    run_levels,
)
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.study import skills
from workbench.models.architectures import make_model
from workbench.training.stacked import why_not_stacked
from workbench.training.stacked.run_state import RunState
from workbench.training.training_batch import training_batch

DYCK, ROTARY, FLIP_FLOP = SETTINGS_CELLS


def test_every_level_changes_one_setting_and_can_be_trained() -> None:
    for cell, axis, name in planned_levels():
        level = Level() if axis == USUAL else AXES[axis][name]
        configs = [level.config(cell, seed) for seed in range(2)]
        assert why_not_stacked(configs) is None
        assert (configs[0] == cell.config(0)) == (axis == USUAL)
        assert configs[0].training.curriculum.possible(configs[0].task, 500)[-1] == level.longest
        assert configs[0].as_json()["training"]["trained_length"] == level.longest


def test_the_usual_level_is_trained_once() -> None:
    """Each axis contains the cell's own settings. Flip-flop has queries of its own."""
    for cell in SETTINGS_CELLS:
        for axis in AXES:
            places = list(levels_of(cell, axis).values())
            assert places.count((USUAL, USUAL)) == (0 if (cell, axis) == (FLIP_FLOP, "queries") else 1)
    assert len(planned_levels()) == len(set(planned_levels())) == 85


def test_levels_share_initial_weights_and_the_stream_of_lengths() -> None:
    usual, other = DYCK.config(3), AXES["weight_decay"]["1"].config(DYCK, 3)
    for first, second in zip(
        make_model(usual.model, 3).parameters(), make_model(other.model, 3).parameters(), strict=True
    ):
        assert torch.equal(first, second)
    for step in range(5):
        assert torch.equal(training_batch(usual, step)[0].tokens, training_batch(other, step)[0].tokens)


def test_queries_at_the_end_train_the_same_strings() -> None:
    config = AXES["queries"]["the end, 15 lengths"].config(ROTARY, 0)
    for step in range(20):
        batch, *_ = training_batch(config, step)
        assert batch.mask[:, -1].all()
        assert batch.mask.sum() == len(batch.mask)


def test_a_level_has_a_row_for_each_seed_and_none_begins_after_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = StudyCell("parity-none", "parity", "none")
    short = {"steps": 2}
    monkeypatch.setattr(settings_study, "SEEDS", 2)
    monkeypatch.setattr(settings_study, "AXES", {"weight_decay": {"1": Level(training={"weight_decay": 1.0, **short})}})
    told: list[str] = []
    rows = level_rows(cell, "weight_decay", "1")
    assert [row["seed"] for row in rows] == [0, 1]
    run_levels(tmp_path, "rows.parquet", [(cell, "weight_decay", "1")], level_rows, told.append, time.time() - 1)
    assert not read_rows(tmp_path, "rows.parquet"), "no level begins after the time"


def test_lengths_whose_answer_never_changes_say_nothing_about_solving() -> None:
    """An odd number of brackets is never balanced. So with a query at the end alone, there skill has no value."""
    level = AXES["queries"]["the end, 15 lengths"]
    config = level.config(DYCK, 0)
    models = [make_model(config.model, seed) for seed in range(2)]
    states = [RunState(0, dict(model.named_parameters())) for model in models]
    skill = skills(DYCK, states, [2, 3, 4, 5], [("a", 0), ("a", 1)], config)
    assert np.isnan(skill[:, [1, 3]]).all()
    assert np.isfinite(skill[:, [0, 2]]).all()


def test_published_runs_know_whether_they_solve_their_lengths() -> None:
    rows = read_rows(*SETTINGS_FILE)
    assert rows
    assert all(np.isfinite(row["solves"]) and np.isfinite(row["reach"]) for row in rows)


def rows_of(reach: dict[str, list[float]], solves: float = 1.0) -> list[dict[str, Any]]:
    """Rows of the axis ``schedule`` in the first cell."""
    places = levels_of(DYCK, "schedule")
    return [
        {
            "cell": DYCK.name,
            "axis": places[name][0],
            "level": places[name][1],
            "seed": seed,
            "solves": solves,
            "reach": r,
        }
        for name, each in reach.items()
        for seed, r in enumerate(each)
    ]


def test_an_effect_is_found_and_its_absence_too() -> None:
    rng = np.random.default_rng(1)
    seeds = rng.normal(0.5, 0.2, 12)
    strong = {"cosine": list(seeds), "constant": list(seeds + 0.1), "linear": list(seeds - 0.1)}
    (found,) = axis_effects(rows_of(strong))
    assert (found.cell, found.axis, found.seeds) == (DYCK.name, "schedule", 12)
    assert found.p == found.p_holm == pytest.approx(1 / 5001, abs=2e-3), "one level is better at every seed"
    none = {name: list(seeds + rng.normal(0, 0.1, 12)) for name in strong}
    (found,) = axis_effects(rows_of(none))
    assert found.p > 0.05


def test_a_level_that_is_not_learned_does_not_enter() -> None:
    rng = np.random.default_rng(2)
    reach = {name: list(rng.normal(0.5, 0.1, 12)) for name in ("cosine", "constant", "linear")}
    rows = rows_of(reach)
    for row in rows:
        if row["level"] == "linear" and row["seed"] >= 8:
            row["solves"] = 0.2
    (found,) = axis_effects(rows)
    assert [(level.name, level.solving, level.enters) for level in found.levels] == [
        ("cosine", 12, True), ("constant", 12, True), ("linear", 8, False)
    ]  # fmt: skip
    assert found.seeds == 12
    (unsolved,) = axis_effects(rows_of(reach, solves=0.0))
    assert np.isnan(unsolved.p)
    assert np.isnan(unsolved.levels[0].mean)


def test_incomplete_axes_are_left_out() -> None:
    assert axis_effects(rows_of({"cosine": [0.5] * 12, "constant": [0.4] * 12})) == []


def test_random_levels_give_uniform_p_values() -> None:
    """Under no effect, the share of p values up to 0.2 is 0.2: of 100 tests 8 to 34 (99.9 %)."""
    rng = np.random.default_rng(3)
    each = [permutation_test(rng.normal(size=(12, 3)) + rng.normal(size=(12, 1)), seed)[0] for seed in range(100)]
    assert 8 <= sum(p <= 0.2 for p in each) <= 34


def test_random_levels_stay_in_their_range() -> None:
    """With two levels of 0 and 1 at every seed, a level mean is binomial over the seeds."""
    _, low, high = permutation_test(np.tile([0.0, 1.0], (100, 1)))
    assert (low, high) == pytest.approx((0.4, 0.6), abs=0.011)
