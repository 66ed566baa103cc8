"""An encoding: each head adds one learned number to the scores of the keys near its query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from workbench.models import Encoding


class Window(Encoding):
    """Each head adds one learned number to the scores of the keys up to ``width`` back."""

    name: Literal["window"] = "window"
    width: int = Field(default=3, ge=1)
    biased: ClassVar[bool] = True
    bias_hook: ClassVar[str] = "hook_window"

    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        """A number a head."""
        return {"inside": nn.Parameter(torch.zeros(n_heads, 1))}

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Tensor:
        """What the bias of a layer is made of."""
        return attn.inside

    def bias_at(self, weights: Tensor, lags: Tensor) -> Tensor:
        """The bias at lags."""
        return weights.transpose(1, 2) * (lags.abs() <= self.width)[:, None]
