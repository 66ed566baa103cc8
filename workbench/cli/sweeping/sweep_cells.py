"""Checks, training and measuring of the cells of a sweep."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from workbench.cli.early_refusal import refuse_early
from workbench.cli.errors import Stopping, UsageError, say
from workbench.cli.progress import Bar, following
from workbench.cli.sweeping.sweep_file import Sweep, SweepCell
from workbench.cli.time_limit import NotFinished, TimeLimit
from workbench.core.errors import LensError
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import TimeIsUp, refuse_late
from workbench.jobs.executors import Failure
from workbench.runs.errors import BeingWritten, RunError
from workbench.runs.run import Run

if TYPE_CHECKING:
    from workbench.measure.request import MeasureRequest
    from workbench.training.config import RunConfig
    from workbench.training.trainer import Trainer

MEMORY_PER_WORKER = 1 << 30
"""Bytes a training process may need: torch, and a model of the size this workbench is for."""
STATE_WORDS = {"done": "trained", "begun": "partly trained", "missing": "not trained", "damaged": "damaged"}
"""State of a run that is to be trained -> its word in what ``--plan`` and ``--dry-run`` print."""
SHOWN_PROBLEMS = 10
WAIT_S = 0.5
PATIENCE_S = 60.0
"""How long a worker on another machine may take to notice that it is given up, and to let go of its run."""


@dataclass(frozen=True)
class TrainingJob:
    """What a worker process needs to train a cell."""

    cell: SweepCell
    folder: str
    until: float | None = None
    """When to stop and save, in seconds since the epoch."""
    patience: float = 0.0
    """Seconds to wait for another writer to end: for an item that is tried again while its first worker is dying."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.cell.name


class NamedJob(Protocol):
    """What a worker process needs to train a run in a folder."""

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> str: ...


Job = TypeVar("Job", bound=NamedJob)
JobThere = TypeVar("JobThere", bound=NamedJob, contravariant=True)


class TrainsOne(Protocol[JobThere]):
    """Trains a job in a worker process until a time, and returns the last step."""

    def __call__(self, job: JobThere, until: float | None = None) -> int: ...


def check_cells(file: Path, sweep: Sweep, root: Path) -> dict[str, RunConfig]:
    """Return the config of every cell.

    Raises:
        UsageError: with a line for each cell that cannot be built, whose task fails its check, or whose folder holds
            another run.
    """
    problems: dict[str, list[SweepCell]] = {}
    for cell in sweep.cells:
        try:
            refuse_early(cell.request)
        except LensError as error:
            problems.setdefault(str(error), []).append(cell)
    if problems:  # told at once; what only whole configs show is told when these are mended
        raise _refusal(file, sweep, problems)
    from workbench.tasks.registry import forbid_exit
    from workbench.tasks.testing.brief import refuse_unsound

    configs: dict[str, RunConfig] = {}
    for cell in sweep.cells:
        try:
            configs[cell.name] = config_of(cell)
            if not (root / cell.name / "run.json").exists():
                with forbid_exit(configs[cell.name].task):
                    refuse_unsound(configs[cell.name].task)
            refuse_held(root / cell.name, configs[cell.name])
            refuse_measuring(sweep.measure, configs[cell.name])
        except Exception as error:
            sentence = say(error)
            if sentence is None:
                raise
            problems.setdefault(sentence, []).append(cell)
    if problems:
        raise _refusal(file, sweep, problems)
    return configs


def _refusal(file: Path, sweep: Sweep, problems: Mapping[str, Sequence[SweepCell]]) -> UsageError:
    """A line for each thing that is wrong, with the cells that have it."""
    lines = [_problem(sentence, cells, len(sweep.cells)) for sentence, cells in problems.items()]
    more = [f"... and {len(lines) - SHOWN_PROBLEMS} more"] if len(lines) > SHOWN_PROBLEMS else []
    return UsageError("\n".join(f"{file}: {line}" for line in [*lines[:SHOWN_PROBLEMS], *more]))


def _problem(sentence: str, cells: Sequence[SweepCell], total: int) -> str:
    if len(cells) == total > 1:
        return f"every cell: {sentence}"
    first = cells[0]
    settings = ", ".join(f"{key}: {value}" for key, value in first.varying.items())
    others = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    return f"cell {first.name}{f' ({settings})' if settings else ''}{others}: {sentence}"


def config_of(cell: SweepCell) -> RunConfig:
    """Return the config of the run of a cell."""
    from workbench.cli.run_config import build

    return build(cell.request)


def refuse_held(folder: Path, config: RunConfig) -> None:
    """Refuse a folder that contains another run, unless that run may be replaced. A damaged run is reported later.

    Raises:
        RunError: naming what differs.
    """
    from workbench.training.compare_configs import gives_way, refuse_another

    if (folder / "run.json").exists():
        try:
            run = Run.open(folder)
        except RunError:
            return
        if not gives_way(run, config):
            refuse_another(run, config)


def refuse_measuring(request: MeasureRequest | None, config: RunConfig) -> None:
    """Refuse a measurement that would fail after training.

    Raises:
        MeasurementError: for a measurement or a setting that does not exist.
        TaskError, PositionError: for a length that the task does not admit or the model cannot read.
    """
    from workbench.measure.grid import make_grid, readable
    from workbench.measure.registry import choose, make_measurement

    if request is None:
        return
    choose(request.only)
    for name, settings in request.settings.items():
        make_measurement(name, settings)
    if request.lengths:
        grid = make_grid(config.task, config.training.trained_length, request.lengths)
        readable(grid, config.task, config.model, strict=True)


