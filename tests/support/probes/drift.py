"""What tests of several tiers share. Cosines of codes that are equal, turned or absent, over lengths and over training."""

from __future__ import annotations

import math

import numpy as np
import torch

from probes.codes.class_means import Draws, Labelling
from probes.codes.drift import Cosine, cosines
from probes.fitting.probe_rows import ProbeRows, halves
from probes.residual_stream import TARGET

D, BATCH = 24, 400


def turned(angle: float, noise: float, seed: int, scale: float = 1.0, offset: float = 0.0) -> ProbeRows:
    """A fair bit along a direction at an angle in the plane of the first two dimensions, in noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (BATCH,), generator=generator)
    x = noise * torch.randn(BATCH, D, generator=generator) + offset
    s = scale * (2.0 * labels - 1)
    x[:, 0] += math.cos(angle) * s
    x[:, 1] += math.sin(angle) * s
    return ProbeRows(x[None], {TARGET: labels}, torch.arange(BATCH), torch.full((BATCH, 8), -1))


def between(a: ProbeRows, b: ProbeRows, resamples: int = 100) -> Cosine:
    fit = halves(BATCH, np.random.default_rng(0))
    rows = {0: a, 1: b}
    labelling = Labelling.of(rows, (0, 1), fit)
    draws = {k: Draws.of(r, labelling, fit, np.random.default_rng(k), resamples) for k, r in rows.items()}
    return cosines({k: r.x[0] for k, r in rows.items()}, draws, [(0, 1)])[0]
