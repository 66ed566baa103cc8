"""Training and measuring of the runs that claims lack; worker processes take many runs each, and the rows of a run are
stored when it ends.

A run that others start from stays in a folder next to the tables as long as any of them is missing, so that it is
trained once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained.run_statistics import measure, valid_versions
from workbench.claims.trained_cells import PlannedRun, Request, TrainedCell
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import TimeIsUp
from workbench.jobs.executors import Failure
from workbench.storage.atomic import make_folder
from workbench.storage.below import move_folder, path_below, refuse_links, remove_empty_folder, remove_folder

if TYPE_CHECKING:
    from workbench.training.starting_weights import StartingWeights

STARTS = "starting_runs"
"""Folder next to the tables that keeps the runs that others start from, each under its recipe."""
MEMORY_PER_WORKER = 1 << 30
"""Bytes a worker may need: torch, a small model, and its forward passes."""


@dataclass(frozen=True)
class TrainingJob:
    """A run to be trained and measured: all that a worker process needs.

    Attributes:
        planned: it, with the requests whose rows are missing.
        runs: folder in which it stays, under its recipe; "" = it is removed once measured.
        until: seconds since the epoch after which nothing should end; None = no limit.
        starts: folder of the runs that others begin from.
    """

    planned: PlannedRun
    runs: str = ""
    until: float | None = None
    starts: str = ""


@dataclass
class Pace:
    """The speed of this process, relative to the expected times of runs."""

    taken: float = 0.0
    thought: float = 0.0

    def estimate(self, seconds: float) -> float:
        """Return the seconds that a run will take, estimated from earlier runs; 0 before the first run has ended."""
        return seconds * self.taken / self.thought if self.thought else 0.0

    def add(self, taken: float, thought: float) -> None:
        """Record the time of a run that has ended."""
        self.taken, self.thought = self.taken + taken, self.thought + thought


PACE = Pace()
"""Of this process."""


def planned_runs(cells: Iterable[TrainedCell], most_seeds: int | None = None) -> list[PlannedRun]:
    """Return the runs of some configurations and the runs from which they start, each once, with all requested
    statistics.
    """
    runs: dict[str, PlannedRun] = {}

    def add(cell: TrainedCell, seed: int, requests: Sequence[Request]) -> None:
        recipe = cell.recipe(seed)
        before = runs.get(recipe, PlannedRun(recipe, cell, seed, ()))
        more = tuple(request for request in requests if request not in before.requests)
        runs[recipe] = replace(before, requests=before.requests + more)
        if cell.start:
            add(cell.start, seed, ())

    for cell in cells:
        for seed in tuple(cell.seeds)[:most_seeds]:
            add(cell, seed, cell.requests)
    return list(runs.values())


def missing_runs(planned: Sequence[PlannedRun], table: RunTable, folder: Path | None = None) -> list[PlannedRun]:
    """Return the runs or statistics that are missing, the longest first, so that all workers end at about the same
    time.

    A run without open requests is missing too if a missing run starts from it, unless it is still stored.

    Args:
        planned: the runs, and those that they begin from.
        table: what was measured.
        folder: the folder of the table, next to which runs stay that others start from; None = there are none.
    """
    by_recipe = {run.recipe: run for run in planned}
    missing: dict[str, PlannedRun] = {}
    for run in planned:
        lacking = (each for each in run.requests if not table.has(run.recipe, each.key, valid_versions(each)))
        if requests := tuple(lacking):
            missing[run.recipe] = replace(run, requests=requests)
    for run in tuple(missing.values()):
        start = run.start
        while start and start not in missing and not (folder and is_whole(folder / STARTS / start)):
            missing[start] = replace(by_recipe[start], requests=())
            start = missing[start].start
    return sorted(missing.values(), key=lambda run: -run.cell.seconds)


def is_whole(path: Path) -> bool:
    """Return whether a folder contains a run that was trained to its end."""
    if not (path / "run.json").exists():
        return False
    from workbench.runs.errors import RunError
    from workbench.runs.run import Run

    try:
        return Run.open(path).finished
    except RunError:  # trained anew, or refused by the trainer with its own sentence
        return False


def train_and_measure(work: TrainingJob) -> list[RunRow]:
    """Train a run as a sweep does, and compute its requests."""
    from workbench.claims.trained.trained_run import TrainedRun
    from workbench.training.trainer import Trainer

    planned = work.planned
    thought = planned.cell.seconds
    begun = time.monotonic()
    if work.until is not None and time.time() + PACE.estimate(thought) >= work.until:
        raise TimeIsUp("not begun")
    with ExitStack() as held:
        folder = work.runs or held.enter_context(tempfile.TemporaryDirectory())
        start = _starting_weights(work)
        config = planned.cell.config(planned.seed, start.start if start else None)
        run = Trainer(config, Path(folder) / planned.recipe, start=start).run()
        trained = TrainedRun.of(run)
        rows = [row for request in planned.requests for row in measure(trained, request, planned)]
    PACE.add(time.monotonic() - begun, thought)
    return rows


def _starting_weights(work: TrainingJob) -> StartingWeights | None:
    """The weights at the end of the run that this one begins from; None where it begins from random ones."""
    from workbench.runs.run import Run
    from workbench.training.starting_weights import StartingWeights

    if not work.planned.start:
        return None
    run = Run.open(Path(work.starts) / work.planned.start)
    return StartingWeights.of(run, run.steps[-1])


@dataclass(frozen=True)
class Workers:
    """The worker processes that train runs.

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
    staying: Collection[str] = (),
) -> list[str]:
    """Train and measure runs, those from which others start first; the table is written after each.

    Args:
        missing: the runs, in the order in which they begin.
        table: takes the rows in.
        folder: the folder of the table.
        workers: where.
        until: seconds since the epoch after which nothing begins; None = no limit.
        tell: receives a line when a run ends.
        staying: recipes of runs that stay next to the table, because runs that are not among these start from them.

    Returns:
        a sentence for each run that failed. Those that would have begun from it are still missing then.
    """
    problems: list[str] = []
    ended: set[str] = set()
    starts = path_below(folder, STARTS)
    for home in (starts, *((workers.runs,) if workers.runs else ())):
        refuse_links(home, [run.recipe for run in missing])
    start_recipes = {run.start for run in missing} | set(staying)
    engine = make_executor(workers.executor, workers=workers.count)

    def train(runs: Sequence[PlannedRun]) -> None:
        def told(index: int, result: list[RunRow] | Failure) -> None:
            run = runs[index]
            if isinstance(result, Failure):
                if not result.error.startswith(TimeIsUp.__name__):
                    problems.append(f"{run.cell.name}, seed {run.seed}: {result.error}")
                return
            ended.add(run.recipe)
            table.add(result)
            table.write(folder)
            tell(f"{run.cell.name}, seed {run.seed} ({len(ended)} of {len(missing)} runs)")

        own = str(workers.runs or "")
        works = [
            TrainingJob(run, str(starts) if run.recipe in start_recipes else own, until, str(starts)) for run in runs
        ]
        engine.map(train_and_measure, works, on_done=told, memory_per_worker=MEMORY_PER_WORKER)

    waiting = list(missing)
    while waiting:
        recipes = {run.recipe for run in waiting}
        train([run for run in waiting if run.start not in recipes])
        # What a run that failed, or had no time, was to be the start of cannot begin.
        waiting = [run for run in waiting if run.start in recipes]
        waiting = [run for run in waiting if run.start in ended | {other.recipe for other in waiting}]
    return problems


def starts_of(missing: Iterable[PlannedRun]) -> set[str]:
    """Return the recipes of the runs from which some runs start."""
    return {run.start for run in missing if run.start}


def remove_starts(folder: Path, needed: Collection[str], runs: Path | None) -> None:
    """Remove the stored runs from which no missing run starts any more."""
    home = path_below(folder, STARTS)
    for path in home.iterdir() if home.exists() else ():
        place = f"{STARTS}/{path.name}"
        if path.name in needed:
            continue
        if runs and not (runs / path.name).exists():
            make_folder(runs)
            move_folder(folder, place, runs, path.name)
        else:
            remove_folder(folder, place)
    remove_empty_folder(folder, STARTS)