def states_of(cells: Sequence[SweepCell], root: Path) -> tuple[dict[str, str], list[str]]:
    """Return whether each cell is done, begun, missing or damaged, and a sentence for each damaged one."""
    states, problems = {}, []
    for cell in cells:
        folder = root / cell.name
        try:
            states[cell.name] = run_state(folder)
        except RunError as error:
            states[cell.name] = "damaged"
            problems.append(f"cell {cell.name}: {error}")
    return states, problems


def former_names(configs: Mapping[str, RunConfig], states: Mapping[str, str], root: Path) -> list[tuple[str, str]]:
    """Return the runs in the folder of a sweep that are missing cells under another name, as (run, cell).

    The name of a cell contains the axes that vary. So a second value on an axis renames the cells of the first.

    Args:
        configs: the configuration of each cell, by name.
        states: done, begun, missing or damaged, by name.
        root: the folder of the runs.
    """
    missing = {config.as_json()["id"]: name for name, config in configs.items() if states.get(name) == "missing"}
    pairs = []
    for file in sorted(root.glob("*/run.json")) if missing else ():
        if file.parent.name in configs:
            continue
        try:
            cell = missing.get(Run.open(file.parent).id)
        except RunError:
            continue
        if cell is not None:
            pairs.append((file.parent.name, cell))
    return pairs


def run_state(folder: Path) -> str:
    """Return whether the run of a folder is done, begun or missing.

    Raises:
        RunError: if the run is damaged.
    """
    if not (folder / "run.json").exists():
        return "missing"
    return "done" if Run.open(folder).finished else "begun"


def cost(config: RunConfig) -> int:
    """Return the cost of training one run of a sweep, as a number of tokens."""
    law = config.training
    return law.steps * law.batch_size * law.trained_length


def train_cell(job: TrainingJob, until: float | None = None) -> int:
    """Train one cell, in a worker process; returns the last step.

    Args:
        job: what is trained.
        until: the time from which on it is not begun, in seconds since the epoch; None = no limit.

    Raises:
        TimeIsUp: if the time is up.
        Stopped: where the time was up, with everything saved.
    """
    refuse_late(until)
    from workbench.training.trainer import Trainer

    begun = time.monotonic()
    while True:
        try:
            return train_until(Trainer(config_of(job.cell), Path(job.folder)), job.until)
        except BeingWritten:
            if time.monotonic() - begun >= job.patience:
                raise
            time.sleep(WAIT_S)


def train_until(trainer: Trainer, until: float | None) -> int:
    """Train until a time, in seconds since the epoch; returns the last step.

    Raises:
        Stopped: where the time was up, with everything saved.
    """

    def look(step: int, scores: object) -> None:
        trainer.stopping = trainer.stopping or (until is not None and time.time() >= until)

    trainer.watcher = look
    return trainer.run().steps[-1]


def train(
    jobs: Sequence[TrainingJob],
    configs: Mapping[str, RunConfig],
    executor: str,
    workers: int | None,
    limit: TimeLimit | None,
) -> tuple[list[str], list[str]]:
    """Train the cells; returns a sentence for each cell that failed, and the names of the cells for which time ran out.

    Raises:
        Stopping: after Ctrl-C, with everything saved.
    """
    planned = {job.name: range(configs[job.name].training.steps) for job in jobs}
    problems, left = train_jobs(train_cell, jobs, planned, executor, workers, limit)
    return [f"cell {problem}" for problem in problems], left


def train_jobs(
    function: TrainsOne[Job],
    jobs: Sequence[Job],
    planned: Mapping[str, range],
    executor: str,
    workers: int | None,
    limit: TimeLimit | None,
) -> tuple[list[str], list[str]]:
    """Train runs in worker processes, with a bar.

    Args:
        function: trains a job until a time, in a worker process.
        jobs: what is trained.
        planned: the steps that each run trains, by name.
        executor, workers: where.
        limit: the time limit; None = none.

    Returns:
        a sentence for each run that failed, which begins with its name; and the names of the runs for which time ran
        out.

    Raises:
        Stopping: after Ctrl-C, with everything saved.
    """
    problems: list[str] = []
    left: list[str] = []
    ended: dict[str, int] = {}
    with Bar(sum(map(len, planned.values())), "training", "step") as bar:

        def told(index: int, result: object) -> None:
            name = jobs[index].name
            ended[name] = len(planned[name])
            if isinstance(result, Failure):
                if result.error.startswith(("Stopped", TimeIsUp.__name__)) and limit is not None and limit.up:
                    left.append(name)
                    return
                if result.error.startswith("Stopped"):
                    raise Stopping(f"Stopped: {name} {result.error.removeprefix('Stopped: ')}")
                problems.append(f"{name}: {result.error}")

        if jobs:
            first_steps = {name: steps.start for name, steps in planned.items()}
            with following(bar, {job.name: Path(job.folder) for job in jobs}, ended, first_steps):
                folder = Path(jobs[0].folder).parent
                engine = make_executor(executor, workers=workers, folders=[folder])
                worker = partial(function, until=None if limit is None else limit.until)
                engine.map(worker, jobs, on_done=told, memory_per_worker=MEMORY_PER_WORKER)
            bar.update(bar.total, "")
    return problems, left


def measure(request: MeasureRequest, limit: TimeLimit | None) -> list[str]:
    """Measure the cells that have checkpoints; existing rows are kept. Returns a sentence if anything went wrong.

    Raises:
        NotFinished: if the time was up before that.
    """
    from workbench.cli.measure_plan import measure_with_progress

    begun = [folder for folder in map(Path, request.folders) if list(folder.glob("steps/[0-9]*"))]
    if not begun:
        return []
    try:
        measure_with_progress(replace(request, folders=begun), limit)
    except NotFinished:
        raise
    except SystemExit:
        return ["not everything could be measured; see above"]
    return []
