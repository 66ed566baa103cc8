"""Measuring folders of runs: which shards are missing, parallel execution, and problems reported at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import pyarrow.compute as pc

from workbench.core.failures import isolate_errors
from workbench.core.verdicts import undecided_before
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import TimeIsUp
from workbench.jobs.executors import Failure
from workbench.measure.grid import make_grid, readable
from workbench.measure.measurement import Grid, Measurement, Spec
from workbench.measure.registry import broken_plugins, choose, make_measurement
from workbench.measure.request import MeasureRequest
from workbench.measure.running.applicable import unmet, why_not_applicable
from workbench.measure.running.engine import (
    CheckpointJob,
    JobResult,
    MeasurementJob,
    measure_checkpoint,
    measurement_job,
    requested_task,
)
from workbench.measure.settings import MeasurementError
from workbench.runs.errors import RunError
from workbench.runs.run import Run, find_runs
from workbench.runs.weights import model_config
from workbench.storage.atomic import require_room
from workbench.storage.errors import StorageError
from workbench.table.assembly import file_state
from workbench.table.errors import TableError
from workbench.table.other_strings import OWN_STRINGS, OtherStrings, other_strings
from workbench.table.reading import read_run
from workbench.table.shards import (
    compact,
    compacted_files,
    read_metadata,
    remove_shard_leftovers,
    renew,
    shard_path,
    shards_of,
    verify_shard,
)
from workbench.tasks.registry import forbid_exit
from workbench.tasks.source_code import code_of, on_trust, trusted_files

MEMORY_PER_WORKER = 2 << 30
"""Bytes that a worker may need: a forward pass of 512 sequences at the longest length, with its caches."""
BYTES_PER_SHARD = 1 << 14
"""Average size of a shard in bytes, for the estimate of disk space."""


@dataclass
class Plan:
    """The measurement jobs to run, with notes from planning.

    Attributes:
        request: the request.
        runs: the runs of the request.
        jobs: one per checkpoint with missing measurements.
        present: checkpoint-measurement pairs already measured.
        notices: lengths left out, and the like; not failures.
        problems: damaged checkpoints and runs; they make the exit status non-zero.
    """

    request: MeasureRequest
    runs: list[Run] = field(default_factory=list)
    jobs: list[CheckpointJob] = field(default_factory=list)
    present: int = 0
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan(request: MeasureRequest) -> Plan:
    """Return the plan of a request: its measurements that have no shard yet.

    Raises:
        RunError: for a folder that does not exist or contains no run, or a step that a run lacks.
        MeasurementError: for an unknown measurement or setting, a setting of a measurement that is not selected, or a
            layer that a model lacks. Also for parameters that a run's task cannot have.
        TaskError, PositionError: for a length that a task does not have or a model cannot read.
    """
    names = choose(request.only)
    for name in request.settings:
        make_measurement(name)
        if name not in names:
            raise MeasurementError(
                f"{name} has a setting but is not selected; add --only {name}, or leave the setting out"
            )
    measurements = {name: make_measurement(name, dict(request.settings.get(name, {}))) for name in names}
    todo = Plan(request, notices=list(broken_plugins()))
    run_paths: set[Path] = set()
    for folder in request.folders:
        runs = find_runs(folder, todo.problems)
        if not runs and not todo.problems:
            raise RunError(f"{folder} contains no run; lengthlens train TASK --out {folder}/NAME makes one")
        # A run that is named twice, or in a folder that is also named, is measured once.
        for run in runs:
            if (real := run.path.resolve()) not in run_paths:
                run_paths.add(real)
                if request.deepen != "bracket" or request.share.has(run.id):
                    todo.runs.append(run)
    for run in todo.runs:
        _plan_run(todo, run, measurements)
    return todo


def _plan_run(todo: Plan, run: Run, measurements: Mapping[str, Measurement]) -> None:
    """Add the missing measurements of one run to the plan, or the reason why the run is not measured."""
    request = todo.request
    if run.weightless:
        todo.notices.append(f"nothing more is measured of {run.name}: {run.weightless}")
        return
    problems: list[str] = []
    strings = other_strings(run.config, request.evaluation_seed, request.task_parameters)
    with isolate_errors(problems.append, "its task or its model cannot be made"):
        task, model, code = (
            run.task,
            model_config(run.config["model"], run.path / "run.json"),
            code_of(run.config["task"]),
        )
    if not problems:
        task = requested_task(run, strings)  # errors here come from the request, not from the run
        with isolate_errors(problems.append, "its lengths cannot be made"):
            with forbid_exit(task):
                usual = make_grid(task, run.trained_length, shortest=run.shortest_trained)
            grid, notice = readable(usual, task, model, strict=False)
    if problems:
        todo.problems.append(f"{run.name} is not measured: {problems[0]}")
        return
    todo.notices += [f"{run.name}: {message}"] if code and (message := on_trust(code)) else []
    # Errors from here on come from the request, not from the run.
    for measurement in measurements.values():
        refuse_layers(measurement.spec, run.name, model.n_layers)
    if request.lengths is not None:
        with forbid_exit(task):
            every = make_grid(task, run.trained_length, request.lengths, run.shortest_trained)
        grid, notice = readable(every, task, model, strict=True)
    steps = chosen_steps(run, request.steps)
    for step in {*steps} - {*run.steps}:
        run.meta(step)
    todo.notices += [f"{run.name}: {notice}"] if notice else []
    suited = in_prompt(measurements) if request.only is not None and task.presented else measurements
    for name in measurements.keys() - suited.keys():
        todo.notices.append(f"{run.name}: {measurements[name].in_prompt} is measured: its task is given in the prompt")
    for m in suited.values():
        if why_not_applicable(m, task) or unmet(m.spec, model) or not (why := m.why_not_measured(grid)):
            continue
        if request.only is not None and m.name in request.only:
            raise MeasurementError(f"{run.name}: {why}")
        todo.notices.append(f"{run.name}: {why}")
    if request.only is not None:  # a measurement requested by name must not be skipped without a notice
        for m in suited.values():
            if why := why_not_applicable(m, task) or unmet(m.spec, model):
                todo.notices.append(f"{run.name}: {m.name} does not apply: {why}")
    with isolate_errors(todo.problems.append, f"{run.path} is not measured"):
        shared = [s for s in steps if request.deepen == "bracket" or request.share.has(f"{run.id}/{s}")]
        whole = [m for m in suited.values() if request.only is not None or task.presented or m.presented != "only"]
        _add_missing(todo, RunJobs(run, whole, grid, request, Present(run), strings), shared)


def in_prompt(made: Mapping[str, Measurement]) -> dict[str, Measurement]:
    """Return the measurements for a model that gets its task in the prompt.

    Some measurements are replaced by the one that their class variable ``in_prompt`` names.
    """
    suited: dict[str, Measurement] = {}
    for name, measurement in made.items():
        other = measurement.in_prompt
        suited |= {other: made.get(other) or make_measurement(other)} if other else {name: measurement}
    return suited


@dataclass(frozen=True)
class RunJobs:
    """The inputs for the jobs of one run: measurements, lengths, the request, and the existing shards."""

    run: Run
    measurements: Sequence[Measurement]
    grid: Grid
    request: MeasureRequest
    present: Present
    strings: OtherStrings = OWN_STRINGS

    def missing(self, step: int, deep: bool) -> tuple[MeasurementJob, ...]:
        """Return the jobs of a step that have no shard. A shard with more sequences than required counts."""
        jobs = []
        for measurement in self.measurements:
            job, deeper = (self._job(measurement, step, depth) for depth in (deep, True))
            keys = dict.fromkeys((deeper.key, job.key))
            if not any(self.present.has(step, job.name, key, self.strings) for key in keys):
                jobs.append(job)
        return tuple(jobs)

    def _job(self, measurement: Measurement, step: int, deep: bool) -> MeasurementJob:
        n = self.request.sequences
        n = n.get(measurement.name) if isinstance(n, Mapping) else n
        return measurement_job(measurement, self.run, step, self.grid, n, deep, self.strings, self.request.device)


def _add_missing(todo: Plan, jobs: RunJobs, steps: Sequence[int]) -> None:
    """Add the missing measurements of one run to the plan. A failure at one checkpoint does not affect the others."""
    run, deepen = jobs.run, todo.request.deepen
    todo.problems += [f"{run.name}: steps {a} and {b} hold equal weights" for a, b in run.equal_steps()]
    planned = len(todo.jobs)
    for step in steps:
        with isolate_errors(todo.problems.append, f"{run.step_path(step)} is not measured"):
            _add(todo, jobs, step, deep=deepen == "all" or step == run.steps[-1])
    if deepen == "bracket" and len(todo.jobs) == planned:
        for step in doubtful(run, jobs.strings):
            if step in steps and _add(todo, jobs, step, deep=True):
                break
    todo.problems += jobs.present.problems


def _add(todo: Plan, jobs: RunJobs, step: int, deep: bool) -> bool:
    """Plan the missing measurements of a checkpoint; return whether there are any."""
    missing = jobs.missing(step, deep)
    todo.present += len(jobs.measurements) - len(missing)
    if missing:
        run = jobs.run
        where = (str(run.path), run.name, step, jobs.grid)
        todo.jobs.append(CheckpointJob(*where, missing, trusted_files(), todo.request.device, jobs.strings))
    return bool(missing)


def doubtful(run: Run, strings: OtherStrings = OWN_STRINGS) -> list[int]:
    """Return the undecided checkpoints, ascending, between which the last verdict of a run began."""
    rows = read_run(run.path, ("measurement", "quantity", "step", "label"), strings.seed, strings.parameters).rows
    verdicts = rows.filter((pc.field("measurement") == "behaviour") & (pc.field("quantity") == "verdict"))
    labels = dict(zip(verdicts["step"].to_pylist(), verdicts["label"].to_pylist(), strict=True))
    return undecided_before(labels)


def refuse_layers(spec: Spec, run: str, layers: int) -> None:
    """Refuse a setting that names layers which a run's model lacks.

    Raises:
        MeasurementError: naming the layer and the valid range.
    """
    for layer in spec.settings.get("layers") or ():
        if not -1 <= layer < layers:
            raise MeasurementError(
                f"{spec.name}.layers names layer {layer}, which {run} does not have; choose from -1 (the embedding) to "
                f"{layers - 1}"
            )


def chosen_steps(run: Run, steps: Sequence[int] | Literal["last"] | None) -> Sequence[int]:
    """Return the requested checkpoints of a run."""
    if steps is None:
        return run.steps
    return run.steps[-1:] if steps == "last" else steps  # type: ignore[return-value]  # no other string is given


class Present:
    """The existing, undamaged shards of a run.

    Attributes:
        problems: one sentence for each damaged shard that is needed, and so is made again.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.problems = run, list[str]()
        self.compacted = compacted_files(run.path)
        self.keys: dict[tuple[str, int], list[str]] = {}
        for shard in shards_of(run.path):
            self.keys.setdefault((shard.measurement, shard.step), []).append(shard.key)

    def has(self, step: int, name: str, key: str, strings: OtherStrings = OWN_STRINGS) -> bool:
        """Return whether a shard exists. If a shard of other settings at this step is newer, this one is marked as the
        newest.

        Args:
            step, name, key: the shard.
            strings: the sequences that it was measured on. Shards of other sequences are ignored.
        """
        keys = self._of_strings(step, name, key, strings)
        if key not in keys:
            # A folder may contain only its table, without the shards.
            return not keys and (name, step, key) in self.compacted
        path = shard_path(self.run.path, name, step, key)
        # The table contains this shard unchanged, so that a large folder need not be read again.
        again: list[str] = []
        with isolate_errors(again.append, f"{path} cannot be read"):
            if self.compacted.get((name, step, key)) != file_state(path).st_ctime_ns:
                verify_shard(path, self.run.id)
        if again:
            self.problems.append(f"{again[0]} (made again now)")
            return False
        others = [shard_path(self.run.path, name, step, other) for other in keys if other != key]
        if others and _time_written(path) < max(map(_time_written, others)):
            renew(path)
        return True

    def _of_strings(self, step: int, name: str, key: str, strings: OtherStrings) -> list[str]:
        """Return the keys of a measurement's shards of the same sequences. Files are opened only if there are several
        keys.
        """
        keys = self.keys.get((name, step), [])
        paths = {other: shard_path(self.run.path, name, step, other) for other in keys if other != key}
        return [other for other in keys if other == key or OtherStrings.of(_metadata(paths[other])) == strings]


