"""One walk: every run once, under the name of the place where it lies, whatever is linked to whatever."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.table.making import RunMaker
from workbench.dashboard.state.store import Store
from workbench.runs.run import find_runs
from workbench.table import Table
from workbench.table import walk as walk_below
from workbench.table.walk import OF_THE_SYSTEM, near_folders, walk


def names(root: Path) -> list[str]:
    return [name for name, _ in walk(root).runs]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with a run of its own, and one that is linked in from another disk."""
    RunMaker(tmp_path / "data" / "here")
    RunMaker(tmp_path / "elsewhere" / "group" / "there")
    (tmp_path / "data" / "linked").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "data"


def test_command_line_table_and_dashboard_find_the_same_runs(two: Path) -> None:
    expected = ["here", "linked/group/there"]
    assert names(two) == expected
    assert [run.name for run in find_runs(two)] == expected
    assert Table.load(two).runs()["run"].tolist() == expected
    assert list(Store([two], patience=0).runs()) == expected


def test_links_in_circles_end_and_rename_nothing(two: Path) -> None:
    """Two links to a folder above double what a walk without memory looks at, at every level."""
    for name in ("0-up", "1-up"):
        (two / name).symlink_to(two)
        (two / "deep" / "er").mkdir(parents=True, exist_ok=True)
        (two / "deep" / "er" / name).symlink_to("../..")
    (two / "0-alias").symlink_to("here")
    (two / "self").symlink_to("self")
    assert names(two) == ["here", "linked/group/there"], "what lies here keeps its name, whatever is linked to it"


def test_a_run_itself_is_named_by_its_folder(two: Path, monkeypatch) -> None:
    assert names(two / "here") == ["here"]
    monkeypatch.chdir(two / "here")
    assert names(Path(".")) == ["here"]
    assert list(Store([two / "here"], patience=0).runs()) == ["here"]


def test_hidden_folders_and_the_inside_of_runs_are_passed_over(two: Path) -> None:
    RunMaker(two / ".hidden" / "run")
    RunMaker(two / "here" / "inside")
    assert names(two) == ["here", "linked/group/there"]


def test_data_without_a_run_json_is_named_and_does_not_hide_what_is_below(two: Path) -> None:
    (two / "lost" / "steps").mkdir(parents=True)
    RunMaker(two / "lost" / "found")
    found = walk(two)
    assert found.headless == [two / "lost"]
    assert names(two) == ["here", "linked/group/there", "lost/found"]


def test_thousands_of_empty_folders_and_deep_ones_are_walked(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number:04d}").mkdir()
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(600):  # beyond the longest path that the system takes
        os.mkdir("deepdeep", dir_fd=place)
        below = os.open("deepdeep", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    RunMaker(tmp_path / "run")
    found = walk(tmp_path)
    assert [name for name, _ in found.runs] == ["run"]
    assert len(found.problems) == 1
    assert "cannot be looked at: File name too long" in found.problems[0]


def test_a_walk_without_end_is_ended_and_said(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("workbench.table.walk.MOST_FOLDERS", 10)
    for number in range(20):
        (tmp_path / f"{number:02d}").mkdir()
    (said,) = walk(tmp_path).problems
    assert "holds more than 10 folders" in said


def test_a_name_that_is_no_text_is_said(tmp_path: Path) -> None:
    RunMaker(tmp_path / "run")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    found = walk(tmp_path)
    assert [name for name, _ in found.runs] == ["run"]
    assert found.problems == [f"{tmp_path} holds a folder whose name is no UTF-8, '\\udcff': rename it"]


@pytest.mark.parametrize("place", OF_THE_SYSTEM)
def test_what_the_system_shows_of_itself_is_not_walked(two: Path, place: str) -> None:
    """A tree without end, in which folders come and go while one looks."""
    if not Path(place).is_dir() or os.stat(place).st_dev == os.stat("/").st_dev:
        pytest.skip(f"nothing of the system is mounted at {place}")
    (two / "system").symlink_to(place)
    found = walk(two)
    assert [name for name, _ in found.runs] == ["here", "linked/group/there"]
    assert found.problems == [f"{two / 'system'} is the system's view of itself and holds no runs: remove the link"]


def test_what_was_meant_by_a_folder(tmp_path: Path) -> None:
    for name in ("study_a", "study_b", "study_c", "study_d", "other", ".study"):
        (tmp_path / name / "run").mkdir(parents=True)
        (tmp_path / name / "run" / "run.json").touch()
    (tmp_path / "study_empty").mkdir()
    assert (
        near_folders(tmp_path / "study")
        == f"; did you mean {' or '.join(str(tmp_path / f'study_{c}') for c in 'abc')}?"
    )
    assert near_folders(tmp_path / "othr") == f"; did you mean {tmp_path / 'other'}?"
    assert near_folders(tmp_path / "xyz") == near_folders(tmp_path / "none" / "other") == ""


def test_a_walk_looks_at_so_many_folders_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "run").mkdir(parents=True)
        (tmp_path / name / "run" / "run.json").touch()
    monkeypatch.setattr(walk_below, "MOST_FOLDERS", 5)
    found = walk_below.walk(tmp_path)
    assert [name for name, _ in found.runs] == ["a/run", "b/run"]
    assert found.problems == []
    monkeypatch.setattr(walk_below, "MOST_FOLDERS", 4)
    found = walk_below.walk(tmp_path)
    assert [name for name, _ in found.runs] == ["a/run"]
    assert found.problems == [
        f"{tmp_path} holds more than 4 folders, and the others were not looked at: name a folder nearer to the runs"
    ]
    assert walk_below._short("x" * 200) == "x" * 200
    assert walk_below._short("y" * 150 + "x" * 11 + "z" * 40) == "y" * 150 + "..." + "z" * 40


def test_a_folder_that_is_not_there_holds_nothing_and_one_that_went_away_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = walk_below.walk(tmp_path / "none")
    assert (found.runs, found.headless, found.problems) == ([], [], [])
    (tmp_path / "file").touch()
    assert walk_below.walk(tmp_path / "file").problems == [f"{tmp_path / 'file'} cannot be looked at: Not a directory"]
    (tmp_path / "inner").mkdir()
    scan = os.scandir

    def gone(path: str) -> Any:
        if path.endswith("inner"):
            raise FileNotFoundError(2, "No such file or directory")
        return scan(path)

    monkeypatch.setattr(walk_below.os, "scandir", gone)
    assert walk_below.walk(tmp_path).problems == [
        f"{tmp_path / 'inner'} cannot be looked at: No such file or directory"
    ]
