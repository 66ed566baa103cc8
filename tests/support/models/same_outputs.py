"""Whether two tensors are the same: to the bit on the CPU, within rounding where another device computed one."""

from __future__ import annotations

import torch

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""Tolerances for a device that sums in another order than the CPU."""


def same(actual: torch.Tensor, expected: torch.Tensor, device: str) -> bool:
    """Whether a tensor that ``device`` computed equals the CPU's."""
    if device.partition(":")[0] == "cpu":
        return torch.equal(actual, expected)
    return torch.allclose(actual, expected, RELATIVE, ABSOLUTE)
