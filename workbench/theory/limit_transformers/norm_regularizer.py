"""R(T), which the idealized learner of Huang et al. (arXiv 2410.02140) makes small: layers, heads, precision, norms.

A map has transformers of bounded R at all context lengths exactly if one limit transformer computes it. The paper's
wording was not at hand: the parts are those that it lists, added up with factor 1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.theory.errors import TheoryError

if TYPE_CHECKING:
    from workbench.models.transformer.model import HookedTransformer


@dataclass(frozen=True)
class NormRegularizer:
    """The terms of the norm regularizer R(T) of a limit transformer.

    Attributes:
        layers: number of layers.
        heads: heads of a layer.
        precision: bits of a number.
        weights: the operator norms of all weight matrices of tokens, attention, MLPs and answers, summed, with the
            Euclidean norms of biases and gains.
        position_vectors: the longest position vector; 0 if none is added.
        position_products: the square of what attention reads only from positions. For added vectors it is
            :func:`positional_penalty`; for a bias by lag it is the sum of its squares over the existing lags.
    """

    layers: float
    heads: float
    precision: float
    weights: float
    position_vectors: float
    position_products: float

    @property
    def total(self) -> float:
        """The sum R(T) of all terms."""
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, float]:
        """Return the terms of R(T) by name."""
        return asdict(self)


def norm_regularizer(
    model: HookedTransformer, length: int, *, bits: float = 24.0, steps: bool = False
) -> NormRegularizer:
    """R(T) of a model in a context of so many positions.

    Args:
        model: with no positions, vectors that are added, or limit positions.
        length: positions N.
        bits: precision; 24 is the significand of float32.
        steps: read hidden units as step functions, which the paper allows: what enters one counts in units of its
            largest weight, for a step does not see it. A step made of two ReLUs has a gain that grows with N.

    Raises:
        TheoryError: for other positions, and for more positions than the model has.
    """
    cfg = model.cfg
    if not (cfg.positions.added or cfg.positions.limit) or cfg.positions.turns:
        raise TheoryError(
            f"the norm regularizer is about position vectors and local terms, not about positions {cfg.positions.name}"
        )
    if not 1 <= length <= cfg.n_ctx:
        raise TheoryError(f"this model has positions for 1 to {cfg.n_ctx} tokens, not for {length}")
    biases = set(cfg.positions.attention_parameters(cfg.n_heads))
    weights = products = vectors = 0.0
    for name, parameter in model.named_parameters():
        value = parameter.detach().double()
        last = name.rpartition(".")[2]
        if last in biases:
            products += float(value[..., :length].square().sum())
        elif not name.startswith("pos_embed."):
            if steps and last == "W_in":
                value = value / value.abs().amax(0).clamp_min(torch.finfo(value.dtype).tiny)
            weights += _norm(value)
    if cfg.positions.added:
        ids = torch.arange(length, device=model.W_E.device)[None]
        rows = model.pos_embed(ids)[0].detach().double()
        vectors = float(rows.norm(dim=1).max())
        for w_q, w_k in zip(model.W_Q.detach().double(), model.W_K.detach().double(), strict=True):
            products += float(positional_penalty(rows, w_q, w_k))
    return NormRegularizer(float(cfg.n_layers), float(int(cfg.n_heads)), bits, weights, vectors, products)


def positional_penalty(
    table: Float[Tensor, "n d_model"],
    w_q: Float[Tensor, "head d_model d_head"],
    w_k: Float[Tensor, "head d_model d_head"],
) -> Float[Tensor, ""]:
    """Return the penalty on what the heads of one layer read only from position vectors, as in the paper's experiments.

    Let M = (p W_Q)(p W_K)^T, without biases, scale or LayerNorm. The squares of the lower triangle of M (query i >= key
    j) are summed over queries and averaged over keys. The penalties of heads are summed.
    """
    products = (table @ w_q) @ (table @ w_k).transpose(1, 2)
    return products.tril().pow(2).sum(1).mean(1).sum()


def _norm(value: Tensor) -> float:
    """Operator norm over the last two dimensions, summed over the others; the Euclidean norm of a vector."""
    if value.numel() == 0:
        return 0.0
    norms = value.norm() if value.ndim == 1 else torch.linalg.matrix_norm(value, 2)
    return float(norms.sum())
