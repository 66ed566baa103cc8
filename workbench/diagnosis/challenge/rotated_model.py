"""A transformer with the same function in a rotated basis of the residual stream.

The numbers of a hand-built model are readable: each dimension has one meaning, and most weights are 0. After a random
rotation of the residual stream, the model computes the same up to rounding, but no single weight shows the flaw.
"""

from __future__ import annotations

import numpy as np
import torch

from workbench.models.transformer.model import HookedTransformer

WRITES = frozenset({"W_E", "W_pos", "W_O", "W_out", "b_O", "b_out"})
"""Weights whose last axis is the residual stream."""
READS = frozenset({"W_Q", "W_K", "W_V", "W_in", "W_U"})
"""Weights whose second last axis is the residual stream."""


def rotation(width: int, rng: np.random.Generator) -> torch.Tensor:
    """Return a random rotation ``[width, width]`` that keeps the mean of a row, as LayerNorm requires."""
    basis = np.linalg.qr(np.column_stack([np.ones(width), rng.standard_normal((width, width - 1))]))[0]
    turn, upper = np.linalg.qr(rng.standard_normal((width - 1, width - 1)))
    whole = np.eye(width)
    whole[1:, 1:] = turn * np.sign(np.diag(upper))
    return torch.as_tensor(basis @ whole @ basis.T)


def rotate(model: HookedTransformer, rng: np.random.Generator) -> HookedTransformer:
    """Return the model in a rotated basis. The gains of its LayerNorms must be 1, and their biases 0.

    Raises:
        ValueError: for a LayerNorm with another gain or bias, which a rotation would change.
    """
    turn = rotation(model.cfg.d_model, rng)
    rotated = HookedTransformer(model.cfg)
    rotated.eval()
    old = dict(model.named_parameters())
    with torch.no_grad():
        for name, parameter in rotated.named_parameters():
            kind, value = name.rpartition(".")[2], old[name].double()
            if ".ln" in f".{name}" and not bool((value == (kind == "w")).all()):
                raise ValueError(f"{name} has a gain other than 1 or a bias other than 0, so it cannot be rotated")
            if kind in WRITES:
                value = value @ turn
            elif kind in READS:
                value = turn.T @ value
            parameter.copy_(value.to(parameter))
    return rotated
