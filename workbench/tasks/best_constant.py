"""How well a constant answer does on given answers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

ROUNDING = 1e-6
"""Slack on a real task's tolerance, so that answers just on its edge count as right in float32."""
CONSTANTS_TRIED = 256
"""Values among which the best constant answer of a vector-valued task is looked for."""


Within = Callable[[Tensor, Tensor], Tensor]
"""Which guesses are right for which targets, of numbers and vectors."""


def best_constant(
    target: Tensor, group: Int[Tensor, " batch"], tolerance: float | None = None, within: Within | None = None
) -> Float[Tensor, " batch"]:
    """Correctness of the best constant within each group.

    Args:
        target: the answers, classes or numbers.
        group: which group each is of.
        tolerance, within: of answers that are numbers or vectors, as for :func:`in_best_reach`; None for classes.
    """
    correct = torch.zeros(len(group), dtype=torch.float64, device=group.device)
    for g in group.unique():
        rows = group == g
        if tolerance is not None and within is not None:
            correct[rows] = in_best_reach(target[rows], tolerance, within).double()
        else:
            correct[rows] = (target[rows] == target[rows].mode().values).double()
    return correct


def in_best_reach(
    values: Float[Tensor, "batch dim"],
    tolerance: float,
    within: Within,
    probabilities: Float[Tensor, " batch"] | None = None,
) -> Bool[Tensor, " batch"]:
    """Which values a constant answer is right for, of the constants tried the one right for most.

    Args:
        values: the answers.
        tolerance: how far a guess may be off, of numbers.
        within: which guesses are right, of vectors.
        probabilities: of each value, of numbers; None = all are equally likely.

    Numbers: exactly the best constant, the middle of the interval of width twice the tolerance that
    holds most values. Vectors: the best of the first :data:`CONSTANTS_TRIED` values and their mean.
    """
    if values.shape[1] == 1:
        single = values[:, 0]
        low, order = single.sort()
        high = low + 2 * (tolerance + ROUNDING)
        behind, here = torch.searchsorted(low, high, right=True), torch.arange(len(low), device=low.device)
        if probabilities is None:
            best = (behind - here).argmax()
        else:
            before = F.pad(probabilities[order].cumsum(0), (1, 0))
            best = (before[behind] - before[here]).argmax()
        return (single >= low[best]) & (single <= high[best])
    tried = torch.cat([values.mean(0, keepdim=True), values[:CONSTANTS_TRIED]])
    right = within(tried[:, None], values[None])
    return right[right.sum(1).argmax()]
