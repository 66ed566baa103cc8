"""Training the runs that claims lack and measuring them: many in each worker process, each run's rows kept at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained_cells import PlannedRun, TrainedCell, version_of
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import TimeIsUp
from workbench.jobs.executors import Failure

MEMORY_PER_WORKER = 1 << 30
"""Bytes a worker may need: torch, a small model, and its forward passes."""


@dataclass(frozen=True)
class RunWork:
    """A run to be trained and measured: all that a worker process needs.

    Attributes:
        planned: it, asked for what is missing alone.
        runs: folder in which runs stay, each under its id; "" = runs are removed once measured.
        until: seconds since the epoch after which nothing should end; None = no limit.
    """

    planned: PlannedRun
    runs: str = ""
    until: float | None = None


@dataclass
class Pace:
    """How fast this process is, against what runs were thought to take."""

    taken: float = 0.0
    thought: float = 0.0

    def expected(self, seconds: float) -> float:
        """Seconds that a run will take, by those before it; nothing before the first."""
        return seconds * self.taken / self.thought if self.thought else 0.0

    def add(self, taken: float, thought: float) -> None:
        """Note a run that has ended."""
        self.taken, self.thought = self.taken + taken, self.thought + thought


PACE = Pace()
"""Of this process."""


def planned_runs(cells: Iterable[TrainedCell], most_seeds: int | None = None) -> list[PlannedRun]:
    """The runs of some cells, each once, with all that any cell asks of it.

    Args:
        cells: of one suite or several.
        most_seeds: seeds of a cell, at most.
    """
    found: dict[str, PlannedRun] = {}
    for cell in cells:
        for seed in tuple(cell.seeds)[:most_seeds]:
            recipe = cell.recipe(seed)
            before = found.get(recipe, PlannedRun(recipe, cell, seed, ()))
            more = tuple(one for one in cell.asked if one not in before.asked)
            found[recipe] = replace(before, asked=before.asked + more)
    return list(found.values())


def missing_runs(planned: Sequence[PlannedRun], table: RunTable) -> list[PlannedRun]:
    """What is missing of the runs, the longest first, for all workers to end together."""
    missing = []
    for run in planned:
        asked = tuple(one for one in run.asked if not table.has(run.recipe, one.key, version_of(one)))
        if asked:
            missing.append(replace(run, asked=asked))
    return sorted(missing, key=lambda run: -run.cell.seconds)


def train_and_measure(work: RunWork) -> list[RunRow]:
    """Train a run as a sweep does, and measure what is asked of it.

    Raises:
        TimeIsUp: if by the pace of this process it would not end in time.
    """
    from workbench.claims.trained.measured import measure
    from workbench.claims.trained.trained_run import TrainedRun
    from workbench.training.trainer import Trainer

    planned = work.planned
    thought = planned.cell.seconds
    begun = time.monotonic()
    if work.until is not None and time.time() + PACE.expected(thought) >= work.until:
        raise TimeIsUp("not begun")
    with ExitStack() as held:
        folder = work.runs or held.enter_context(tempfile.TemporaryDirectory())
        run = Trainer(planned.cell.config(planned.seed), Path(folder) / planned.recipe).run()
        trained = TrainedRun.of(run)
        rows = [row for asked in planned.asked for row in measure(trained, asked, planned)]
    PACE.add(time.monotonic() - begun, thought)
    return rows


@dataclass(frozen=True)
class Workers:
    """Where runs are trained.

    Attributes:
        executor: name of the executor.
        count: worker processes; None = one per core.
        runs: folder in which runs stay; None = they are removed once measured.
    """

    executor: str = "processes"
    count: int | None = None
    runs: Path | None = None


def train_missing(
    missing: Sequence[PlannedRun],
    table: RunTable,
    folder: Path,
    workers: Workers,
    until: float | None,
    tell: Callable[[str], None],
) -> list[str]:
    """Train and measure runs; the table is written after each.

    Args:
        missing: the runs, in the order in which they begin.
        table: takes the rows in.
        folder: of the table.
        workers: where.
        until: seconds since the epoch after which nothing begins; None = no limit.
        tell: is given a line when a run ends.

    Returns:
        a sentence for each run that failed.
    """
    problems: list[str] = []
    ended = 0

    def told(index: int, result: list[RunRow] | Failure) -> None:
        nonlocal ended
        run = missing[index]
        if isinstance(result, Failure):
            if not result.error.startswith(TimeIsUp.__name__):
                problems.append(f"{run.cell.name}, seed {run.seed}: {result.error}")
            return
        ended += 1
        table.add(result)
        table.write(folder)
        tell(f"{run.cell.name}, seed {run.seed} ({ended} of {len(missing)} runs)")

    works = [RunWork(run, str(workers.runs or ""), until) for run in missing]
    engine = make_executor(workers.executor, workers=workers.count)
    engine.map(train_and_measure, works, on_done=told, memory_per_worker=MEMORY_PER_WORKER)
    return problems
