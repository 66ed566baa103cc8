"""The executor ``dask``: runs jobs on the workers of an existing Dask cluster, each in a child process.

If a worker dies, Dask gives its task to another worker, up to three times. If no worker is left, Dask waits for ever.
This executor assigns each job to a named worker, and never more jobs than the worker has capacity for. So if a worker
is gone, its jobs are known. Each of them runs again on a worker without other jobs. If that worker dies too, the job
itself caused it and fails by name. If twenty workers are taken away, only their running jobs start again.

A job must read and write only files, and must be safe to run twice, even at once. A worker that only lost its
connection may still run the job when the second try begins.
"""

from __future__ import annotations

import queue
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from workbench.jobs.cluster_workers import ClusterError, Scheduler, connect_scheduler, marker_files, require_address
from workbench.jobs.executors import Failure
from workbench.jobs.job_process import GRACE_S, end_idle, pack_job, run_job, unpack_answer
from workbench.storage.below import remove_file, write_new

Job = TypeVar("Job")
Result = TypeVar("Result")

LOOK_S = 1.0
"""Seconds between two requests to the scheduler for its workers."""
PATIENCE_S = 60.0
"""Seconds for which the cluster may have no worker."""
TRIES = 2
KILLED = (
    "its worker was lost twice, the second time with nothing else on it: out of memory, a crash in native code, or a "
    "machine that was taken away"
)


