"""The tables of docs/diagnosis.md say what the rows say; its sweep is what it says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.places import ROOT
from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import checked
from workbench.cli.sweeping.sweep_file import read_sweep

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def runs() -> ModuleType:
    for name in ("other_machines_table", "diagnosis_runs"):
        spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look up the names in annotations
        spec.loader.exec_module(module)
    return module


def line(
    run: str, entry: str, trial: str = "first", length: int = 64, site: str = "selection", **fields: Any
) -> dict[str, Any]:
    facts = {"run": run, "task": run.split("-")[0], "positions": "rotary", "grade": "strong", "by": "P.int", "note": ""}
    return {
        **facts, "trial": trial, "length": length, "entry": entry, "site": site, "sentence": f"{entry} at {length}.",
        "layer": 0, "head": 1, "measured_loss": 0.3, "share": 0.9, "low": 0.8, "high": 1.0, "seconds": 1.0, **fields,
    }  # fmt: skip


LINES = [
    line("a-0", "", length=64),
    line("a-0", "position", length=128),
    line("a-0", "position", "fresh strings", 128, "dispersion"),
    line("a-0", "keys", "second law", 128),
    line("b-0", "not explained"),
    line("b-1", "keys or content", positions="none"),
    line("b-1", "", "fresh strings", positions="none"),
    line("c-0", ""),
    line("flip_flop_rotary_s0", "position"),
]


def test_runs_are_counted_at_the_first_length_that_names_something(runs: ModuleType) -> None:
    table = runs.counts(LINES).splitlines()
    assert table[2] == "| none | 1 | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 |"
    assert table[3] == "| rotary | 3 | 2 | 2 | 1 | 0 | 0 | 0 | 0 | 1 |"
    assert table[4] == "| all | 4 | 3 | 2 | 1 | 0 | 0 | 1 | 0 | 1 |"
    assert "- position, selection: 1" in table
    assert "4 of 216 runs so far: `make diagnosis-runs` goes on." in table


def test_what_is_asked_again_is_counted_where_enough_is_lost_there(runs: ModuleType) -> None:
    table = runs.again(LINES).splitlines()
    assert table[2] == "| fresh strings | 2 | 1 | 1 of 1 | 0 of 1 |"
    assert table[3] == "| second law | 1 | 0 | 0 of 1 | 1 of 1 |"


def test_the_story_is_that_of_the_gallery_and_every_run_has_its_sentence(runs: ModuleType) -> None:
    assert "| flip_flop_rotary_s0 | 64 | position at 64. |" in runs.story(LINES)
    table = runs.every_run(LINES)
    assert "| a-0 | position at 128. |" in table
    assert "| c-0 |  at 64. |" in table
    assert "flip_flop" not in table


def test_rows_are_given_back_and_the_page_has_a_place_for_every_table(runs: ModuleType, tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    runs.write(rows, LINES)
    assert len(runs.read(rows)) == len(LINES)
    assert runs.read(rows)[0]["sentence"] == " at 64."
    page = (DOCS / "diagnosis.md").read_text()
    for name, table in runs.TABLES.items():
        page = runs.rewritten(page, name, table(LINES))
    assert "position at 128." in page


def test_the_page_says_what_the_rows_beside_it_say(runs: ModuleType) -> None:
    lines, page = runs.read(runs.ROWS), (DOCS / "diagnosis.md").read_text()
    assert {line["run"] for line in lines} >= {*runs.STORY}
    for name, table in runs.TABLES.items():
        assert runs.rewritten(page, name, table(lines)) == page, name


def test_the_sweep_is_twelve_tasks_three_schemes_and_six_seeds(tmp_path: Path) -> None:
    file = find_sweep(Path("diagnosis"))
    sweep = read_sweep(file)
    configs = checked(file, sweep, tmp_path)
    assert len(configs) == 216
    assert len({c.task.name for c in configs.values()}) == 12
    assert {(c.model.positions.name, c.model.ids.name) for c in configs.values()} == {
        ("none", "arange"), ("rotary", "arange"), ("learned", "random_offset"),
    }  # fmt: skip
    assert {c.training.trained_length for c in configs.values()} <= {31, 32}
