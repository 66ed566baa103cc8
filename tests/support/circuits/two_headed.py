"""Exact counters of two heads a layer: one of which is necessary, or two that do the same work."""

from __future__ import annotations

import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import UNIT, majority


def two_headed(copies: int) -> HookedTransformer:
    """The exact counter with two heads a layer: the second one writes nothing, or what the first one writes.

    With two copies each writes half, and the threshold is so low that half of it is enough.
    """
    whole = majority()
    sizes = {
        name: getattr(whole.cfg, name) for name in ("d_vocab", "d_model", "d_head", "d_mlp", "n_ctx", "d_vocab_out")
    }
    cfg = ModelConfig(**sizes, n_layers=2, n_heads=2, positions="none", act_fn="relu", normalization_type=None)
    model = HookedTransformer(cfg).eval()
    given = dict(whole.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.zero_()
            if parameter.shape == given[name].shape:
                parameter.copy_(given[name])
                continue
            for head in range(copies):
                parameter[head] = given[name][0] / (copies if name.endswith("W_O") else 1)
        if copies == 2:
            dict(model.named_parameters())["blocks.0.mlp.W_in"][UNIT] /= 4
    return model
