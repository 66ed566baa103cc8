"""The forward pass of several transformers of one config at once, each with weights and sequences of its own.

All weights have a first axis *run*. Products of matrices are batched over runs, so that a step makes as many calls as
a single model. Gains and biases of LayerNorm are multiplied into the weights of the linear map that follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.models.base.stacked_inputs import StackedInputs, Weights
from workbench.models.positions.alibi import Alibi
from workbench.models.positions.encoding import Encoding, Turn, float64_device
from workbench.models.positions.learned import Learned
from workbench.models.positions.limit import Limit
from workbench.models.positions.none import NoPositions
from workbench.models.positions.relative import Relative
from workbench.models.positions.rotary import Rotary
from workbench.models.positions.sinusoidal import Sinusoidal
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.kernels import attend
from workbench.models.transformer.model import ACTIVATIONS
from workbench.models.transformer.scores import ScoreInputs

STACKED_ENCODINGS: tuple[type[Encoding], ...] = (NoPositions, Learned, Sinusoidal, Rotary, Alibi, Limit, Relative)
"""The encodings that :func:`stacked_transformer` computes. Another encoding may use its weights in any way."""


def stacked_transformer(cfg: ModelConfig, weights: Weights, inputs: StackedInputs) -> Float[Tensor, "run query out"]:
    """Outputs at the positions in ``query_index``, or at all positions, counted sequence by sequence."""
    runs, batch, pos = inputs.tokens.shape
    dtype = weights["embed.W_E"].dtype
    cfg.positions.check(inputs.ids, cfg.n_ctx)
    forward = _Forward(cfg, weights, runs, batch, pos, inputs.ids, cfg.positions.turn(inputs.ids, cfg.d_head, dtype))
    x, projected = forward.entrance(inputs.tokens)
    for layer in range(cfg.n_layers):
        last = layer == cfg.n_layers - 1
        x = forward.block(layer, x, projected if layer == 0 else None, inputs.query_index if last else None)
    unembed = weights["embed.W_E"][:, cfg.tied_rows].mT if cfg.tied else weights["unembed.W_U"]
    return forward.after_norm("ln_final", x, unembed, weights["unembed.b_U"])


@dataclass(frozen=True)
class _Forward:
    """One forward pass; ``turn`` is the rotation of queries and keys that all layers share."""

    cfg: ModelConfig
    weights: Weights
    runs: int
    batch: int
    pos: int
    ids: Tensor
    turn: Turn | None

    def entrance(self, tokens: Int[Tensor, "run batch pos"]) -> tuple[Tensor, Tensor | None]:
        """The residual stream ``[run, batch * pos, d_model]`` before block 0, and its queries, keys and values.

        Both depend only on the token and the position id. With the same ids in all sequences they are computed once
        for each pair of token and position.
        """
        cfg, first = self.cfg, torch.arange(self.runs, device=tokens.device)[:, None, None]
        table = self.weights["embed.W_E"]
        if cfg.positions.added and len(self.ids) > 1:
            embedded = F.embedding(tokens + first * cfg.d_vocab, table.flatten(0, 1))
            return (embedded + self.vectors().view_as(embedded)).flatten(1, 2), None
        columns, index = 1, tokens
        if cfg.positions.added:
            columns = self.pos
            table = (table[:, :, None] + self.vectors()[:, None]).flatten(1, 2)
            index = tokens * columns + torch.arange(self.pos, device=tokens.device)
        index = (index + first * (cfg.d_vocab * columns)).flatten(1, 2)
        projected = self.project(0, table)
        return F.embedding(index, table.flatten(0, 1)), F.embedding(index, projected.flatten(0, 1))

    def vectors(self) -> Float[Tensor, "#rows pos d_model"]:
        """The vectors that positions add, run by run if they are learned or the ids differ."""
        cfg, rows = self.cfg, self.cfg.positions.rows(self.cfg.n_ctx)
        if rows is None:
            return cfg.positions.vectors(self.ids, None, cfg.d_model, self.weights["embed.W_E"].dtype)
        table, first = self.weights["pos_embed.W_pos"], torch.arange(self.runs, device=self.ids.device)[:, None, None]
        each = self.ids.view(self.runs, -1, self.pos) if len(self.ids) > 1 else self.ids[None]
        return F.embedding(each % rows + first * rows, table.flatten(0, 1)).flatten(0, 1)

    def after_norm(self, norm: str, x: Tensor, weight: Tensor, bias: Tensor) -> Float[Tensor, "run place out"]:
        """LayerNorm, then ``x W + b``."""
        if self.cfg.normalization_type is None:
            return torch.baddbmm(bias[:, None], x, weight)
        gain, shift = self.weights[f"{norm}.w"], self.weights[f"{norm}.b"]
        bias = torch.baddbmm(bias[:, None], shift[:, None], weight)
        return torch.baddbmm(bias, F.layer_norm(x, x.shape[-1:], eps=self.cfg.eps), gain[:, :, None] * weight)

    def project(self, layer: int, x: Tensor) -> Float[Tensor, "run place qkv"]:
        """Queries, keys and values of all heads."""
        at = f"blocks.{layer}.attn."
        weight = torch.stack([self.weights[f"{at}W_{part}"] for part in "QKV"], 1)  # run part head d_model d_head
        bias = torch.stack([self.weights[f"{at}b_{part}"] for part in "QKV"], 1)
        return self.after_norm(f"blocks.{layer}.ln1", x, weight.permute(0, 3, 1, 2, 4).flatten(2), bias.flatten(1))

    def block(self, layer: int, x: Tensor, projected: Tensor | None, query_index: Tensor | None) -> Tensor:
        """The residual stream after a block, at the positions in ``query_index`` if it is given."""
        cfg, at = self.cfg, f"blocks.{layer}."
        z = self.attention(layer, self.project(layer, x) if projected is None else projected)
        if query_index is not None:
            first = torch.arange(self.runs, device=x.device)[:, None] * (self.batch * self.pos)
            x, z = (F.embedding(query_index + first, values.flatten(0, 1)) for values in (x, z))
        weights = self.weights
        mixed = torch.baddbmm(weights[f"{at}attn.b_O"][:, None], z, weights[f"{at}attn.W_O"].flatten(1, 2))
        if cfg.norm_after_attention:
            gain, shift = weights[f"{at}ln1_post.w"][:, None], weights[f"{at}ln1_post.b"][:, None]
            mixed = F.layer_norm(mixed, mixed.shape[-1:], eps=cfg.eps) * gain + shift
        x = x + mixed
        if cfg.attn_only:
            return x
        hidden = self.after_norm(f"{at}ln2", x, weights[f"{at}mlp.W_in"], weights[f"{at}mlp.b_in"])
        hidden = ACTIVATIONS[cfg.act_fn](hidden)
        return x + torch.baddbmm(weights[f"{at}mlp.b_out"][:, None], hidden, weights[f"{at}mlp.W_out"])

    def attention(self, layer: int, projected: Float[Tensor, "run place qkv"]) -> Float[Tensor, "run place heads"]:
        """The weighted means of the values, all heads side by side."""
        cfg = self.cfg
        parts = projected.view(self.runs * self.batch, self.pos, 3, cfg.n_heads, cfg.d_head)
        if self.turn is None:
            q, k, v = parts.unbind(2)
        else:
            both = cfg.positions.rotate(parts[:, :, :2].flatten(2, 3), self.turn)
            (q, k), v = both.chunk(2, 2), parts[:, :, 2]
        return attend(self.score_inputs(layer, q, k), v).reshape(self.runs, -1, cfg.n_heads * cfg.d_head)

    def score_inputs(self, layer: int, q: Tensor, k: Tensor) -> ScoreInputs:
        """All inputs of the scores of a layer."""
        cfg, at = self.cfg, f"blocks.{layer}.attn."
        factor = None
        keys = torch.arange(1, self.pos + 1, dtype=torch.float64, device=float64_device(q.device))
        log_keys = keys.log().to(q.dtype).to(q.device)
        if cfg.log_scaling in ("all", "learned"):
            factor = log_keys[None, :, None]
            if cfg.log_scaling == "learned":
                factor = self.of_sequences(factor * self.weights[f"{at}log_gain"][:, None])
        if not cfg.positions.biased:
            return ScoreInputs(q, k, factor=factor, attention=cfg.attention)
        bias = self.bias_weights(layer, q)
        if cfg.log_scaling == "local":
            bias = bias * log_keys[None, :, None, None]
        return ScoreInputs(q, k, cfg.positions, self.ids, bias, factor, cfg.attention)

    def bias_weights(self, layer: int, like: Tensor) -> Float[Tensor, "#sequence 1 head column"]:
        """The weights of a layer's position bias, of each sequence if they are learned."""
        scheme, at = self.cfg.positions, f"blocks.{layer}.attn."
        if not scheme.bias_hook:
            return scheme.fixed_weights(self.cfg.n_heads, like)[None, None]
        prefix = "pos_bias."
        shared = {name.removeprefix(prefix): w for name, w in self.weights.items() if name.startswith(prefix)}
        own = {name: self.weights[f"{at}{name}"] for name in scheme.attention_parameters(self.cfg.n_heads)}
        of_runs = []
        for run in range(self.runs):
            attn = SimpleNamespace(cfg=self.cfg, **{name: weight[run] for name, weight in own.items()})
            of_runs.append(scheme.bias_weights(attn, {name: weight[run] for name, weight in shared.items()}, like))
        return self.of_sequences(torch.stack(of_runs)[:, None])

    def of_sequences(self, of_runs: Float[Tensor, "run *rest"]) -> Float[Tensor, "sequence *rest"]:
        """Values of each run, once for each of its sequences."""
        return of_runs.repeat_interleave(self.batch, 0)
