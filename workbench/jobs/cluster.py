"""The executor ``dask``: jobs on the workers of a Dask cluster that is there already, each in a child process.

Dask gives a task whose worker died to another worker, three times, and then waits for ever where no worker is left.
Here each job is given to one worker by name, and never more than the worker has room for. So when a worker is gone,
the jobs that were on it are known: each is tried again on a worker that has nothing else, where a second death can
only be its own; then it fails by name. Twenty workers that are taken away cost twenty jobs their beginning.

A job must be files in, files out, and safe to do twice, even at once: a worker that only lost its connection may
still be at it while the second try begins.
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

from workbench.jobs.cluster_workers import ClusterError, Scheduler, connected, marked, require_address
from workbench.jobs.executors import Failure
from workbench.jobs.job_process import GRACE_S, end_idle, packed, run_job, unpacked
from workbench.storage.below import remove_file, write_new

Job = TypeVar("Job")
Result = TypeVar("Result")

LOOK_S = 1.0
"""How often the scheduler is asked for its workers."""
PATIENCE_S = 60.0
"""How long there may be no worker."""
TRIES = 2
KILLED = (
    "its worker was lost twice, the second time with nothing else on it: out of memory, a crash in native code, or a "
    "machine that was taken away"
)


class Dask:
    """Jobs on the workers of a running Dask cluster, as many at once as their threads and memory allow.

    Args:
        address: the scheduler's, e.g. ``tcp://10.0.0.1:8786``.
        folders: what the jobs read and write; a worker that does not see them is refused. In the first a stop file
            is written when the map ends early; without folders, running jobs are left to end.
        patience: seconds for which there may be no worker.

    Raises:
        ExecutorError: for what is no address, or where Dask is not installed.
    """

    def __init__(self, address: str, folders: Sequence[Path] = (), patience: float = PATIENCE_S) -> None:
        require_address(address)
        self.address, self.folders, self.patience = address, tuple(folders), patience

    def check(self) -> None:
        """Refuse a scheduler that is not there, and workers with another version of the package; waits for a worker.

        Raises:
            ClusterError: in one sentence with the scheduler's address.
        """
        with connected(self.address) as scheduler:
            _Workers(scheduler, {}, None, self.patience).wait()

    def map(
        self,
        function: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """See :meth:`Executor.map <workbench.jobs.executors.Executor.map>`.

        What ends the map early (Ctrl-C, a raising ``on_done``) has running jobs stopped by SIGTERM, which training
        takes for a wish to save, and waits for them.

        Raises:
            ClusterError: if the scheduler cannot be reached or is lost, a worker has another version of the package
                or does not see the folders, or there is no worker for too long.
        """
        listed = list(jobs)
        if not listed:
            return []
        results: dict[int, Result | Failure] = {}
        with connected(self.address) as scheduler, marked(self.folders) as marks:
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
    """A worker that is used.

    Attributes:
        name: its address.
        room: jobs that it may have at once.
        out: those it has.
        alone: whether what it has is tried alone there.
    """

    name: str
    room: int
    out: set[int] = field(default_factory=set)
    alone: bool = False


class _Workers:
    """The workers that can be used now.

    Attributes:
        used: by address.
        refused: why others are not, by address.
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
        """Wait until there is a worker. Raises ClusterError if there is none for too long, or one cannot be used."""
        while True:
            self.look()
            if self.refused:
                raise ClusterError(self._why_refused())
            if self.used:
                return
            time.sleep(LOOK_S / 2)

    def look(self) -> list[_Worker]:
        """Bring the workers up to date; those that are gone come back. Raises ClusterError."""
        there = self.scheduler.workers()
        gone = [self.used.pop(name) for name in [*self.used] if name not in there]
        self.refused = {name: why for name, why in self.refused.items() if name in there}
        new = [name for name in there if name not in self.used and name not in self.refused]
        if new:
            if refused := self.scheduler.refused(new, self.marks):
                still = self.scheduler.workers()  # one that died while it was looked at is no reason to complain
                new = [name for name in new if name in still]
                self.refused |= {name: why for name, why in refused.items() if name in still}
            self.used |= {name: _Worker(name, self._room(there[name])) for name in new if name not in self.refused}
        now = time.monotonic()
        self.seen = now if self.used else self.seen
        if now - self.seen > self.patience:
            why = f"; {self._why_refused()}" if self.refused else ""
            raise ClusterError(
                f"there is no worker at the Dask scheduler {self.scheduler.address} for {self.patience:,.0f} s: "
                f"`dask worker {self.scheduler.address}` starts one; what was finished is kept, and the same command "
                f"continues{why}"
            )
        return gone

    def _room(self, worker: Mapping[str, Any]) -> int:
        """How many jobs a worker may have: one a thread, and no more than its memory holds."""
        threads, memory = int(worker["nthreads"]), int(worker["memory_limit"] or 0)
        return max(1, min(threads, memory // self.memory) if memory and self.memory else threads)

    def _why_refused(self) -> str:
        name, why = next(iter(self.refused.items()))
        others = f" (and {len(self.refused) - 1} more)" if len(self.refused) > 1 else ""
        return f"the Dask worker {name}{others} of {self.scheduler.address} {why}"


class _Out:
    """The jobs of one map: those that wait, those that are out, and those that are under suspicion."""

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
        """What came of each job, as it comes. Raises ClusterError."""
        left = len(self.jobs)
        while left:
            for outcome in self._go_on():
                left -= 1
                yield outcome

    def _go_on(self) -> Iterator[tuple[int, Any]]:
        """Hand out, take what comes within a while, and look after the workers."""
        self._hand_out()
        ended = self._next(LOOK_S)
        if ended is not None:
            yield from self._outcome(*ended)
        if self.scheduler.lost:
            raise self.scheduler.gone()
        if time.monotonic() - self.looked >= LOOK_S:
            for worker in self.workers.look():
                for index in sorted(worker.out):
                    self.out.pop(index)[0].cancel(force=True)
                    yield from self._died(index)
            self.looked = time.monotonic()

    def drain(self, seconds: float) -> None:
        """Wait for what is out to end; where nobody tells any more, until every worker has looked for the stop file."""
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
        """Give out what there is room for; a suspect waits until some worker has nothing."""
        used = [worker for worker in self.workers.used.values() if not worker.alone]
        kept: _Worker | None = None
        if self.suspects and used:
            kept = min(used, key=lambda worker: len(worker.out))
            if not kept.out:
                kept.alone = True
                self._give(self.suspects.popleft(), kept)
        while self.waiting:
            free = [w for w in used if w is not kept and len(w.out) < w.room]
            if not free:
                return
            self._give(self.waiting.popleft(), min(free, key=lambda worker: len(worker.out) / worker.room))

    def _give(self, index: int, worker: _Worker) -> None:
        try:
            request = packed(self.function, index, self.jobs[index])
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
        """Whether what ended is what is out of that job now, and no earlier try; it no longer is."""
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
            raise self.scheduler.gone() from None
        except Exception as error:  # noqa: BLE001 - a failure of its job, which is logged
            self._release(index, ended)
            yield from self._raised(index, error)
        else:
            self._release(index, ended)
            if answer is None:
                yield from self._died(index)
            else:
                yield index, _named(unpacked(answer), index, self.jobs[index])

    def _fetch_again(self, index: int, ended: Any) -> None:
        """Of a job that ended and whose answer does not come: ask again, or, where its worker is gone, do it again.

        Dask would wait for the very worker to come back. The job itself is under no suspicion; the worker is looked
        for next, before it is given anything.
        """
        if self.out[index][1].name in self.scheduler.workers():
            self.ended.put((index, ended))
        else:
            self._release(index, ended)
            ended.cancel(force=True)
            self.waiting.append(index)

    def _raised(self, index: int, error: BaseException) -> Iterator[tuple[int, Any]]:
        """Dask lost the worker, or no child could be started."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            yield from self._died(index)
        else:
            yield index, Failure.of(index, self.jobs[index], error, foreign=True)

    def _died(self, index: int) -> Iterator[tuple[int, Any]]:
        """Put a job under suspicion, or give it up."""
        self.deaths[index] += 1
        if self.deaths[index] >= TRIES:
            yield index, Failure(index, self.jobs[index], KILLED)
        else:
            self.suspects.append(index)


def _named(outcome: Any, index: int, job: Any) -> Any:
    """A failure with its job, which did not travel back."""
    if isinstance(outcome, Failure):
        return Failure(index, job, outcome.error, outcome.traceback)
    return outcome
