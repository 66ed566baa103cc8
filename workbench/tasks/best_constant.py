"""Scores of the best constant answer to a set of targets."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

ROUNDING = 1e-6
"""Slack on a real task's tolerance, so that answers exactly at its limit count as right in float32."""
CONSTANTS_TRIED = 256
"""Number of targets to try as the constant answer of a vector-valued task."""


Within = Callable[[Tensor, Tensor], Tensor]
"""A function of guesses and targets (numbers or vectors) that returns which guesses are right."""


def best_constant(
    target: Tensor, group: Int[Tensor, " batch"], tolerance: float | None = None, within: Within | None = None
) -> Float[Tensor, " batch"]:
    """Return the correctness of the best constant answer within each group, ``[batch]``.

    Args:
        target: the answers, classes or numbers.
        group: the group of each answer.
        tolerance, within: for answers that are numbers or vectors, as for :func:`in_best_reach`; None for classes.
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
    """Return for which values the best constant answer is right. The best one is right for the most values.

    For numbers the result is exact: the best constant is the middle of the interval of twice the tolerance that
    contains the most values. For vectors it is the best of the first :data:`CONSTANTS_TRIED` values and the mean.

    Args:
        values: the answers.
        tolerance: how far a numeric guess may be off.
        within: returns which vector guesses are right.
        probabilities: the probability of each numeric value; None = all are equally likely.
    """
    if values.shape[1] == 1:
        single = values[:, 0]
        low, order = single.sort()
        high = low + 2 * (tolerance + ROUNDING)
        behind, index = torch.searchsorted(low, high, right=True), torch.arange(len(low), device=low.device)
        if probabilities is None:
            best = (behind - index).argmax()
        else:
            before = F.pad(probabilities[order].cumsum(0), (1, 0))
            best = (before[behind] - before[index]).argmax()
        return (single >= low[best]) & (single <= high[best])
    tried = torch.cat([values.mean(0, keepdim=True), values[:CONSTANTS_TRIED]])
    right = within(tried[:, None], values[None])
    return right[right.sum(1).argmax()]
