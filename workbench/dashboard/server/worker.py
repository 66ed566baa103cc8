"""One persistent process that runs named functions, for everything that needs a model.

The dashboard's own process never imports torch. It sends the worker ``"module:function"`` and plain arguments, and
polls the job later. Jobs are keyed by what they compute, so that the same job never runs twice; the last results are
kept.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import inspect
import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from workbench.core.errors import LensError
from workbench.core.failures import log_failure
from workbench.dashboard.server.error_log import request_origin
from workbench.jobs.executors import forwarding, log_again
from workbench.jobs.resources import importing_no_neighbours
from workbench.models.compute_device import USUAL_DEVICE, ComputeDevice, computing_on
from workbench.tasks.errors import TaskError
from workbench.tasks.source_code import trust, trusted_files

MOST_WAITING = 200
"""Requests of pages that may wait at once; further ones are rejected with a message. A hundred readers make as many."""
GRACE = 1.0
"""Seconds a cancelled function has to notice, at its next report, before its process is ended."""
START = multiprocessing.get_context("spawn")
"""How the process is started: it inherits nothing of the dashboard's, which has threads."""


class Cancelled(Exception):
    """Raised inside the worker, by the progress callback of a cancelled job."""


@dataclass(frozen=True)
class Job:
    """The state of a request.

    Attributes:
        state: queued, running, done, failed or cancelled.
        done, total: progress as the function reports it; 0 of 0 where it does not.
        doing: the progress message of the function.
        result: the answer, once done.
        error: one sentence, once failed.
        detail: the worker's traceback, once failed by an error that was not written for readers.
        started: ``time.monotonic()`` when the process took it, or None.
        cold: whether the process had to be started for it.
        asked: the page and the callback of the request, for the log.
    """

    state: str = "queued"
    done: int = 0
    total: int = 0
    doing: str = ""
    result: Any = None
    error: str = ""
    detail: str = ""
    started: float | None = None
    cold: bool = False
    asked: str = ""

    @property
    def pending(self) -> bool:
        return self.state in ("queued", "running")


