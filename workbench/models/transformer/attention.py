"""Causal attention: fused while no hook reads scores or pattern, and explicit otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from einops import rearrange
from jaxtyping import Float, Real
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.models.base.layers import affine, has_hooks
from workbench.models.base.lens_parts import HookPoint
from workbench.models.positions.encoding import Turn, float64_device
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.kernels import attend
from workbench.models.transformer.scores import ScoreInputs
from workbench.models.transformer.supervised_positions import SupervisedPositions


@dataclass(frozen=True)
class Places:
    """The position data of one forward pass, which all layers share.

    Attributes:
        ids: position ids.
        turn: the rotation of queries and keys for each id, if the encoding rotates them.
        log_keys: log K of each query, where K is the number of keys it sees, if scores are scaled by it.
        shared: weights of the encoding that all layers share, by name.
    """

    ids: Real[Tensor, "#batch pos"]
    turn: Turn | None = None
    log_keys: Float[Tensor, " pos"] | None = None
    shared: Mapping[str, Tensor] = field(default_factory=dict)


def places(
    cfg: ModelConfig, ids: Real[Tensor, "#batch pos"], dtype: torch.dtype, shared: Mapping[str, Tensor]
) -> Places:
    """The position data that all layers share, for these ids and the shared weights of the encoding."""
    log_keys = None
    if cfg.log_scaling != "none":
        keys = torch.arange(1, ids.shape[1] + 1, device=float64_device(ids.device), dtype=torch.float64)
        log_keys = keys.log().to(dtype).to(ids.device)
    return Places(ids, cfg.positions.turn(ids, cfg.d_head, dtype), log_keys, shared)


class Attention(nn.Module):
    """Multi-head causal attention with TransformerLens's weights and hooks.

    ``hook_attn_scores`` contains scores after bias, scaling and masking (-inf after the query), ``hook_pattern`` the
    weights, both ``[batch, head, query, key]``. They exist only while a hook is attached to one of them; otherwise a
    kernel gives the same output without n^2 memory.

    In addition to TransformerLens's parameters and hooks there are:

    - the encoding's own parameters (``phi`` of limit positions);
    - the hook of the encoding's bias weights: ``hook_local_bias [batch, pos, head, lag]`` of limit positions,
      ``hook_bucket_bias [batch, pos, head, bucket]`` of relative positions;
    - ``log_gain``, which starts at 1 (log scaling ``learned``);
    - ``hook_score_factor [batch, pos, head]``, the factor of each row of scores (log scaling ``all`` and ``learned``).
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
        if cfg.positions.turns:
            self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        for name, weight in cfg.positions.attention_parameters(cfg.n_heads).items():
            self.register_parameter(name, weight)
        if cfg.positions.bias_hook:
            self.register_module(cfg.positions.bias_hook, HookPoint())
        if cfg.log_scaling == "learned":
            self.log_gain = nn.Parameter(torch.ones(cfg.n_heads))
        if cfg.log_scaling in ("all", "learned"):
            self.hook_score_factor = HookPoint()

    def forward(
        self, projected: Float[Tensor, "batch pos qkv"], at: Places, only: SupervisedPositions | None = None
    ) -> Float[Tensor, "rows places d_model"]:
        """The output of attention for the residual stream, from the result of :meth:`project`; ``only`` at some
        positions.
        """
        q, k, v = self.parts(projected)
        q, k, v = self.hook_q(q), self.hook_k(k), self.hook_v(v)
        if at.turn is not None:
            turned = self.cfg.positions.rotate
            q, k = self.hook_rot_q(turned(q, at.turn)), self.hook_rot_k(turned(k, at.turn))
        inputs = self.score_inputs(q, k, at)
        looked_at = has_hooks(self.hook_attn_scores, self.hook_pattern)
        z: Tensor = self.hook_z(self.explicit(inputs, v) if looked_at else attend(inputs, v))
        z = rearrange(z, "b p h e -> b p (h e)")
        return affine(z if only is None else only.pick(z), rearrange(self.W_O, "h e d -> (h e) d"), self.b_O)

    def project(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos qkv"]:
        """Compute queries, keys and values of all heads, ``[batch, pos, qkv]``, by one matrix product."""
        weights = torch.stack([self.W_Q, self.W_K, self.W_V])
        biases = torch.stack([self.b_Q, self.b_K, self.b_V])
        return F.linear(x, rearrange(weights, "t h d e -> (t h e) d"), biases.flatten())

    def parts(self, projected: Float[Tensor, "batch pos qkv"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values ``[batch, pos, head, d_head]`` from the result of :meth:`project`."""
        # Taken apart along its own axis: the gradients are then put together in place, without a transposed copy.
        q, k, v = rearrange(projected, "b p (t h e) -> b p t h e", t=3, h=self.cfg.n_heads).unbind(2)
        return q, k, v

    def score_inputs(self, q: Tensor, k: Tensor, at: Places) -> ScoreInputs:
        """All inputs of the scores of this layer."""
        factor = self.score_factor(q, at) if self.cfg.log_scaling in ("all", "learned") else None
        if not self.cfg.positions.biased:
            return ScoreInputs(q, k, factor=factor, attention=self.cfg.attention)
        weights = self.bias_weights(q, at)
        return ScoreInputs(q, k, self.cfg.positions, at.ids, weights, factor, self.cfg.attention)

    def bias_weights(self, q: Tensor, at: Places) -> Float[Tensor, "#batch #pos head column"]:
        """Return the weights of each query's position bias, multiplied by its log K under log scaling ``local``."""
        weights = self.cfg.positions.bias_weights(self, at.shared, q)[None, None]
        if self.cfg.log_scaling == "local":
            assert at.log_keys is not None
            weights = weights * at.log_keys[None, :, None, None]
        if not self.cfg.positions.bias_hook:
            return weights
        hook = self.get_submodule(self.cfg.positions.bias_hook)
        return hook(weights.expand(*q.shape[:2], -1, -1).clone()) if has_hooks(hook) else weights

    def score_factor(self, q: Tensor, at: Places) -> Float[Tensor, "#batch pos #head"]:
        """log K of each query, times the head's gain under log scaling ``learned``."""
        assert at.log_keys is not None
        factor = at.log_keys[None, :, None]
        if self.cfg.log_scaling == "learned":
            factor = factor * self.log_gain
        if has_hooks(self.hook_score_factor):
            factor = self.hook_score_factor(factor.expand(*q.shape[:3]).clone())
        return factor

    def explicit(self, inputs: ScoreInputs, v: Tensor) -> Float[Tensor, "batch pos head d_head"]:
        """The output of attention, computed with explicit scores and pattern; memory O(pos^2)."""
        scores = self.hook_attn_scores(inputs.scores(range(v.shape[1])))
        pattern = self.hook_pattern(inputs.pattern(scores))
        return torch.einsum("bhqk,bkhe->bqhe", pattern, v)
