"""What tests of several tiers share. Length-coupled twins of compiled programs fail exactly where the formulas say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp import programs as p


# ---- a weak score --------------------------------------------------------------------------------
def reading(score: float, length: int) -> tuple[float, bool]:
    """What the offset head of contains_ab reads of an a just before the end, and whether that is found to be ab."""
    compiled = compile(p.contains_ab(), length, score=score)
    string = np.full((1, length), 2)
    string[0, -2] = 1
    read: list[float] = []
    dimension = compiled.dim("l@1:Q(a)")
    hooks = [("blocks.0.hook_resid_mid", lambda x, hook: read.append(x[0, -1, dimension].item()))]
    with torch.no_grad():
        logits = compiled.model.run_with_hooks(compiled.tokens(string), fwd_hooks=hooks)
    return read[0], bool(logits[0, -1, 1] > 0)


def disperses(score: float, length: int) -> float:
    """The value that an offset head reads, once it is asserted to be the formula's."""
    value, found = reading(score, length)
    others = length + 1 - 2
    assert value == pytest.approx(math.exp(score) / (math.exp(score) + math.exp(score / 2) + others), rel=1e-5)
    assert found == (value > 0.5)
    return value