def job_key(function: str, arguments: Mapping[str, Any]) -> str:
    """A key that is equal exactly for equal questions."""
    text = json.dumps([function, arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def array_bytes(result: Any) -> int:
    """Bytes of the numpy arrays anywhere in a result."""
    if is_dataclass(result):
        return array_bytes(vars(result))
    if isinstance(result, Mapping):
        return sum(array_bytes(value) for value in result.values())
    if isinstance(result, list | tuple):
        # Lists of numbers and names, which are most, hold no arrays.
        return (
            sum(array_bytes(value) for value in result)
            if result and not isinstance(result[0], str | int | float)
            else 0
        )
    return int(getattr(result, "nbytes", 0))


class Worker:
    """The process that runs models. It starts at the first request, is restarted if it dies, and ends with the
    dashboard.

    Args:
        keep: how many finished jobs are remembered.
        memory: bytes of arrays that their results may hold together; the oldest results go first.
        device: the device on which its models compute.
    """

    def __init__(self, keep: int = 64, memory: int = 128 << 20, device: ComputeDevice = USUAL_DEVICE) -> None:
        self._keep, self._memory, self._device = keep, memory, device
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: list[tuple[str, str, dict[str, Any], str]] = []
        self._cancel: set[str] = set()
        self._urgent: set[str] = set()
        self._wake = threading.Condition()
        self._life = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, function: str, arguments: Mapping[str, Any], slot: str = "", urgent: bool = False) -> str:
        """Submit ``function(**arguments)``; returns the job's key."""
        key = job_key(function, arguments)
        with self._wake:
            if self._closed:
                raise RuntimeError("the worker is closed; make a new one")
            known = self._jobs.get(key)
            if known is not None and (known.pending or known.state == "done"):
                self._jobs.move_to_end(key)
                return key
            if slot:
                for item in [i for i in self._queue if i[3] == slot]:
                    self._queue.remove(item)
                    self._jobs[item[0]] = Job(state="cancelled")
                if sum(bool(waiting[3]) for waiting in self._queue) >= MOST_WAITING:
                    said = "The worker has too many requests; try again in a minute."
                    self._jobs[key] = Job(state="failed", error=said)
                    self._forget()
                    return key
            self._jobs[key] = Job(asked=request_origin())
            ahead = sum(waiting in self._urgent for waiting, *_ in self._queue)
            self._queue.insert(ahead if urgent else len(self._queue), (key, function, dict(arguments), slot))
            if urgent:
                self._urgent.add(key)
            self._forget()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="worker-owner", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._wake.notify_all()
        return key

    def job(self, key: str) -> Job | None:
        """Return the state of a job; None if the job was never submitted or is no longer stored."""
        with self._wake:
            return self._jobs.get(key)

    def wait(self, key: str, timeout: float) -> Job | None:
        """Wait until the job is finished, or ``timeout`` seconds have passed."""
        end = time.monotonic() + timeout
        with self._wake:
            while (job := self._jobs.get(key)) is not None and job.pending:
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._wake.wait(left)
            return self._jobs.get(key)

    def cancel(self, key: str) -> None:
        """Stop a job: at its next progress report, or after a second by ending the process."""
        with self._wake:
            self._queue = [item for item in self._queue if item[0] != key]
            job = self._jobs.get(key)
            if job is not None and job.state == "queued":
                self._jobs[key] = replace(job, state="cancelled")
            elif job is not None and job.state == "running":
                self._cancel.add(key)
            self._wake.notify_all()

    def close(self) -> None:
        """End the process; safe to call twice."""
        with self._wake:
            self._closed = True
            self._queue.clear()
            self._wake.notify_all()
        self._end()

    @property
    def pid(self) -> int | None:
        """Return the process id of the worker; None if it is not running."""
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    # ---- the owner thread ------------------------------------------------------------------------
    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
                if self._closed:
                    return
                key, function, arguments, _ = self._queue.pop(0)
                self._set(key, state="running", started=time.monotonic())
            try:
                self._one(key, function, arguments)
            except (EOFError, OSError) as error:
                code = self._end()
                if not self._closed:
                    self._set(
                        key,
                        state="failed",
                        detail=repr(error),
                        error=(
                            f"The worker process ended while it was computing this (exit code {code}). "
                            "It starts again with the next request."
                        ),
                    )

    def _one(self, key: str, function: str, arguments: dict[str, Any]) -> None:
        cold = self.pid is None
        pipe = self._start()
        self._set(key, cold=cold)
        pipe.send((function, arguments))
        last_poll: float | None = None
        while True:
            # A job that reports often must not keep a cancel waiting: it is looked at every round.
            if key in self._cancel and last_poll is None:
                pipe.send("cancel")
                last_poll = time.monotonic()
            if last_poll is not None and time.monotonic() - last_poll > GRACE:
                self._end()
                self._set(key, state="cancelled")
                return
            if not pipe.poll(0.05):
                if self._process is None or not self._process.is_alive():
                    raise EOFError("the process is gone")
                continue
            kind, *message = pipe.recv()
            if kind == "progress":
                done, total, doing = message
                self._set(key, done=done, total=total, doing=doing)
                continue
            if kind == "log":
                message[0].asked = self._jobs[key].asked
                log_again(message[0])
                continue
            if kind == "done":
                self._set(key, state="done", result=message[0])
            elif kind == "cancelled":
                self._set(key, state="cancelled")
            else:
                self._set(key, state="failed", error=message[0], detail=message[1])
            return

    def _start(self) -> Connection:
        """The way to a process that lives; EOFError where the worker is closed, so that none outlives it."""
        if self._process is not None and self._process.is_alive() and (pipe := self._pipe) is not None:
            return pipe
        self._end()
        # Whoever closes meanwhile waits until there is a process to end, and sees it and its pipe together.
        with self._life:
            if self._closed:
                raise EOFError("the worker is closed")
            pipe, far = START.Pipe()
            arguments = (far, trusted_files(), self._device)
            process = START.Process(target=serve_jobs, args=arguments, name="lengthlens-worker", daemon=True)
            with importing_no_neighbours():
                process.start()
            far.close()
            self._pipe, self._process = pipe, process
        return pipe

    def _end(self) -> int | None:
        """End the process if it lives; returns its exit code."""
        with self._life:
            pipe, process = self._pipe, self._process
            self._pipe = self._process = None
        if pipe is not None:
            pipe.close()  # a living process reads this as the end of its work
        if process is None:
            return None
        process.join(timeout=0.5)
        if process.is_alive():
            process.terminate()
            process.join(timeout=5)
        return process.exitcode

    def _set(self, key: str, **changes: Any) -> None:
        with self._wake:
            self._jobs[key] = replace(self._jobs.get(key, Job()), **changes)
            if not self._jobs[key].pending:
                self._cancel.discard(key)
                self._urgent.discard(key)
            self._wake.notify_all()

    def _forget(self) -> None:
        finished = [key for key, job in self._jobs.items() if not job.pending]
        held, kept = 0, 0
        for key in reversed(finished):
            held, kept = held + array_bytes(self._jobs[key].result), kept + 1
            # The newest stays whatever its size: somebody waits for it.
            if kept > self._keep or (kept > 1 and held > self._memory):
                del self._jobs[key]


# ---- inside the process --------------------------------------------------------------------------
def serve_jobs(pipe: Connection, trusted_files: Sequence[str] = (), device: ComputeDevice = USUAL_DEVICE) -> None:
    """Run the worker process: answer requests for jobs until the connection is closed.

    Args:
        pipe: the connection to the process that requests jobs.
        trusted_files: task files whose code the worker may run.
        device: the device on which models compute.
    """
    with computing_on(device):
        _serve_jobs(pipe, trusted_files)


def _serve_jobs(pipe: Connection, trusted_files: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the dashboard's to handle
    # Read when torch is imported, with the first job: on a busy machine threads that wait for one another make
    # the small products of one sequence tens of times slower than one thread does.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for file in trusted_files:
        # One that has gone since the dashboard began: whatever needs it will say so.
        with suppress(TaskError):
            trust(file)
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            return
        if message == "cancel":  # came too late: that job is already answered
            continue
        function, arguments = message
        try:
            with forwarding(lambda record: pipe.send(("log", record))):
                answer = _answer(function, arguments, pipe)
            pipe.send(answer)
        except (BrokenPipeError, OSError):
            return


def _answer(function: str, arguments: Mapping[str, Any], pipe: Connection) -> tuple[Any, ...]:
    try:
        return "done", _call(function, arguments, pipe)
    except Cancelled:
        return ("cancelled",)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - logged, and told to the page that asked
        sentence = log_failure(error, f"the job {function}", again=False)
        return "failed", sentence, "" if isinstance(error, LensError) else traceback.format_exc()


def _call(name: str, arguments: Mapping[str, Any], pipe: Connection) -> Any:
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)

    def progress(done: int, total: int, doing: str = "") -> None:
        if pipe.poll() and pipe.recv() == "cancel":
            raise Cancelled
        pipe.send(("progress", int(done), int(total), str(doing)))

    if "progress" in inspect.signature(function).parameters:
        return function(**arguments, progress=progress)
    return function(**arguments)
