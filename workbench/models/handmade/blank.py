"""A model with all weights 0, from which hand-made models start."""

from __future__ import annotations

import torch

from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer


def blank(cfg: ModelConfig) -> HookedTransformer:
    """Return a model in which every weight is 0."""
    model = HookedTransformer(cfg)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    model.eval()
    return model
