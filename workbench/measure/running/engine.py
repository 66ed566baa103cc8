"""Measuring one checkpoint: one forward pass per law and length, shared by all measurements."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.core.canonical import canonical, key_of
from workbench.core.construct import construct
from workbench.core.errors import shown
from workbench.core.suggest import nearest
from workbench.measure.measurement import Grid, Measurement, Spec, Study
from workbench.measure.registry import make_measurement
from workbench.measure.running.applicable import lacking, not_applicable
from workbench.measure.settings import MeasurementError
from workbench.measure.study import BLOCK, MATERIALISING, CheckpointStudy, Evaluation, Shown, show_pass
from workbench.models.compute_device import USUAL_DEVICE, ComputeDevice, computing_on, current_device
from workbench.runs.run import Run
from workbench.storage.errors import StorageError
from workbench.table.errors import TableError
from workbench.table.other_strings import OWN_STRINGS, TASK_PARAMETERS, OtherStrings
from workbench.table.schema import Row
from workbench.table.shards import shard_path, verify_shard, write_shard
from workbench.tasks.base import Task
from workbench.tasks.source_code import trust


@dataclass(frozen=True)
class Wanted:
    """One measurement of one checkpoint.

    Attributes:
        name, settings: which measurement.
        sequences: per law and length, to begin with.
        key: of the shard.
        deep: whether further sequences may be drawn where those leave a question open.
    """

    name: str
    settings: tuple[tuple[str, Any], ...]
    sequences: int
    key: str
    deep: bool = False


@dataclass(frozen=True)
class Item:
    """One unit of work: files in (a run and a step), files out (a shard per measurement); idempotent."""

    run_path: str
    run_name: str
    step: int
    grid: Grid
    wanted: tuple[Wanted, ...]
    trusted: tuple[str, ...] = ()
    """Files whose code may be run as that of the run's task: a worker process knows no others."""
    device: ComputeDevice = USUAL_DEVICE
    """Where the model computes."""
    strings: OtherStrings = OWN_STRINGS
    """What about the strings is not the run's own."""


@dataclass(frozen=True)
class Done:
    """What one item did; ``problems`` has a sentence for each measurement that failed."""

    run: str
    step: int
    rows: int
    passes: int
    extra_passes: int
    seconds: float
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Watching:
    """A measurement that is shown a checkpoint, what it is told of it, and what it is called when it fails."""

    measurement: Measurement
    study: Study
    name: str


@dataclass
class Isolation:
    """Calls measurements so that one that fails leaves the others alone.

    Attributes:
        failures: by measurement, what it raised first.
    """

    failures: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """What is raised inside fails this measurement only; a full disk fails them all."""
        try:
            yield
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other measurements go on
            self.failures.setdefault(name, f"{name} failed: {type(error).__name__}: {error}")


def spec_json(spec: Spec) -> str:
    """A spec as it travels in Parquet metadata, where the glossary reads it."""
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
) -> str:
    """Hash of everything the numbers depend on: the rule of how many sequences there are, not the number reached.

    Of the device that is its class, where it is not the processor, and the kind of number, where one is asked for; of
    the task its parameters, where they are not the run's own.
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
    if task_parameters:
        parts[TASK_PARAMETERS] = dict(task_parameters)
    return key_of(parts)


def want(
    measurement: Measurement,
    run: Run,
    step: int,
    grid: Grid,
    sequences: Mapping[str, int],
    deep: bool = False,
    strings: OtherStrings = OWN_STRINGS,
) -> Wanted:
    """The work order for one measurement of one checkpoint.

    Args:
        measurement: it.
        run, step: the checkpoint.
        grid: prefix lengths.
        sequences: by measurement name, where not its own number.
        deep: whether a measurement that deepens may do so here.
        strings: what about them is not the run's own.
    """
    spec = measurement.spec
    n, deep = sequences.get(spec.name, spec.sequences), deep and spec.deepens
    device = current_device()
    if device.dtype == "float32" and not run.referenced:  # as ours are stored
        device = ComputeDevice(device.device)
    seed = drawn_from(run, strings)
    key = shard_key(spec, grid, n, seed, run.meta(step)["sha256"], deep, device, strings.parameters)
    return Wanted(spec.name, tuple(sorted(spec.settings.items())), n, key, deep)


def drawn_from(run: Run, strings: OtherStrings) -> int:
    """What a run's evaluation strings are drawn from: its own evaluation seed, unless another one is asked for."""
    own: int = run.config["seeds"]["evaluation"]
    return own if strings.seed is None else strings.seed


def asked_task(run: Run, strings: OtherStrings) -> Task:
    """The run's task, or the same under the parameters that are asked for.

    Raises:
        MeasurementError: for a parameter that it lacks, a value that it refuses, and parameters under which it has
            other tokens or answers than the model was made for.
    """
    own, parameters = run.task, strings.parameters
    if not parameters:
        return own
    known = type(own).model_fields
    for name in parameters:
        if name not in known:
            raise MeasurementError(
                f"{own.name}, the task of {run.name}, has no parameter {name}; {nearest(name, known)}"
            )
    other = construct(type(own), {**dict(own), **parameters}, f"{own.name} of {run.name}", MeasurementError)
    if not other.speaks_as(own):
        said = ", ".join(f"{name} = {shown(value)}" for name, value in parameters.items())
        raise MeasurementError(
            f"{own.name} with {said} has other tokens or answers than the model of {run.name} was made for; "
            f"choose parameters that keep both"
        )
    return other


def measure_item(item: Item) -> Done:
    """Run the measurements of one checkpoint and write their shards.

    Raises:
        RunError: if the checkpoint is damaged.
        StorageError: if a shard cannot be written.
    """
    with computing_on(item.device):
        return _measure_item(item)