def _time_written(path: Path) -> str:
    """Return when a shard was written, or "" if it is damaged."""
    return _metadata(path).get("written", "")


def _metadata(path: Path) -> dict[str, str]:
    """Return a shard's metadata; {} if it is damaged."""
    try:
        return read_metadata(path)
    except (TableError, OSError):
        return {}


def execute(
    todo: Plan,
    on_done: Callable[[CheckpointJob, JobResult | None], None] | None = None,
    until: float | None = None,
) -> list[str]:
    """Execute a plan, compact the runs that have shards, and return the problems, one sentence each.

    Args:
        todo: the plan.
        on_done: called after each job that was begun.
        until: time in seconds since the epoch after which no job begins; None = no limit.

    Raises:
        StorageError: if a run's folder cannot be written or its disk is full. Where possible this is detected before
            any work. Finished measurements are kept.
    """

    def on_result(index: int, result: object) -> None:
        job = todo.jobs[index]
        if isinstance(result, Failure) and result.error.startswith(TimeIsUp.__name__):
            return
        if isinstance(result, Failure):
            if result.error.startswith(StorageError.__name__):
                # Further results could not be stored either.
                raise StorageError(result.error.partition(": ")[2])
            problems.append(f"{job.run_name} step {job.step}: {result.error}")
        if isinstance(result, JobResult):
            problems.extend(f"{job.run_name} step {job.step}: {problem}" for problem in result.problems)
        if on_done:
            on_done(job, result if isinstance(result, JobResult) else None)

    problems = list(todo.problems)
    for run in todo.runs:
        with isolate_errors(problems.append, f"{run.path} could not be tidied"):
            remove_shard_leftovers(run.path)
    _require_room(todo.jobs)
    if todo.jobs:
        runs = {Path(job.run_path).parent: Path(job.run_path) for job in todo.jobs}
        engine = make_executor(todo.request.executor, todo.request.workers, list(runs.values()))
        # Longest runs first would be better balanced, but in this order a reader sees checkpoints in training order.
        engine.map(
            partial(measure_checkpoint, until=until), todo.jobs, on_done=on_result, memory_per_worker=MEMORY_PER_WORKER
        )
    full: list[StorageError] = []
    for run in todo.runs:
        with isolate_errors(problems.append, f"the rows of {run.path} could not be brought together"):
            try:
                # A table without shards contains all rows, so it is left unchanged.
                problems += compact(run.path) if shards_of(run.path) else read_run(run.path).problems
            except StorageError as error:
                full.append(error)
    if full:
        raise full[0]
    return problems


def _require_room(jobs: Sequence[CheckpointJob]) -> None:
    """Refuse folders that cannot be written, and disks with less space than the jobs need."""
    need: dict[int, int] = {}
    folders = {Path(job.run_path): os.stat(job.run_path).st_dev for job in jobs}
    for job in jobs:
        disk = folders[Path(job.run_path)]
        # Once in the shard, once in the compacted table.
        need[disk] = need.get(disk, 0) + 2 * BYTES_PER_SHARD * len(job.measurements)
    for folder, disk in folders.items():
        require_room(folder, need[disk])
