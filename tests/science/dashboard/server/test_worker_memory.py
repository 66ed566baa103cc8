"""What the worker remembers is bounded by its size, not only by its number."""

from __future__ import annotations

import pytest

from workbench.dashboard.server.worker import Worker


def test_the_process_computes_on_one_thread_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, wanted in ((None, "1"), ("3", "3")):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        if given is not None:
            monkeypatch.setenv("OMP_NUM_THREADS", given)
        worker = Worker()
        job = worker.wait(worker.submit("tests.support.dashboard.fake_jobs:variable", {"name": "OMP_NUM_THREADS"}), 60)
        worker.close()
        assert job is not None
        assert job.result == wanted
