"""Gradient flow of linear readers: against steps of gradient descent, and in cases that are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.claims.exact.linear_readers import (
    FAR,
    N,
    either_reader,
    flow,
    law_of_lengths,
    noisy_reader,
)
from workbench.claims.suites.own_linear_readers import errors_by_curriculum, shares_read_off_position


def test_the_flow_is_what_small_steps_of_gradient_descent_come_to() -> None:
    second, moments = noisy_reader(law_of_lengths("uniform"), np.linspace(-1, 1, N))
    weights = np.zeros(N + 1)
    for _ in range(20_000):
        weights = weights + 1e-3 * (moments - second @ weights)
    assert flow(second, moments, np.zeros(N + 1), 20.0) == pytest.approx(weights, abs=1e-3)
    decayed = flow(second, moments, np.ones(N + 1), FAR, decay=0.1)
    assert decayed == pytest.approx(np.linalg.solve(second + 0.1 * np.eye(N + 1), moments), abs=1e-9)


def test_a_direction_that_the_data_do_not_move_stays() -> None:
    second, moments = either_reader(law_of_lengths("fixed"), 1.0, 1.0)
    start = np.zeros(N + 1)
    start[1] = 0.7
    assert flow(second, moments, start, FAR)[1] == pytest.approx(0.7)


@pytest.mark.parametrize("curriculum", ["uniform", "growing", "few long", "fixed"])
def test_laws_of_lengths_are_laws(curriculum: str) -> None:
    for time in (0.0, 0.3, 1.0):
        odds = law_of_lengths(curriculum, time)
        assert odds.sum() == pytest.approx(1.0)
        assert (odds >= 0).all()


def test_equal_scales_share_as_the_numbers_of_codes() -> None:
    found = {row.item: row.value for row in shares_read_off_position() if row.quantity == "share read off position"}
    assert found["summary 1, code 1, the end"] == pytest.approx(1 / (N + 1))
    fixed = {row.item: row.value for row in errors_by_curriculum() if row.quantity == "error beyond N"}
    assert fixed["summary 1, code 1, fixed"] == pytest.approx(0.25)
