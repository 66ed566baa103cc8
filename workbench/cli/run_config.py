"""The run that the options of ``lengthlens train``, or a cell of a sweep, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.early_refusal import PARTS, refuse_early
from workbench.cli.errors import UsageError
from workbench.cli.options import length_range, put, resolved, suggestions
from workbench.core.construct import construct
from workbench.core.errors import shown
from workbench.models.architectures import config_class
from workbench.models.positions import id_sampler, make_encoding
from workbench.runs.run import Run
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.starting_weights import StartingWeights

Settings = Sequence[tuple[Sequence[str], Any]]


OF_THE_MODEL = ("architecture", "gates", "positions", "layers", "d_model", "heads", "n_ctx")
"""Options that say what model there is."""


def build(task: str, options: Mapping[str, Any], settings: Settings, start: StartingWeights | None = None) -> RunConfig:
    """The run that a ``train`` command line, or a cell of a sweep, describes.

    Args:
        task: task name or ``file.py:Class``.
        options: the named options of the command; one that is None or missing is taken from what the
            task suggests, else from the general defaults.
        settings: (path, value) pairs, which win over the options.
        start: weights to begin from; the model is theirs then.

    Raises:
        TaskError, PositionError, TrainingError, UsageError: for whatever does not exist or fit.
    """
    refuse_early(task, options, settings)
    tree: dict[str, Any] = {part: {} for part in PARTS}
    for path, value in settings:
        if path[0] == "task":
            put(tree, path, value)
    made = make_task(task, **tree["task"])
    tree |= sections(resolved(options, suggestions(made, options), made.name))
    if start:
        tree["model"] = _model_of(start, options)
        tree["training"]["start"] = start.start
    for path, value in settings:
        put(tree, path, value)
    sizes = {"d_vocab": made.d_vocab, "d_vocab_out": made.d_vocab_out}
    return RunConfig(
        task=made,
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
    folder, _, step = named.rpartition("@")
    if not folder or not (step == "last" or (step.isascii() and step.isdigit() and len(step) < 13)):
        raise UsageError(f"--start takes a run's folder and a step, RUN@STEP or RUN@last, not {shown(named)}")
    run = Run.open(folder)
    if not run.steps:
        raise UsageError(f"run {run.name} has no checkpoint to start from; train it first")
    return StartingWeights.of(run, run.steps[-1] if step == "last" else int(step))


def _model_of(start: StartingWeights, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the model of given weights; only its id sampler, a matter of training, may be another."""
    if given := [name for name in OF_THE_MODEL if options.get(name) is not None]:
        raise UsageError(f"with --start the model is that of the weights; leave out --{given[0].replace('_', '-')}")
    return {**start.model, **({} if options.get("ids") is None else {"ids": options["ids"]})}


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
