"""Runs one job in a child process; workers of a cluster use it for each job.

A Dask worker runs tasks in threads. No signal reaches them, and a crash ends every other task. So each job runs in the
main thread of a child process, with one numerical thread. A child runs one job after another, because importing torch
takes seconds. The child and its parent communicate through a pipe. If the parent dies, the child reads the end of the
pipe, ends as SIGTERM would end it, and releases its locks.
"""

from __future__ import annotations

import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import cloudpickle

from workbench.jobs.executors import Answer, Failure, attempt_in_worker, receive_result
from workbench.jobs.resources import THREADS

IDLE_S = 60.0
"""Seconds without a job after which a child ends; its parent gives no job to a child that was idle for half of them."""
LOOK_S = 0.5
"""Seconds between two checks of the parent for the stop file."""
GRACE_S = 20.0
"""Seconds that a child has for saving after the request to stop, and for ending after its parent ended."""
LENGTH = struct.Struct(">Q")

Request = tuple[Callable[[Any], Any], int, Any]


def pack_job(function: Callable[[Any], Any], index: int, job: object) -> bytes:
    """A job as bytes. cloudpickle makes them, so that lambdas and functions of a notebook work."""
    return bytes(cloudpickle.dumps((function, index, job)))


def unpack_answer(answer: bytes) -> Any:
    """The result of a job, or its :class:`~workbench.jobs.executors.Failure`; its log records are logged here."""
    return receive_result(pickle.loads(answer))


def run_job(request: bytes, stop: str) -> bytes | None:
    """Run a job in a child of this process; may be called in any thread.

    Args:
        request: from :func:`pack_job`.
        stop: path of a file; when it exists, the child receives SIGTERM.

    Returns:
        the answer for :func:`unpack_answer`, or None if the job killed the child.
    """
    child = _IDLE.take() or _Child()
    answer = child.ask(request, stop)
    if answer is not None:
        _IDLE.put(child)
    return answer


class _Child:
    """A child process as its parent sees it; only one thread uses it at a time."""

    def __init__(self) -> None:
        here = str(Path(__file__).resolve().parents[2])  # this very package, whatever lies in the current folder
        paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        more = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from workbench.jobs.job_process import run_jobs_from_input; run_jobs_from_input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(THREADS, "1"), **more},
        )
        self.since = time.monotonic()

    def ask(self, request: bytes, stop: str) -> bytes | None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            _send(self.process.stdin, request)
            self._wait(stop)
            answer = _receive(self.process.stdout)
        except OSError:  # it died while it was written to
            answer = None
        self.since = time.monotonic()
        if answer is None:
            self.end()
        return answer

    def _wait(self, stop: str) -> None:
        """Wait for an answer or the end of the child, and pass on a request to stop."""
        stop_time: float | None = None
        assert self.process.stdout is not None
        while not select.select([self.process.stdout], [], [], LOOK_S)[0]:
            if stop_time is None and os.path.exists(stop):
                stop_time = time.monotonic()
                self.process.terminate()
            elif stop_time is not None and time.monotonic() - stop_time > GRACE_S:
                self.process.kill()

    def end(self) -> None:
        """End a child that receives no more jobs."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # of what it did not read any more
                    pipe.close()


class _Idle:
    """The idle children of this process."""

    def __init__(self) -> None:
        self._children: list[_Child] = []
        self._lock = threading.Lock()

    def take(self) -> _Child | None:
        while True:
            with self._lock:
                if not self._children:
                    return None
                child = self._children.pop()
            if child.process.poll() is None and time.monotonic() - child.since < IDLE_S / 2:
                return child
            child.end()

    def put(self, child: _Child) -> None:
        with self._lock:
            self._children.append(child)

    def end(self) -> None:
        while child := self.take():
            child.end()


_IDLE = _Idle()


def end_idle() -> None:
    """End the idle children; otherwise they end by themselves, later."""
    _IDLE.end()


def run_jobs_from_input() -> None:
    """The main loop of a child: reads jobs from standard input and writes answers to standard output, until the input
    ends.
    """
    requests, answers = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "rb"), (1, "wb")))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # whatever a job prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of whoever asked
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, asked), daemon=True).start()
    while True:
        try:
            request = asked.get(timeout=IDLE_S)
        except queue.Empty:
            return
        _send(answers, _answer(request))


def _listen(requests: IO[bytes], asked: queue.SimpleQueue[bytes]) -> None:
    while (request := _receive(requests)) is not None:
        asked.put(request)
    os.kill(os.getpid(), signal.SIGTERM)  # the parent is gone: what trains saves
    time.sleep(GRACE_S)
    os._exit(1)


def _answer(request: bytes) -> bytes:
    index = -1
    try:
        function, index, job = cloudpickle.loads(request)
        return bytes(cloudpickle.dumps(attempt_in_worker(function, index, job)))
    except Exception as error:  # noqa: BLE001 - what cannot travel is a failure of its job
        return pickle.dumps(Answer(Failure.of(index, None, error, foreign=True), ()))


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """The next message, or None if the other end is closed."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = pipe.read(length)
    return data if len(data) == length else None
