"""Measuring one checkpoint: one forward pass per test set and length, shared by all measurements."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.core.canonical import canonical, key_of
from workbench.core.construct import construct
from workbench.core.errors import quoted_value
from workbench.core.failures import isolate_errors
from workbench.core.suggest import nearest
from workbench.jobs.deadline import refuse_late
from workbench.measure.measurement import Grid, Measurement, Spec, Study
from workbench.measure.refuse_rows import declared_rows
from workbench.measure.registry import make_measurement
from workbench.measure.running.applicable import lacking, not_applicable
from workbench.measure.settings import MeasurementError
from workbench.measure.study import BLOCK, MATERIALISING, CheckpointStudy, Evaluation, Shown, show_pass
from workbench.models.compute_device import USUAL_DEVICE, ComputeDevice, computing_on
from workbench.runs.run import Run
from workbench.storage.errors import StorageError
from workbench.table.errors import TableError
from workbench.table.other_strings import OWN_STRINGS, TASK_PARAMETERS, OtherStrings
from workbench.table.schema import Row
from workbench.table.shards import shard_path, verify_shard, write_shard
from workbench.tasks.base import Batch, Task
from workbench.tasks.known_tasks import LISTINGS
from workbench.tasks.source_code import trust


@dataclass(frozen=True)
class MeasurementJob:
    """The work of one measurement at one checkpoint.

    Attributes:
        name, settings: the measurement.
        sequences: number of first sequences per test set and length.
        key: key of the shard.
        deep: whether more sequences may be drawn where the first ones are inconclusive.
    """

    name: str
    settings: tuple[tuple[str, Any], ...]
    sequences: int
    key: str
    deep: bool = False


@dataclass(frozen=True)
class CheckpointJob:
    """The work of all missing measurements at one checkpoint. Running it again changes nothing.

    Attributes:
        run_path, run_name, step: the checkpoint.
        grid: prefix lengths.
        measurements: the missing ones.
        trusted: files whose code may run as that of the run's task. A worker process trusts no others.
        device: the device on which the model computes.
        strings: how the evaluation sequences differ from the run's own.
    """

    run_path: str
    run_name: str
    step: int
    grid: Grid
    measurements: tuple[MeasurementJob, ...]
    trusted: tuple[str, ...] = ()
    device: ComputeDevice = USUAL_DEVICE
    strings: OtherStrings = OWN_STRINGS


@dataclass(frozen=True)
class JobResult:
    """The result of a checkpoint's job; ``problems`` has a sentence for each measurement that failed."""

    run: str
    step: int
    rows: int
    passes: int
    extra_passes: int
    seconds: float
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObservedMeasurement:
    """A measurement during a forward pass, with the data of its checkpoint and its name for error messages."""

    measurement: Measurement
    study: Study
    name: str


@dataclass
class Isolation:
    """Calls measurements so that the failure of one does not stop the others.

    Attributes:
        failures: by measurement, a sentence about its first error.
    """

    failures: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> AbstractContextManager[None]:
        """Return a context in which an error fails this measurement only. A full disk fails all of them."""

        def tell(sentence: str) -> None:
            self.failures.setdefault(name, f"{name} failed: {sentence}")

        return isolate_errors(tell, "", passes=StorageError)


def spec_json(spec: Spec) -> str:
    """Return a spec as JSON for Parquet metadata, where the glossary reads it."""
    return json.dumps(asdict(replace(spec, settings=dict(spec.settings))))


def shard_key(
    spec: Spec,
    grid: Grid,
    sequences: int,
    seed: int,
    sha256: str,
    deep: bool = False,
    device: ComputeDevice = USUAL_DEVICE,
    task_parameters: Mapping[str, Any] | None = None,
    listing: int = 0,
) -> str:
    """Return a hash of everything that the numbers depend on.

    The number of sequences enters by its rule, not by the number that was reached. The device enters by its type unless
    it is the CPU, and by the dtype if one was set. The task enters by parameters that differ from the run's, and by how
    often its listed test sets changed.
    """
    parts: dict[str, Any] = {
        "measurement": spec.name,
        "version": spec.version,
        "settings": dict(spec.settings),
        "lengths": list(grid.lengths),
        "trained": grid.trained,
        "n": sequences,
        "evaluation_seed": seed,
        "block": BLOCK,
        "sha256": sha256,
        **device.facts,
    }
    if deep:
        parts["deep"] = True
    if grid.named and any(name.endswith("factors") for name in spec.settings):
        parts["named"] = list(grid.named)  # the named lengths at which it is measured
    if task_parameters:
        parts[TASK_PARAMETERS] = dict(task_parameters)
    if listing:
        parts["listing"] = listing
    return key_of(parts)


