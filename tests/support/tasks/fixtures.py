"""Fixtures for the task tests: strings to enumerate, generators, and a goodness-of-fit test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor


@pytest.fixture
def every_string() -> Callable[[int, int], Tensor]:
    """``every_string(letters, length)``: all strings over the token ids 1..letters."""

    def make(letters: int, length: int) -> Tensor:
        ids = torch.arange(1, letters + 1)
        return torch.cartesian_prod(*[ids] * length).reshape(-1, length)

    return make


@pytest.fixture
def seeded() -> Callable[[int], torch.Generator]:
    return lambda seed: torch.Generator().manual_seed(seed)


@pytest.fixture
def assert_law() -> Callable[[Tensor, Sequence[float]], None]:
    """Chi-square test that class ids follow the given probabilities; the seeds are fixed, so no flakes."""

    def check(values: Tensor, probabilities: Sequence[float]) -> None:
        expected = torch.tensor(probabilities, dtype=torch.float64) * len(values)
        observed = torch.bincount(values, minlength=len(expected))
        assert len(observed) == len(expected), "a value outside the law's support"
        assert observed[expected == 0].sum() == 0
        possible = expected > 0
        assert possible.sum() == 1 or chisquare(observed[possible], expected[possible]).pvalue > 1e-3

    return check
