"""The supervised positions of a batch: the only ones that a model must compute after its last attention."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

SHARE = 0.75
"""Other positions are skipped if at most this share is supervised, because selecting positions takes time, too."""


@dataclass(frozen=True)
class SupervisedPositions:
    """Some positions of a batch, gathered into one sequence of vectors.

    Attributes:
        batch, pos: the shape of the batch.
        index: the positions, counted sequence by sequence.
    """

    batch: int
    pos: int
    index: Int[Tensor, " supervised"]

    def pick(self, x: Float[Tensor, "batch pos dim"]) -> Float[Tensor, "1 supervised dim"]:
        """The values at these positions."""
        return F.embedding(self.index, x.flatten(0, 1))[None]

    def put(self, x: Float[Tensor, "1 supervised dim"]) -> Float[Tensor, "batch pos dim"]:
        """The values put back at these positions, and 0 elsewhere."""
        blank = x.new_zeros(self.batch * self.pos, x.shape[-1])
        return blank.index_copy(0, self.index, x[0]).view(self.batch, self.pos, -1)


def supervised_positions(mask: Bool[Tensor, "batch pos"]) -> SupervisedPositions | None:
    """Return the positions in ``mask``; None if they are so many that computing all positions is as cheap."""
    index = mask.flatten().nonzero()[:, 0]
    return SupervisedPositions(mask.shape[0], mask.shape[1], index) if len(index) <= SHARE * mask.numel() else None
