"""The optimizers, and the learning rate as a pure function of the step."""

from __future__ import annotations

import inspect
from typing import TypeVar, cast

import torch
from torch import nn

from workbench.training.config import TrainingConfig
from workbench.training.learning_rate_schedules import RATE_SCHEDULES

Kind = TypeVar("Kind", bound=type[torch.optim.Optimizer])


def _plain(kind: Kind) -> Kind:
    """The same optimizer without torch's wrappers for compiled graphs, which training never uses.

    On their first call these wrappers import the whole compiler: 1,300 modules, one second at the start of every
    training.
    """
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    wrapped = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return cast(Kind, type(kind.__name__, (kind,), {**wrapped, "step": step}))


SGD, AdamW = _plain(torch.optim.SGD), _plain(torch.optim.AdamW)


def learning_rate(config: TrainingConfig, step: int) -> float:
    """Learning rate of update ``step`` (0-based); never 0 during warm-up."""
    if step < config.warmup:
        return config.learning_rate * (step + 1) / (config.warmup + 1)
    done = (step - config.warmup) / max(1, config.steps - config.warmup)
    return config.learning_rate * RATE_SCHEDULES.find(config.rate_law)(done)


def decays(name: str) -> bool:
    """Whether weight decay acts on the parameter of this name: on the matrices ``W_...`` only."""
    return name.rsplit(".", 1)[-1].startswith("W_")


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW, or SGD with momentum; weight decay on matrices only (decoupled for AdamW, in the gradient for SGD)."""
    matrices = [p for n, p in model.named_parameters() if decays(n)]
    others = [p for n, p in model.named_parameters() if not decays(n)]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if config.optimizer == "sgd":
        return SGD(groups, lr=config.learning_rate, momentum=config.momentum)
    return AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)
