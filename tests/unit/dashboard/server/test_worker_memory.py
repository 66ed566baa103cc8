"""What the worker remembers is bounded by its size, not only by its number."""

from __future__ import annotations

import numpy as np

from workbench.dashboard.server.worker import Job, Worker, array_bytes
from workbench.measure.edits.reading import Pass


def test_arrays_are_counted_wherever_they_are() -> None:
    made = {"a": np.zeros(4, np.float32), "b": {"c": [np.zeros(2), np.zeros(2)]}, "d": ["x"] * 9, "e": None}
    assert array_bytes(made) == 16 + 32
    assert array_bytes(Pass(outputs=np.zeros((2, 3), np.float32), correct=[True, None])) == 24


def held(worker: Worker, count: int, size: int) -> list[str]:
    for i in range(count):
        worker._jobs[f"job {i}"] = Job(state="done", result={"x": np.zeros(size, np.uint8)})
    worker._forget()
    return list(worker._jobs)


def test_the_oldest_results_go_when_there_are_too_many() -> None:
    assert held(Worker(keep=3), 5, 1) == ["job 2", "job 3", "job 4"]


def test_the_oldest_results_go_when_they_are_too_large_together() -> None:
    assert held(Worker(memory=250), 5, 100) == ["job 3", "job 4"]


def test_the_newest_result_stays_however_large_it_is() -> None:
    assert held(Worker(memory=10), 3, 100) == ["job 2"]
