"""What a number depends on changes it, or where it is kept: seeds, keys of shards, what processes remember, lengths."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from workbench.measure.behaviour.accuracy_cells import Cell, Rules, outer_state, trained_state
from workbench.measure.grid import make_grid
from workbench.measure.intervals import upper_limit
from workbench.measure.measurement import Grid, Quantity, Spec
from workbench.measure.request import MeasureRequest
from workbench.measure.running import engine
from workbench.measure.running.engine import shard_key
from workbench.measure.running.plan import plan
from workbench.measure.study import CheckpointStudy, Evaluation
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

TASK = make_task("majority")
GRID = Grid(9, (5, 9, 19), (5, 9), (19,))


def study(probe: int = 0, evaluation: int = 0, path: str = "a", identity: str = "x", count: int = 4, grid: Grid = GRID):
    run: Any = SimpleNamespace(
        name="r", path=Path(path), id=identity, steps=(0, 100), config={"seeds": {"probe": probe}}, meta=lambda step: {}
    )
    return CheckpointStudy(run, 100, majority(), Evaluation(TASK, grid, evaluation, count), count)


def test_the_probe_seed_decides_what_is_drawn() -> None:
    first, again, other = (study(probe=seed).rng("bootstrap", 9).random(8) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, study(probe=3).rng("bootstrap", 19).random(8))


@pytest.mark.parametrize("change", [
    {"evaluation": 1}, {"path": "b"}, {"identity": "y"}, {"count": 8},
    {"grid": Grid(9, (9, 19), (9,), (19,))},
])  # fmt: skip
def test_what_a_process_remembers_is_of_one_run_its_strings_and_its_grid(change: dict[str, Any]) -> None:
    """A run that is trained anew in the same folder has another id."""
    key = ("remembered", str(change))
    assert study().memo(key, lambda: 1) == 1
    assert study(probe=0).memo(key, lambda: 2) == 1
    assert study(**change).memo(key, lambda: 3) == 3


def test_every_part_of_a_shards_key_changes_it() -> None:
    spec = Spec("theirs.one", 1, "One", {"window": 4}, (Quantity("x", "x", "x"),))
    base: dict[str, Any] = {"spec": spec, "grid": GRID, "sequences": 8, "seed": 0, "sha256": "0", "deep": False}
    changes: list[dict[str, Any]] = [
        {"spec": Spec("theirs.two", 1, "One", {"window": 4}, spec.quantities)},
        {"spec": Spec("theirs.one", 2, "One", {"window": 4}, spec.quantities)},
        {"spec": Spec("theirs.one", 1, "One", {"window": 5}, spec.quantities)},
        {"grid": Grid(9, (5, 9), (5, 9), ())},
        {"grid": Grid(10, (5, 9, 19), (5, 9), (19,))},
        {"sequences": 9},
        {"seed": 1},
        {"sha256": "1"},
        {"deep": True},
        {"listing": 1},
    ]
    keys = [shard_key(**{**base, **change}) for change in ({}, *changes)]
    assert len(set(keys)) == len(keys)
    assert shard_key(**{**base, "spec": Spec("theirs.one", 1, "Uno", {"window": 4}, ())}) == keys[0], "no number"


@pytest.mark.parametrize("trained", [49, 50, 7])
def test_no_length_inside_training_is_longer_than_it(trained: int) -> None:
    """Dyck-1 has even lengths alone: N = 49 rounds up to 50, which training never showed."""
    grid = make_grid(make_task("dyck_1"), trained)
    assert max(grid.inside) <= trained
    assert {*grid.inside} | {*grid.outside} <= {*grid.lengths}
    assert min(grid.outside) > trained
    assert all(n % 2 == 0 for n in grid.lengths)


def test_a_failure_is_shown_at_the_level_shared_out_over_the_cells_that_could() -> None:
    """At 512 strings the limits at gamma and at gamma / 14 lie on two sides of the bar: only one of them fails."""
    rules = Rules()
    right = next(k for k in range(512, 0, -1) if upper_limit(k, 512, rules.level) < 0.9)
    assert upper_limit(right, 512, rules.level / 14) >= 0.9
    cell = Cell("matched", 99, right, 512, 0.0)
    assert outer_state(cell, rules, 0.9, 1) == "fail"
    assert outer_state(cell, rules, 0.9, 14) != "fail"
    trained = next(k for k in range(512, 0, -1) if upper_limit(k, 512, rules.level) < rules.fitted)
    assert trained_state(Cell("matched", 9, trained, 512, 0.0), rules, 1) == "fail"
    assert trained_state(Cell("matched", 9, trained, 512, 0.0), rules, 3) == "open"


def test_a_checkpoint_is_measured_on_one_thread_whatever_the_process_was_told(make_run, monkeypatch) -> None:
    """Sums of another order have other last bits: one process and several workers would disagree."""
    found: list[set[int]] = []
    observe_all = engine.observe_all

    def looking(*args: Any) -> int:
        found.append({torch.get_num_threads(), *(library["num_threads"] for library in threadpool_info())})
        return observe_all(*args)

    run = make_run(majority(), TASK, trained=9)
    (item,) = plan(MeasureRequest([run.path], only=["behaviour"], sequences=4, lengths=[9])).jobs
    monkeypatch.setattr(engine, "observe_all", looking)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with threadpool_limits(2):
            assert {library["num_threads"] for library in threadpool_info()} == {2}
            engine.measure_checkpoint(item)
            assert torch.get_num_threads() == 2
            assert {library["num_threads"] for library in threadpool_info()} == {2}
    finally:
        torch.set_num_threads(before)
    assert found == [{1}]
