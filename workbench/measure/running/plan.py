"""Measuring folders of runs: what is missing, in parallel, with what went wrong named at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow.compute as pc

from workbench.core.apart import apart
from workbench.figures.style.verdict_styles import UNDECIDED, since
from workbench.jobs.choose import make_executor
from workbench.jobs.deadline import Before, TimeIsUp
from workbench.jobs.executors import Failure
from workbench.jobs.share import WHOLE, Share
from workbench.measure.grid import make_grid, readable
from workbench.measure.measurement import Grid, Measurement, Spec
from workbench.measure.registry import broken, choose, make_measurement
from workbench.measure.running.applicable import misplaced, unmet
from workbench.measure.running.engine import Done, Item, Wanted, asked_task, measure_item, want
from workbench.measure.settings import MeasurementError
from workbench.models.compute_device import current_device
from workbench.runs.errors import RunError
from workbench.runs.run import Run, find_runs
from workbench.runs.weights import model_config
from workbench.storage.atomic import require_room
from workbench.storage.errors import StorageError
from workbench.table.assembly import state_of
from workbench.table.errors import TableError
from workbench.table.other_strings import OWN_STRINGS, OtherStrings, other_strings
from workbench.table.reading import read_run
from workbench.table.shards import (
    compact,
    compacted,
    read_metadata,
    remove_shard_leftovers,
    renew,
    shard_path,
    shards_of,
    verify_shard,
)
from workbench.tasks.registry import contained
from workbench.tasks.source_code import code_of, on_trust, trusted

MEMORY_PER_WORKER = 2 << 30
"""Bytes a worker may need: a forward pass of 512 sequences at the longest length, with its caches."""
Deepen = Literal["last", "all", "bracket"]
DEEPEN: tuple[Deepen, ...] = ("last", "all", "bracket")

BYTES_PER_SHARD = 1 << 14
"""What a shard takes on average, for the estimate of the room on the disk."""


@dataclass
class Plan:
    """What is to be done, and what was found on the way.

    Attributes:
        runs: the runs that take part.
        items: one per checkpoint with missing measurements.
        present: checkpoint-measurement pairs already measured.
        notices: lengths left out, and the like; not failures.
        problems: damaged checkpoints and runs; they make the exit status non-zero.
        share: which checkpoints it is of.
    """

    runs: list[Run] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    present: int = 0
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    share: Share = WHOLE


def plan(
    roots: Sequence[str | Path],
    only: Sequence[str] | None = None,
    steps: Sequence[int] | Literal["last"] | None = None,
    lengths: Sequence[int] | None = None,
    sequences: int | Mapping[str, int] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    deepen: Deepen = "last",
    share: Share = WHOLE,
    evaluation_seed: int | None = None,
    task_parameters: Mapping[str, Any] | None = None,
) -> Plan:
    """Find the missing measurements below ``roots``.

    Args:
        roots: folders of runs, or run folders.
        only: measurement names, or families with a trailing dot; None = all known.
        steps: checkpoints to measure; None = all, ``last`` = each run's last one.
        lengths: prefix lengths; None = the default grid of each run.
        sequences: per law and length, for all or by measurement name; None = what each measurement wants.
        settings: per measurement name.
        deepen: at which checkpoints further strings may be drawn where the first ones leave a question open: each
            run's ``last`` one, ``all``, or those of the ``bracket`` within which its last verdict began, one of a run
            at a time: what it shows says whether the next is needed, so plan again until nothing is missing.
        share: which checkpoints to plan for, each by its run's id and its step; with ``bracket``, whole runs.
        evaluation_seed: draw the strings from this seed; None = from each run's own evaluation seed. What is measured
            so stands beside what was measured on the run's own strings, and is read by its seed alone.
        task_parameters: ask each run its task under these parameters, which leave its tokens and answers as they are;
            None = under its own. What is measured so stands apart in the same way.

    Raises:
        RunError: for a folder that does not exist or holds no run, or a step that a run lacks.
        MeasurementError: for an unknown measurement or setting, a setting of a measurement that is not asked for, or
            a layer that a model lacks.
        TaskError, PositionError: for a length that a task does not admit or a model cannot read.
        MeasurementError: for parameters that a run's task cannot have.
    """
    names = choose(only)
    settings = settings or {}
    for name in settings:
        make_measurement(name)
        if name not in names:
            raise MeasurementError(
                f"{name} has a setting and is not asked for; add --only {name}, or leave the setting out"
            )
    made = {name: make_measurement(name, dict(settings.get(name, {}))) for name in names}
    counts = sequences if isinstance(sequences, Mapping) else {n: sequences for n in made if sequences is not None}
    found = Plan(notices=list(broken()), share=share)
    seen: set[Path] = set()
    for root in roots:
        runs = find_runs(root, found.problems)
        if not runs and not found.problems:
            raise RunError(f"{root} holds no run; lengthlens train TASK --out {root}/NAME makes one")
        # Named twice, or in a folder that is named as well, it is measured once.
        for run in runs:
            if (real := run.path.resolve()) not in seen:
                seen.add(real)
                if deepen != "bracket" or share.has(run.id):
                    found.runs.append(run)
    for run in found.runs:
        if run.weightless:
            found.notices.append(f"nothing more is measured of {run.name}: {run.weightless}")
            continue
        problems: list[str] = []
        strings = other_strings(run.config, evaluation_seed, task_parameters)
        with apart(problems.append, "its task or its model cannot be made"):
            task, model, code = (
                run.task,
                model_config(run.config["model"], run.path / "run.json"),
                code_of(run.config["task"]),
            )
        if not problems:
            task = asked_task(run, strings)  # what does not fit here is a mistake of whoever asks
            with apart(problems.append, "its lengths cannot be made"):
                with contained(task):
                    usual = make_grid(task, run.trained_length)
                grid, notice = readable(usual, task, model, strict=False)
        if problems:
            found.problems.append(f"{run.name} is not measured: {problems[0]}")
            continue
        found.notices += [f"{run.name}: {said}"] if code and (said := on_trust(code)) else []
        # What does not fit from here on is a mistake of whoever asks, not of the run.
        for measurement in made.values():
            refuse_layers(measurement.spec, run.name, model.n_layers)
        if lengths is not None:
            with contained(task):
                every = make_grid(task, run.trained_length, lengths)
            grid, notice = readable(every, task, model, strict=True)
        for step in {*chosen_steps(run, steps)} - {*run.steps}:
            run.meta(step)
        found.notices += [f"{run.name}: {notice}"] if notice else []
        if only is not None:  # asked for by name, it should not be met with silence
            for m in made.values():
                if why := misplaced(m, task) or unmet(m.spec, model):
                    found.notices.append(f"{run.name}: {m.name} does not apply: {why}")
        with apart(found.problems.append, f"{run.path} is not measured"):
            mine = [s for s in chosen_steps(run, steps) if deepen == "bracket" or share.has(f"{run.id}/{s}")]
            whole = {n: m for n, m in made.items() if only is not None or task.presented or m.presented != "only"}
            orders = Orders(run, whole, grid, counts, Present(run), strings)
            _plan_run(found, run, mine, orders, deepen)
    return found


def _plan_run(found: Plan, run: Run, chosen: Sequence[int], orders: Orders, deepen: str) -> None:
    """Add what one run lacks to the plan, each of its checkpoints apart."""
    found.problems += [f"{run.name}: steps {a} and {b} hold equal weights" for a, b in run.equal_steps()]
    planned = len(found.items)
    for step in chosen:
        with apart(found.problems.append, f"{run.step_path(step)} is not measured"):
            _add(found, orders, step, deep=deepen == "all" or step == run.steps[-1])
    if deepen == "bracket" and len(found.items) == planned:
        for step in doubtful(run, orders.strings):
            if step in chosen and _add(found, orders, step, deep=True):
                break
    found.problems += orders.there.problems


@dataclass(frozen=True)
class Orders:
    """What makes the work orders of one run: measurements, lengths, sequences, strings, and the shards there are."""

    run: Run
    made: Mapping[str, Measurement]
    grid: Grid
    counts: Mapping[str, int]
    there: Present
    strings: OtherStrings = OWN_STRINGS

    def missing(self, step: int, deep: bool) -> tuple[Wanted, ...]:
        """The orders of a step that no shard fulfils; one that was drawn deeper than is wanted does."""
        orders = []
        for measurement in self.made.values():
            wanted, deeper = (
                want(measurement, self.run, step, self.grid, self.counts, d, self.strings) for d in (deep, True)
            )
            keys = dict.fromkeys((deeper.key, wanted.key))
            if not any(self.there.has(step, wanted.name, key, self.strings) for key in keys):
                orders.append(wanted)
        return tuple(orders)


def _add(found: Plan, orders: Orders, step: int, deep: bool) -> bool:
    """Plan what a checkpoint lacks; whether it lacks anything."""
    missing = orders.missing(step, deep)
    found.present += len(orders.made) - len(missing)
    if missing:
        run = orders.run
        where = (str(run.path), run.name, step, orders.grid)
        found.items.append(Item(*where, missing, trusted(), current_device(), orders.strings))
    return bool(missing)


def doubtful(run: Run, strings: OtherStrings = OWN_STRINGS) -> list[int]:
    """The undecided checkpoints among which the last verdict of a run began, ascending."""
    rows = read_run(run.path, ("measurement", "quantity", "step", "label"), strings.seed, strings.parameters).rows
    verdicts = rows.filter((pc.field("measurement") == "behaviour") & (pc.field("quantity") == "verdict"))
    labels = dict(zip(verdicts["step"].to_pylist(), verdicts["label"].to_pylist(), strict=True))
    found = since(labels)
    if found is None:
        return []
    after = -1 if found.low is None else found.low
    return sorted(step for step, label in labels.items() if after < step < found.high and label == UNDECIDED)


def refuse_layers(spec: Spec, run: str, layers: int) -> None:
    """Refuse a setting that names layers which a run's model lacks.

    Raises:
        MeasurementError: naming the layer and those there are.
    """
    for layer in spec.settings.get("layers") or ():
        if not -1 <= layer < layers:
            raise MeasurementError(
                f"{spec.name}.layers names layer {layer}, which {run} lacks: it has -1, its embedding, to {layers - 1}"
            )


def chosen_steps(run: Run, steps: Sequence[int] | Literal["last"] | None) -> Sequence[int]:
    """The checkpoints of a run that are asked for."""
    if steps is None:
        return run.steps
    return run.steps[-1:] if steps == "last" else steps  # type: ignore[return-value]  # no other string is given


class Present:
    """The shards of a run that are there and sound.

    Attributes:
        problems: one sentence for each damaged one that was asked for, and so is made again.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.problems = run, list[str]()
        self.compacted = compacted(run.path)
        self.keys: dict[tuple[str, int], list[str]] = {}
        for shard in shards_of(run.path):
            self.keys.setdefault((shard.measurement, shard.step), []).append(shard.key)

    def has(self, step: int, name: str, key: str, strings: OtherStrings = OWN_STRINGS) -> bool:
        """Whether a shard is there; if another one of the same step is newer, this one is made to count again.

        Args:
            step, name, key: which.
            strings: what it was measured on: shards of others do not concern it.
        """
        keys = self._of_strings(step, name, key, strings)
        if key not in keys:
            # A folder may ship its table alone, without the shards it was made of.
            return not keys and (name, step, key) in self.compacted
        path = shard_path(self.run.path, name, step, key)
        # What the table holds has been read since the file was written: a large folder need not be read again.
        again: list[str] = []
        with apart(again.append, f"{path} cannot be read"):
            if self.compacted.get((name, step, key)) != state_of(path).st_ctime_ns:
                verify_shard(path, self.run.id)
        if again:
            self.problems.append(f"{again[0]} (made again now)")
            return False
        others = [shard_path(self.run.path, name, step, other) for other in keys if other != key]
        if others and _written(path) < max(map(_written, others)):
            renew(path)
        return True

    def _of_strings(self, step: int, name: str, key: str, strings: OtherStrings) -> list[str]:
        """The keys of a measurement's shards that are of the same strings; files are opened where there are others."""
        keys = self.keys.get((name, step), [])
        paths = {other: shard_path(self.run.path, name, step, other) for other in keys if other != key}
        return [other for other in keys if other == key or OtherStrings.of(_metadata(paths[other])) == strings]


