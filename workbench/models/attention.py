"""Causal attention that is fused while nobody looks, and explicit as soon as somebody does."""

from __future__ import annotations

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from transformer_lens.hook_points import HookPoint

from workbench.models.config import ModelConfig
from workbench.models.positions import Rotary, Turn, rotate


def observed(*hooks: HookPoint) -> bool:
    """Whether a hook is attached to any of these points."""
    return any(h.fwd_hooks or h.bwd_hooks for h in hooks)


class Attention(nn.Module):
    """Multi-head causal softmax attention with TransformerLens's weights and hooks.

    ``hook_attn_scores`` holds scores after scaling and masking (-inf after the query),
    ``hook_pattern`` their softmax, both ``[batch, head, query, key]``. They exist only while a hook is
    attached to one of them; otherwise a fused kernel gives the same output without n^2 memory.
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

    def forward(self, x: Float[Tensor, "batch pos d_model"], by: Turn | None) -> Float[Tensor, "batch pos d_model"]:
        q, k, v = self.project(x)
        q, k, v = self.hook_q(q), self.hook_k(k), self.hook_v(v)
        if by is not None:
            q, k = self.hook_rot_q(rotate(q, by)), self.hook_rot_k(rotate(k, by))
        attend = self.explicit if observed(self.hook_attn_scores, self.hook_pattern) else self.fused
        z: Tensor = self.hook_z(attend(q, k, v))
        out = rearrange(z, "b p h e -> b p (h e)") @ rearrange(self.W_O, "h e d -> (h e) d")
        return out + self.b_O

    def project(self, x: Float[Tensor, "batch pos d_model"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values ``[batch, pos, head, d_head]``, in one matrix product."""
        weights = torch.stack([self.W_Q, self.W_K, self.W_V])
        biases = torch.stack([self.b_Q, self.b_K, self.b_V])
        joined = F.linear(x, rearrange(weights, "t h d e -> (t h e) d"), biases.flatten())
        q, k, v = rearrange(joined, "b p (t h e) -> t b p h e", t=3, h=self.cfg.n_heads)
        return q, k, v

    def fused(self, q: Tensor, k: Tensor, v: Tensor) -> Float[Tensor, "batch pos head d_head"]:
        """Attention by the fused kernel; memory O(pos)."""
        z = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return z.transpose(1, 2)

    def explicit(self, q: Tensor, k: Tensor, v: Tensor) -> Float[Tensor, "batch pos head d_head"]:
        """Attention with scores and pattern in the open; memory O(pos^2)."""
        scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / self.cfg.attn_scale
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = self.hook_attn_scores(scores.masked_fill(later, float("-inf")))
        pattern = self.hook_pattern(scores.softmax(-1))
        return torch.einsum("bhqk,bkhe->bqhe", pattern, v)
