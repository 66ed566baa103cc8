"""Choosing an executor by its name."""

from __future__ import annotations

from workbench.core.suggest import nearest
from workbench.jobs.executors import Executor, ExecutorError, Serial
from workbench.jobs.processes import Processes

#: names for :func:`make_executor`
NAMES = ("serial", "processes")


def make_executor(name: str, workers: int | None = None) -> Executor:
    """An executor by name.

    Args:
        name: ``serial`` or ``processes``.
        workers: number of worker processes; None is one per available core.

    Raises:
        ExecutorError: for an unknown name, or a number of workers it cannot have.
    """
    if name not in NAMES:
        raise ExecutorError(f"unknown executor {name!r}; {nearest(name, NAMES)}")
    if workers is not None and workers < 1:
        raise ExecutorError(f"an executor has 1 worker or more, not {workers}")
    if name == "serial":
        if workers not in (None, 1):
            raise ExecutorError(f"serial has one worker, not {workers}: use the executor 'processes'")
        return Serial()
    return Processes(workers)
