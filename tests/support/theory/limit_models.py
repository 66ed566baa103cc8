"""Small limit transformers with random or stated weights, and probe strings for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer


def limit_model(
    period: int = 2, locality: int = 1, *, seed: int = 0, d_vocab: int = 4, n_layers: int = 1, **config: Any
) -> HookedTransformer:
    """A model with limit positions, random weights of moderate size and a random local term, in float64."""
    settings: dict[str, Any] = {
        "positions": {"name": "limit", "period": period, "locality": locality},
        "normalization_type": None,
        "initializer_range": 0.5,
        "d_model": 8,
        "n_heads": 2,
        "n_ctx": 512,
    }
    model = HookedTransformer(ModelConfig(d_vocab=d_vocab, n_layers=n_layers, **settings | config), seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for block in model.blocks:
            if hasattr(block.attn, "phi"):
                block.attn.phi.normal_(0.0, 1.0, generator=generator)
    return model.double()  # type: ignore[no-any-return]


def strings(count: int, length: int, d_vocab: int = 4, seed: int = 0) -> NDArray[np.int64]:
    """Uniform random strings behind BOS (id 0)."""
    drawn = np.random.default_rng(seed).integers(1, d_vocab, (count, length))
    drawn[:, 0] = 0
    return drawn
