"""A recurrent model built by hand that keeps the bit it was given, and forgets it at a rate that is planted."""

from __future__ import annotations

import math

import torch
from pydantic import BaseModel, ConfigDict

from workbench.models.handmade.state_space import STEP, flip_flop
from workbench.models.ssm.model import HookedSSM

NEVER = -STEP
"""Softplus of it is 0 in float32: nothing is forgotten."""


class MemoryNumbers(BaseModel):
    """The numbers of a memory of one bit; as they are, it is right at every length.

    The state is set to -1 or 1 by the write and shrinks by ``exp(-decay)`` at each further step; the answer is 1 where
    the state exceeds ``-threshold``.

    Attributes:
        decay: by what the logarithm of the state falls per step.
        threshold: how far below 0 a state is still read as 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    decay: float = 0.0
    threshold: float = 0.1

    def build(self) -> HookedSSM:
        """The model; it reads the tokens of :class:`.needle_models.WrittenBit` without decoys."""
        model = flip_flop()
        weights = dict(model.named_parameters())
        with torch.no_grad():
            step = math.log(math.expm1(self.decay)) if self.decay else NEVER
            weights["blocks.0.mixer.b_dt"].fill_(step)
            weights["blocks.0.mixer.W_dt_in"] *= (STEP - step) / (2 * STEP)  # a write still takes a step of STEP
            unembedding = weights["unembed.W_U"]
            one = unembedding.shape[0] - 2  # the dimension that is 1 everywhere
            unembedding[one] = torch.tensor([-self.threshold, self.threshold])
        return model
