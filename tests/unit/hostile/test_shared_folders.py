"""A few of the hostile folders; ``make hostile`` tries all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile.shared_folders import HAZARDS, cases, contents, make_template, put, tried

EVERY = 37
"""One case in so many: a number that is prime to those of hazards and places."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shared").resolve()
    make_template(root)
    return root


def test_nothing_outside_a_shared_folder_is_touched(template: Path, tmp_path: Path) -> None:
    every = cases(20261125)
    assert len(every) > 2000
    chosen = every[::EVERY]
    assert {case.surface for case in chosen} == {case.surface for case in every}
    assert [line for case in chosen for line in tried(case, template, tmp_path)] == []


@pytest.mark.parametrize("name", HAZARDS)
def test_a_hazard_takes_the_place_of_what_lies_there(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    (victim / "run").mkdir(parents=True)
    for place in ("new", "deep/new", "file", "folder"):
        root = tmp_path / name / place
        (root / "folder" / "below").mkdir(parents=True)
        (root / "file").touch()
        put(HAZARDS[name], root / place, victim)
        assert (root / place).is_symlink() or (root / place).exists()
    assert contents(victim) == {"run": True}
