"""ALiBi: a penalty on scores in proportion to distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Real
from torch import Tensor

from workbench.models.positions.encoding import Encoding, float64_device


class Alibi(Encoding):
    """Scores lowered in proportion to distance (ALiBi, Press et al. 2021, 2108.12409).

    Head h of H (counted from 1) adds ``-2^(-8 h / H) |id_query - id_key|`` to the score q . k / sqrt(d_head). The
    absolute value is needed because coupled ids may decrease. TransformerLens uses these slopes for every number of
    heads. The authors' code and Hugging Face transformers use the same if H is a power of two, and interpolated ones
    otherwise.
    """

    name: Literal["alibi"] = "alibi"
    biased: ClassVar[bool] = True
    between: ClassVar[bool] = True
    upstream: ClassVar[str] = "alibi"
    ignores_upstream_table: ClassVar[bool] = True

    def fixed_weights(self, n_heads: int, like: Tensor) -> Float[Tensor, "head 1"]:
        """The slopes, with the dtype and device of ``like``."""
        order = torch.arange(1, n_heads + 1, dtype=torch.float64, device=float64_device(like.device))
        return (2.0 ** (-8.0 * order / n_heads)).to(like.dtype).to(like.device)[:, None]

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Float[Tensor, "head 1"]:
        return self.fixed_weights(attn.cfg.n_heads, like)

    def bias_at(
        self, weights: Float[Tensor, "#batch #query head 1"], lags: Real[Tensor, "#batch query key"]
    ) -> Float[Tensor, "#batch head query key"]:
        return -weights.transpose(1, 2) * lags.abs()[:, None].to(weights.dtype)
