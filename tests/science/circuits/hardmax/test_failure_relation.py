"""Failure length on critical length: simulated runs whose relation is known."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.hardmax.failure_relation import failure_relation
from tests.support.circuits.failure_relation import simulated


@pytest.mark.parametrize("slope", [0.0, 1.0, 1.7])
def test_the_slope_is_found_through_intervals_and_censoring(slope: float) -> None:
    runs = simulated(slope)
    found = failure_relation(runs, resamples=20)
    assert found.slope == pytest.approx(slope, abs=0.35)
    assert found.low <= found.slope <= found.high
    assert (found.low > 0) == (slope > 0)
    assert found.runs == 60
    assert found.censored == int(np.isinf(runs["high"]).sum())
    assert found.intercepts["b"] - found.intercepts["a"] == pytest.approx(0.8, abs=0.25)
    assert (found.concordance > 0.7) == (slope > 0)
