"""Which runs can be trained as a stack, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.models.stacked_forward import why_not_stacked_model
from workbench.tasks.registry import stored_task
from workbench.training.config import RunConfig

SAME: dict[str, Callable[[RunConfig], Any]] = {
    "task": lambda config: stored_task(config.task),
    "model": lambda config: config.model.model_copy(update={"initializer_range": 0.0}),
    "training.batch_size": lambda config: config.training.batch_size,
    "training.optimizer": lambda config: config.training.optimizer,
    "training.threads": lambda config: config.training.threads,
    "training.steps": lambda config: config.training.steps,
}
"""Settings that all runs of a stack share. Other settings of training, and the scale of initial weights, may differ."""


def why_not_stacked(configs: Sequence[RunConfig]) -> str | None:
    """Return why these runs cannot be trained as one stack, as a clause; None if they can be."""
    if not configs:
        return "there is no run"
    for config in configs:
        if (reason := _why_not(config)) is not None:
            return reason
    for name, value in SAME.items():
        first = value(configs[0])
        if any(value(config) != first for config in configs[1:]):
            return f"the runs differ in {name}"
    return None


def _why_not(config: RunConfig) -> str | None:
    """Why a run can be in no stack; None if it can be in one."""
    law = config.training
    if (reason := why_not_stacked_model(config.model)) is not None:
        return reason
    obstacles = {
        "regularizers read the activations of one model": bool(law.regularizers),
        "early stopping ends each run at a step of its own": law.early_stop is not None,
        "the task changes during training": bool(law.task_schedule),
        "training starts from the weights of another run": law.start is not None,
        "a batch has several lengths": law.lengths_per_batch > 1,
        "checkpoints contain averaged weights": law.average_weights > 0,
        "sequences begin with states of other sequences": law.carried_states != "none",
        f"training computes in {law.dtype}": law.dtype != "float32",
        f"training computes on {law.device}": law.device != "cpu",
    }
    return next((reason for reason, holds in obstacles.items() if holds), None)