def _measure_item(item: Item) -> Done:
    start = time.monotonic()
    for file in item.trusted:
        trust(file)
    run = replace(Run.open(item.run_path), name=item.run_name)
    wanted_still = [w for w in item.wanted if not _made_since(run, item.step, w)]
    if not wanted_still:
        return Done(run.name, item.step, 0, 0, 0, time.monotonic() - start)
    model, task, other = run.load(item.step), asked_task(run, item.strings), item.strings
    every = [(w, make_measurement(w.name, dict(w.settings))) for w in wanted_still]
    apart = Isolation()
    made, total = [], 0
    for wanted, measurement in every:
        with apart.of(wanted.name):
            if why := lacking(measurement, model, task):
                rows = not_applicable(measurement.spec, why)
                write_rows(run, item.step, wanted, measurement.spec, rows, 0, time.monotonic() - start, other)
                total += len(rows)
            else:
                made.append((wanted, measurement))
    sequences, seed = max(w.sequences for w in wanted_still), drawn_from(run, item.strings)
    evaluation = Evaluation(task, item.grid, seed, sequences, consistent=model.cfg.ids.consistent)
    watching = [
        Watching(m, CheckpointStudy(run, item.step, model, evaluation, w.sequences, w.deep), w.name) for w, m in made
    ]
    with one_thread():
        passes, extra = observe_all(model, evaluation, watching, apart), 0
        for (wanted, measurement), one in zip(made, watching, strict=True):
            if wanted.name in apart.failures:
                continue
            with apart.of(wanted.name):
                rows = measurement.finish(one.study)
                marked, seconds = mark_unseen(rows, one.study), time.monotonic() - start
                write_rows(run, item.step, wanted, measurement.spec, marked, one.study.passes, seconds, other)
                extra += one.study.passes
                total += len(rows)
    seconds = time.monotonic() - start
    return Done(run.name, item.step, total, passes, extra, seconds, tuple(apart.failures.values()))


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and the linear algebra of numpy and scipy on one thread: sums in another order have other last bits.

    Worker processes begin so. This one may have been told otherwise, by OMP_NUM_THREADS or its number of cores.
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


def _made_since(run: Run, step: int, wanted: Wanted) -> bool:
    """Whether another process has written a shard since it was planned: a plan holds none that is there and sound."""
    path = shard_path(run.path, wanted.name, step, wanted.key)
    if not path.exists():
        return False
    try:
        verify_shard(path, run.id)
    except TableError:
        return False
    return True


def observe_all(model: Any, evaluation: Evaluation, made: Sequence[Watching], apart: Isolation) -> int:
    """Show every measurement its laws and lengths; returns the number of forward passes that they share."""
    for one in made:
        with apart.of(one.name):
            one.measurement.start(one.study)
    groups = [[one for one in made if _materialises(one.measurement, model) == materialises] for materialises in (0, 1)]
    return sum(_observe(model, evaluation, group, apart) for group in groups)


def _materialises(measurement: Measurement, model: Any) -> bool:
    """Whether a measurement changes the last bits of what others would see; it then has passes of its own."""
    return any(name.endswith(MATERIALISING) for name in measurement.hooks(model.cfg))


def _observe(model: Any, evaluation: Evaluation, made: Sequence[Watching], apart: Isolation) -> int:
    """One pass for all lengths that the same strings serve."""
    passes = 0
    for law in dict.fromkeys(law for one in made for law in one.measurement.spec.laws):
        served: dict[int, list[int]] = {}
        for length in evaluation.grid.lengths:
            served.setdefault(evaluation.source_length(law, length), []).append(length)
        for lengths in served.values():
            shown: list[Shown] = []
            for length in lengths:
                for one in [one for one in made if law in one.measurement.spec.laws]:
                    with apart.of(one.name):
                        observer = one.measurement.observer(one.study, law, length, one.study.batch(law, length))
                        shown.append(Shown(observer, partial(apart.of, one.name)))
            passes += show_pass(model, evaluation.source(law, lengths[0]), shown)
    return passes


def mark_unseen(rows: Sequence[Row], study: Study) -> list[Row]:
    """Rows about queries that read ids never seen in training say so instead of *ok*.

    The verdict is about all lengths at once; its length is the horizon.
    """
    unseen = {n for n in study.grid.lengths if study.reads_unseen(n)}

    def marked(r: Row) -> Row:
        reads = r["length"] in unseen and r["quantity"] != "verdict"
        return {**r, "status": "unseen_position"} if reads and r["status"] == "ok" else r

    return [marked(r) for r in rows]


def write_rows(
    run: Run,
    step: int,
    wanted: Wanted,
    spec: Spec,
    rows: Sequence[Row],
    passes: int,
    seconds: float,
    strings: OtherStrings = OWN_STRINGS,
) -> None:
    """Write one shard, with what the engine knows filled into its rows; ``seconds`` since its checkpoint was begun.

    What about the strings is not the run's own stands in every row's setting, and in the shard's metadata.
    """
    setting = canonical({**spec.settings, **strings.setting})
    filled = [{**r, "run": run.name, "step": step, "measurement": spec.name, "setting": setting} for r in rows]
    path = shard_path(Path(run.path), spec.name, step, wanted.key)
    metadata = {
        "spec": spec_json(spec),
        "key": wanted.key,
        "sha256": run.meta(step)["sha256"],
        "run": run.id,
        "extra_passes": str(passes),
        "seconds": f"{seconds:.3f}",
        **strings.metadata,
    }
    write_shard(path, filled, metadata)
