"""The executors by name. An executor's module is imported only when the executor is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.core.suggest import nearest
from workbench.jobs.executors import Executor, ExecutorError, Serial


@dataclass(frozen=True)
class ExecutorKind:
    """An executor by its name on the command line.

    Attributes:
        form: how it is written, e.g. ``dask=tcp://HOST:PORT``: its name, and ``=`` where an address follows.
        words: what runs the jobs, for the help.
        make: takes the address, the number of workers (None = not given) and the folders of the jobs; returns the
            executor.
        remote: whether workers may be on other machines, where files appear late.
    """

    form: str
    words: str
    make: Callable[[str, int | None, Sequence[Path]], Executor]
    remote: bool = False


def _serial(address: str, workers: int | None, folders: Sequence[Path]) -> Executor:
    if workers not in (None, 1):
        raise ExecutorError(f"serial has one worker, not {workers}: use the executor 'processes'")
    return Serial()


def _processes(address: str, workers: int | None, folders: Sequence[Path]) -> Executor:
    from workbench.jobs.processes import Processes

    return Processes(workers)


def _dask(address: str, workers: int | None, folders: Sequence[Path]) -> Executor:
    from workbench.jobs.cluster import Dask  # needs an extra

    if workers is not None:
        raise ExecutorError(
            f"the executor dask has as many workers as its cluster; leave out the number of workers, {workers}"
        )
    return Dask(address, folders)


EXECUTORS: Mapping[str, ExecutorKind] = {
    "serial": ExecutorKind("serial", "this process", _serial),
    "processes": ExecutorKind("processes", "processes of this machine", _processes),
    "dask": ExecutorKind("dask=tcp://HOST:PORT", "a running Dask cluster", _dask, remote=True),
}
"""Name -> executor. To add one, write its class and one entry here; help texts and error messages then include it."""


def executor_help() -> str:
    """Return a list of all executors in words, with what runs their jobs."""
    *most, last = [f"{kind.form} ({kind.words})" for kind in EXECUTORS.values()]
    return f"{', '.join(most)} or {last}"


def executor_kind(name: str) -> ExecutorKind:
    """The executor with a name; the part after ``=`` is its address.

    Raises:
        ExecutorError: for an unknown name.
    """
    kind = EXECUTORS.get(name.partition("=")[0])
    if kind is None or (name != kind.form and "=" not in kind.form):
        raise ExecutorError(f"unknown executor {name!r}; {nearest(name, [kind.form for kind in EXECUTORS.values()])}")
    return kind


def make_executor(name: str, workers: int | None = None, folders: Sequence[Path] = ()) -> Executor:
    """Make an executor by name.

    Args:
        name: one of :data:`EXECUTORS`, followed by ``=`` and its address if it has one.
        workers: number of worker processes; None is one per available core.
        folders: the folders that the jobs read and write, if workers may be on other machines. The first is writable.

    Raises:
        ExecutorError: for an unknown name, an impossible number of workers, or an executor that is not installed.
    """
    kind = executor_kind(name)
    if workers is not None and workers < 1:
        raise ExecutorError(f"an executor has at least 1 worker, not {workers}")
    return kind.make(name.partition("=")[2], workers, folders)
