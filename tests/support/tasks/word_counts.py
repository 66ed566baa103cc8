"""What tests of several tiers share. Counts of words between states, and draws that are uniform over them, against enumeration."""

from __future__ import annotations

import numpy as np

from workbench.tasks import make_task

MANY = 20_000
EXPRESSIONS = [
    "0?0?(10?0?)*",
    "(0|1|2)*02*",
    make_task("bounded_dyck", n=3).expression,
    "aa*bb*cc*dd*ee*",
    "(abab)*",
    "(a|b)*bb(a|b)*",
]


def uniforms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)
