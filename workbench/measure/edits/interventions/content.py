"""Family C, content: the residual stream's last row is moved to the mean and scale that it has at N."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workbench.measure.edits.interventions.intervention import Family, Intervention, Moments, RowEdit

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


class PoolRows(RowEdit):
    """The intervention that gives vectors with their mean and standard deviation at n those at N; the control moves
    them the other way.
    """

    family: ClassVar[Family] = "C"

    def edit(self, row: Tensor, outside: Moments, inside: Moments) -> Tensor:
        import torch

        (mean, sd), (mean_inside, sd_inside) = outside, inside
        # A dimension that does not vary at n cannot be scaled to N.
        ratio = torch.where((sd > 0) & (sd_inside > 0), sd_inside / sd.clamp(min=torch.finfo(row.dtype).tiny), 1.0)
        if self.wrong:
            return (row - mean) / ratio + mean - (mean_inside - mean)
        return (row - mean) * ratio + mean_inside


CONTENT: tuple[Intervention, ...] = (PoolRows("C.pool", "rows moved", "rows moved to where they lay at N"),)


def moments(row: Float[Tensor, "batch d_model"], weights: Float[Tensor, " batch"]) -> Moments:
    """Return weighted mean and standard deviation of each dimension, each ``[d_model]``."""
    w = weights.to(row.dtype)[:, None]
    mean = (w * row).sum(0)
    return mean, (w * (row - mean).pow(2)).sum(0).sqrt()
