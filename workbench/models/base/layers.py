"""The parts that all architectures share: embedding, LayerNorm, read-out."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, empty, nn, ones, zeros
from torch.nn import functional as F

from workbench.models.base.architecture import Architecture
from workbench.models.base.lens_parts import HookPoint


def has_hooks(*hooks: HookPoint) -> bool:
    """Whether a hook is attached to any of these points."""
    return any(h.fwd_hooks or h.bwd_hooks for h in hooks)


def affine(
    x: Float[Tensor, "batch pos d_in"], weight: Float[Tensor, "d_in d_out"], bias: Float[Tensor, " d_out"]
) -> Float[Tensor, "batch pos d_out"]:
    """Return x W + b. The bias is added inside the matrix product, which saves reading and writing the product once
    more.
    """
    return F.linear(x, weight.mT, bias)


class Embed(nn.Module):
    """Token embedding ``W_E [d_vocab, d_model]``."""

    def __init__(self, cfg: Architecture) -> None:
        super().__init__()
        self.W_E = nn.Parameter(empty(cfg.d_vocab, cfg.d_model))

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        return F.embedding(tokens, self.W_E)


class LayerNorm(nn.Module):
    """LayerNorm with ``hook_scale`` and ``hook_normalized``; fused while neither is observed."""

    def __init__(self, cfg: Architecture) -> None:
        super().__init__()
        self.eps = cfg.eps
        self.w = nn.Parameter(ones(cfg.d_model))
        self.b = nn.Parameter(zeros(cfg.d_model))
        self.hook_scale, self.hook_normalized = HookPoint(), HookPoint()

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        if not has_hooks(self.hook_scale, self.hook_normalized):
            return F.layer_norm(x, x.shape[-1:], self.w, self.b, self.eps)
        x = x - x.mean(-1, keepdim=True)
        scale = self.hook_scale((x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())
        normalized: Tensor = self.hook_normalized(x / scale)
        return normalized * self.w + self.b


class Unembed(nn.Module):
    """Read-out ``W_U [d_model, out]``; ``d_vocab_out`` outputs unless another number is stated."""

    def __init__(self, cfg: Architecture, outputs: int | None = None) -> None:
        super().__init__()
        width = cfg.d_vocab_out if outputs is None else outputs
        self.W_U = nn.Parameter(empty(cfg.d_model, width))
        self.b_U = nn.Parameter(zeros(width))

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos out"]:
        return affine(x, self.W_U, self.b_U)


class TiedUnembed(nn.Module):
    """Read-out whose ``W_U [d_model, out]`` is the transpose of rows of an embedding: one parameter, one gradient.

    Only the bias is a separate parameter, so that a checkpoint contains the embedding once (Press, Wolf 2017,
    1608.05859).

    Args:
        embed: the embedding.
        rows: its rows that are used.
    """

    def __init__(self, embed: Embed, rows: slice) -> None:
        super().__init__()
        # In a list, so that it is no part of this module and its weights are counted once.
        self._embed, self._rows = [embed], rows
        self.b_U = nn.Parameter(zeros(len(range(*rows.indices(len(embed.W_E))))))

    @property
    def W_U(self) -> Float[Tensor, "d_model out"]:
        return self._embed[0].W_E[self._rows].mT

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos out"]:
        return affine(x, self.W_U, self.b_U)
