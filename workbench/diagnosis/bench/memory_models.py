"""A hand-built recurrent model that stores a bit, and forgets it at a planted rate."""

from __future__ import annotations

import math

import torch
from pydantic import BaseModel, ConfigDict

from workbench.models.handmade.state_space import STEP, flip_flop
from workbench.models.ssm.model import HookedSSM

NEVER = -STEP
"""Its softplus is 0 in float32, so that nothing is forgotten."""


class MemoryNumbers(BaseModel):
    """The weights of a recurrent model that stores one bit. With the defaults, it is correct at every length.

    The write sets the state to -1 or 1. The state shrinks by ``exp(-decay)`` at each further step. The answer is 1
    where the state exceeds ``-threshold``.

    Attributes:
        decay: decrease of the logarithm of the state per step.
        threshold: a state above minus this number is read as 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    decay: float = 0.0
    threshold: float = 0.1

    def build(self) -> HookedSSM:
        """Return the model. It reads the tokens of :class:`.needle_models.WrittenBit` without decoys."""
        model = flip_flop()
        weights = dict(model.named_parameters())
        with torch.no_grad():
            step = math.log(math.expm1(self.decay)) if self.decay else NEVER
            weights["blocks.0.mixer.b_dt"].fill_(step)
            weights["blocks.0.mixer.W_dt_in"] *= (STEP - step) / (2 * STEP)  # a write still has step size STEP
            unembedding = weights["unembed.W_U"]
            one = unembedding.shape[0] - 2  # the dimension that is 1 everywhere
            unembedding[one] = torch.tensor([-self.threshold, self.threshold])
        return model
