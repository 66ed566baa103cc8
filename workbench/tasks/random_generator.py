"""Randomness as a pure function of where it is used, so that no stream of it needs saving."""

from __future__ import annotations

import torch

from workbench.core.seeds import seed_of


def generator(*parts: object) -> torch.Generator:
    """A random generator that is a pure function of ``parts``: nothing of it needs saving."""
    return torch.Generator().manual_seed(seed_of(*parts))
