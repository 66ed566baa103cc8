"""Runs that were begun before their task had a parameter go on as they were."""

from __future__ import annotations

from pathlib import Path

from tests.support.training.begun_before import begun_before, config
from workbench.runs import Run
from workbench.training.trainer import Trainer


def hashes(run: Run) -> dict[int, str]:
    return {step: run.meta(step)["sha256"] for step in run.steps}


def test_an_older_run_goes_on_to_the_same_bits_with_the_same_command(tmp_path: Path) -> None:
    held = begun_before(tmp_path / "old")
    old = Trainer(config(), tmp_path / "old").run()
    assert old.id == held
    assert old.task.misses == "replaced"
    replaced = Trainer(config(misses="replaced"), tmp_path / "replaced").run()
    mixed = Trainer(config(), tmp_path / "mixed").run()
    assert mixed.task.misses == "mixed"
    assert hashes(old) == hashes(replaced)
    assert hashes(old)[0] == hashes(mixed)[0]
    assert hashes(old)[4] != hashes(mixed)[4]
