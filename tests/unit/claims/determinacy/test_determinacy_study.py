"""The determinacy study: families, their data, what is stored, and that it resumes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from workbench.claims.determinacy import cells, families, study
from workbench.claims.determinacy.cells import CELLS, HEADLINE, StudyCell, planned_cells
from workbench.claims.determinacy.study import StudyTable, reach_lengths, reach_of, run_study
from workbench.core.reach import REACH_MULTIPLES
from workbench.training.training_batch import training_batch

CELL = StudyCell("parity-none", "parity", "none", parents=4)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps, few runs, and every run counts as a parent."""
    monkeypatch.setattr(cells, "STEPS", 8)
    for module in (study, families):
        monkeypatch.setattr(module, "FORK_STEPS", (2, 5))
        monkeypatch.setattr(module, "CHILDREN", 2)
    for name, value in {"TRAINED_PARENTS": 5, "STACK": 4, "SOLVED": -9.0, "SEQUENCES": 32}.items():
        monkeypatch.setattr(study, name, value)


def without_times(table: StudyTable) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in table.rows]


@pytest.mark.usefixtures("small")
def test_a_study_stores_every_member_of_every_family(tmp_path: Path) -> None:
    table = StudyTable.read(tmp_path, "rows.parquet")
    told: list[str] = []
    run_study(table, [CELL], told.append)
    assert "5 of 5 runs solve" in told[0]
    assert len(told) == 5
    keys = {(row["parent"], row["step"], row["child"]) for row in table.rows}
    members = [(0, 0), (2, 1), (2, 2), (5, 1), (5, 2)]
    assert keys == {(parent, *member) for parent in range(4) for member in members}
    for row in StudyTable.read(tmp_path, "rows.parquet").rows:
        skill = np.array([[row[f"skill_{multiple:g}"] for multiple in REACH_MULTIPLES]])
        assert row["reach"] == pytest.approx(float(reach_of(skill)[0]), abs=1e-6)
        assert (row["reach_again"] is None) == bool(row["child"])
    assert set(families.determinacy_by_step(table.rows, CELL)) == {2, 5}


@pytest.mark.usefixtures("small")
def test_a_study_that_is_stopped_continues_with_the_same_rows(tmp_path: Path) -> None:
    """Parents are trained again for their states; the rows of a second run are those of one run without a stop."""
    whole = StudyTable(tmp_path, "whole.parquet")
    run_study(whole, [CELL], lambda line: None)
    stopped = StudyTable(tmp_path, "stopped.parquet")
    run_study(stopped, [CELL], lambda line: None, until=time.time() - 1)
    assert not stopped.rows
    run_study(stopped, [CELL], lambda line: None)
    kept = [row for row in stopped.rows if row["step"] != 5]
    resumed = StudyTable(tmp_path, "stopped.parquet", kept)
    run_study(resumed, [CELL], lambda line: None)
    assert without_times(resumed) == without_times(whole)
    told: list[str] = []
    run_study(resumed, [CELL], told.append)
    assert not told, "nothing is trained twice"
    foreign = [{**row, "reach": row["reach"] + 0.01 * (not row["step"])} for row in kept]
    again = StudyTable(tmp_path, "again.parquet", foreign)
    run_study(again, [CELL], told.append)
    assert "the parents differ from the stored ones" in told[0]
    assert without_times(again) == without_times(whole)


def test_children_have_their_own_lengths_and_sequences() -> None:
    """Up to the step they have those of the parent."""
    cell = HEADLINE[0]
    configs = [cell.config(3), *(cell.config(3, (150, child)) for child in (1, 2)), cell.config(4, (150, 1))]
    before = [training_batch(config, 149)[0].tokens for config in configs]
    after = [training_batch(config, 150)[0].tokens.tolist() for config in configs]
    assert torch.equal(before[0], before[1])
    assert torch.equal(before[0], before[2])
    assert len({str(tokens) for tokens in after}) == 4


def test_the_planned_cells_are_those_of_the_protocol() -> None:
    planned = planned_cells()
    assert [cell.schedule for cell in planned] == ["cosine"] * 8 + ["constant"] * 4
    assert len({(cell.name, cell.schedule) for cell in planned}) == 12
    assert {cell.positions for cell in CELLS} == {"none", "rotary", "learned"}
    for cell in CELLS:
        assert reach_lengths(cell) == [24, 32, 48, 64, 128]


def test_reach_clips_each_length() -> None:
    assert reach_of(np.array([[1.0, 0.5, -3.0, 0.0, 0.5], [1.0, 1.0, 1.0, 1.0, 1.0]])).tolist() == [0.4, 1.0]


@pytest.mark.usefixtures("small")
def test_cells_without_parents_are_told_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "SOLVED", 2.0)
    table = StudyTable(tmp_path, "rows.parquet")
    told: list[str] = []
    run_study(table, [CELL], told.append)
    assert "0 of 5 runs solve" in told[0]
    assert not table.rows