def measurement_job(
    measurement: Measurement,
    run: Run,
    step: int,
    grid: Grid,
    sequences: int | None,
    deep: bool = False,
    strings: OtherStrings = OWN_STRINGS,
    device: ComputeDevice = USUAL_DEVICE,
) -> MeasurementJob:
    """Return the job of one measurement at one checkpoint.

    Args:
        measurement: the measurement.
        run, step: the checkpoint.
        grid: prefix lengths.
        sequences: per test set and length; None = the measurement's default.
        deep: whether a measurement that deepens may do so here.
        strings: how the evaluation sequences differ from the run's own.
        device: the device on which the model computes.
    """
    spec = measurement.spec
    n, deep = spec.sequences if sequences is None else sequences, deep and spec.deepens
    if device.dtype == "float32" and not run.referenced:  # checkpoints of this package are stored in float32
        device = ComputeDevice(device.device)
    seed = evaluation_seed_of(run, strings)
    listing = LISTINGS.get(run.config["task"]["name"], 0) if measurement.lists else 0
    key = shard_key(spec, grid, n, seed, run.meta(step)["sha256"], deep, device, strings.parameters, listing)
    return MeasurementJob(spec.name, tuple(sorted(spec.settings.items())), n, key, deep)


def evaluation_seed_of(run: Run, strings: OtherStrings) -> int:
    """Return the seed of a run's evaluation sequences: the requested one, or the run's own."""
    own: int = run.config["seeds"]["evaluation"]
    return own if strings.seed is None else strings.seed


def requested_task(run: Run, strings: OtherStrings) -> Task:
    """Return the run's task, with the requested parameters if there are any.

    Raises:
        MeasurementError: for an unknown parameter, an invalid value, or parameters under which the task has other
            tokens or answers than the model was made for.
    """
    run_task, parameters = run.task, strings.parameters
    if not parameters:
        return run_task
    known = type(run_task).model_fields
    for name in parameters:
        if name not in known:
            raise MeasurementError(
                f"{run_task.name}, the task of {run.name}, has no parameter {name}; {nearest(name, known)}"
            )
    changed_task = construct(
        type(run_task), {**dict(run_task), **parameters}, f"{run_task.name} of {run.name}", MeasurementError
    )
    if not changed_task.speaks_as(run_task):
        said = ", ".join(f"{name} = {quoted_value(value)}" for name, value in parameters.items())
        raise MeasurementError(
            f"{run_task.name} with {said} has other tokens or answers than the model of {run.name} was made for; "
            f"choose parameters that keep both"
        )
    return changed_task


