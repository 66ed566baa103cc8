"""Effective attention: the linear map from the inputs of a state-space layer to its outputs.

For fixed gates, step sizes, B and C a layer is linear in its inputs x, channel by channel:

    y_t = sum over s <= t of M[t, s] x_s,   M[t, s] = sum over states of C_t (a_t a_(t-1) .. a_(s+1)) dt_s B_s

(the hidden attention of Ali, Zimerman, Wolf 2024, 2403.01590). A channel corresponds to a head of attention. Weights
may be negative and need not add up to 1. The skip D x is not part of the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.core.names import Gates
from workbench.models.ssm.scan import gates_of

PARTS = ("dt", "B", "C")


def effective_hooks(layer: int) -> list[str]:
    """Names of the activations from which the map of a layer is computed, together with its weights."""
    return [f"blocks.{layer}.mixer.hook_ssm_{part}" for part in PARTS]


@dataclass(frozen=True)
class EffectiveInputs:
    """The activations from which the effective attention of one layer is computed.

    Attributes:
        dt: step sizes.
        b, c: input and output vectors of the states.
        decay: rates A.
        gates: their kind.
    """

    dt: Float[Tensor, "batch pos d_inner"]
    b: Float[Tensor, "batch pos d_state"]
    c: Float[Tensor, "batch pos d_state"]
    decay: Float[Tensor, "d_inner d_state"]
    gates: Gates

    def weights(self, queries: Sequence[int]) -> Float[Tensor, "batch d_inner query key"]:
        """M [batch, d_inner, query, key] for the chosen queries and all keys, exactly 0 after the query.

        Time and memory are proportional to queries x keys: the product of gates is computed backwards from each query.

        Args:
            queries: indices on the position axis, ascending.
        """
        batch, pos, inner = self.dt.shape
        weights = self.dt.new_zeros(batch, inner, len(queries), pos)
        carried = self.dt.new_zeros(batch, inner, len(queries), self.b.shape[-1])
        at = torch.tensor(list(queries), device=self.dt.device)
        for s in range(int(at.max()), -1, -1):
            begins = (at == s)[:, None]
            carried = torch.where(begins, self.c[:, None, s : s + 1], carried)
            weights[..., s] = (carried @ self.b[:, None, s, :, None])[..., 0] * self.dt[:, s, :, None]
            carried = carried * gates_of(self.dt[:, s : s + 1], self.decay, self.gates)[:, 0, :, None]
        return weights


def effective_inputs(model: Any, cache: Any, layer: int) -> EffectiveInputs:
    """The inputs of the map of a layer, from a cache that contains :func:`effective_hooks`.

    Args:
        model: a :class:`workbench.models.ssm.model.HookedSSM`.
        cache: a dict of activations by hook name, or TransformerLens's ``ActivationCache``.
        layer: the layer's number.
    """
    mixer = model.blocks[layer].mixer
    dt, b, c = (cache[name] for name in effective_hooks(layer))
    return EffectiveInputs(dt, b, c, mixer.A_log.detach().exp(), mixer.cfg.gates)
