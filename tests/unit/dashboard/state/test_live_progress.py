"""The line of a run in training: its step, the time left, the accuracies that were logged last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.dashboard import fakes
from workbench.dashboard.state.live_progress import live_progress
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.storage.seal import sealed_json


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = fakes.write_run(tmp_path, fakes.UNMEASURED, (0, 100, 200))
    for step, saved in ((100, 1000.0), (200, 1050.0)):
        os.utime(made / "steps" / f"{step:08d}" / "meta.json", (saved, saved))
    return made


def seen(path: Path) -> RunView:
    return Store([path.parent], patience=0).runs()[path.name]


def test_a_run_that_is_not_trained_adds_nothing(path: Path) -> None:
    assert live_progress(seen(path)) == {}


def test_between_checkpoints_the_lines_of_the_live_tail_tell_the_pace(path: Path) -> None:
    lines = [sealed_json({**fakes.log_line(fakes.UNMEASURED, step), "time": 1060.0 + step}) for step in (210, 230)]
    cut = sealed_json(fakes.log_line(fakes.UNMEASURED, 240))[:-9]  # being written
    (path / "live.jsonl").write_bytes(b"".join([*lines, cut]))
    run = seen(path)
    told = live_progress(run)
    assert told["liveText"] == f"230 of {run.planned_steps:,} \u00b7 {(run.planned_steps - 230) / 60:.0f} min left", (
        "a second a step"
    )
    last = fakes.log_line(fakes.UNMEASURED, 230)
    assert told["liveInside"] == f"{last['accuracy_in']:.2f} inside"
    assert told["liveOutside"] == f"{last['accuracy_out']:.2f} at 2 \u00d7 N"
    assert told["liveAt"] == "as logged at step 230"


def test_at_a_checkpoint_the_last_two_of_them_tell_the_pace(path: Path) -> None:
    (path / "live.jsonl").write_bytes(b"")
    run = seen(path)
    told = live_progress(run)
    assert told["liveText"] == f"200 of {run.planned_steps:,} \u00b7 {(run.planned_steps - 200) / 2 / 60:.0f} min left"
    assert told["liveAt"] == "as logged at step 200"


def test_a_run_that_has_just_begun_says_its_step_alone(tmp_path: Path) -> None:
    path = fakes.write_run(tmp_path, fakes.UNMEASURED, (0,))
    (path / "live.jsonl").write_bytes(sealed_json({"step": 0, "time": float("inf")}))
    assert live_progress(seen(path))["liveText"] == f"0 of {seen(path).planned_steps:,}"
