"""Intervals against defining equations and exact coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from scipy.stats import binom

from workbench.measure.intervals import (
    bootstrap_mean,
    clopper_pearson,
    interval,
    jackknife,
    resampled_means,
    wilson,
)

Z = 1.959963984540054


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 7), (36, 36), (122, 128), (3, 10)])
def test_clopper_pearson_inverts_the_two_binomial_tails(k: int, n: int) -> None:
    low, high = clopper_pearson(k, n)
    if k > 0:
        assert binom.sf(k - 1, n, low) == pytest.approx(0.025, abs=1e-9)
    else:
        assert low == 0.0
    if k < n:
        assert binom.cdf(k, n, high) == pytest.approx(0.025, abs=1e-9)
    else:
        assert high == 1.0


def test_clopper_pearson_of_all_successes_is_a_power() -> None:
    assert clopper_pearson(36, 36)[0] == pytest.approx(0.025 ** (1 / 36))
    assert clopper_pearson(36, 36)[0] > 0.9 > clopper_pearson(35, 35)[0]


def test_clopper_pearson_never_covers_less_than_stated() -> None:
    n = 40
    ends = [clopper_pearson(k, n) for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        covered = sum(binom.pmf(k, n, p) for k, (low, high) in enumerate(ends) if low <= p <= high)
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize(("k", "n"), [(1, 7), (50, 100), (122, 128)])
def test_wilson_ends_solve_the_score_equation(k: int, n: int) -> None:
    for end in wilson(k, n):
        assert abs(k / n - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n))


def test_wilson_at_the_edges_is_exact() -> None:
    assert wilson(0, 9)[0] == 0.0
    assert wilson(9, 9)[1] == 1.0
    assert wilson(0, 9)[1] == pytest.approx(Z**2 / (9 + Z**2))


@pytest.mark.parametrize(("k", "n"), [(-1, 4), (5, 4), (0, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="0 <= k <= n"):
        wilson(k, n)
    with pytest.raises(ValueError, match="0 <= k <= n"):
        clopper_pearson(k, n)


def test_bootstrap_has_the_width_of_the_standard_error() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, size=(400, 2))
    low, high = bootstrap_mean(values, np.random.default_rng(1), resamples=4000)
    expected = 2 * Z * values.std(0) / math.sqrt(400)
    assert high - low == pytest.approx(expected, rel=0.06)
    assert ((low < values.mean(0)) & (values.mean(0) < high)).all()


def test_bootstrap_covers_the_mean_about_as_often_as_it_says() -> None:
    values = np.random.default_rng(2).exponential(1.0, size=(100, 500))
    low, high = bootstrap_mean(values, np.random.default_rng(3))
    assert 0.90 <= float(((low <= 1.0) & (high >= 1.0)).mean()) <= 0.97


def test_equal_values_have_no_width_and_no_rounding() -> None:
    low, high = bootstrap_mean(np.full((7, 1), 0.1), np.random.default_rng(0))
    assert low[0] == high[0] == 0.1


def test_undefined_values_are_left_out() -> None:
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    low, high = bootstrap_mean(values, np.random.default_rng(0))
    assert low[0] == 1.0
    assert high[0] == 3.0
    assert np.isnan([low[1], high[1]]).all()


def test_all_columns_share_the_same_resamples() -> None:
    x = np.random.default_rng(4).normal(size=30)
    means = resampled_means(np.stack([x, 2 * x + 1], 1), np.random.default_rng(5), 50)
    assert means[:, 1] == pytest.approx(2 * means[:, 0] + 1)
    low, high = interval(means)
    assert low.shape == high.shape == (2,)


def test_a_bootstrap_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one sequence"):
        resampled_means(np.empty((0, 3)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="at least 2 resamples"):
        resampled_means(np.ones(3), np.random.default_rng(0), 1)


def test_of_a_mean_the_jackknife_is_the_t_interval() -> None:
    """Leaving out one of n values: the variance is s^2 / n exactly."""
    x = np.random.default_rng(0).normal(size=9)
    without = [np.delete(x, i).mean() for i in range(9)]
    expected = scipy.stats.t.interval(0.95, 8, x.mean(), scipy.stats.sem(x))
    assert jackknife(without) == pytest.approx((expected[1] - expected[0]) / 2)
    with pytest.raises(ValueError, match="at least 2 groups, not 1"):
        jackknife([1.0])
