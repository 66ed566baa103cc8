"""Measuring because somebody asked: rows are there afterwards, progress is told, and what was done before a stop stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.places import GALLERY
from workbench.measure.running.on_demand import measure_run
from workbench.table import Table

RUN = GALLERY / "majority_nope_s0"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A run with two checkpoints and no rows."""
    path = tmp_path / "run"
    path.mkdir()
    shutil.copy(RUN / "run.json", path)
    for step in sorted((RUN / "steps").iterdir())[:2]:
        shutil.copytree(step, path / "steps" / step.name)
    return path


def test_what_is_missing_is_measured_and_stays(bare: Path) -> None:
    told: list[tuple[int, int, str]] = []
    done = measure_run(str(bare), ["bound"], "", lambda *given: told.append(given))
    assert [(ended, total) for ended, total, _ in told] == [(0, 2), (1, 2), (2, 2)]
    rows = Table.load(bare).frame()
    assert set(rows["measurement"]) == {"bound"}
    assert len(rows) == done["rows"] > 0
    assert done["problems"] == []
    again = measure_run(str(bare), ["bound"], "", lambda *given: None)
    assert again["rows"] == 0


def test_a_stop_keeps_what_was_measured(bare: Path) -> None:
    class Stop(Exception):
        pass

    def progress(ended: int, total: int, doing: str) -> None:
        if ended:
            raise Stop

    with pytest.raises(Stop):
        measure_run(str(bare), ["bound"], "", progress)
    assert len(set(Table.load(bare).frame()["step"])) == 1
