"""A worker that is closed at whatever moment leaves no process behind, and says nothing."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from workbench.dashboard.server import worker as module
from workbench.dashboard.server.worker import Worker
from workbench.jobs.resources import importing_no_neighbours

JOB = "workbench.core.thresholds:no_such_function"


def processes() -> list[str]:
    return [one.name for one in multiprocessing.active_children() if one.name == "lengthlens-worker"]


def test_closed_while_its_process_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    starting, thrown, real = threading.Event(), list[threading.ExceptHookArgs](), importing_no_neighbours

    @contextmanager
    def slow() -> Iterator[None]:
        starting.set()
        time.sleep(0.3)  # what closes comes in here, before there is a process to wait for
        with real():
            yield

    monkeypatch.setattr(module, "importing_no_neighbours", slow)
    monkeypatch.setattr(threading, "excepthook", thrown.append)
    before, made = processes(), Worker()
    made.submit(JOB, {})
    assert starting.wait(30)
    made.close()
    assert made._thread is not None
    made._thread.join(30)
    assert not made._thread.is_alive()
    assert (made.pid, processes(), thrown) == (None, before, [])


def test_closed_before_its_process_starts() -> None:
    before, made = processes(), Worker()
    made.close()
    with pytest.raises(EOFError, match="closed"):
        made._start()
    assert (made.pid, processes()) == (None, before)
