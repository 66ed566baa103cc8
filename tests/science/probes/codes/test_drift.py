"""Cosines of codes that are equal, turned or absent, over lengths and over training."""

from __future__ import annotations

import math

import numpy as np

from tests.support.probes.drift import between, turned


def test_intervals_of_angles_cover_the_truth() -> None:
    truth, trials = math.cos(math.radians(60)), 120
    found = [between(turned(0, 0.6, s), turned(math.radians(60), 0.6, 1000 + s), 200) for s in range(trials)]
    assert 0.89 <= np.mean([c.low <= truth <= c.high for c in found]) <= 0.99
