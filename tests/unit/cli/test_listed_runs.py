"""The list of runs comes from a cache that never outlives a change of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.places import GALLERY
from workbench.cli import listed_runs as module
from workbench.cli.listed_runs import contains_runs, listed_runs
from workbench.runs.errors import RunError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("parity_nope", "majority_learned"):
        shutil.copytree(GALLERY / name, tmp_path / "runs" / name)
    return tmp_path / "runs"


def test_a_second_look_reads_no_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = listed_runs(folder, [])
    assert [row["run"] for row in first] == ["majority_learned", "parity_nope"]

    def refuse(path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(module, "_read_row", refuse)
    assert listed_runs(folder, []) == first


def test_a_changed_run_is_read_again(folder: Path) -> None:
    before = {row["run"]: row for row in listed_runs(folder, [])}
    assert before["parity_nope"]["verdict"] == "not fitted"
    (folder / "parity_nope" / "table.parquet").unlink()
    after = {row["run"]: row for row in listed_runs(folder, [])}
    assert after["parity_nope"]["verdict"] == "not measured"
    assert after["majority_learned"] == before["majority_learned"]
    shutil.rmtree(folder / "parity_nope")
    assert [row["run"] for row in listed_runs(folder, [])] == ["majority_learned"]


@pytest.mark.parametrize("damage", ["", "[]", '{"parity_nope": 3}', '{"parity_nope": {"state": "x", "row": {}}}'])
def test_a_damaged_cache_is_ignored(folder: Path, damage: str) -> None:
    first = listed_runs(folder, [])
    (cache,) = (folder.parent / "cache" / "lengthlens").iterdir()
    cache.write_text(damage)
    assert listed_runs(folder, []) == first
    assert set(json.loads(cache.read_text())) == {"parity_nope", "majority_learned"}


def test_without_a_place_for_the_cache_the_list_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = listed_runs(folder, [])
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert listed_runs(folder, []) == first


def test_a_damaged_run_is_a_problem_and_the_others_are_listed(folder: Path) -> None:
    (folder / "parity_nope" / "run.json").write_text("{")
    problems: list[str] = []
    assert [row["run"] for row in listed_runs(folder, problems)] == ["majority_learned"]
    assert "parity_nope" in problems[0]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(RunError, match="lengthlens train"):
        listed_runs(tmp_path, [])
    with pytest.raises(RunError, match="no folder"):
        listed_runs(tmp_path / "missing", [])
    assert not contains_runs(tmp_path)
    assert contains_runs(GALLERY)
    assert not contains_runs(GALLERY / "parity_nope")
