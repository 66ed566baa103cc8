"""Where a fit of scores by position says one thing, and just past which value it says another."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.positional.translation_fit import (
    _agree,
    _period,
    _still_slopes,
    gauge,
    locality,
    positional_share,
    translation_variances,
)


@pytest.mark.parametrize(
    ("variance", "period", "strength"),
    [
        ([0.01, 0.0], 2, 1.0), ([0.0099, 0.0], None, 0.0),  # hardly anything to explain
        ([1.0, 0.1, 0.0], 2, 0.9), ([1.0, 0.27, 0.2], 2, 0.73), ([1.0, 0.2805, 0.2], 3, 0.8),  # a tenth above the best
        ([1.0, 0.5], 2, 0.5), ([1.0, 0.51], None, 0.49), ([1.0, 1.0, 1.0], None, 0.0), ([1.0, 0.9, 0.3], 3, 0.7),
    ],
)  # fmt: skip
def test_the_smallest_period_that_leaves_hardly_more_than_the_best(
    variance: list[float], period: int | None, strength: float
) -> None:
    assert _period(np.array(variance)) == (period, pytest.approx(strength))


FAR_MEDIAN = [5.0, 0, 0, 0, 1, 9, 1, 1]
"""The median of the far half is 1, so that squares are 16, 1, 1, 1, 0, 64, 0, 0."""


@pytest.mark.parametrize(
    ("bias", "eps", "reach"),
    [
        ([3.0, 1, 0, 0, 0, 0, 0, 0], 0.1001, 0), ([3.0, 1, 0, 0, 0, 0, 0, 0], 0.0999, 1), ([2.0, 0, 1, 0, 0, 0], 0.25, 0),
        (FAR_MEDIAN, 0.05, 5), (FAR_MEDIAN, 0.8, 1), (FAR_MEDIAN, 0.81, 0),
        (np.full(8, 1e6) + 0.1 * (np.arange(8) == 1), 0.05, 0),  # rounding of large numbers
        ([0.0, 1e-7, 0, 0, 0, 0], 0.05, 0), ([0.0, 1.5e-6, 0, 0, 0, 0], 0.05, 1),
        (-0.5 * np.arange(8), 0.05, None), ([9.0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4], 0.05, 0),
    ],
)  # fmt: skip
def test_locality_by_hand(bias: list[float], eps: float, reach: int | None) -> None:
    assert locality(np.asarray(bias, dtype=float), eps) == reach


LINE, BEND = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([1.0, -1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("far", "span", "slopes"),
    [
        (LINE, 39.0, True), (LINE, 41.0, False), (-LINE, 39.0, True), (LINE + 7, 10.0, True), (0 * LINE, 1.0, False),
        (LINE + 1.0742 * BEND, 1.0, True), (LINE + 1.1637 * BEND, 1.0, False),  # it leaves 48 and 52 % of the squares
    ],
)  # fmt: skip
def test_a_far_half_that_is_mostly_a_line_and_steep_still_slopes(far: np.ndarray, span: float, slopes: bool) -> None:
    assert _still_slopes(far, span) is slopes


def row(size: int, *values: float) -> np.ndarray:
    """A table whose last row begins like that, as its entries j <= i."""
    table = np.zeros((size, size))
    table[-1, : len(values)] = values
    return table[np.tril_indices(size)]


@pytest.mark.parametrize(
    ("size", "share", "agrees"), [(6, 1.0, True), (6, 0.8, True), (6, 0.75, False), (6, -0.9, False), (4, 1.0, False)]
)
def test_two_estimates_agree_beyond_three_standard_errors(size: int, share: float, agrees: bool) -> None:
    """Of 6 positions 15 degrees of freedom are left by rows: 3 / sqrt(15) = 0.775; of 4 positions 6, of which none is enough."""
    one, other = row(size, 1, -1), row(size, 0, 0, 1, -1)
    assert _agree(size, [one, share * one + np.sqrt(1 - share**2) * other]) is agrees
    assert _agree(size, [0 * one, 0 * one])


def test_periods_that_are_tried_and_tables_without_anything() -> None:
    i, j = np.indices((12, 12))
    table = (i % 2) * np.exp(-(i - j) / 3.0)
    assert len(translation_variances(table)) == 8
    assert len(translation_variances(table, periods=2)) == 2
    assert translation_variances(np.zeros((12, 12))).tolist() == [0.0] * 8
    small = translation_variances(np.sin(np.arange(16.0)).reshape(4, 4))
    assert 1 <= len(small) < 8
    flat = gauge(np.zeros((5, 5)))
    assert (flat.period, flat.strength, flat.above_noise, flat.local_bias.tolist()) == (None, 0.0, True, [0.0] * 5)
    assert gauge(np.zeros((5, 5)), np.zeros((5, 5))).above_noise
    assert not gauge(table, -table).above_noise
    assert gauge(table, -table).period is None
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="holds NaN or infinity"):
            gauge(table, np.where(i == j, bad, table))
    assert gauge(np.where(j > i, np.nan, table)).period == 2


def test_a_share_of_nothing() -> None:
    assert [positional_share(*pair) for pair in ((0.0, 2.0), (-1.0, 2.0), (0.5, 0.25), (4.0, -1.0))] == [
        0,
        0,
        0.5,
        -0.25,
    ]
