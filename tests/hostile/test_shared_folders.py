"""Folders that commands write into or copy from, as somebody else may have left them: one sentence, nothing outside."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.hostile import damaged
from tests.support.hostile.effort import SHARE, AddTally, sample
from tests.support.hostile.shared_folders import cases, damaged_reports, make_template, tried

SEED = 20261125
EVERY = 4
"""Of the damaged runs, one in so many has a report made of it."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shared").resolve()
    make_template(root)
    return root


@pytest.fixture(scope="module")
def damaged_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damaged").resolve()
    damaged.make_template(root)
    return root


def test_nothing_outside_a_shared_folder_is_touched(
    template: Path, tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    every = cases(SEED)
    assert len(every) > 2000
    surfaces = dict.fromkeys(case.surface for case in every)
    every = [case for name in surfaces for case in sample([case for case in every if case.surface == name], SEED, 4)]
    begun, wrong = time.monotonic(), list[str]()
    for number, case in enumerate(every):
        new = tried(case, template, tmp_path)
        wrong += new
        if new or number % 200 == 0:
            with capsys.disabled():
                print("\n".join([f"{number} of {len(every)}, {len(wrong)} wrong", *new]), flush=True)
    with capsys.disabled():
        print(f"\n{len(every):,} hostile folders in {time.monotonic() - begun:,.0f} s, seed {SEED}")
    for surface in surfaces:
        cases_of_it = [case for case in every if case.surface == surface]
        tally(surface, len(cases_of_it), [line for line in wrong if line.startswith(f"{surface},")])
    assert wrong == []


def test_a_report_of_a_damaged_run_ends_with_a_sentence(
    damaged_template: Path, tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    count, wrong = damaged_reports(damaged_template, tmp_path, round(EVERY / min(1, SHARE)))
    with capsys.disabled():
        print(f"\n{count} reports of damaged runs: {len(wrong)} wrong")
    tally("report", count, wrong)
    assert wrong == []
