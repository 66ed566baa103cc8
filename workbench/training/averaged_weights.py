"""The exponential moving average of the weights of a training run."""

from __future__ import annotations

from copy import deepcopy

import torch

from workbench.models.base.hooked import Hooked


class AveragedWeights:
    """A copy of a model whose weights are the exponential moving average of those of the model.

    After each update it is ``decay`` times the former average plus ``1 - decay`` times the new weights. It starts at
    the initial weights.

    Args:
        model: the trained model, with its initial weights.
        decay: share of the former average that an update keeps, from 0 to below 1.
    """

    def __init__(self, model: Hooked, decay: float) -> None:
        self.model = deepcopy(model)
        self.decay = decay
        self._own = [p.requires_grad_(False) for p in self.model.parameters()]
        self._trained = list(model.parameters())

    @torch.no_grad()
    def restart(self) -> None:
        """Set the average to the present weights."""
        for own, trained in zip(self._own, self._trained, strict=True):
            own.copy_(trained)

    @torch.no_grad()
    def update(self) -> None:
        """Add the present weights to the average."""
        for own, trained in zip(self._own, self._trained, strict=True):
            own.mul_(self.decay).add_(trained, alpha=1 - self.decay)
