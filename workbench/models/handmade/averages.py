"""Models built by hand for the average tasks: a sine of an average, the average of a class, and in-context k-grams.

The constructions are those of Izzo, Nichani, Lee (arXiv 2510.27015, section on experiments and definition 5.4). Every
weight is a formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.models.handmade.blank import blank
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

HIDDEN = 60.0
"""A key whose score is lower than all others by this number has no weight at any length in use."""


def sine_of_average(omega: float, error: float = 0.005) -> HookedTransformer:
    """The task ``simple``: uniform attention computes the average, an MLP a piecewise linear sine of it.

    With pieces of width h the error of the sine is at most (omega h)^2 / 8. The input and output weights of each hidden
    unit have equal norms. The sum of their products is then the total change of slope, the smallest that any weights
    allow.

    Args:
        omega: frequency.
        error: largest error of the pieces.
    """
    constant, bos, sign, mean, sine = range(5)
    pieces = math.ceil(2 * omega / math.sqrt(8 * error))
    knots = np.linspace(-1, 1, pieces + 1)
    slopes = np.diff(np.sin(omega * knots)) / np.diff(knots)
    bends = np.diff(slopes, prepend=0.0)
    model = blank(
        ModelConfig(
            d_vocab=3, d_vocab_out=1, n_layers=1, d_model=5, n_heads=1, d_head=1, d_mlp=pieces, n_ctx=16_384,
            act_fn="relu", normalization_type=None,
        )
    )  # fmt: skip
    block: Any = model.blocks[0]
    with torch.no_grad():
        model.embed.W_E[:, constant] = 1.0
        model.embed.W_E[0, bos] = 1.0
        model.embed.W_E[1:, sign] = torch.tensor([1.0, -1.0])
        _hide(block.attn, constant, bos)
        block.attn.W_V[0, sign, 0] = 1.0
        block.attn.W_O[0, 0, mean] = 1.0
        roots = _floats(np.sqrt(np.abs(bends)))
        block.mlp.W_in[mean] = roots
        block.mlp.b_in[:] = -roots * _floats(knots[:-1])
        block.mlp.W_out[:, sine] = roots * _floats(np.sign(bends))
        block.mlp.b_out[sine] = float(np.sin(-omega))
        model.unembed.W_U[sine, 0] = 1.0
    return model


def class_average(p: int, k: int) -> HookedTransformer:
    """The task ``mod_p_mean``: attention to the positions t = k mod p, by periodic position vectors.

    Args:
        p: period.
        k: the class.
    """
    constant, bos, one_tokens, mean, residue = 0, 1, 2, 3, 4
    model = blank(
        ModelConfig(
            d_vocab=3, d_vocab_out=1, n_layers=1, d_model=4 + p, n_heads=1, d_head=1, n_ctx=16_384, attn_only=True,
            positions={"name": "limit", "period": p, "locality": 0}, normalization_type=None,
        )
    )  # fmt: skip
    attn: Any = model.blocks[0].attn
    with torch.no_grad():
        model.embed.W_E[:, constant] = 1.0
        model.embed.W_E[0, bos] = 1.0
        model.embed.W_E[2, one_tokens] = 1.0
        model.pos_embed.W_pos[:, residue:] = torch.eye(p)  # BOS has id 0, so that token t has id t
        _hide(attn, constant, bos)
        attn.W_K[0, residue + k, 0] = HIDDEN * model.cfg.attn_scale
        attn.W_V[0, one_tokens, 0] = 1.0
        attn.W_O[0, 0, mean] = 1.0
        model.unembed.W_U[mean, 0] = 1.0
    return model


def kgram_average(symbols: int, k: int, score: float, local: float = 12.0) -> HookedTransformer:
    """Return a two-layer model of the task ``in_context_kgram``, for inputs whose last k tokens have occurred before.

    Heads of the first layer copy the tokens at lags 1, .., k. Each adds a bias on its lag, multiplied by the log of the
    number of keys, to the scores. A head of the second layer compares the k predecessors of a key with the last k
    tokens of the query, index by index. Each match adds ``score`` to the key, and the head copies the key's own token.
    A key with k matches has e^score times the weight of a key with k - 1.

    Args:
        symbols: size of the alphabet.
        k: length of the key in tokens.
        score: per matching token.
        local: local term of the lag that a head copies; its position margin is smaller by one.
    """
    size = symbols + 1
    token = slice(0, size)
    back = [slice((lag) * size, (lag + 1) * size) for lag in range(1, k + 1)]
    out = slice((k + 1) * size, (k + 2) * size)
    model = blank(
        ModelConfig(
            d_vocab=size, d_vocab_out=symbols, n_layers=2, d_model=(k + 2) * size, n_heads=k, d_head=k * size,
            n_ctx=16_384, attn_only=True, positions={"name": "limit", "period": 1, "locality": k},
            log_scaling="local", normalization_type=None,
        )
    )  # fmt: skip
    blocks: Any = model.blocks
    first, second = blocks[0].attn, blocks[1].attn
    eye = torch.eye(size)
    with torch.no_grad():
        model.embed.W_E[:, token] = eye
        model.unembed.W_U[out] = eye[:, 1:]
        for head, writes in enumerate(back):
            first.phi[head, head + 1] = local
            first.W_V[head, token, :size] = eye
            first.W_O[head, :size, writes] = eye
        for place, (reads, matches) in enumerate(zip([token, *back[:-1]], back, strict=True)):
            at = slice(place * size, (place + 1) * size)
            second.W_Q[0, reads, at] = score * model.cfg.attn_scale * eye
            second.W_K[0, matches, at] = eye
        second.W_K[0, [writes.start for writes in back]] = 0.0  # BOS matches nothing, itself included
        second.W_V[0, token, :size] = eye
        second.W_O[0, :size, out] = eye
    return model


def _hide(attn: Any, kind: int, hidden: int) -> None:
    """Let every query give a kind of key a score of minus :data:`HIDDEN`."""
    attn.W_Q[0, kind, 0] = 1.0
    attn.W_K[0, hidden, 0] = -HIDDEN * attn.cfg.attn_scale


def _floats(values: NDArray[np.float64]) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
