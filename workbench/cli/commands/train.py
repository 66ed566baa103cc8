"""``lengthlens train``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.cli.errors import Stopping, UsageError
from workbench.cli.options import assignments, length_range, put, resolved, suggestions
from workbench.cli.progress import TrainingProgress
from workbench.core.construct import construct
from workbench.models.architectures import config_class
from workbench.models.positions import id_sampler, make_encoding
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.tasks import make_task
from workbench.tasks.base import Task
from workbench.tasks.registry import contained, stored
from workbench.training.compare_configs import gives_way
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.trainer import Stopped, Trainer

PARTS = ("task", "model", "training", "seeds")
Settings = Sequence[tuple[Sequence[str], Any]]


def build(task: str, options: Mapping[str, Any], settings: Settings) -> RunConfig:
    """The run that a ``train`` command line, or a cell of a sweep, describes.

    Args:
        task: task name or ``file.py:Class``.
        options: the named options of the command; one that is None or missing is taken from what the
            task suggests, else from the general defaults.
        settings: (path, value) pairs, which win over the options.

    Raises:
        TaskError, PositionError, TrainingError, UsageError: for whatever does not exist or fit.
    """
    tree: dict[str, Any] = {part: {} for part in PARTS}
    for path, value in settings:
        if path[0] not in PARTS or len(path) < 2:
            known = ", ".join(f"{part}." for part in PARTS)
            raise UsageError(f"--set {'.'.join(path)}: settings start with {known}")
        if path[0] == "task":
            put(tree, path, value)
    made = make_task(task, **tree["task"])
    tree |= sections(resolved(options, suggestions(made, options), made.name))
    for path, value in settings:
        put(tree, path, value)
    sizes = {"d_vocab": made.d_vocab, "d_vocab_out": made.d_vocab_out}
    return RunConfig(
        task=made,
        model=construct(config_class(tree["model"]), {**tree["model"], **sizes}, "model", TrainingError),
        training=construct(TrainingConfig, tree["training"], "training", TrainingError),
        seeds=construct(Seeds, tree["seeds"], "seeds", TrainingError),
    )


def sections(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of ``train`` as fields of model, training and seeds."""
    low, high = length_range(str(options["lengths"]))
    # Refused here by their own names, before --set turns them into dicts.
    make_encoding(options["positions"])
    id_sampler(options["ids"])
    model = {"n_layers": options["layers"], "d_model": options["d_model"], "n_ctx": options["n_ctx"]}
    if options["architecture"] == "ssm":
        model |= {"architecture": "ssm", "gates": options["gates"]}
    else:
        model |= {"positions": options["positions"], "ids": options["ids"], "n_heads": options["heads"]}
    return {
        "model": model,
        "training": {
            "steps": options["steps"],
            "batch_size": options["batch_size"],
            "learning_rate": options["learning_rate"],
            "curriculum": {"law": options["curriculum"], "low": low, "high": high},
        },
        "seeds": {"init": options["seed"], "data": options["seed"]},
    }


def train_command(task: str, out: Path | None, options: Mapping[str, Any], settings: Sequence[str]) -> None:
    from workbench.measure.behaviour.fitted import fit_sentence

    config = build(task, options, assignments(settings))
    name = Path(task.rpartition(":")[2] if ":" in task else task).name
    folder = out or Path("checkpoints") / f"{name}-{config.model.variant}-s{config.seeds.init}"
    with suppress(RunError):  # what cannot be read, training refuses
        if (folder / "run.json").exists() and gives_way(Run.open(folder), config):
            print(f"{folder} held another run, which ended before its first checkpoint; this one takes its place.")
    suggested = suggestions(config.task, options)
    taken = {key: value for key, value in suggested.items() if options.get(key) is None}
    if taken:
        print(f"{config.task.name} suggests {', '.join(f'{key} {value}' for key, value in taken.items())}.")
    with TrainingProgress(config.training.steps, folder.name) as progress:
        try:
            with contained(config.task):
                run = Trainer(config, folder, progress).run()
        except Stopped as stopped:
            progress.close()
            raise Stopping(f"{folder}: {stopped}.") from None
    print(f"{folder}: {len(run.steps)} checkpoints, last at step {run.steps[-1]:,}.")
    if run.ended:
        print(f"It ended early: {run.ended}.")
    with contained(config.task):
        print(fit_sentence(run))
    print(f"Next: lengthlens measure {folder}{trusting(config.task)}")


def trusting(task: Task) -> str:
    """What a command on a run must say for the code of its task to be run; "" for a task known by name."""
    source = stored(task).get("source")
    return f" --trust-code {shlex.quote(source['file'])}" if source else ""
