"""Choosing an executor by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.core.suggest import nearest
from workbench.jobs.executors import Executor, ExecutorError, Serial
from workbench.jobs.processes import Processes

#: names for :func:`make_executor`
NAMES = ("serial", "processes", "dask=tcp://HOST:PORT")


def make_executor(name: str, workers: int | None = None, folders: Sequence[Path] = ()) -> Executor:
    """An executor by name.

    Args:
        name: ``serial``, ``processes``, or ``dask=`` and the address of a running scheduler.
        workers: number of worker processes; None is one per available core.
        folders: what the items read and write, where workers may be on other machines; the first can be written.

    Raises:
        ExecutorError: for an unknown name, a number of workers it cannot have, or an executor that is not installed.
    """
    kind, _, address = name.partition("=")
    if name not in NAMES and kind != "dask":
        raise ExecutorError(f"unknown executor {name!r}; {nearest(name, NAMES)}")
    if workers is not None and workers < 1:
        raise ExecutorError(f"an executor has 1 worker or more, not {workers}")
    if kind == "dask":
        from workbench.jobs.cluster import Dask  # needs an extra

        if workers is not None:
            raise ExecutorError(f"dask has the workers that its cluster has, not {workers}: leave the number out")
        return Dask(address, folders)
    if name == "serial":
        if workers not in (None, 1):
            raise ExecutorError(f"serial has one worker, not {workers}: use the executor 'processes'")
        return Serial()
    return Processes(workers)
