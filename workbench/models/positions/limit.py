"""Limit transformer's positions: periodic vectors and a local bias."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.models.positions.encoding import BY_ONE, Encoding, LimitTerms, Reach, attention_of_layer


class Limit(Encoding):
    """Periodic vectors and a local bias: positions of a limit transformer (Huang et al. 2024, 2410.02140).

    The vector of residue ``id mod period`` is added to the embedding (``W_pos [period, d_model]``). Each head adds
    ``phi[t]`` to the score q . k / sqrt(d_head) at lag ``t = id_query - id_key``, for 0 <= t <= locality (``phi
    [n_heads, locality + 1]`` per block, initially 0). Both are the same at every length.

    Attributes:
        period: Delta, the number of distinct residues.
        locality: tau, the largest lag with a bias.
    """

    name: Literal["limit"] = "limit"
    period: int = Field(default=2, ge=1)
    locality: int = Field(default=1, ge=0)
    added: ClassVar[bool] = True
    biased: ClassVar[bool] = True
    bias_hook: ClassVar[str] = "hook_local_bias"
    local: ClassVar[bool] = True
    limit: ClassVar[bool] = True

    @property
    def shift(self) -> int:
        return self.period

    @classmethod
    def examples(cls) -> tuple[Encoding, ...]:
        return (cls(period=3, locality=2),)

    def rows(self, n_ctx: int) -> int:
        return self.period

    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        return {"phi": nn.Parameter(torch.zeros(n_heads, self.locality + 1))}

    def vectors(
        self, ids: Int[Tensor, "#batch pos"], table: Tensor | None, d_model: int, dtype: torch.dtype
    ) -> Float[Tensor, "#batch pos d_model"]:
        assert table is not None
        return F.embedding(ids % self.period, table)

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Float[Tensor, "head lag"]:
        phi: Tensor = attn.phi
        return phi

    def bias_at(
        self, weights: Float[Tensor, "#batch #query head lag"], lags: Int[Tensor, "#batch query key"]
    ) -> Float[Tensor, "#batch head query key"]:
        none = weights.shape[-1]
        column = torch.where((lags >= 0) & (lags < none), lags, none)[:, None]
        return torch.take_along_dim(F.pad(weights, (0, 1)).transpose(1, 2), column, -1)

    def limit_terms(self, model: Any, layer: int) -> LimitTerms:
        phi = attention_of_layer(model, layer).phi.detach().double()
        vectors: Tensor = model.pos_embed.W_pos
        return LimitTerms(vectors.detach().double(), phi, phi.new_zeros(len(phi)))

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach:
        return Reach(settings.get("period"), settings.get("locality"), ids=BY_ONE)
