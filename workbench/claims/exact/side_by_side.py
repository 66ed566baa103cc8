"""Tools for training several runs side by side: one thread, rounded results, and the mean gain over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from scipy.stats import t

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
DIGITS = 4


def one_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a function with one thread of torch, so that sums have one order on every machine."""

    @wraps(function)
    def limited(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return function(*arguments, **options)
        finally:
            torch.set_num_threads(threads)

    return limited


def round_to_digits(value: float) -> float:
    """Return a number with four digits: training repeats them on other machines, and no more."""
    return float(f"{float(value):.{DIGITS - 1}e}")


def lower_end_of_mean(values: Sequence[float]) -> float:
    """Return the lower end of the 95 % interval of a mean by Student's t."""
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values) - t.ppf(0.975, len(values) - 1) * spread)


def adam(
    weights: torch.Tensor, slope: torch.Tensor, moments: tuple[torch.Tensor, torch.Tensor], step: int, rate: float
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Return the weights after a step of Adam (0.9, 0.999), and its two moments.

    Args:
        weights: of any shape.
        slope: of the loss.
        moments: before the step.
        step: counted from 1.
        rate: of the step.
    """
    first, second = 0.9 * moments[0] + 0.1 * slope, 0.999 * moments[1] + 0.001 * slope.square()
    move = first / (1 - 0.9**step) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
    return weights - rate * move, (first, second)
