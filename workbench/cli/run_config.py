"""The run that the options of ``lengthlens train``, or a cell of a sweep, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.early_refusal import PARTS, refuse_early
from workbench.cli.options import length_range, put, resolved, suggestions
from workbench.core.construct import construct
from workbench.models.architectures import config_class
from workbench.models.positions import id_sampler, make_encoding
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.errors import TrainingError

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
    refuse_early(task, options, settings)
    tree: dict[str, Any] = {part: {} for part in PARTS}
    for path, value in settings:
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
