"""The run that the options of ``lengthlens train``, or a cell of a sweep, describe."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

from workbench.cli.early_refusal import PARTS, refuse_early
from workbench.cli.errors import UsageError
from workbench.cli.options import DEFAULTS, TRAIN_OPTIONS, length_range, put, resolve_options, suggestions
from workbench.cli.train_request import TrainRequest
from workbench.core.construct import construct
from workbench.core.errors import quoted_value
from workbench.models.architectures import config_class
from workbench.models.positions import id_sampler, make_encoding
from workbench.runs.run import Run
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.starting_weights import StartingWeights

OF_THE_MODEL = tuple(
    name for name, option in TRAIN_OPTIONS.items() if option.settings[0].startswith("model.") and name != "ids"
)
"""Options that say what model there is. The id sampler is a matter of training."""


def build(request: TrainRequest) -> RunConfig:
    """The configuration of the run that a request describes.

    Raises:
        TaskError, PositionError, TrainingError, UsageError: for whatever does not exist or fit.
    """
    refuse_early(request)
    tree: dict[str, Any] = {part: {} for part in PARTS}
    for path, value in request.settings:
        if path[0] == "task":
            put(tree, path, value)
    task = make_task(request.task, **tree["task"])
    tree |= sections(resolve_options(request.options, suggestions(task, request.options), task.name))
    if request.start:
        tree["model"] = _model_of(request.start, request.options)
        tree["training"]["start"] = request.start.start
    for path, value in request.settings:
        put(tree, path, value)
    sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out}
    return RunConfig(
        task=task,
        model=construct(config_class(tree["model"]), {**tree["model"], **sizes}, "model", TrainingError),
        training=construct(TrainingConfig, tree["training"], "training", TrainingError),
        seeds=construct(Seeds, tree["seeds"], "seeds", TrainingError),
    )


def starting_weights(named: str | None) -> StartingWeights | None:
    """The weights that ``--start RUN@STEP`` names; None where it is not given.

    Raises:
        UsageError: if it names no run and step.
        RunError, TrainingError, TaskError: if there are no such weights to begin from.
    """
    if named is None:
        return None
    step = named.rpartition("@")[2]
    run = starting_run(named)
    return StartingWeights.of(run, run.steps[-1] if step == "last" else int(step))


def starting_run(named: str) -> Run:
    """The run that ``--start RUN@STEP`` names.

    Raises:
        UsageError, RunError: if it names no run and step, or a run without checkpoints.
    """
    folder, _, step = named.rpartition("@")
    if not folder or not (step == "last" or (step.isascii() and step.isdigit() and len(step) < 13)):
        raise UsageError(f"--start takes a run's folder and a step, RUN@STEP or RUN@last, not {quoted_value(named)}")
    run = Run.open(folder)
    if not run.steps:
        raise UsageError(f"run {run.name} has no checkpoint to start from; train it first")
    return run


def _model_of(start: StartingWeights, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the model of given weights; only its id sampler, a matter of training, may be another."""
    if given := [name for name in OF_THE_MODEL if options.get(name) is not None]:
        raise UsageError(f"--start fixes the model to that of the weights; leave out --{given[0].replace('_', '-')}")
    return {**start.model, **({} if options.get("ids") is None else {"ids": options["ids"]})}


def sections(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of ``train`` as fields of model, training and seeds."""
    low, high = length_range(str(options["lengths"]))
    # Refused here by their own names, before --set turns them into dicts.
    make_encoding(options["positions"])
    id_sampler(options["ids"])
    tree: dict[str, dict[str, Any]] = {"model": {}, "training": {}, "seeds": {}}
    for name, option in TRAIN_OPTIONS.items():
        if option.only in ("", options["architecture"]):
            values = (low, high) if name == "lengths" else repeat(options[name])
            for path, value in zip(option.settings, values, strict=False):
                put(tree, path.split("."), value)
    if options["architecture"] == DEFAULTS["architecture"]:
        del tree["model"]["architecture"]  # a run's configuration leaves the usual one out
    return tree
