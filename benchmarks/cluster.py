"""A Dask cluster on this machine: what an item costs the client, and 200 short runs against worker processes.

python -m benchmarks.cluster
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.tools.table import Line
from tests.support.jobs.cluster import cluster_of
from workbench.cli.sweeping.sweep_cells import TrainingJob, train_cell
from workbench.cli.sweeping.sweep_file import SweepCell
from workbench.jobs.choose import make_executor
from workbench.jobs.executors import Executor

ITEMS, RUNS, WORKERS = 1000, 200, 2
SETTINGS = {
    "task": "majority", "lengths": "1-20", "layers": 1, "d_model": 16, "heads": 2, "batch_size": 16, "steps": 40,
    "training.checkpoints.log": 1, "training.checkpoints.linear": 1,
}  # fmt: skip


def measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        with cluster_of(folder, workers=WORKERS) as cluster:
            dask = make_executor(f"dask={cluster.address}", folders=[folder])
            dask.check()
            dask.map(str, range(WORKERS))
            client, wall = _timed(lambda: dask.map(str, range(ITEMS)))
            sweep_dask = _sweep(folder / "dask", dask)
        sweep_processes = _sweep(folder / "processes", make_executor("processes", workers=WORKERS))
    each = 1e3 * client / ITEMS
    ratio = sweep_dask / sweep_processes
    return [
        Line("dask, an item", "ms of the client", each, 5.0, f"{1e3 * wall / ITEMS:.0f} ms by the clock", at_most=True),
        Line(
            f"dask, {RUNS} short runs on {WORKERS} workers", "/ the executor processes", ratio, 1.15,
            f"{sweep_dask:.0f} s against {sweep_processes:.0f} s", at_most=True,
        ),
    ]  # fmt: skip


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Processor and wall-clock seconds."""
    start = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - start[0], time.perf_counter() - start[1]


def _sweep(folder: Path, executor: Executor) -> float:
    """Seconds that the runs take, the start of the processes that train them included."""
    folder.mkdir()
    jobs = []
    for seed in range(RUNS):
        cell = SweepCell(f"seed{seed}", {**SETTINGS, "seed": seed}, {"seed": seed})
        jobs.append(TrainingJob(cell, str(folder / cell.name)))
    start = time.perf_counter()
    results = executor.map(train_cell, jobs)
    assert results == [SETTINGS["steps"]] * RUNS, results
    return time.perf_counter() - start


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
