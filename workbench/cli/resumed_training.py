"""The options of ``lengthlens train`` that build a run that exists, and the request of ``train --resume RUN``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.errors import UsageError
from workbench.cli.train_request import TrainRequest

if TYPE_CHECKING:
    from workbench.runs.run import Run


def resumed_training(folder: Path, task: str | None, steps: int | None, given: Sequence[str]) -> TrainRequest:
    """The request that continues a run bit-identically.

    Args:
        folder: the run.
        task: the task as typed; None = that of the run.
        steps: the value of ``--steps``; None = that of the run.
        given: other options that were typed, e.g. ``--layers``.

    Raises:
        RunError: if the folder is not a run.
        UsageError: for another task, other options, another number of steps, or a run that no command trains.
    """
    from workbench.runs.run import Run

    run = Run.open(folder)
    name = str(run.config["task"]["name"])
    if task not in (None, name):
        raise UsageError(f"{folder} is a run of task {name}, not {task}; leave the task out")
    if given:
        raise UsageError(f"--resume takes all settings from {folder}; leave out {', '.join(given)}")
    options, settings = settings_to_train(run)
    planned = int(options["steps"])
    if steps is not None and steps != planned:
        raise UsageError(
            f"{folder} was planned for {planned:,} steps, and its learning rate and checkpoints follow that plan, so "
            f"it cannot be trained to {steps:,} steps; leave out --steps, or {_new_run(run, folder, planned, steps)}"
        )
    return TrainRequest(name, options, [(path.split("."), value) for path, value in settings.items()])


def settings_to_train(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    """The named options and further settings of ``lengthlens train`` that build the same run.

    Raises:
        UsageError: for a run that `lengthlens train` did not train, whose task is defined in a Python file, or that
            started from weights of another run.
    """
    from workbench.cli.train_command import no_command, options_of, settings_of_run

    name, training = run.name, run.config["training"]
    if run.weightless or not run.trained_here:
        raise UsageError(f"{name} was not trained by lengthlens train, so it cannot be resumed; choose another run")
    if training.get("start"):
        raise UsageError(
            f"{name} started from weights of another run (id {training['start']['run']}); train it with "
            f"--start RUN@{training['start']['step']}"
        )
    if reason := no_command(run.config):
        raise UsageError(f"{reason} ({name}); give the command that trained it again")
    options = options_of(run.config)
    return options, settings_of_run(run.config, options)


def _new_run(run: Run, folder: Path, planned: int, steps: int) -> str:
    """How to train a new run with another number of steps."""
    from workbench.cli.train_command import options_of

    if not run.finished or steps < planned:
        return f"train a new run with --steps {steps} (lengthlens config {folder} prints the command of this run)"
    options = f"--start {folder}@last --lengths {options_of(run.config)['lengths']} --steps {steps - planned}"
    return (
        f"start a new run from its weights: lengthlens train {run.config['task']['name']} {options} --out NEW; or "
        f"train a new run with --steps {steps} (lengthlens config {folder} prints the command of this run)"
    )
