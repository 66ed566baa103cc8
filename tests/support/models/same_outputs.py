"""Whether two tensors are the same: to the bit on the CPU, within rounding where another device computed one."""

from __future__ import annotations

from collections.abc import Mapping

import torch

ROUNDING = 1e-5
"""Tolerance, relative to the largest value, for a device that sums in another order than the CPU."""


def relative_difference(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference over the largest finite value; infinite if other entries are not finite."""
    finite = expected.isfinite()
    if not torch.equal(finite, actual.isfinite()) or not torch.equal(actual[~finite], expected[~finite]):
        return float("inf")
    if not finite.any():
        return 0.0
    gap = (actual[finite].double() - expected[finite].double()).abs().max()
    return float(gap / expected[finite].double().abs().max().clamp_min(1e-30))


def same(actual: torch.Tensor, expected: torch.Tensor, device: str) -> bool:
    """Whether a tensor that ``device`` computed equals the CPU's."""
    if device.partition(":")[0] == "cpu":
        return torch.equal(actual, expected)
    return relative_difference(actual, expected) <= ROUNDING


def different(
    actual: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor], device: str
) -> dict[str, float]:
    """The activations that are not the same, with their relative difference."""
    return {
        name: relative_difference(actual[name], value)
        for name, value in expected.items()
        if not same(actual[name], value, device)
    }
