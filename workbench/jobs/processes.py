"""The executor ``processes``: loky workers with one numerical thread each.

There are never more running jobs than workers. If the operating system kills a worker, its whole pool breaks, and the
few running jobs are known. Each of them runs again in a pool of its own: if that worker dies as well, the job caused
it. The remaining jobs continue in a new pool.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from joblib.externals.loky import ProcessPoolExecutor

from workbench.jobs.executors import Answer, ExecutorError, Failure, attempt_in_worker, raised_again, receive_result
from workbench.jobs.resources import THREADS, importing_no_neighbours, worker_count

Job = TypeVar("Job")
Result = TypeVar("Result")
Outcomes = Generator[tuple[int, Result | Failure], None, None]


class Processes:
    """Runs jobs in worker processes. The processes end with the map, even if it ends early.

    Args:
        workers: number of processes; None is one per available core. It is lowered if there are fewer jobs, or memory
            for fewer workers.
        retries: how often a job runs again, as the only job, after a worker was killed while the job was running.
    """

    def __init__(self, workers: int | None = None, retries: int = 1) -> None:
        if workers is not None and workers < 1:
            raise ExecutorError(f"an executor has at least 1 worker, not {workers}")
        if retries < 1:
            raise ExecutorError(f"retries must be at least 1, not {retries}")
        self.workers = workers
        self.retries = retries

    def check(self) -> None:
        """Check requirements as :meth:`Executor.check <workbench.jobs.executors.Executor.check>` does."""

    def map(
        self,
        function: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """Run the jobs as :meth:`Executor.map <workbench.jobs.executors.Executor.map>` does.

        cloudpickle sends the function, the jobs and the results, so that lambdas and functions of a notebook work. If
        the map ends early (KeyboardInterrupt or another error), the workers are killed.
        """
        listed = list(jobs)
        workers = worker_count(len(listed), requested=self.workers, memory_per_worker=memory_per_worker)
        results: dict[int, Result | Failure] = {}
        # closing: a raising on_done must end the pool now, not when the generator is collected.
        with closing(self._outcomes(function, listed, workers)) as outcomes:
            for index, outcome in outcomes:
                if isinstance(outcome, Failure):
                    outcome = replace(outcome, job=listed[index])
                results[index] = outcome
                if on_done is not None:
                    on_done(index, outcome)
        return [results[index] for index in range(len(listed))]

    def _outcomes(self, function: Callable[[Job], Result], jobs: list[Job], workers: int) -> Outcomes[Result]:
        waiting = deque(enumerate(jobs))
        while waiting:
            suspects: list[tuple[int, Job]] = []
            yield from _until_broken(function, waiting, workers, suspects)
            for index, job in suspects:
                yield index, self._alone(function, index, job)

    def _alone(self, function: Callable[[Job], Result], index: int, job: Job) -> Result | Failure:
        for _ in range(self.retries):
            with _pool(1) as pool:
                outcome: Result | Failure | _Killed = _outcome(
                    pool.submit(attempt_in_worker, function, index, job), index, job
                )
            if not isinstance(outcome, _Killed):
                return outcome
        return Failure(index, job, "its worker process was killed: out of memory, or a crash in native code")


class _Killed:
    """Stands for an outcome if the pool broke while the job was running."""


def _outcome(future: Future[Answer], index: int, job: Any) -> Any:
    """The outcome of a job: the result, a :class:`Failure`, or :class:`_Killed`."""
    error = future.exception()
    if error is None:
        return receive_result(future.result())
    if isinstance(error, BrokenProcessPool):
        return _Killed()
    # The function's own errors are results by now; this one came up on the way, e.g. in pickling.
    return raised_again(Failure.of(index, job, error, foreign=True))


def _until_broken(
    function: Callable[[Job], Result],
    waiting: deque[tuple[int, Job]],
    workers: int,
    suspects: list[tuple[int, Job]],
) -> Outcomes[Result]:
    """Outcomes of the waiting jobs in the order of completion, until none is left or the pool breaks.

    Takes jobs from ``waiting``. Jobs that were running when the pool broke are appended to ``suspects``.
    """
    out: dict[Future[Answer], tuple[int, Job]] = {}
    whole = True
    with _pool(min(workers, len(waiting))) as pool:
        while out or (waiting and whole):
            while waiting and whole and len(out) < workers:
                try:
                    future = pool.submit(attempt_in_worker, function, *waiting[0])
                except BrokenProcessPool:  # a worker died just now, or while it had nothing to do
                    whole = False
                else:
                    out[future] = waiting.popleft()
            done, _ = wait(out, return_when=FIRST_COMPLETED)
            for future in done:
                index, job = out.pop(future)
                outcome = _outcome(future, index, job)
                if isinstance(outcome, _Killed):
                    whole = False
                    suspects.append((index, job))
                else:
                    yield index, outcome


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool with its own workers. They end normally if the block succeeds, and are killed otherwise."""
    # Through the environment, before any library is imported: threads once started stay.
    threads = dict.fromkeys(THREADS, "1")
    with importing_no_neighbours():
        pool = ProcessPoolExecutor(workers, initializer=_begin, initargs=(os.getpid(),), env=threads)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=True, kill_workers=True)
            raise
        pool.shutdown(wait=True)


def _begin(parent: int) -> None:
    """Prepare a worker: it ignores Ctrl-C, which the parent handles, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
