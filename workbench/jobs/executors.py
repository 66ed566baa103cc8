"""Executors: call one function for many jobs, in this process or in worker processes, and report every failed job.

A job must read and write only files, and must be safe to run twice, even at once. A job whose worker was killed runs
again, and a worker on another machine that only lost its connection may still be running it.
"""

from __future__ import annotations

import logging
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging.handlers import QueueHandler
from queue import SimpleQueue
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from workbench.core.errors import LensError
from workbench.core.failures import Repeats, debugging, log_failure, logging_to

Job = TypeVar("Job")
Result = TypeVar("Result")


class ExecutorError(LensError, ValueError):
    """An executor that cannot be made; the message lists the existing ones."""


@dataclass(frozen=True)
class Failure:
    """Stands in the results for a job without a result.

    Attributes:
        index: the job's index among the jobs.
        job: the job itself.
        error: what failed, in one line.
        traceback: where the function raised; "" for an error that was written for readers, and for a killed worker.
    """

    index: int
    job: Any
    error: str
    traceback: str = field(default="", repr=False)

    @classmethod
    def of(cls, index: int, job: Any, error: BaseException, foreign: bool = False) -> Failure:
        """Return the failure of a job whose function raised ``error``, and log the error.

        ``foreign`` is true if the error arose while the job travelled to or from another process, outside LengthLens.
        """
        sentence = log_failure(error, f"job {index}", foreign=foreign, again=False)
        if isinstance(error, LensError):
            return cls(index, job, f"{type(error).__name__}: {sentence}")
        return cls(index, job, sentence, "".join(traceback.format_exception(error)))


@runtime_checkable
class Executor(Protocol):
    """Calls a function for each of some jobs."""

    def check(self) -> None:
        """Check requirements before any work, such as a running cluster. On a single machine there are none to
        check.
        """
        ...

    def map(
        self,
        function: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """Results in the order of the jobs, with a :class:`Failure` for each job that raised.

        Args:
            function: called with one job; what it raises (any Exception) concerns that job only.
            jobs: the jobs.
            on_done: called here, once per job as soon as it is done, with the job's index and its
                result or failure. What it raises ends the map.
            memory_per_worker: bytes one worker needs at its peak, to bound the number of workers.
        """
        ...


class Serial:
    """An executor that runs one job after another, in this process."""

    def check(self) -> None:
        """See :meth:`Executor.check`."""

    def map(
        self,
        function: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """Run the jobs as :meth:`Executor.map` does. The argument ``memory_per_worker`` has no effect here."""
        results: list[Result | Failure] = []
        with noting_interrupts() as interrupted:
            for index, job in enumerate(jobs):
                outcome = raised_again(attempt(function, index, job))
                if interrupted:
                    raise KeyboardInterrupt
                results.append(outcome)
                if on_done is not None:
                    on_done(index, outcome)
        return results


@contextmanager
def noting_interrupts() -> Iterator[list[int]]:
    """A list that is no longer empty once Ctrl-C was pressed inside the block, or another cause of KeyboardInterrupt
    arrived.

    A C library may swallow a KeyboardInterrupt and raise another error instead. Without this list that error would look
    like a failed job, and the work would continue.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted  # signals reach the main thread only
        return
    # SIGTERM too, where a handler raises for it; by default it ends the process, and nothing can be lost.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        raising[signal.Signals(number)](number, frame)

    for number in raising:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)


def attempt(function: Callable[[Job], Result], index: int, job: Job) -> Result | Failure:
    """Return the result of a function for a job, or the failure if the function raised an error or called
    ``sys.exit``.
    """
    try:
        return function(job)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a failure of its job, which is logged
        return Failure.of(index, job, error)


# ---- what crosses the boundary of a process ------------------------------------------------------------------
class WorkerError(Exception):
    """An error of a worker process, raised again here while errors are debugged; its message is the traceback."""


class Answer(NamedTuple):
    """The message that a worker process returns for a job: result or failure, and log records."""

    outcome: Any
    records: tuple[logging.LogRecord, ...]


class Forwarding(QueueHandler):
    """A logging handler that passes records on, with tracebacks as text, so that they can be pickled."""

    def __init__(self, send: Callable[[logging.LogRecord], object]) -> None:
        super().__init__(SimpleQueue())
        self.addFilter(Repeats())
        self._send = send

    def enqueue(self, record: logging.LogRecord) -> None:
        self._send(record)


def attempt_in_worker(function: Callable[[Job], Any], index: int, job: Job) -> Answer:
    """Call :func:`attempt` in a worker process; the answer is for :func:`receive_result`."""
    records: list[logging.LogRecord] = []
    with forwarding(records.append):
        outcome = attempt(function, index, job)
    return Answer(outcome, tuple(records))


@contextmanager
def forwarding(send: Callable[[logging.LogRecord], object]) -> Iterator[None]:
    """Pass every record that LengthLens logs in this block to ``send``, for :func:`log_again` in another process."""
    with logging_to(Forwarding(send)):
        yield


def log_again(record: logging.LogRecord) -> None:
    """Log a record of another process in this one."""
    logging.getLogger(record.name).handle(record)


def receive_result(answer: Answer) -> Any:
    """The result or failure that a worker sent. What it logged is logged here.

    Raises:
        WorkerError: for a failure that was not written for readers, while errors are debugged.
    """
    for record in answer.records:
        log_again(record)
    return raised_again(answer.outcome)


def raised_again(outcome: Any) -> Any:
    """Return the outcome of a job. In debug mode (``--debug``), a failure is raised instead.

    Raises:
        WorkerError: with the traceback.
    """
    if isinstance(outcome, Failure) and outcome.traceback and debugging():
        raise WorkerError(f"{outcome.error}\n\n{outcome.traceback}")
    return outcome
