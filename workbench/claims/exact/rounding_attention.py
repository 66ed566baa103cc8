"""Attention rounded to p bits, and the attention weight of a key with a local term."""

from __future__ import annotations

import numpy as np
import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.blank import without_weights
from workbench.theory.limit_transformers.limit_heads import limit_heads
from workbench.theory.limit_transformers.precision import (
    hardmax_weights,
    p_bit_weights,
)

FORWARD = 1_000
"""Keys up to which the model itself is run; beyond, its tables are read."""


def first_hard_length(bits: int, gamma: float, near: int) -> int:
    """Return the smallest number of keys, from near - 2 on, at which two scores with a gap gamma round to a hardmax.

    What is rounded away at some number of keys is so at all larger ones.
    """
    scores = np.array([0.0, -gamma])
    low = max(near - 2, 2)
    return next(
        k for k in range(low, near + 3) if np.array_equal(p_bit_weights(scores, k, bits), hardmax_weights(scores))
    )


def local_key_weight(m: float, keys: int, scaling: str) -> float:
    """Return the weight of the previous key at the last query, in a head that adds m to the score of lag 1 only."""
    cfg = ModelConfig(
        d_vocab=2, n_layers=1, d_model=2, n_heads=1, d_head=2, n_ctx=keys, d_vocab_out=2, attn_only=True,
        normalization_type=None, positions={"name": "limit", "period": 1, "locality": 1}, log_scaling=scaling,
    )  # fmt: skip
    model = without_weights(HookedTransformer(cfg).double())
    with torch.no_grad():
        model.blocks[0].attn.phi[0, 1] = m  # type: ignore[union-attr,operator,index]
        if keys <= FORWARD:
            tokens = torch.zeros(1, keys, dtype=torch.long)
            _, cache = model.run_with_cache(tokens, names_filter=["blocks.0.attn.hook_pattern"])
            return float(cache["blocks.0.attn.hook_pattern"][0, 0, -1, -2])
    (head,) = limit_heads(model, None)
    scores = head.scores(np.zeros(keys, dtype=np.int64))
    weights = np.exp(scores - scores.max())
    return float(weights[-2] / weights.sum())
