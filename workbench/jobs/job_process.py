"""One job in a child process of whoever calls: what a worker of a cluster does with a job.

A worker of Dask runs tasks in threads, where no signal arrives and a crash takes every other task along. So each
job runs in a child, in its main thread, with one numerical thread; a child serves one job after another, for
importing torch takes seconds. The child and its parent talk through a pipe: when the parent dies, however it dies,
the child reads the end of the pipe, ends as SIGTERM ends it, and lets go of what it has locked.
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

from workbench.jobs.executors import Answer, Failure, attempt_in_worker, received
from workbench.jobs.resources import THREADS

IDLE_S = 60.0
"""A child that is asked for nothing for so long ends; its parent uses none that has been idle for half of it."""
LOOK_S = 0.5
"""How often the parent looks for the stop file."""
GRACE_S = 20.0
"""What a child has to save once it is told to stop, and to end once its parent has."""
LENGTH = struct.Struct(">Q")

Request = tuple[Callable[[Any], Any], int, Any]


def packed(function: Callable[[Any], Any], index: int, job: object) -> bytes:
    """A job as it travels: by cloudpickle, so that lambdas and functions of a notebook work."""
    return bytes(cloudpickle.dumps((function, index, job)))


def unpacked(answer: bytes) -> Any:
    """The result of a job, or its :class:`~workbench.jobs.executors.Failure`; what it logged is logged here."""
    return received(pickle.loads(answer))


def run_job(request: bytes, stop: str) -> bytes | None:
    """Run a job in a child of this process; called in any thread.

    Args:
        request: from :func:`packed`.
        stop: a file; once it is there, the child is told to stop by SIGTERM.

    Returns:
        the answer for :func:`unpacked`, or None where the child died of the job.
    """
    child = _IDLE.take() or _Child()
    answer = child.ask(request, stop)
    if answer is not None:
        _IDLE.put(child)
    return answer


class _Child:
    """A child process, from the side of its parent; one thread at a time has it."""

    def __init__(self) -> None:
        here = str(Path(__file__).resolve().parents[2])  # this very package, whatever lies in the current folder
        paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        more = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from workbench.jobs.job_process import serve; serve()"],
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
        """Wait until there is an answer or the child is gone; pass on that it is to stop."""
        told: float | None = None
        assert self.process.stdout is not None
        while not select.select([self.process.stdout], [], [], LOOK_S)[0]:
            if told is None and os.path.exists(stop):
                told = time.monotonic()
                self.process.terminate()
            elif told is not None and time.monotonic() - told > GRACE_S:
                self.process.kill()

    def end(self) -> None:
        """End a child that is asked for nothing more."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # of what it did not read any more
                    pipe.close()


class _Idle:
    """The children of this process that have nothing to do."""

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
    """End the children that have nothing to do; they would end by themselves, later."""
    _IDLE.end()


def serve() -> None:
    """What a child does: jobs from standard input, answers to standard output, until there are none."""
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
    """The next message, or None where the other end is gone."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = pipe.read(length)
    return data if len(data) == length else None
