"""The number of workers that this machine can run, from the cores and the memory that this process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: environment variables by which numerical libraries learn, when imported, how many threads to start
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@contextmanager
def importing_no_neighbours() -> Iterator[None]:
    """Python processes that are started inside this block import nothing from the current folder.

    Workers are started by ``python -c`` and ``python -m``. Both search the current folder first, before this process's
    own import path is passed to them. If that folder contains data, a ``random.py`` next to the runs would be executed.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def available_cores() -> int:
    """Cores this process may use: its CPU affinity and, in a container or a batch job, its CPU quota."""
    from joblib import cpu_count  # takes a while, and the dashboard and training never ask

    return int(cpu_count())


def available_memory() -> int:
    """Bytes that can be used now: the free memory of the machine, or a batch job's limit if that is less.

    A control group's own use is not subtracted, because it includes file caches, which are released on demand.
    """
    return min([_free_memory(), *group_limits()])


def _free_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:  # not Linux: the installed memory is the best that the standard library tells
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kibibytes = {line.split(":")[0]: line.split()[1] for line in lines}
    return int(kibibytes["MemAvailable"]) * 1024


def group_limits(own: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """Return the memory limits, in bytes, of the control groups (cgroups) to which this process belongs, and of their
    parents.

    Args:
        own: the file that lists the process's groups; versions 1 and 2 are supported.
        mounted: the folder in which the groups are mounted.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    limits = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top, name = (mounted / "memory", "memory.limit_in_bytes") if controllers else (mounted, "memory.max")
        folder = top / group.lstrip("/")
        levels = [folder, *folder.parents]
        for level in levels[: levels.index(top) + 1]:
            limits += _limit(level / name)
    return limits


def _limit(path: Path) -> list[int]:
    try:
        return [int(path.read_text())]
    except (OSError, ValueError):  # absent, or "max"
        return []


def worker_count(jobs: int, *, requested: int | None = None, memory_per_worker: int | None = None) -> int:
    """Number of workers for so many jobs: at least one, and no more than jobs or memory allow.

    Args:
        jobs: the number of jobs.
        requested: the requested number of workers; None is one per available core.
        memory_per_worker: bytes that one worker is expected to need at its peak; None sets no limit.
    """
    count = min(available_cores() if requested is None else requested, jobs)
    if memory_per_worker:
        count = min(count, available_memory() // memory_per_worker)
    return max(1, count)
