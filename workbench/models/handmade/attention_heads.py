"""Attention heads built by hand whose every weight is a formula: induction, anti-induction, and a fixed lag."""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.models.handmade.blank import blank
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

SURE = 60.0
"""A score that leaves no weight for other keys at any length in use."""


def induction_model(symbols: int, score: float) -> HookedTransformer:
    """Return a model with a previous-token head and an induction head that copies the token to which it attends.

    Tokens: 0 BOS, 1..symbols; answers: the symbols. Take a sequence whose tokens are all different, except that the
    last token has one earlier occurrence at index t. The head of layer 1 then puts e^score / (e^score + t) on the key
    after that occurrence.
    """
    model = _heads(symbols, layers=2, locality=1)
    with torch.no_grad():
        _previous_token(model, 0)
        own, before, out = _places(symbols)
        attn = _attention(model, 1)
        _identity(attn.W_Q[0], own, score * model.cfg.attn_scale)
        _identity(attn.W_K[0], before)
        _copy(attn, own, out)
    return model


def anti_induction_model(symbols: int, score: float, itself: Literal["seen", "masked"] = "masked") -> HookedTransformer:
    """Return a model whose head attends to the earlier occurrence of a token, and copies this token.

    Take a sequence as in :func:`induction_model`. If the query's own key is masked, the head puts e^score / (e^score +
    t - 1) on the earlier occurrence. If it is not masked, the head puts e^score / (2 e^score + t - 1) on each of the
    two.
    """
    model = _heads(symbols, layers=1, locality=0)
    with torch.no_grad():
        token, _, out = _places(symbols)
        attn = _attention(model, 0)
        _identity(attn.W_Q[0], token, score * model.cfg.attn_scale)
        _identity(attn.W_K[0], token)
        if itself == "masked":
            attn.phi[0, 0] = -SURE
        _copy(attn, token, out)
    return model


def left_neighbour_model(symbols: int, score: float) -> HookedTransformer:
    """Return a model with a previous-token head, and a head that finds a token's earlier occurrence and copies the
    token before it.

    The answer is the left neighbour. Anti-induction reads it through the V of the matching key; induction would read
    through the K of the key after it.
    """
    model = _heads(symbols, layers=2, locality=1)
    with torch.no_grad():
        _previous_token(model, 0)
        own, before, out = _places(symbols)
        attn = _attention(model, 1)
        _identity(attn.W_Q[0], own, score * model.cfg.attn_scale)
        _identity(attn.W_K[0], own)
        attn.phi[0, 0] = -SURE
        _copy(attn, before, out)
    return model


def fixed_lag_model(symbols: int, lag: int) -> HookedTransformer:
    """Return a model whose head attends to the key ``lag`` positions before the query, whatever its token."""
    model = _heads(symbols, layers=1, locality=lag)
    with torch.no_grad():
        own, _, out = _places(symbols)
        _attention(model, 0).phi[0, lag] = SURE
        _copy(_attention(model, 0), own, out)
    return model


def _heads(symbols: int, layers: int, locality: int) -> HookedTransformer:
    """A model with embedding, read-out and heads for the given symbols; the heads do nothing yet."""
    cfg = ModelConfig(
        d_vocab=symbols + 1, d_vocab_out=symbols, n_layers=layers, d_model=3 * (symbols + 1), n_heads=1,
        d_head=symbols + 1, n_ctx=4096, positions={"name": "limit", "period": 1, "locality": locality},
        attn_only=True, normalization_type=None,
    )  # fmt: skip
    model = blank(cfg)
    own, _, out = _places(symbols)
    with torch.no_grad():
        model.embed.W_E[:, own] = torch.eye(symbols + 1)
        model.unembed.W_U[out] = torch.eye(symbols + 1)[:, 1:]
    return model


def _attention(model: HookedTransformer, layer: int) -> Any:
    return model.blocks[layer].attn


def _places(symbols: int) -> tuple[slice, slice, slice]:
    """Residual dimensions of the token itself, of the token before it, and of the copied token."""
    size = symbols + 1
    return slice(0, size), slice(size, 2 * size), slice(2 * size, 3 * size)


def _previous_token(model: HookedTransformer, layer: int) -> None:
    own, before, _ = _places(model.cfg.d_vocab - 1)
    attn = _attention(model, layer)
    attn.phi[0, 1] = SURE
    _copy(attn, own, before)


def _copy(attn: Any, reads: slice, writes: slice) -> None:
    _identity(attn.W_V[0], reads)
    size = reads.stop - reads.start
    attn.W_O[0][:, writes] = torch.eye(size)


def _identity(weight: Float[Tensor, "d_model d_head"], reads: slice, scale: float = 1.0) -> None:
    weight[reads] = scale * torch.eye(weight.shape[1])
