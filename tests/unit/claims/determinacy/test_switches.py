"""Forks whose trained lengths change at a step: their data, their rows, and the bracket that follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workbench.claims.determinacy import cells, switches
from workbench.claims.determinacy.cells import StudyCell
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.switches import (
    CHANGED,
    CONTROL,
    DIRECTIONS,
    RESCUE,
    SPOIL,
    SWITCH_CELLS,
    Change,
    bracket,
    change_by_step,
    random_sign_level,
    run_switches,
    switch_config,
)
from workbench.training.training_batch import training_batch

CELL = StudyCell("parity-none", "parity", "none")


def lengths(direction: str, fork: tuple[int, str] | None, steps: range) -> list[int]:
    config = switch_config(SWITCH_CELLS[2], direction, 3, fork)
    return [training_batch(config, step)[0].length for step in steps]


def test_children_share_the_trunk_and_their_data_seed() -> None:
    """The changed child and its control draw from one stream; their lengths come from different distributions."""
    before = range(0, 30)
    own = lengths(RESCUE, None, before)
    assert own == lengths(RESCUE, (30, CONTROL), before)
    assert max(own) <= 16
    later = range(30, 90)
    control, changed = (lengths(RESCUE, (30, kind), later) for kind in (CONTROL, CHANGED))
    assert max(control) <= 16
    assert 0.1 < sum(n == 32 for n in changed) / 60 < 0.5
    assert max(lengths(SPOIL, None, range(0, 60))) == 32
    assert max(lengths(SPOIL, (30, CHANGED), later)) <= 16


def test_a_table_has_every_child_and_is_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.claims.determinacy import study

    monkeypatch.setattr(cells, "STEPS", 4)
    monkeypatch.setattr(switches, "SWITCH_STEPS", (1, 2))
    monkeypatch.setattr(switches, "RUNS", 2)
    monkeypatch.setattr(switches, "SWITCH_CELLS", (CELL,))
    monkeypatch.setattr(study, "SEQUENCES", 16)
    told: list[str] = []
    run_switches(tmp_path, "rows.parquet", told.append)
    rows = read_rows(tmp_path, "rows.parquet")
    assert len(rows) == 2 * 2 * (1 + 2 * 2)
    assert len(change_by_step(rows, CELL, RESCUE)) == 2
    run_switches(tmp_path, "rows.parquet", told.append)
    assert len(told) == 1


def rows_of(differences: dict[int, list[float]]) -> list[dict[str, Any]]:
    return [
        {"cell": CELL.name, "direction": RESCUE, "seed": seed, "step": step, "kind": kind, "reach": 0.4 + more}
        for step, each in differences.items()
        for seed, difference in enumerate(each)
        for kind, more in ((CONTROL, 0.0), (CHANGED, difference))
    ]


def test_the_interval_is_that_of_student() -> None:
    """Mean 0.3 and standard deviation 0.1 of three runs: half width 4.303 x 0.1 / sqrt(3)."""
    (found,) = change_by_step(rows_of({150: [0.2, 0.3, 0.4]}), CELL, RESCUE)
    assert (found.value, found.high - found.value) == pytest.approx((0.3, 0.2484), abs=1e-4)
    assert found.changed
    (small,) = change_by_step(rows_of({150: [0.1, 0.1, 0.11]}), CELL, RESCUE)
    assert not small.changed, "shown, and smaller than what counts"
    (unsure,) = change_by_step(rows_of({150: [0.9, -0.3, 0.3]}), CELL, RESCUE)
    assert not unsure.changed


def test_random_signs_give_their_range() -> None:
    """Two differences of 1 have means of -1, 0 and 1; eight have an absolute mean of 1 in 2 of 256 cases."""
    assert random_sign_level(np.ones(2)) == 1.0
    assert random_sign_level(np.ones(8)) == 0.75


def test_brackets_in_words() -> None:
    def changes(*flags: bool) -> list[Change]:
        return [Change(step, 0.3, 0.1, 0.5, 8, flag, 0.2) for step, flag in zip((100, 150, 200), flags, strict=True)]

    assert bracket(changes(True, True, False)) == "between step 150 and step 200"
    assert bracket(changes(True, True, True)) == "after step 200 of 500"
    assert bracket(changes(False, False, False)) == "no change of at least 0.2 at any step"


def test_directions_and_cells_can_be_trained() -> None:
    """Every cell has positions for the tested lengths, and the initial weights of a seed do not depend on them."""
    for cell in SWITCH_CELLS:
        for direction in DIRECTIONS:
            config = switch_config(cell, direction, 0)
            assert config.model.n_ctx > 4 * switches.LONG
            assert config.as_json()["training"]["trained_length"] == (16 if direction == RESCUE else 32)
            assert torch.equal(training_batch(config, 0)[0].mask.any(1), torch.ones(32, dtype=torch.bool))