class Dask:
    """An executor that runs jobs on the workers of a running Dask cluster, as many at once as their threads and memory
    allow.

    Args:
        address: the scheduler's, e.g. ``tcp://10.0.0.1:8786``.
        folders: the folders that the jobs read and write. A worker that cannot read them is refused. If the map ends
            early, a stop file is written to the first one. Without folders, running jobs continue to their end.
        patience: seconds for which the cluster may have no worker.

    Raises:
        ExecutorError: if the address is not valid, or Dask is not installed.
    """

    def __init__(self, address: str, folders: Sequence[Path] = (), patience: float = PATIENCE_S) -> None:
        require_address(address)
        self.address, self.folders, self.patience = address, tuple(folders), patience

    def check(self) -> None:
        """Refuse a scheduler that does not answer and workers with another version of the package; waits for a worker.

        Raises:
            ClusterError: in one sentence with the scheduler's address.
        """
        with connect_scheduler(self.address) as scheduler:
            _Workers(scheduler, {}, None, self.patience).wait()

    def map(
        self,
        function: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """Run the jobs as :meth:`Executor.map <workbench.jobs.executors.Executor.map>` does.

        If the map ends early (Ctrl-C, or ``on_done`` raises), running jobs receive SIGTERM, at which training saves its
        state. The map then waits for them.

        Raises:
            ClusterError: if the scheduler cannot be reached or is lost, or if there is no worker for too long. Also if
                a worker has another version of the package or cannot read the folders.
        """
        listed = list(jobs)
        if not listed:
            return []
        results: dict[int, Result | Failure] = {}
        with connect_scheduler(self.address) as scheduler, marker_files(self.folders) as marks:
            workers = _Workers(scheduler, marks, memory_per_worker, self.patience)
            workers.wait()
            with _stopping(self.folders) as stop:
                out = _Out(scheduler, workers, function, listed, stop)
                try:
                    for index, outcome in out.outcomes():
                        results[index] = outcome
                        if on_done is not None:
                            on_done(index, outcome)
                except BaseException:
                    if stop is not None:
                        write_new(stop.parent, stop.name, b"stop\n")
                        out.drain(GRACE_S)
                    raise
                with suppress(Exception):  # they end by themselves, later
                    scheduler.client.run(end_idle)
        return [results[index] for index in range(len(listed))]


@contextmanager
def _stopping(folders: Sequence[Path]) -> Iterator[Path | None]:
    """The path of a stop file, which is removed at the end."""
    stop = folders[0].resolve() / f".stop-{secrets.token_hex(8)}" if folders else None
    try:
        yield stop
    finally:
        if stop is not None:
            remove_file(stop.parent, stop.name)


@dataclass
class _Worker:
    """A worker that receives jobs.

    Attributes:
        name: its address.
        room: the most jobs that it may have at once.
        out: the jobs that it has.
        alone: whether it runs a single suspected job and must not receive others.
    """

    name: str
    room: int
    out: set[int] = field(default_factory=set)
    alone: bool = False


class _Workers:
    """The workers that can be used now.

    Attributes:
        used: the workers by address.
        refused: address -> why that worker cannot be used.
    """

    def __init__(
        self, scheduler: Scheduler, marks: Mapping[str, str], memory_per_worker: int | None, patience: float
    ) -> None:
        self.scheduler, self.marks = scheduler, marks
        self.memory, self.patience = memory_per_worker, patience
        self.used: dict[str, _Worker] = {}
        self.refused: dict[str, str] = {}
        self.seen = time.monotonic()

    def wait(self) -> None:
        """Wait until there is a worker. Raises ClusterError if there is none for too long, or if one cannot be used."""
        while True:
            self.look()
            if self.refused:
                raise ClusterError(self._why_refused())
            if self.used:
                return
            time.sleep(LOOK_S / 2)

    def look(self) -> list[_Worker]:
        """Update the list of workers and return those that are gone. Raises ClusterError."""
        running = self.scheduler.workers()
        gone = [self.used.pop(name) for name in [*self.used] if name not in running]
        self.refused = {name: why for name, why in self.refused.items() if name in running}
        new = [name for name in running if name not in self.used and name not in self.refused]
        if new:
            if refused := self.scheduler.refusals(new, self.marks):
                still = self.scheduler.workers()  # one that died while it was looked at is no reason to complain
                new = [name for name in new if name in still]
                self.refused |= {name: why for name, why in refused.items() if name in still}
            self.used |= {name: _Worker(name, self._room(running[name])) for name in new if name not in self.refused}
        now = time.monotonic()
        self.seen = now if self.used else self.seen
        if now - self.seen > self.patience:
            why = f"; {self._why_refused()}" if self.refused else ""
            raise ClusterError(
                f"the Dask scheduler {self.scheduler.address} has had no worker for {self.patience:,.0f} s; start one "
                f"with `dask worker {self.scheduler.address}` and run the same command again, which keeps finished "
                f"work{why}"
            )
        return gone

    def _room(self, worker: Mapping[str, Any]) -> int:
        """The most jobs for a worker: one per thread, and no more than fit into its memory."""
        threads, memory = int(worker["nthreads"]), int(worker["memory_limit"] or 0)
        return max(1, min(threads, memory // self.memory) if memory and self.memory else threads)

    def _why_refused(self) -> str:
        name, why = next(iter(self.refused.items()))
        others = f" (and {len(self.refused) - 1} more)" if len(self.refused) > 1 else ""
        return f"the Dask worker {name}{others} of {self.scheduler.address} {why}"


class _Out:
    """The jobs of one map: waiting jobs, running jobs, and jobs that are suspected of killing their worker."""

    def __init__(
        self,
        scheduler: Scheduler,
        workers: _Workers,
        function: Callable[[Any], Any],
        jobs: list[Any],
        stop: Path | None,
    ) -> None:
        self.scheduler, self.workers, self.function, self.jobs = scheduler, workers, function, jobs
        self.stop = "" if stop is None else str(stop)
        self.waiting = deque(range(len(jobs)))
        self.suspects: deque[int] = deque()
        self.deaths: Counter[int] = Counter()
        self.out: dict[int, tuple[Any, _Worker]] = {}
        self.ended: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.looked = time.monotonic()

    def outcomes(self) -> Iterator[tuple[int, Any]]:
        """The index and the outcome of each job, in the order of completion. Raises ClusterError."""
        left = len(self.jobs)
        while left:
            for outcome in self._go_on():
                left -= 1
                yield outcome

    def _go_on(self) -> Iterator[tuple[int, Any]]:
        """Hand out jobs, yield the outcomes that arrive within a short time, and check the workers."""
        self._hand_out()
        ended = self._next(LOOK_S)
        if ended is not None:
            yield from self._outcome(*ended)
        if self.scheduler.lost:
            raise self.scheduler.lost_error()
        if time.monotonic() - self.looked >= LOOK_S:
            for worker in self.workers.look():
                for index in sorted(worker.out):
                    self.out.pop(index)[0].cancel(force=True)
                    yield from self._died(index)
            self.looked = time.monotonic()

    def drain(self, seconds: float) -> None:
        """Wait until the running jobs end. If outcomes no longer arrive, wait until every worker has checked the stop
        file.
        """
        until = time.monotonic() + (2 * LOOK_S if self.scheduler.lost else seconds)
        while self.out and time.monotonic() < until:
            ended = self._next(LOOK_S)
            if ended is not None:
                self._release(*ended)
            elif not self.scheduler.lost:
                with suppress(ClusterError):
                    for worker in self.workers.look():
                        for index in worker.out:
                            self.out.pop(index, None)

    def _hand_out(self) -> None:
        """Hand out as many jobs as the workers have capacity for. A suspected job waits for a worker without jobs."""
        used = [worker for worker in self.workers.used.values() if not worker.alone]
        reserved: _Worker | None = None
        if self.suspects and used:
            reserved = min(used, key=lambda worker: len(worker.out))
            if not reserved.out:
                reserved.alone = True
                self._give(self.suspects.popleft(), reserved)
        while self.waiting:
            free = [w for w in used if w is not reserved and len(w.out) < w.room]
            if not free:
                return
            self._give(self.waiting.popleft(), min(free, key=lambda worker: len(worker.out) / worker.room))

    def _give(self, index: int, worker: _Worker) -> None:
        try:
            request = pack_job(self.function, index, self.jobs[index])
        except Exception as error:  # noqa: BLE001 - what cannot travel is a failure of its job
            self._free(worker, index)
            self.ended.put((index, Failure.of(index, self.jobs[index], error, foreign=True)))
            return
        future = self.scheduler.client.submit(
            run_job,
            request,
            self.stop,
            key=f"{getattr(self.function, '__name__', 'job')}-{index}-{secrets.token_hex(4)}",
            workers=[worker.name],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self.out[index] = (future, worker)
        worker.out.add(index)
        future.add_done_callback(lambda done: self.ended.put((index, done)))

    def _next(self, seconds: float) -> tuple[int, Any] | None:
        try:
            return self.ended.get(timeout=seconds)
        except queue.Empty:
            return None

    def _free(self, worker: _Worker, index: int) -> None:
        worker.out.discard(index)
        worker.alone = worker.alone and bool(worker.out)

    def _release(self, index: int, ended: Any) -> bool:
        """Whether an ended task is the current try of its job, and not an earlier one; the job then no longer counts as
        running.
        """
        if index not in self.out or self.out[index][0] is not ended:
            return False
        self._free(self.out.pop(index)[1], index)
        return True

    def _outcome(self, index: int, ended: Any) -> Iterator[tuple[int, Any]]:
        if isinstance(ended, Failure):
            yield index, ended
            return
        if index not in self.out or self.out[index][0] is not ended:
            return  # an earlier try
        try:
            answer = ended.result(timeout=LOOK_S)
        except TimeoutError:
            self._fetch_again(index, ended)
        except CancelledError:  # nobody here did that to what is out: the connection broke
            raise self.scheduler.lost_error() from None
        except Exception as error:  # noqa: BLE001 - a failure of its job, which is logged
            self._release(index, ended)
            yield from self._raised(index, error)
        else:
            self._release(index, ended)
            if answer is None:
                yield from self._died(index)
            else:
                yield index, _named(unpack_answer(answer), index, self.jobs[index])

    def _fetch_again(self, index: int, ended: Any) -> None:
        """Request the missing answer of an ended job again; if its worker is gone, run the job again.

        Dask would wait until the same worker returns. The job itself is not suspected. The worker is checked before it
        receives another job.
        """
        if self.out[index][1].name in self.scheduler.workers():
            self.ended.put((index, ended))
        else:
            self._release(index, ended)
            ended.cancel(force=True)
            self.waiting.append(index)

    def _raised(self, index: int, error: BaseException) -> Iterator[tuple[int, Any]]:
        """Handle a worker that Dask lost, or a child process that could not be started."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            yield from self._died(index)
        else:
            yield index, Failure.of(index, self.jobs[index], error, foreign=True)

    def _died(self, index: int) -> Iterator[tuple[int, Any]]:
        """Mark a job as suspected, or give it up if it was suspected already."""
        self.deaths[index] += 1
        if self.deaths[index] >= TRIES:
            yield index, Failure(index, self.jobs[index], KILLED)
        else:
            self.suspects.append(index)


def _named(outcome: Any, index: int, job: Any) -> Any:
    """A failure with its job added, because the job is not sent back with it."""
    if isinstance(outcome, Failure):
        return Failure(index, job, outcome.error, outcome.traceback)
    return outcome
