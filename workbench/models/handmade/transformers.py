"""Transformers built by hand, whose every quantity is known in closed form.

Probes, circuits and verdicts are tested on them. There is an exact counter that is scale-robust by construction, broken
variants of it that depend on length, and heads whose attention is a formula.
"""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from workbench.models.handmade.blank import blank
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

# Residual dimensions of the counter.
ONE, BOS, REAL, ZERO_TOKEN, ONE_TOKEN, UNIT, MEAN, COARSE, CLEAN, LATE = range(10)


def key_head(margin: float, n_ctx: int = 4096) -> HookedTransformer:
    """One head that gives every key token (id 2) the score ``margin`` and all other keys 0.

    Tokens: 0 BOS, 1 plain, 2 key. Let K be the number of visible keys and k the number of key tokens among them. For
    every query the mass on the key tokens is k e^m / (k e^m + K - k). With margin 0 attention is uniform.
    """
    model = blank(
        ModelConfig(
            d_vocab=3, n_layers=1, d_model=4, n_heads=1, d_head=2, n_ctx=n_ctx, d_vocab_out=2,
            attn_only=True, normalization_type=None,
        )
    )  # fmt: skip
    constant, key, attended = 0, 1, 2
    weights = dict(model.named_parameters())
    attn = "blocks.0.attn"
    with torch.no_grad():
        weights["embed.W_E"][:, constant] = 1.0
        weights["embed.W_E"][2, key] = 1.0
        weights[f"{attn}.W_Q"][0, constant, 0] = 1.0
        weights[f"{attn}.W_K"][0, key, 0] = margin * model.cfg.attn_scale
        weights[f"{attn}.W_V"][0, key, 1] = 1.0
        weights[f"{attn}.W_O"][0, 1, attended] = 1.0
        weights["unembed.W_U"][attended, 1] = 1.0
    return model


def uniform_head(n_ctx: int = 4096) -> HookedTransformer:
    """One head that attends equally to every visible key: a hardmax over all of them."""
    return key_head(0.0, n_ctx)


def key_tokens(batch: int, length: int, keys: int, generator: torch.Generator) -> Int[Tensor, "batch pos"]:
    """Sequences [batch, pos] for :func:`key_head`: BOS, then ``keys`` key tokens at random positions.

    The key tokens are among the first ``length - 16`` positions, so that each of the last 16 queries sees all of them.
    """
    place = torch.rand(batch, length, generator=generator)
    place[:, max(keys, length - 16) :] = 2.0
    chosen = place.argsort(1)[:, :keys]
    tokens = torch.ones(batch, length, dtype=torch.long).scatter(1, chosen, 2)
    return torch.cat([torch.zeros(batch, 1, dtype=torch.long), tokens], 1)


def majority(gain_length: int = 4096, window: int | None = None, n_ctx: int = 4096) -> HookedTransformer:
    """An exact counter for the task majority (tokens BOS 0 1, answers 0 1), built without training.

    A uniform head writes (#ones - #zeros) / K and 1 / K. An MLP compares them with gain G = 4 (gain_length + 1) through
    S(y) = relu(y) - relu(y - 1), and a second MLP rounds the result to a bit. Let d be the difference of counts and K =
    n + 1 the number of keys. The comparison is S(G (d - 1/2) / K). It is exact for every n <= gain_length. Beyond that
    length it is wrong exactly if d >= 1 and G (d - 1/2) / K <= 1/2.

    Args:
        gain_length: longest prefix at which the comparison is exact. A small value gives a broken variant with a
            blurred threshold, which is wrong only on small-margin inputs.
        window: if given, keys after this position are masked out by a score of -60 from learned positions. This is the
            broken variant that sees only the first ``window`` tokens.
        n_ctx: largest number of positions (matters only with ``window``).
    """
    model = blank(
        ModelConfig(
            d_vocab=3, n_layers=2, d_model=10, n_heads=1, d_head=2, d_mlp=2, n_ctx=n_ctx, d_vocab_out=2,
            positions="none" if window is None else "learned", act_fn="relu", normalization_type=None,
        )
    )  # fmt: skip
    gain = 4.0 * (gain_length + 1)
    weights = dict(model.named_parameters())
    query, key, value, out = (weights[f"blocks.0.attn.W_{part}"] for part in "QKVO")
    with torch.no_grad():
        embedding, unembedding = weights["embed.W_E"], weights["unembed.W_U"]
        embedding[:, ONE] = 1.0
        embedding[0, BOS] = 1.0
        embedding[1:, REAL] = 1.0
        embedding[1, ZERO_TOKEN] = 1.0
        embedding[2, ONE_TOKEN] = 1.0
        value[0, BOS, 0] = 1.0
        value[0, ONE_TOKEN, 1] = 1.0
        value[0, ZERO_TOKEN, 1] = -1.0
        out[0, 0, UNIT] = 1.0
        out[0, 1, MEAN] = 1.0
        if window is not None:
            weights["pos_embed.W_pos"][window + 1 :, LATE] = 1.0
            query[0, ONE, 0] = 1.0
            key[0, LATE, 0] = -60.0 * model.cfg.attn_scale
        # G (d - 1/2) / K: at least 2 where ones lead, at most -2 elsewhere, and far below 0 at BOS.
        _step(weights, 0, {MEAN: gain, UNIT: -gain / 2, BOS: -2 * gain}, COARSE)
        _step(weights, 1, {COARSE: 2.0, ONE: -0.5}, CLEAN)
        unembedding[CLEAN, 1], unembedding[CLEAN, 0] = 1.0, -1.0
        unembedding[ONE, 1], unembedding[ONE, 0] = -0.5, 0.5
    return model


def _step(weights: dict[str, torch.nn.Parameter], layer: int, reads: dict[int, float], writes: int) -> None:
    """Let an MLP write S(y) = relu(y) - relu(y - 1), where y is the given linear combination of dimensions."""
    inner, outer = weights[f"blocks.{layer}.mlp.W_in"], weights[f"blocks.{layer}.mlp.W_out"]
    for unit, sign in ((0, 1.0), (1, -1.0)):
        for dimension, weight in reads.items():
            inner[dimension, unit] = weight
        outer[unit, writes] = sign
    inner[ONE, 1] -= 1.0
