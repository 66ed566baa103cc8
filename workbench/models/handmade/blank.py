"""Models with all weights 0, from which hand-made and compiled models start."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

M = TypeVar("M", bound=nn.Module)


def without_weights(model: M) -> M:
    """Set every weight of a model to 0, and return the model."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    return model


def blank(cfg: ModelConfig) -> HookedTransformer:
    """Return a transformer in which every weight is 0."""
    model = without_weights(HookedTransformer(cfg))
    model.eval()
    return model
