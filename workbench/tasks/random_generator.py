"""Random generators that are pure functions of names, so that their state need not be saved."""

from __future__ import annotations

import torch

from workbench.core.seeds import seed_of


def generator(*parts: object) -> torch.Generator:
    """Return a random generator whose seed is a pure function of ``parts``."""
    return torch.Generator().manual_seed(seed_of(*parts))
