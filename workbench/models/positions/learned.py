"""A learned table of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.models.positions.encoding import Encoding, Reach


class Learned(Encoding):
    """A learned table ``W_pos [n_ctx, d_model]``, added to the embedding."""

    name: Literal["learned"] = "learned"
    absolute: ClassVar[bool] = True
    table: ClassVar[bool] = True
    added: ClassVar[bool] = True
    upstream: ClassVar[str] = "standard"

    def rows(self, n_ctx: int) -> int:
        return n_ctx

    def vectors(
        self, ids: Int[Tensor, "#batch pos"], table: Tensor | None, d_model: int, dtype: torch.dtype
    ) -> Float[Tensor, "#batch pos d_model"]:
        assert table is not None
        return F.embedding(ids, table)

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach:
        return Reach(ids=("random_offset",))
