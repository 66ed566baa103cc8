"""The worker: answers, errors, progress, cancelling, death, and one answer per question."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from workbench.dashboard.server.worker import MOST_WAITING, Job, Worker, job_key

LONG = 60.0


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(keep=4)
    yield made
    made.close()


def test_nothing_runs_before_the_first_request() -> None:
    assert Worker().pid is None


def test_an_answer_comes_back(worker: Worker) -> None:
    job = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": [1, "two"]}), LONG)
    assert job is not None
    assert (job.state, job.result) == ("done", [1, "two"])


def test_arrays_come_back_as_arrays(worker: Worker) -> None:
    asked = {"run_path": "", "step": 0, "law": "matched", "length": 7, "layer": 0, "head": 1, "seed": 3}
    job = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:attention", asked), LONG)
    assert job is not None
    assert job.result["pattern"].dtype == np.float32
    np.testing.assert_allclose(job.result["pattern"].sum(1), 1, rtol=1e-5)


def test_the_same_question_is_asked_once(worker: Worker) -> None:
    key = worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": 1})
    worker.wait(key, LONG)
    before = worker.job(key)
    assert worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": 1}) == key
    assert worker.job(key) is before
    assert job_key("a:b", {"x": 1, "y": 2}) == job_key("a:b", {"y": 2, "x": 1})
    assert job_key("a:b", {"x": 1}) != job_key("a:b", {"x": 2})


def test_an_error_is_a_sentence_and_leaves_the_worker_alive(worker: Worker) -> None:
    job = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:fail", {"message": "no such head"}), LONG)
    assert job is not None
    assert job.state == "failed"
    assert re.fullmatch(r"ValueError: no such head \(at \S+/fake_jobs.py:\d+\)", job.error)
    assert "in fail" in job.detail
    pid = worker.pid
    again = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": "still here"}), LONG)
    assert again is not None
    assert again.state == "done"
    assert worker.pid == pid


def test_a_function_that_does_not_exist_is_an_error(worker: Worker) -> None:
    job = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:nothing", {}), LONG)
    assert job is not None
    assert job.state == "failed"
    assert "nothing" in job.error


def test_progress_is_seen_and_cancelling_keeps_the_process(worker: Worker) -> None:
    worker.wait(worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": "warm"}), LONG)
    pid = worker.pid
    key = worker.submit("tests.support.dashboard.fake_jobs:slow", {})
    while (job := worker.job(key)) is not None and job.done < 2:
        worker.wait(key, 0.05)
    assert (job.total, job.doing) == (400, "counting")
    worker.cancel(key)
    job = worker.wait(key, LONG)
    assert job is not None
    assert job.state == "cancelled"
    assert worker.pid == pid


def test_a_function_that_never_reports_is_cancelled_by_ending_its_process(worker: Worker) -> None:
    key = worker.submit("tests.support.dashboard.fake_jobs:stuck", {})
    while (job := worker.job(key)) is not None and job.state == "queued":
        worker.wait(key, 0.05)
    worker.cancel(key)
    job = worker.wait(key, LONG)
    assert job is not None
    assert job.state == "cancelled"
    assert worker.pid is None


def test_a_dead_worker_is_an_error_and_the_next_request_starts_another(worker: Worker) -> None:
    job = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:die", {}), LONG)
    assert job is not None
    assert job.state == "failed"
    assert "exit code 7" in job.error
    again = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": "new"}), LONG)
    assert again is not None
    assert (again.state, again.cold) == ("done", True)


def test_of_waiting_requests_in_one_slot_only_the_newest_is_kept(worker: Worker) -> None:
    busy = worker.submit("tests.support.dashboard.fake_jobs:slow", {"rounds": 6})
    keys = [
        worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": ["slot", i]}, slot="head") for i in range(3)
    ]
    states = [job.state for key in keys if (job := worker.job(key)) is not None]
    assert states[:2] == ["cancelled", "cancelled"]
    last = worker.wait(keys[-1], LONG)
    assert last is not None
    assert last.result == ["slot", 2]
    worker.wait(busy, LONG)


def test_more_than_can_wait_is_told_so_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each session is a slot of its own: without a bound, whoever makes up sessions fills the memory."""
    monkeypatch.setattr(Worker, "_run", lambda self: None)  # nothing is ever begun
    worker = Worker(keep=4)
    waiting = [
        worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": i}, slot=f"look/{i}")
        for i in range(MOST_WAITING)
    ]
    refused = [
        worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": -i}, slot=f"look/-{i}") for i in range(1, 200)
    ]
    assert all(worker.job(key) == Job() for key in waiting)
    last = worker.job(refused[-1])
    assert last is not None
    assert last.state == "failed"
    assert "try again" in last.error
    assert sum(worker.job(key) is not None for key in refused) < 100  # and of those that were refused few are kept
    newer = worker.submit(
        "tests.support.dashboard.fake_jobs:echo", {"value": "newer"}, slot="look/0"
    )  # in place of what waits in its slot
    assert worker.job(newer) == Job()
    assert (
        worker.job(worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": "ours"})) == Job()
    )  # what no page asks is not counted


def test_old_answers_are_forgotten(worker: Worker) -> None:
    keys = [worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": ["many", i]}) for i in range(8)]
    worker.wait(keys[-1], LONG)
    worker.submit("tests.support.dashboard.fake_jobs:echo", {"value": "one more"})
    assert worker.job(keys[0]) is None
    assert worker.job(keys[-1]) is not None


def test_a_closed_worker_refuses(worker: Worker) -> None:
    other = Worker()
    other.close()
    with pytest.raises(RuntimeError, match="closed"):
        other.submit("tests.support.dashboard.fake_jobs:echo", {"value": 1})
