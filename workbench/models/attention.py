"""Causal attention that is fused while nobody looks, and explicit as soon as somebody does."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from transformer_lens.hook_points import HookPoint

from workbench.models.asked import Asked
from workbench.models.config import ModelConfig
from workbench.models.encodings import Alibi, Limit, Rotary, Turn, alibi_slopes, rotate
from workbench.models.kernels import attend
from workbench.models.layers import affine, observed
from workbench.models.scores import ScoreInputs


@dataclass(frozen=True)
class Places:
    """What one forward pass knows of its positions, shared by all layers.

    Attributes:
        ids: position ids.
        turn: the rotation of each id, where positions are rotary.
        log_keys: log K of each query, K the number of keys it sees, where scores are scaled by it.
    """

    ids: Int[Tensor, "#batch pos"]
    turn: Turn | None = None
    log_keys: Float[Tensor, " pos"] | None = None


class Attention(nn.Module):
    """Multi-head causal attention with TransformerLens's weights and hooks.

    ``hook_attn_scores`` holds scores after bias, scaling and masking (-inf after the query), ``hook_pattern``
    the weights, both ``[batch, head, query, key]``. They exist only while a hook is attached to one of them;
    otherwise a kernel gives the same output without n^2 memory.

    Beside TransformerLens's: ``phi`` with ``hook_local_bias [batch, pos, head, lag]``, each query's bias by
    lag (limit positions); ``log_gain``, which starts at 1 (log scaling ``learned``); and
    ``hook_score_factor [batch, pos, head]``, what each row of scores is multiplied by (log scaling ``all`` and
    ``learned``).
    """

    def __init__(self, cfg: ModelConfig) -> None:
        super().__init__()
        self.cfg = cfg
        shape = (cfg.n_heads, cfg.d_model, cfg.d_head)
        self.W_Q = nn.Parameter(torch.empty(shape))
        self.W_K = nn.Parameter(torch.empty(shape))
        self.W_V = nn.Parameter(torch.empty(shape))
        self.W_O = nn.Parameter(torch.empty(cfg.n_heads, cfg.d_head, cfg.d_model))
        self.b_Q = nn.Parameter(torch.zeros(cfg.n_heads, cfg.d_head))
        self.b_K = nn.Parameter(torch.zeros(cfg.n_heads, cfg.d_head))
        self.b_V = nn.Parameter(torch.zeros(cfg.n_heads, cfg.d_head))
        self.b_O = nn.Parameter(torch.zeros(cfg.d_model))
        self.hook_q, self.hook_k, self.hook_v, self.hook_z = (HookPoint() for _ in range(4))
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        if isinstance(cfg.positions, Rotary):
            self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        if isinstance(cfg.positions, Limit):
            self.phi = nn.Parameter(torch.zeros(cfg.n_heads, cfg.positions.locality + 1))
            self.hook_local_bias = HookPoint()
        if cfg.log_scaling == "learned":
            self.log_gain = nn.Parameter(torch.ones(cfg.n_heads))
        if cfg.log_scaling in ("all", "learned"):
            self.hook_score_factor = HookPoint()

    def forward(
        self, projected: Float[Tensor, "batch pos qkv"], at: Places, only: Asked | None = None
    ) -> Float[Tensor, "rows places d_model"]:
        """What attention adds to the residual stream, from what :meth:`project` made of it; ``only`` where asked."""
        q, k, v = self.parts(projected)
        q, k, v = self.hook_q(q), self.hook_k(k), self.hook_v(v)
        if at.turn is not None:
            q, k = self.hook_rot_q(rotate(q, at.turn)), self.hook_rot_k(rotate(k, at.turn))
        inputs = self.score_inputs(q, k, at)
        looked_at = observed(self.hook_attn_scores, self.hook_pattern)
        z: Tensor = self.hook_z(self.explicit(inputs, v) if looked_at else attend(inputs, v))
        z = rearrange(z, "b p h e -> b p (h e)")
        return affine(z if only is None else only.pick(z), rearrange(self.W_O, "h e d -> (h e) d"), self.b_O)

    def project(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos qkv"]:
        """Queries, keys and values of all heads in a row, by one matrix product."""
        weights = torch.stack([self.W_Q, self.W_K, self.W_V])
        biases = torch.stack([self.b_Q, self.b_K, self.b_V])
        return F.linear(x, rearrange(weights, "t h d e -> (t h e) d"), biases.flatten())

    def parts(self, projected: Float[Tensor, "batch pos qkv"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values ``[batch, pos, head, d_head]`` of such rows."""
        # Taken apart along its own axis: the gradients are then put together in place, without a transposed copy.
        q, k, v = rearrange(projected, "b p (t h e) -> b p t h e", t=3, h=self.cfg.n_heads).unbind(2)
        return q, k, v

    def score_inputs(self, q: Tensor, k: Tensor, at: Places) -> ScoreInputs:
        """All that the scores of this layer are made of."""
        slopes = alibi_slopes(self.cfg.n_heads, q) if isinstance(self.cfg.positions, Alibi) else None
        local = self.local_bias(q, at) if isinstance(self.cfg.positions, Limit) else None
        factor = self.score_factor(q, at) if self.cfg.log_scaling in ("all", "learned") else None
        ids = at.ids if self.cfg.positions.biased else None
        return ScoreInputs(q, k, ids, slopes, local, factor, self.cfg.attention)

    def local_bias(self, q: Tensor, at: Places) -> Float[Tensor, "#batch #pos head lag"]:
        """phi by lag, times log K of each query under log scaling ``local``."""
        local = self.phi[None, None]
        if self.cfg.log_scaling == "local":
            assert at.log_keys is not None
            local = local * at.log_keys[None, :, None, None]
        if observed(self.hook_local_bias):
            local = self.hook_local_bias(local.expand(*q.shape[:2], -1, -1).clone())
        return local

    def score_factor(self, q: Tensor, at: Places) -> Float[Tensor, "#batch pos #head"]:
        """log K of each query, times the head's gain under log scaling ``learned``."""
        assert at.log_keys is not None
        factor = at.log_keys[None, :, None]
        if self.cfg.log_scaling == "learned":
            factor = factor * self.log_gain
        if observed(self.hook_score_factor):
            factor = self.hook_score_factor(factor.expand(*q.shape[:3]).clone())
        return factor

    def explicit(self, inputs: ScoreInputs, v: Tensor) -> Float[Tensor, "batch pos head d_head"]:
        """Attention with scores and pattern in the open; memory O(pos^2)."""
        scores = self.hook_attn_scores(inputs.scores(range(v.shape[1])))
        pattern = self.hook_pattern(inputs.pattern(scores))
        return torch.einsum("bhqk,bkhe->bqhe", pattern, v)