def measure_checkpoint(job: CheckpointJob, until: float | None = None) -> JobResult:
    """Run the measurements of one checkpoint and write their shards.

    Args:
        job: the job.
        until: time in seconds since the epoch after which the job does not begin; None = no limit.

    Raises:
        TimeIsUp: if that time has passed.
        RunError: if the checkpoint is damaged.
        StorageError: if a shard cannot be written.
    """
    refuse_late(until)
    start = time.monotonic()
    for file in job.trusted:
        trust(file)
    run = replace(Run.open(job.run_path), name=job.run_name)
    missing = [todo for todo in job.measurements if not _is_measured(run, job.step, todo)]
    if not missing:
        return JobResult(run.name, job.step, 0, 0, 0, time.monotonic() - start)
    with computing_on(job.device):
        model, task = run.load(job.step), requested_task(run, job.strings)
        every = [(todo, make_measurement(todo.name, dict(todo.settings))) for todo in missing]
        isolation, total = Isolation(), 0
        applicable = []
        for todo, measurement in every:
            with isolation.of(todo.name):
                if why := lacking(measurement, model, task):
                    rows, seconds = not_applicable(measurement.spec, why), time.monotonic() - start
                    write_rows(run, job.step, todo, measurement.spec, rows, 0, seconds, job.strings)
                    total += len(rows)
                else:
                    applicable.append((todo, measurement))
        sequences, seed = max(todo.sequences for todo in missing), evaluation_seed_of(run, job.strings)
        evaluation = Evaluation(task, job.grid, seed, sequences, consistent=model.cfg.ids.consistent)
        studies = [
            CheckpointStudy(run, job.step, model, evaluation, todo.sequences, todo.deep) for todo, _ in applicable
        ]
        observed = [
            ObservedMeasurement(measurement, study, todo.name)
            for (todo, measurement), study in zip(applicable, studies, strict=True)
        ]
        with one_thread():
            passes, extra = observe_all(model, evaluation, observed, isolation), 0
            for (todo, measurement), study in zip(applicable, studies, strict=True):
                if todo.name in isolation.failures:
                    continue
                with isolation.of(todo.name):
                    rows = mark_unseen(declared_rows(measurement.spec, measurement.finish(study)), study)
                    seconds = time.monotonic() - start
                    write_rows(run, job.step, todo, measurement.spec, rows, study.passes, seconds, job.strings)
                    extra += study.passes
                    total += len(rows)
    problems = tuple(isolation.failures.values())
    return JobResult(run.name, job.step, total, passes, extra, time.monotonic() - start, problems)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch and the linear algebra of numpy and scipy to one thread, because the order of sums changes the last
    bits.

    Worker processes start with one thread. This process may have more, by OMP_NUM_THREADS or its number of cores.
    """
    import scipy.linalg  # noqa: F401 - it has a BLAS of its own, which is held only once it is loaded
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def _is_measured(run: Run, step: int, job: MeasurementJob) -> bool:
    """Return whether another process has written this shard since it was planned."""
    path = shard_path(run.path, job.name, step, job.key)
    if not path.exists():
        return False
    try:
        verify_shard(path, run.id)
    except TableError:
        return False
    return True


def observe_all(
    model: Any, evaluation: Evaluation, observed: Sequence[ObservedMeasurement], isolation: Isolation
) -> int:
    """Show every measurement its test sets and lengths; return the number of forward passes that they share."""
    for item in observed:
        with isolation.of(item.name):
            item.measurement.start(item.study)
    passes = 0
    for materialises in (False, True):
        group = [item for item in observed if _materialises(item.measurement, model) == materialises]
        for batch, observers in _shared_passes(evaluation, group, isolation):
            passes += show_pass(model, batch, observers)
    return passes


def _materialises(measurement: Measurement, model: Any) -> bool:
    """Return whether a measurement changes the last bits of activations; it then gets separate passes."""
    return any(name.endswith(MATERIALISING) for name in measurement.hooks(model.cfg))


def _shared_passes(
    evaluation: Evaluation, observed: Sequence[ObservedMeasurement], isolation: Isolation
) -> Iterator[tuple[Batch, list[Shown]]]:
    """Yield the sequences of each pass with their observers. Lengths with the same sequences share one pass."""
    for law in dict.fromkeys(law for item in observed for law in item.measurement.spec.laws):
        served: dict[int, list[int]] = {}
        for length in evaluation.grid.lengths:
            served.setdefault(evaluation.source_length(law, length), []).append(length)
        for lengths in served.values():
            observers: list[Shown] = []
            for length in lengths:
                for item in [item for item in observed if law in item.measurement.spec.laws]:
                    with isolation.of(item.name):
                        observer = item.measurement.observer(item.study, law, length, item.study.batch(law, length))
                        observers.append(Shown(observer, partial(isolation.of, item.name)))
            yield evaluation.source(law, lengths[0]), observers


def mark_unseen(rows: Sequence[Row], study: Study) -> list[Row]:
    """Return the rows, with the status *unseen_position* in *ok* rows whose queries read ids never seen in training.

    The verdict keeps its status. It is about all lengths; its column ``length`` is the longest tested length.
    """
    unseen = {n for n in study.grid.lengths if study.reads_unseen(n)}

    def marked(r: Row) -> Row:
        reads = r["length"] in unseen and r["quantity"] != "verdict"
        return {**r, "status": "unseen_position"} if reads and r["status"] == "ok" else r

    return [marked(r) for r in rows]


def write_rows(
    run: Run,
    step: int,
    job: MeasurementJob,
    spec: Spec,
    rows: Sequence[Row],
    passes: int,
    seconds: float,
    strings: OtherStrings = OWN_STRINGS,
) -> None:
    """Write one shard, with the columns that the engine fills in; ``seconds`` counts from the checkpoint's beginning.

    If the evaluation sequences differ from the run's own, every row's setting and the shard's metadata state how.
    """
    setting = canonical({**spec.settings, **strings.setting})
    filled = [{**r, "run": run.name, "step": step, "measurement": spec.name, "setting": setting} for r in rows]
    path = shard_path(Path(run.path), spec.name, step, job.key)
    metadata = {
        "spec": spec_json(spec),
        "key": job.key,
        "sha256": run.meta(step)["sha256"],
        "run": run.id,
        "extra_passes": str(passes),
        "seconds": f"{seconds:.3f}",
        **strings.metadata,
    }
    write_shard(path, filled, metadata)
