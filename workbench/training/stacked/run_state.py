"""The state of a run between two updates: weights and the optimizer's moments, by the names of the single model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

MOMENTS = {"adamw": ("exp_avg", "exp_avg_sq"), "sgd": ("momentum_buffer",)}
"""Tensors that an optimizer keeps for each weight, as torch names them. Those of a new optimizer are 0."""


@dataclass(frozen=True)
class RunState:
    """Weights and moments after ``step`` updates.

    Attributes:
        step: updates done.
        weights: weights by their names in the model.
        moments: tensors of the optimizer, by slot (:data:`MOMENTS`) and by name of the weight. Empty = all are 0.
    """

    step: int
    weights: Mapping[str, Tensor]
    moments: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> RunState:
        """The state of a single model and its optimizer, as copies."""
        weights = {name: p.detach().clone() for name, p in model.named_parameters()}
        moments: dict[str, dict[str, Tensor]] = {}
        for name, p in model.named_parameters():
            for slot, value in optimizer.state.get(p, {}).items():
                if slot != "step" and value is not None:
                    moments.setdefault(slot, {})[name] = value.detach().clone()
        return cls(step, weights, moments)

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Copy this state into a single model and its optimizer, so that training continues from it."""
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.copy_(self.weights[name])
                slots = {slot: values[name].to(p).clone() for slot, values in self.moments.items()}
                if "exp_avg" in slots:
                    slots["step"] = torch.tensor(float(self.step))
                if slots:
                    optimizer.state[p] = slots
