"""Forks: runs that share the updates of another run up to a step, and continue from there on data of their own.

A fork is a run like any other. Its ``run.json`` states the run and the step that it was split from
(``training.fork``), and its own data seed from that step on (``seeds.data_from``). A length distribution of its own is
the curriculum ``switched``. Training it from step 0 is bit-identical to continuing from the stored state of the
other run.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.core.seeds import seed_of
from workbench.runs.checkpoints import STATE, write_checkpoint, write_config
from workbench.runs.errors import RunError
from workbench.runs.lock import writer_lock
from workbench.runs.run import Run
from workbench.storage import bounded
from workbench.storage.atomic import make_folder, write_atomic
from workbench.storage.bounded import read_bytes
from workbench.training.compare_configs import refuse_another
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.curriculum import Curriculum, Switched, curriculum
from workbench.training.errors import TrainingError
from workbench.training.resume import NAME, state_of_another_run
from workbench.training.starting_weights import Start

LARGEST_SEED = 1 << 31
"""Data seeds of forks are below this number, so that every program can read them exactly."""
NEAREST_STEPS = 4
"""Checkpoints that an error names."""


def config_of_run(run: Run) -> RunConfig:
    """Return the config with which a run was trained.

    Raises:
        TrainingError: if it was not trained by ``lengthlens train``.
        TaskError: if its task cannot be loaded.
    """
    if run.weightless or not run.trained_here:
        raise TrainingError(f"run {run.name} was not trained by lengthlens train; choose another run")
    return RunConfig(
        task=run.task,
        model=run.config["model"],
        training=TrainingConfig(**run.config["training"]),
        seeds=Seeds(**run.config["seeds"]),
    )


def fork_config(parent: Run, step: int, child: int, changed: Curriculum | None = None) -> RunConfig:
    """Return the config of a fork.

    Args:
        parent: the run to split.
        step: the checkpoint step from which the fork has data of its own.
        child: the number of the fork, from 1. Its data seed is a pure function of the parent's id, the step and this
            number.
        changed: the length distribution from that step on; None = that of the parent.

    Raises:
        TrainingError: if the parent has no checkpoint at the step, ended there, or cannot be forked with such a change.
        TaskError: if the parent's task cannot be loaded.
    """
    config = config_of_run(parent)
    training, seeds = config.training, config.seeds
    _refuse_step(parent, step)
    if changed is not None and training.strings:
        raise TrainingError(
            f"run {parent.name} has a fixed set of training sequences (training.strings), which follows from its "
            "length distribution; fork it without changing the lengths"
        )
    before = [pair for pair in seeds.data_from if pair[0] < step]
    seed = seed_of("fork", parent.id, step, child) % LARGEST_SEED
    lengths = training.curriculum
    if changed is not None:
        lengths = Switched(law="switched", at=step, before=lengths, after=changed)  # type: ignore[call-arg]
    fork = Start(run=parent.id, step=step, sha256=str(parent.meta(step)["sha256"]))
    return RunConfig(
        task=config.task,
        model=config.model,
        training=TrainingConfig(
            **{**training.model_dump(mode="json"), "curriculum": lengths, "fork": fork, "keep_state_at": ()}
        ),
        seeds=seeds.model_copy(update={"data_from": (*before, (step, seed))}),
    )


def _refuse_step(parent: Run, step: int) -> None:
    """Refuse a step at which a run cannot be split."""
    steps = parent.steps
    if step not in steps or step == 0:
        near = sorted(sorted((s for s in steps if s), key=lambda s: abs(s - step))[:NEAREST_STEPS])
        known = f"the nearest are {', '.join(map(str, near))}" if near else "it has none after step 0"
        raise TrainingError(
            f"run {parent.name} has no checkpoint at step {step} to fork from; {known}. To get one, train the run "
            f"again with --set training.checkpoints.at=[{max(step, 1)}] and another --out"
        )
    if step == steps[-1] and parent.finished:
        raise TrainingError(
            f"the training of run {parent.name} ended at step {step}, so nothing is left for a fork; choose one of its "
            f"earlier checkpoints"
        )


def changed_curriculum(parent: Run, settings: Iterable[tuple[str, Any]]) -> Curriculum | None:
    """Return a run's length distribution with other settings; None without settings.

    Args:
        parent: the run.
        settings: (name, value) of settings of the curriculum, such as ``("high", 32)``. If ``law`` names another kind,
            only the bounds of the run's own distribution are kept.

    Raises:
        TrainingError: for settings that no curriculum has.
    """
    changes = dict(settings)
    if not changes:
        return None
    own = dict(parent.config["training"]["curriculum"])
    if changes.get("law", own["law"]) != own["law"]:
        own = {"low": own["low"], "high": own["high"]}
    return curriculum({**own, **changes})


def begin_fork(parent: Run, config: RunConfig, folder: Path) -> None:
    """Prepare the folder of a fork: its ``run.json``, and the parent's checkpoints at step 0 and at the fork.

    If the parent stored the optimizer's state at the fork, training continues from it. Otherwise the fork repeats the
    updates before, and each checkpoint must then have the parent's weights. Existing files are kept.

    Raises:
        RunError: if the folder contains another run, or a checkpoint of the parent is damaged.
        TrainingError: if the updates before would have to be repeated, but started from the weights of another run.
    """
    fork = config.training.fork
    assert fork is not None, "a fork's config states where it was split"
    state_file = parent.step_path(fork.step) / STATE
    if config.training.start and not state_file.exists():
        raise TrainingError(
            f"run {parent.name} started from weights of another run, so its first {fork.step} updates cannot be "
            f"repeated; train it again with --set training.keep_state_at=[{fork.step}]"
        )
    make_folder(folder)
    with writer_lock(folder):
        if not (folder / "run.json").exists():
            write_config(folder, config.as_json())
        run = Run.open(folder)
        refuse_another(run, config)
        begun = run.steps
        for step in (0, fork.step):
            if step not in begun:
                _copy_checkpoint(parent, run, step)
        if not (folder / NAME).exists() and state_file.exists() and not any(step > fork.step for step in begun):
            state = read_bytes(state_file, bounded.WEIGHTS)
            write_atomic(folder, NAME, state_of_another_run(state, state_file, parent.id, run.id))


def _copy_checkpoint(parent: Run, run: Run, step: int) -> None:
    """Copy a checkpoint of the parent to a fork; its log has all lines since step 0.

    Raises:
        RunError: if it is damaged.
    """
    parent.verify(step)
    meta = parent.meta(step)
    weights = read_bytes(parent.step_path(step) / "model.safetensors", bounded.WEIGHTS)
    write_checkpoint(run, step, weights, meta["trained_ids"], _log_until(parent, step), versions=meta.get("versions"))


def _log_until(parent: Run, step: int) -> bytes | None:
    """The parent's log lines from its first update to a step, as a file; None if there are none."""
    steps = [0] if step == 0 else [each for each in parent.steps if 0 < each <= step]
    try:
        tables = [
            pq.read_table(io.BytesIO(read_bytes(parent.step_path(each) / "log.parquet", bounded.LOG)))
            for each in steps
            if (parent.step_path(each) / "log.parquet").exists()
        ]
        if not tables:
            return None
        file = io.BytesIO()
        pq.write_table(pa.concat_tables(tables), file)
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"the log of run {parent.name} is damaged ({error}); lengthlens check names the file") from None
    return file.getvalue()
