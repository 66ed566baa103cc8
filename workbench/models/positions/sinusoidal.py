"""Sines and cosines of the id."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Real
from pydantic import Field
from torch import Tensor

from workbench.models.positions.encoding import Encoding, angles


class Sinusoidal(Encoding):
    """Sines and cosines of the id, added to the embedding (Vaswani et al. 2017, 1706.03762, section 3.5).

    Component 2i is ``scale * sin(id / base^(2i / d_model))``, component 2i + 1 the cosine. Any id can be read. The
    vector of an id that training never used was never seen by the model.

    Attributes:
        base: the slowest pair turns once in 2 pi ``base`` ids.
        scale: amplitude. At 1 it is much larger than a new token embedding, whose components have the size
            ``initializer_range``.
    """

    name: Literal["sinusoidal"] = "sinusoidal"
    base: float = Field(default=10_000.0, gt=1.0)
    scale: float = Field(default=1.0, gt=0.0)
    absolute: ClassVar[bool] = True
    added: ClassVar[bool] = True
    between: ClassVar[bool] = True

    def fit(self, d_model: int, d_head: int) -> None:
        if d_model % 2:
            raise ValueError(f"sinusoidal positions need an even d_model, not {d_model}")

    def vectors(
        self, ids: Real[Tensor, "#batch pos"], table: Tensor | None, d_model: int, dtype: torch.dtype
    ) -> Float[Tensor, "#batch pos d_model"]:
        by = angles(ids, d_model // 2, self.base)
        return self.scale * torch.stack([by.sin(), by.cos()], -1).flatten(-2).to(dtype)
