"""Following other processes by the files they leave."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from workbench.cli.progress import TrainingProgress, following, steps_done
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.training.trainer import Trainer


class Counter:
    """A bar that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, str]] = []

    def update(self, done: int, note: str) -> None:
        self.told.append((done, note))


def line(folder: Path, step: int) -> None:
    with open(folder / "live.jsonl", "a") as file:
        file.write(json.dumps({"step": step}) + "\n")


def test_steps_come_from_checkpoints_and_from_the_tail_whichever_is_further(tmp_path: Path) -> None:
    assert steps_done(tmp_path) == 0
    (tmp_path / "steps" / "00000010").mkdir(parents=True)
    assert steps_done(tmp_path) == 10
    line(tmp_path, 12)
    line(tmp_path, 15)
    assert steps_done(tmp_path) == 15
    with open(tmp_path / "live.jsonl", "a") as file:
        file.write('{"step": 1')  # a line that is just being written
    assert steps_done(tmp_path) == 10


def test_ended_runs_count_as_planned_and_running_ones_as_far_as_they_are(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("a", "b", "c")}
    for folder in folders.values():
        folder.mkdir()
    line(folders["a"], 7)
    line(folders["b"], 3)
    bar, ended = Counter(), {"a": 100}
    with following(bar, folders, ended):  # type: ignore[arg-type]  # all it needs is update
        give_up = time.monotonic() + 30
        while not bar.told and time.monotonic() < give_up:
            time.sleep(0.01)
    assert bar.told[-1] == (103, "b 3")


def test_steps_before_a_fork_are_not_counted(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("begun", "waiting")}
    for folder in folders.values():
        (folder / "steps" / "00000150").mkdir(parents=True)
    line(folders["begun"], 157)
    bar = Counter()
    with following(bar, folders, {}, dict.fromkeys(folders, 150)):  # type: ignore[arg-type]
        give_up = time.monotonic() + 30
        while not bar.told and time.monotonic() < give_up:
            time.sleep(0.01)
    assert bar.told[-1] == (7, "begun 157")


def test_loss_and_accuracy_are_told_of_one_batch_and_what_is_of_a_checkpoint_is_called_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = TrainingProgress(2, "mine")
    told(2, {"loss": 0.25, "accuracy": 0.75, "accuracy_in": 0.5, "accuracy_out": None})
    assert capsys.readouterr().err.endswith(
        "  batch: loss 0.250, accuracy 0.750 \u00b7 checkpoint: accuracy 0.500 at N\n"
    )


def test_training_tells_the_accuracy_of_the_batch_that_its_loss_is_of(tmp_path: Path) -> None:
    """Always right or wrong together: one string of one token, whose answer is its only class by the weights."""
    seen: list[dict[str, float | None]] = []
    options = {"steps": 3, "lengths": "1-1", "layers": 1, "d_model": 8, "heads": 1, "batch_size": 1}
    config = build(TrainRequest("parity", options))
    Trainer(config, tmp_path / "run", lambda _, scores: seen.append(dict(scores))).run()
    # Of two classes the likelier one has a loss below log 2.
    assert [scores["accuracy"] for scores in seen] == [float(scores["loss"] < math.log(2)) for scores in seen]
    assert "accuracy" not in pq.read_table(tmp_path / "run" / "steps" / "00000003" / "log.parquet").column_names
