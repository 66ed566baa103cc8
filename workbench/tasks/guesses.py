"""How well a constant answer does on given answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

if TYPE_CHECKING:
    from workbench.tasks.base import Task

ROUNDING = 1e-6
"""Slack on a real task's tolerance, so that answers just on its edge count as right in float32."""
CONSTANTS_TRIED = 256
"""Values among which the best constant answer of a vector-valued task is looked for."""


def best_constant(task: Task, target: Tensor, group: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """Correctness of the best constant within each group."""
    correct = torch.zeros(len(group), dtype=torch.float64, device=group.device)
    for g in group.unique():
        rows = group == g
        if task.real:
            correct[rows] = in_best_reach(task, target[rows]).double()
        else:
            correct[rows] = (target[rows] == target[rows].mode().values).double()
    return correct


def in_best_reach(task: Task, values: Float[Tensor, "batch dim"]) -> Bool[Tensor, " batch"]:
    """Which values a constant answer is right for, of the constants tried the one right for most.

    Numbers: exactly the best constant, the middle of the interval of width twice the tolerance that
    holds most values. Vectors: the best of the first :data:`CONSTANTS_TRIED` values and their mean.
    """
    if values.shape[1] == 1:
        single = values[:, 0]
        low = single.sort().values
        high = low + 2 * (task.tolerance_ + ROUNDING)
        count = torch.searchsorted(low, high, right=True) - torch.arange(len(low), device=low.device)
        best = count.argmax()
        return (single >= low[best]) & (single <= high[best])
    tried = torch.cat([values.mean(0, keepdim=True), values[:CONSTANTS_TRIED]])
    right = task._within(tried[:, None], values[None])
    return right[right.sum(1).argmax()]
