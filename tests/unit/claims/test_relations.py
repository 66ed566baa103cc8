"""Relations over the runs of several cells as rows of claims: slopes, and orders within tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from workbench.claims.trained import relations


@pytest.mark.parametrize(
    ("reached", "last"),
    [
        ((True, True, True), 4.0), ((True, True, False), 2.0), ((True, False, True), 1.0), ((False, True, True), 0.0),
        ((False, False, False), 0.0),
    ],
)  # fmt: skip
def test_the_last_factor_before_one_that_is_not_reached(reached: Sequence[bool], last: float) -> None:
    assert relations._last_of_all((1.0, 2.0, 4.0), reached) == last


@pytest.mark.parametrize(
    ("x", "y", "slope"), [((1, 2, 3), (1, 3, 5), 2.0), ((0, 4), (2, 0), -0.5), ((2, 2), (1, 5), None)]
)
def test_a_slope_over_runs(x: Sequence[float], y: Sequence[float], slope: float | None) -> None:
    found = relations._slope(np.array(x, dtype=float), np.array(y, dtype=float))
    assert found == (None if slope is None else pytest.approx(slope))
