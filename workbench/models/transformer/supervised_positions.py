"""The places of a batch at which an answer is asked for: all that a model need compute after its last attention."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

SHARE = 0.75
"""Places are left out where at most this share of them is asked for: picking them out costs too."""


@dataclass(frozen=True)
class SupervisedPositions:
    """Some places of a batch, as one row.

    Attributes:
        batch, pos: the shape of the batch.
        index: the places, counted sequence by sequence.
    """

    batch: int
    pos: int
    index: Int[Tensor, " asked"]

    def pick(self, x: Float[Tensor, "batch pos dim"]) -> Float[Tensor, "1 asked dim"]:
        """The values at these places."""
        return F.embedding(self.index, x.flatten(0, 1))[None]

    def put(self, x: Float[Tensor, "1 asked dim"]) -> Float[Tensor, "batch pos dim"]:
        """The values back at these places, and 0 elsewhere."""
        blank = x.new_zeros(self.batch * self.pos, x.shape[-1])
        return blank.index_copy(0, self.index, x[0]).view(self.batch, self.pos, -1)


def supervised_positions(mask: Bool[Tensor, "batch pos"]) -> SupervisedPositions | None:
    """The places in ``mask``, or None where they are so many that computing all is as cheap."""
    index = mask.flatten().nonzero()[:, 0]
    return SupervisedPositions(mask.shape[0], mask.shape[1], index) if len(index) <= SHARE * mask.numel() else None
