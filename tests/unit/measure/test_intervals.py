"""Intervals against defining equations and exact coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from scipy.stats import beta, binom, t

from workbench.measure.behaviour.measurement import mean_of
from workbench.measure.intervals import (
    all_equal,
    at_least,
    clopper_pearson,
    discordant,
    interval,
    jackknife,
    mean_ends,
    newcombe,
    resampled_means,
    sign_test,
    tango,
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


@pytest.mark.parametrize("n", [0, 1, 7, 40])
@pytest.mark.parametrize("share", [0.03, 0.5, 0.95])
def test_the_upper_tail_of_a_count_is_the_sum_of_its_chances(n: int, share: float) -> None:
    for k in range(-1, n + 2):
        chances = [math.comb(n, m) * share**m * (1 - share) ** (n - m) for m in range(n + 1) if m >= k]
        assert at_least(k, n, share) == pytest.approx(math.fsum(chances), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.995])
def test_quantiles_are_those_of_scipys_distributions(level: float) -> None:
    tail = (1 - level) / 2
    for n in (1, 2, 9, 64, 513):
        for k in {0, 1, n // 3, n - 1, n}:
            low = 0.0 if k == 0 else beta.ppf(tail, k, n - k + 1)
            high = 1.0 if k == n else beta.ppf(1 - tail, k + 1, n - k)
            assert clopper_pearson(k, n, level) == pytest.approx((low, high), rel=1e-13)
    estimates = np.array([0.2, 0.5, 0.6, 1.4])
    spread = math.sqrt(((estimates - estimates.mean()) ** 2).sum() * 3 / 4)
    assert jackknife(estimates, level) == pytest.approx(t.ppf(0.5 + level / 2, 3) * spread, rel=1e-14)


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
    low, high = interval(resampled_means(values, np.random.default_rng(1), 4000))
    expected = 2 * Z * values.std(0) / math.sqrt(400)
    assert high - low == pytest.approx(expected, rel=0.06)
    assert ((low < values.mean(0)) & (values.mean(0) < high)).all()


def test_bootstrap_covers_the_mean_about_as_often_as_it_says() -> None:
    values = np.random.default_rng(2).exponential(1.0, size=(100, 500))
    low, high = interval(resampled_means(values, np.random.default_rng(3)))
    assert 0.90 <= float(((low <= 1.0) & (high >= 1.0)).mean()) <= 0.97


def test_undefined_values_are_left_out() -> None:
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    low, high = interval(resampled_means(values, np.random.default_rng(0)))
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
    with pytest.raises(ValueError, match="sequence"):
        resampled_means(np.empty((0, 3)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="resamples"):
        resampled_means(np.ones(3), np.random.default_rng(0), 1)


def test_of_a_mean_the_jackknife_is_the_t_interval() -> None:
    """Leaving out one of n values: the variance is s^2 / n exactly."""
    x = np.random.default_rng(0).normal(size=9)
    without = [np.delete(x, i).mean() for i in range(9)]
    expected = scipy.stats.t.interval(0.95, 8, x.mean(), scipy.stats.sem(x))
    assert jackknife(without) == pytest.approx((expected[1] - expected[0]) / 2)
    with pytest.raises(ValueError, match="groups"):
        jackknife([1.0])


# ---- paired 0/1 values, and values that are all equal ---------------------------------------------
@pytest.mark.parametrize(
    ("counts", "ends"),
    [
        ((0, 0, 512), (-0.0074, 0.0074)),
        ((0, 0, 128), (-0.0291, 0.0291)),
        ((0, 1, 128), (-0.0429, 0.0216)),
        ((5, 0, 512), (0.0022, 0.0227)),
        ((12, 4, 512), (0.0004, 0.0337)),
        ((30, 10, 512), (0.0156, 0.0652)),
    ],
)
def test_tangos_interval_of_a_paired_difference(counts: tuple[int, int, int], ends: tuple[float, float]) -> None:
    assert tango(*counts) == pytest.approx(ends, abs=5.1e-5)


@pytest.mark.parametrize("counts", [(1, 0, 512), (3, 7, 40), (20, 1, 30), (0, 9, 9)])
def test_tangos_ends_solve_its_score_equation(counts: tuple[int, int, int]) -> None:
    """The share of the second kind, given the difference, is where the likelihood is highest: found here by search."""
    b, c, n = counts
    for end in tango(b, c, n):
        if abs(end) == 1:
            continue
        # Cells: b with q + D, c with q, the rest with 1 - 2 q - D.
        shares = np.linspace(max(0.0, -end), (1 - end) / 2, 400_001)[1:-1]
        terms = [(b, shares + end), (c, shares), (n - b - c, 1 - 2 * shares - end)]
        q = shares[np.argmax(sum(k * np.log(np.maximum(p, 1e-300)) for k, p in terms))]
        score = (b - c - n * end) / math.sqrt(n * (2 * q + end * (1 - end)))
        assert abs(score) == pytest.approx(Z, abs=1e-3)


def test_tangos_interval_turns_with_the_sign_and_never_has_no_width() -> None:
    for b, c, n in [(0, 0, 1), (1, 0, 1), (7, 2, 30), (30, 0, 30), (1, 0, 512)]:
        low, high = tango(b, c, n)
        assert -1 <= low <= (b - c) / n <= high <= 1
        assert high - low > 0.01
        assert tango(c, b, n) == pytest.approx((-high, -low), abs=1e-12)
    assert tango(0, 0, 50)[1] == pytest.approx(Z**2 / (50 + Z**2))


@pytest.mark.parametrize("difference", [0.0, 0.01, -0.05])
def test_tango_covers_paired_differences_exactly_summed(difference: float) -> None:
    """Coverage over all outcomes of 60 pairs, of which a tenth differ: never far below what it says."""
    n, q = 60, 0.05
    more, less = q + max(difference, 0), q + max(-difference, 0)
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            chance = math.exp(scipy.stats.multinomial.logpmf([b, c, n - b - c], n, [more, less, 1 - more - less]))
            if chance > 1e-9:
                low, high = tango(b, c, n)
                covered += chance * (low <= difference <= high)
    assert 0.94 <= covered <= 1.0


@pytest.mark.parametrize("counts", [(-1, 0, 4), (3, 2, 4), (0, 0, 0)])
def test_impossible_pairs_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"b \+ c <= n"):
        tango(*counts)


def test_the_sign_test_is_exact() -> None:
    assert sign_test(5, 0) == pytest.approx(0.0625)  # Tango's interval alone already leaves 0 out
    assert tango(5, 0, 512)[0] > 0
    assert sign_test(0, 6) == pytest.approx(0.03125)
    assert sign_test(0, 0) == sign_test(3, 3) == 1.0
    assert sign_test(12, 4) == pytest.approx(2 * binom.cdf(4, 16, 0.5))
    with pytest.raises(ValueError, match="counts"):
        sign_test(-1, 3)


def test_differences_of_0_and_1_are_counted_and_others_refused() -> None:
    assert discordant([1.0, -1.0, 0.0, 1.0]) == (2, 1)
    with pytest.raises(ValueError, match="are -1, 0 or 1"):
        discordant([0.5])


def test_newcombes_interval_of_two_independent_shares() -> None:
    """His own example: 56 of 70 against 48 of 80."""
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    low, high = newcombe(10, 10, 12, 12)
    assert low < -0.2 < 0 < high


@pytest.mark.parametrize(("n", "u"), [(32, 0.109), (128, 0.0284), (512, 0.00718), (4096, 0.0009)])
def test_equal_values_have_the_interval_of_their_bounds(n: int, u: float) -> None:
    assert all_equal(0.0, n, (0.0, 1.0)) == pytest.approx((0.0, u), abs=5e-4 * 10 ** math.floor(math.log10(u) + 1))
    share = 1 - 0.025 ** (1 / n)
    assert all_equal(0.25, n, (-1.0, 1.0)) == pytest.approx((0.25 - 1.25 * share, 0.25 + 0.75 * share))
    assert all_equal(1.0, n, (0.0, 1.0)) == pytest.approx(clopper_pearson(n, n, 0.95), abs=1e-12)


def test_a_mean_of_equal_values_without_bounds_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    assert mean_ends(np.full(64, 0.3), rng) == (None, None, "all 64 equal")
    low, high, note = mean_ends(np.full(64, 0.3), rng, bounds=(0.0, 1.0))
    assert (low, high) == all_equal(0.3, 64, (0.0, 1.0))
    assert note == "all 64 equal"
    values = np.arange(8.0)
    assert mean_ends(values, np.random.default_rng(1)) == (
        *map(float, interval(resampled_means(values, np.random.default_rng(1)))),
        "",
    )


def test_a_loss_that_is_the_same_on_every_string_has_no_interval_and_says_so() -> None:
    """Of a task with one string per length all losses are equal, whatever was drawn."""
    shared = {"law": "matched", "length": 9, "n": 64}
    loss = mean_of("loss", np.full(64, 0.25), mean_ends(np.full(64, 0.25), np.random.default_rng(0)), shared)
    assert (loss["value"], loss["low"], loss["high"], loss["note"]) == (0.25, None, None, "all 64 equal")
    ends = mean_ends(np.ones(64), np.random.default_rng(0), bounds=(0.0, 1.0))
    tokens = mean_of("token_accuracy", np.ones(64), ends, shared)
    assert (tokens["value"], tokens["low"], tokens["high"]) == pytest.approx((1.0, 0.025 ** (1 / 64), 1.0))
    assert (tokens["law"], tokens["length"], tokens["n"]) == ("matched", 9, 64)
