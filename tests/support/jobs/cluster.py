"""A Dask cluster of real processes on loopback: a scheduler, and workers that come and go."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tests.support.places import ROOT

QUIET = ("--no-dashboard",)


class Cluster:
    """A scheduler and its workers, one thread each; what each worker said is in a file ``worker-N`` of the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *QUIET]
        # Into a file: a pipe that nobody reads would fill up, and stop the scheduler.
        with open(folder / "scheduler", "w") as said:
            self.scheduler = self._start(words, said)
        self.workers: list[Any] = []
        while not (found := re.search(r"Scheduler at:\s+(tcp://\S+)", (folder / "scheduler").read_text())):
            assert self.scheduler.poll() is None, (folder / "scheduler").read_text()
            time.sleep(0.05)
        self.address = found[1]

    def worker(self, package: Path = ROOT, preload: Path | None = None) -> subprocess.Popen[str]:
        """Start a worker.

        Args:
            package: where its LengthLens is.
            preload: a file of Python that it runs first.
        """
        words = ["distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1", *QUIET]
        words += ["--host", "127.0.0.1", "--local-directory", str(self.folder), "--memory-limit", "0"]
        words += ["--preload", str(preload)] if preload else []
        with open(self.folder / f"worker-{len(list(self.folder.glob('worker-*')))}", "w") as said:
            made = self._start(words, said, {"PYTHONPATH": str(package)})
        self.workers.append(made)
        return made

    def busy(self) -> list[Any]:
        """The workers that have begun an item: those with a child process."""
        return [one for one in self.workers if children(one.pid)]

    def _start(
        self, words: list[str], said: int | IO[str], more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **(more or {})}
        return subprocess.Popen(
            [sys.executable, "-P", "-m", *words], stdin=subprocess.DEVNULL, stderr=said, text=True, env=env
        )

    def kill(self, process: Any) -> None:
        """End a process of the cluster as a power cut does."""
        process.kill()
        process.wait()
        if process in self.workers:
            self.workers.remove(process)


def children(pid: int) -> list[int]:
    """The child processes of a process, whichever of its threads started them."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return found


class Forked:
    """A forked child with as much of the face of a Popen as is needed."""

    def __init__(self, pid: int, stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.returncode = -1
        return self.returncode

    def wait(self) -> None:
        if self.returncode is None:
            os.waitpid(self.pid, 0)
            self.returncode = -1

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class ForkedCluster(Cluster):
    """A cluster whose workers, and the children of these, are forked: separate processes without their imports.

    Whoever makes it has imported what they need (:func:`tests.campaign.forked.warm`) and runs one thread.
    """

    def worker(self, package: Path = ROOT, preload: Path | None = None) -> Any:
        said = self.folder / f"worker-{len(list(self.folder.glob('worker-*')))}"
        pid = os.fork()
        if pid == 0:
            try:
                with open(said, "wb", buffering=0) as file:
                    os.dup2(file.fileno(), 1)
                    os.dup2(file.fileno(), 2)
                _work(self.address, self.folder)
            finally:
                os._exit(1)
        self.workers.append(Forked(pid))
        return self.workers[-1]


def _work(address: str, folder: Path) -> None:
    from distributed.cli.dask_worker import main

    from workbench.jobs import job_process

    class ForkedItem(job_process._Child):
        def __init__(self) -> None:
            (asked, asking), (answering, answered) = os.pipe(), os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    os.dup2(asked, 0)
                    os.dup2(answered, 1)
                    os.closerange(3, 4096)
                    job_process.run_jobs_from_input()
                finally:
                    os._exit(1)
            os.close(asked)
            os.close(answered)
            pipes = open(asking, "wb"), open(answering, "rb")  # noqa: SIM115
            self.process: Any = Forked(pid, *pipes)
            self.since = time.monotonic()

    job_process._Child = ForkedItem  # type: ignore[misc]
    words = [address, "--no-nanny", "--nthreads", "1", *QUIET, "--host", "127.0.0.1", "--memory-limit", "0"]
    main([*words, "--local-directory", str(folder)], standalone_mode=False)


@contextmanager
def cluster_of(folder: Path, workers: int = 0, kind: type[Cluster] = Cluster) -> Iterator[Cluster]:
    """A cluster with so many workers, which may still be on their way; all of it is gone at the end."""
    cluster = kind(folder)
    try:
        for _ in range(workers):
            cluster.worker()
        yield cluster
    finally:
        for process in [*cluster.workers, cluster.scheduler]:
            cluster.kill(process)
