"""A model that adds planted numbers, by hand."""

from __future__ import annotations

import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks.sequences.planted import PlantedCorrelation


def adder(task: PlantedCorrelation) -> HookedTransformer:
    """Adds planted numbers: a head means over them, and the outputs are -(c - k mean)^2 but for a constant.

    Right where sums stay below the modulus.
    """
    m = task.modulus
    cfg = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=m, n_layers=1, d_model=4, n_heads=1, d_head=2, n_ctx=256, attn_only=True,
        normalization_type=None,
    )  # fmt: skip
    model = HookedTransformer(cfg)
    one, is_number, number, read = range(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.embed.W_E[:, one] = 1.0
        model.embed.W_E[1:m, is_number] = 1.0
        model.embed.W_E[:m, number] = torch.arange(float(m))
        attn = model.blocks[0].attn
        attn.W_Q[0, one, 0] = 1.0
        attn.W_K[0, is_number, 0] = 30.0 * cfg.attn_scale
        attn.W_V[0, number, 1] = 1.0
        attn.W_O[0, 1, read] = task.k
        answers = torch.arange(float(m))
        model.unembed.W_U[read] = 2.0 * answers
        model.unembed.b_U.copy_(-(answers**2))
    return model.double().eval()