def _written(path: Path) -> str:
    """When a shard was written, or "" where it is damaged."""
    return _metadata(path).get("written", "")


def _metadata(path: Path) -> dict[str, str]:
    """A shard's metadata; none where it is damaged."""
    try:
        return read_metadata(path)
    except (TableError, OSError):
        return {}


def execute(
    todo: Plan,
    executor: str = "processes",
    workers: int | None = None,
    on_done: Callable[[Item, Done | None], None] | None = None,
    until: float | None = None,
) -> list[str]:
    """Do the work of a plan, compact the runs that have shards, and return what went wrong, a sentence each.

    No item is begun from the time ``until`` on, in seconds since the epoch; ``on_done`` is not told of these.

    Raises:
        StorageError: if a run's folder cannot be written or its disk is full: as far as that can be known,
            before any work. What was measured until then is kept.
    """

    def told(index: int, result: object) -> None:
        item = todo.items[index]
        if isinstance(result, Failure) and result.error.startswith(TimeIsUp.__name__):
            return
        if isinstance(result, Failure):
            if result.error.startswith(StorageError.__name__):
                # Whatever else is measured could not be stored either.
                raise StorageError(result.error.partition(": ")[2])
            problems.append(f"{item.run_name} step {item.step}: {result.error}")
        if isinstance(result, Done):
            problems.extend(f"{item.run_name} step {item.step}: {problem}" for problem in result.problems)
        if on_done:
            on_done(item, result if isinstance(result, Done) else None)

    problems = list(todo.problems)
    for run in todo.runs:
        with apart(problems.append, f"{run.path} could not be tidied"):
            remove_shard_leftovers(run.path)
    _require_room(todo.items)
    if todo.items:
        runs = {Path(item.run_path).parent: Path(item.run_path) for item in todo.items}
        engine = make_executor(executor, workers=workers, folders=list(runs.values()))
        # Longest runs first would be better balanced, but steps in order let a watcher see training unfold.
        engine.map(Before(measure_item, until), todo.items, on_done=told, memory_per_worker=MEMORY_PER_WORKER)
    full: list[StorageError] = []
    for run in todo.runs:
        with apart(problems.append, f"the rows of {run.path} could not be brought together"):
            try:
                # A table that came without shards holds all there is: it stays the file that it is.
                problems += compact(run.path) if shards_of(run.path) else read_run(run.path).problems
            except StorageError as error:
                full.append(error)
    if full:
        raise full[0]
    return problems


def _require_room(items: Sequence[Item]) -> None:
    """Refuse folders that cannot be written, and disks with less room than the items take."""
    need: dict[int, int] = {}
    folders = {Path(item.run_path): os.stat(item.run_path).st_dev for item in items}
    for item in items:
        disk = folders[Path(item.run_path)]
        # Once in the shard, once in the compacted table.
        need[disk] = need.get(disk, 0) + 2 * BYTES_PER_SHARD * len(item.wanted)
    for folder, disk in folders.items():
        require_room(folder, need[disk])
