"""All weights of a run as two rows of numbers: the matrices, on which weight decay acts, and the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.training.optimizer import decays

Rows = tuple[Float[Tensor, " matrices"], Float[Tensor, " others"]]
"""The two rows of one run."""


class RowLayout:
    """Where each weight is in the two rows.

    Args:
        weights: the weights of one model by name, for their shapes.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self.names = list(weights)
        self._parts = [[name for name in weights if decays(name) is matrix] for matrix in (True, False)]
        self._shapes = {name: weights[name].shape for name in weights}
        self._sizes = [[math.prod(self._shapes[name]) for name in part] for part in self._parts]

    def rows(self, weights: Mapping[str, Tensor], dtype: torch.dtype) -> Rows:
        """The two rows of these weights, as copies."""
        matrices, others = (
            torch.cat([weights[name].detach().to(dtype).flatten() for name in part]) for part in self._parts
        )
        return matrices, others

    def zeros(self, dtype: torch.dtype) -> Rows:
        """Two rows of zeros."""
        matrices, others = (torch.zeros(sum(sizes), dtype=dtype) for sizes in self._sizes)
        return matrices, others

    def weights_by_name(self, rows: Sequence[Tensor]) -> dict[str, Tensor]:
        """The weights of one run by name, as copies, in the order of the model."""
        stacked = self.stacked_views([row[None] for row in rows])
        return {name: stacked[name][0].clone() for name in self.names}

    def stacked_views(self, rows: Sequence[Tensor]) -> dict[str, Tensor]:
        """Views ``[run, ...]`` of the weights of several runs by name, from their two rows ``[run, numbers]``."""
        return {
            name: values.view(-1, *self._shapes[name])
            for part, sizes, row in zip(self._parts, self._sizes, rows, strict=True)
            for name, values in zip(part, row.split(sizes, 1), strict=True)
        }
