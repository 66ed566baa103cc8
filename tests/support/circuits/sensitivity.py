"""What tests of several tiers share. Average sensitivity of functions with known values, and sharpness against its expansion."""

from __future__ import annotations

from itertools import product

import torch

from workbench.tasks import make_task

BITS = torch.tensor([1, 2])
MAJORITY = make_task("majority")


def cube(n: int) -> torch.Tensor:
    return 1 + torch.tensor(list(product([0, 1], repeat=n)))
