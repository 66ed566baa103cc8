"""The forward pass of several models of one config at once, each with weights and sequences of its own."""

from __future__ import annotations

from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from workbench.models.architectures import make_model
from workbench.models.base.architecture import Architecture
from workbench.models.base.stacked_inputs import StackedInputs, Weights
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.stacked_forward import STACKED_ENCODINGS, stacked_transformer


def why_not_stacked_model(model: Architecture) -> str | None:
    """Return why models of this config cannot be computed as one stack, as a clause; None if they can be."""
    if model.ids.predicted:
        return "the model predicts position ids"
    if not isinstance(model, ModelConfig):
        return None
    if type(model.positions) not in STACKED_ENCODINGS:
        return f"the forward pass of a stack does not know positions {model.positions.name}"
    return "hardmax attention depends on the last bits of its scores" if model.attention == "hardmax" else None


def computed_together(model: Architecture) -> bool:
    """Return whether a stack computes several models of this config in one forward pass, which is faster.

    Other models are computed one after the other: several state-space models together exceed the cache.
    """
    return isinstance(model, ModelConfig)


def stacked_forward(cfg: Architecture, weights: Weights, inputs: StackedInputs) -> Float[Tensor, "run query out"]:
    """Return outputs at the positions in ``query_index``, or at all positions, counted sequence by sequence.

    Args:
        cfg: the config of all models; one for which :func:`why_not_stacked_model` has no reason.
        weights: the weights of all models.
        inputs: their sequences.
    """
    if isinstance(cfg, ModelConfig):
        return stacked_transformer(cfg, weights, inputs)
    runs, batch, _ = inputs.tokens.shape
    module, outputs = _module(cfg), []
    for run in range(runs):
        ids = inputs.ids if len(inputs.ids) == 1 else inputs.ids[run * batch : (run + 1) * batch]
        of_run = {name: values[run] for name, values in weights.items()}
        each = functional_call(module, of_run, (inputs.tokens[run], ids)).flatten(0, 1)
        outputs.append(each if inputs.query_index is None else each[inputs.query_index[run]])
    return torch.stack(outputs)


@lru_cache(maxsize=4)
def _module(cfg: Architecture) -> nn.Module:
    """A model of this config, whose weights are replaced in each call."""
    model: nn.Module = make_model(cfg)
    return model.requires_grad_(False)
