"""Measuring folders of runs: what is missing, in parallel, with what went wrong named at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.jobs.executors import Failure, make_executor
from workbench.measure.engine import Done, Item, measure_item, want
from workbench.measure.grid import make_grid, readable
from workbench.measure.registry import choose, make_measurement
from workbench.models.config import ModelConfig
from workbench.runs.folder import Run, RunError, find_runs
from workbench.table.layout import shards_of
from workbench.table.shards import compact, renew, shard_path

MEMORY_PER_WORKER = 2 << 30
"""Bytes a worker may need: a forward pass of 512 sequences at the longest length, with its caches."""


@dataclass
class Plan:
    """What is to be done, and what was found on the way.

    Attributes:
        runs: the runs that take part.
        items: one per checkpoint with missing measurements.
        present: checkpoint-measurement pairs already measured.
        notices: lengths left out, and the like; not failures.
        problems: damaged checkpoints and runs; they make the exit status non-zero.
    """

    runs: list[Run] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    present: int = 0
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan(
    roots: Sequence[str | Path],
    only: list[str] | None = None,
    steps: Sequence[int] | None = None,
    lengths: Sequence[int] | None = None,
    sequences: int | Mapping[str, int] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plan:
    """Find the missing measurements below ``roots``.

    Args:
        roots: folders of runs, or run folders.
        only: measurement names, or families with a trailing dot; None = all known.
        steps: checkpoints to measure; None = all.
        lengths: prefix lengths; None = the default grid of each run.
        sequences: per law and length, for all or by measurement name; None = what each measurement wants.
        settings: per measurement name.

    Raises:
        RunError: for a folder that does not exist or holds no run, or a step that a run lacks.
        MeasurementError: for an unknown measurement or setting.
        TaskError, PositionError: for a length that a task does not admit or a model cannot read.
    """
    names = choose(only)
    settings = settings or {}
    for name in settings:
        choose([name])
    made = {name: make_measurement(name, dict(settings.get(name, {}))) for name in names}
    counts = sequences if isinstance(sequences, Mapping) else {n: sequences for n in made if sequences is not None}
    found = Plan()
    for root in roots:
        runs = find_runs(root)
        if not runs:
            raise RunError(f"{root} holds no run; lengthlens train TASK --out {root}/NAME makes one")
        found.runs += runs
    for run in found.runs:
        grid, notice = readable(
            make_grid(run.task, run.trained_length, lengths),
            run.task,
            ModelConfig(**run.config["model"]),
            strict=lengths is not None,
        )
        found.notices += [f"{run.name}: {notice}"] if notice else []
        found.problems += [f"{run.name}: steps {a} and {b} hold equal weights" for a, b in _equal(run, found)]
        for step in run.steps if steps is None else steps:
            try:
                wanted = [want(m, run, step, grid, counts) for m in made.values()]
            except RunError as error:
                if steps is not None and step not in run.steps:
                    raise
                found.problems.append(str(error))
                continue
            missing = tuple(w for w in wanted if not _there(run, step, w.name, w.key))
            found.present += len(wanted) - len(missing)
            if missing:
                found.items.append(Item(str(run.path), run.name, step, grid, missing))
    return found


def _equal(run: Run, found: Plan) -> list[tuple[int, int]]:
    try:
        return run.equal_steps()
    except RunError:
        return []  # the damaged checkpoint itself is named when its step comes up


def _there(run: Run, step: int, name: str, key: str) -> bool:
    """Whether the shard exists; if another one of the same step is newer, make this one count again."""
    path = shard_path(run.path, name, step, key)
    if not path.is_file():
        return False
    others = [s for s in shards_of(run.path) if (s.measurement, s.step) == (name, step) and s.key != key]
    if any(s.path.stat().st_mtime_ns > path.stat().st_mtime_ns for s in others):
        renew(path)
    return True


def execute(
    todo: Plan,
    executor: str = "processes",
    workers: int | None = None,
    on_done: Callable[[Item, Done | None], None] | None = None,
) -> list[str]:
    """Do the work of a plan, compact every run, and return what went wrong, a sentence each."""

    def told(index: int, result: object) -> None:
        item = todo.items[index]
        if isinstance(result, Failure):
            problems.append(f"{item.run_name} step {item.step}: {result.error}")
        if on_done:
            on_done(item, result if isinstance(result, Done) else None)

    problems = list(todo.problems)
    if todo.items:
        engine = make_executor(executor, workers=workers)
        # Longest runs first would be better balanced, but steps in order let a watcher see training unfold.
        engine.map(measure_item, todo.items, on_done=told, memory_per_worker=MEMORY_PER_WORKER)
    for run in todo.runs:
        problems += compact(run.path)
    return problems
