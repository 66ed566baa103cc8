"""No encoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch

from workbench.models.positions.encoding import Encoding, LimitTerms, Reach, attention_of_layer


class NoPositions(Encoding):
    """No encoding (NoPE): only the causal mask distinguishes positions."""

    name: Literal["none"] = "none"
    reads_ids: ClassVar[bool] = False
    limit: ClassVar[bool] = True
    upstream: ClassVar[str] = "standard"  # with a table of zeros

    def limit_terms(self, model: Any, layer: int) -> LimitTerms:
        cfg, like = (
            attention_of_layer(model, layer).cfg,
            attention_of_layer(model, layer).W_Q.new_zeros(1, dtype=torch.float64),
        )
        return LimitTerms(like.new_zeros(1, cfg.d_model), like.new_zeros(cfg.n_heads, 1), like.new_zeros(cfg.n_heads))

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach:
        return Reach(period=1, locality=0)
