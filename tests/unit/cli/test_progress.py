"""Following other processes by the files they leave."""

from __future__ import annotations

import json
import time
from pathlib import Path

from workbench.cli.progress import following, steps_done


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
