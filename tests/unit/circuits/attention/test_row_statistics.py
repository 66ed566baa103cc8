"""Row statistics against closed forms, exhaustive search, and SciPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from scipy.stats import entropy as scipy_entropy

from circuits.attention.row_statistics import (
    entropy,
    log_mass,
    margin,
    margin_min,
    tie_uniformity,
)
from circuits.hardmax.critical_lengths import critical_length
from workbench.models.transformer.tie_sets import nearest_hardmax, sort_rows

Scores = NDArray[np.float32]


def ties(k: int, m: float, keys: int) -> Scores:
    """One row: ``k`` keys at score ``m`` somewhere in the middle, the others at 0."""
    row = np.zeros((1, keys), np.float32)
    row[0, keys // 3 : keys // 3 + k] = m
    return row


def of(k: int) -> NDArray[np.int64]:
    return np.array([k])


# ---- one key at margin m, the others at 0 -------------------------------------------------------
@pytest.mark.parametrize(
    ("m", "keys", "q", "support", "distance", "size"),
    [
        (3, 10, 0.690568, 3.6639, 0.3094, 1),
        (3, 1000, 0.019709, 960.576, 0.0187, 1000),
        (6, 100, 0.802957, 4.0621, 0.1970, 1),
        (6, 1000, 0.287664, 249.629, 0.2867, 1000),
        (10, 100, 0.995526, 1.0505, 0.0045, 1),
        (10, 10_000, 0.687780, 32.9994, 0.3122, 1),
        (10, 100_000, 0.180507, 20068.6, 0.1805, 100_000),
    ],
)
def test_one_key_at_a_margin(m: float, keys: int, q: float, support: float, distance: float, size: int) -> None:
    rows = sort_rows(ties(1, m, keys))
    nearest = nearest_hardmax(rows)
    z = math.exp(m) + keys - 1
    assert math.exp(log_mass(rows, of(1))[0]) == pytest.approx(q, abs=5e-7)
    assert math.exp(entropy(rows)[0]) == pytest.approx(support, rel=5e-6, abs=5e-5)
    assert entropy(rows)[0] == pytest.approx(math.log(z) - m * math.exp(m) / z, abs=1e-9)
    assert nearest.distance[0] == pytest.approx(distance, abs=5e-5)
    assert nearest.size[0] == size
    assert nearest.distance_to_all[0] == pytest.approx(q - 1 / keys, abs=5e-7)
    assert rows.total[0] == pytest.approx(z * math.exp(-m), rel=1e-10)
    assert margin(rows, of(1))[0] == pytest.approx(m, abs=1e-9)
    assert margin_min(rows, 1.0)[0] == m
    assert critical_length(of(1), margin(rows, of(1)))[0] == pytest.approx(1 + math.exp(m), rel=1e-8)


def test_the_nearest_set_jumps_from_the_top_key_to_all_at_the_critical_length() -> None:
    sizes = [int(nearest_hardmax(sort_rows(ties(1, 6.0, keys))).size[0]) for keys in (401, 402, 403, 404)]
    # 1 - q = q - 1/K at K = e^m - 1 = 402.4, two keys before the mass is split evenly at K* = 404.4.
    assert sizes == [1, 1, 403, 404]
    assert nearest_hardmax(sort_rows(ties(1, 6.0, 404))).distance[0] == pytest.approx(0.5, abs=5e-3)


# ---- k ties at margin m -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("k", "m", "keys", "q", "support", "critical"),
    [
        (2, 4, 100, 0.527019, 25.1685, 111.2),
        (4, 4, 100, 0.694649, 19.5318, 222.4),
        (10, 2, 1000, 0.069453, 925.914, 83.9),
    ],
)
def test_ties_at_a_margin(k: int, m: float, keys: int, q: float, support: float, critical: float) -> None:
    rows = sort_rows(ties(k, m, keys))
    assert math.exp(log_mass(rows, of(k))[0]) == pytest.approx(q, abs=5e-7)
    assert math.exp(entropy(rows)[0]) == pytest.approx(support, rel=1e-5)
    assert critical_length(of(k), margin(rows, of(k)))[0] == pytest.approx(critical, abs=0.05)
    assert tie_uniformity(rows, of(k))[0] == pytest.approx(1.0, abs=1e-12)
    distance = nearest_hardmax(rows).distance[0]
    assert distance <= min(1 - q, q - k / keys) + 1e-6


def test_of_several_nearest_sets_the_smallest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of weights 3/4 and 1/4 one key and both are equally far, 1/4, but for the rounding of log 3."""
    monkeypatch.setattr("workbench.models.transformer.tie_sets.TIE", 1e-6)
    nearest = nearest_hardmax(sort_rows(np.log(np.array([[3.0, 1.0]], np.float32))))
    assert (nearest.distance[0], nearest.size[0]) == (pytest.approx(0.25), 1)


def test_the_nearest_set_of_a_class_can_exceed_the_class() -> None:
    rows = sort_rows(ties(500, 2.0, 1000))
    nearest = nearest_hardmax(rows)
    assert 1 - math.exp(log_mass(rows, of(500))[0]) == pytest.approx(0.1192, abs=5e-5)
    assert nearest.distance[0] == pytest.approx(0.1032, abs=5e-5)
    assert nearest.size[0] == 567


def test_uniform_attention_is_a_hardmax_over_everything() -> None:
    rows = sort_rows(np.full((1, 77), 3.25, np.float32))
    nearest = nearest_hardmax(rows)
    assert nearest.distance[0] == 0.0
    assert nearest.size[0] == 77
    assert nearest.distance_to_all[0] == 0.0
    assert np.exp(entropy(rows))[0] == pytest.approx(77, rel=1e-14)
    assert rows.total[0] == 77.0
    assert np.isnan(margin(rows, nearest.size)[0])
    assert np.isnan(margin_min(rows, 1.0)[0])
    assert tie_uniformity(rows, nearest.size)[0] == pytest.approx(1.0, abs=1e-14)


# ---- reference distances ------------------------------------------------------------------------
def test_distance_of_a_geometric_row_is_exactly_one_quarter() -> None:
    row = (np.arange(256) * -math.log(2)).astype(np.float32)[None]
    nearest = nearest_hardmax(sort_rows(row))
    assert nearest.distance[0] == pytest.approx(0.25, abs=1e-7)
    assert nearest.size[0] == 2


def test_distance_of_a_power_law() -> None:
    row = (-2 * np.log(np.arange(1, 257))).astype(np.float32)[None]
    assert nearest_hardmax(sort_rows(row)).distance[0] == pytest.approx(0.35, abs=0.005)


@pytest.mark.parametrize(("m", "distance"), [(10, 0.011), (9, 0.031), (8.5, 0.049), (7.74, 0.100), (7, 0.189)])
def test_distance_of_a_point_among_256_keys(m: float, distance: float) -> None:
    assert nearest_hardmax(sort_rows(ties(1, m, 256))).distance[0] == pytest.approx(distance, abs=6e-4)


@pytest.mark.parametrize(("sd", "distance"), [(0.25, 0.099), (0.5, 0.19), (1, 0.34), (2, 0.45), (4, 0.29), (8, 0.14)])
def test_mean_distance_of_gaussian_scores(sd: float, distance: float) -> None:
    scores = np.random.default_rng(0).normal(0, sd, (800, 256)).astype(np.float32)
    assert nearest_hardmax(sort_rows(scores)).distance.mean() == pytest.approx(distance, abs=0.014)


# ---- oracles ------------------------------------------------------------------------------------
def smallest_over_all_subsets(p: NDArray[np.float64]) -> float:
    best = math.inf
    for size in range(1, len(p) + 1):
        for chosen in itertools.combinations(range(len(p)), size):
            uniform = np.zeros(len(p))
            uniform[list(chosen)] = 1 / size
            best = min(best, float(np.abs(p - uniform).sum() / 2))
    return best


@settings(max_examples=60)
@given(arrays(np.float32, st.integers(1, 8), elements=st.floats(-6, 6, width=32)))
def test_distance_is_the_minimum_over_every_subset(scores: Scores) -> None:
    found = nearest_hardmax(sort_rows(scores[None]))
    p = softmax(scores.astype(np.float64))
    assert found.distance[0] == pytest.approx(smallest_over_all_subsets(p), abs=1e-12)
    top = np.sort(p)[::-1][: found.size[0]]
    assert 1 - np.minimum(top, 1 / found.size[0]).sum() == pytest.approx(found.distance[0], abs=1e-12)


@settings(max_examples=40)
@given(arrays(np.float32, (3, 12), elements=st.floats(-20, 20, width=32)), st.integers(1, 11))
def test_masses_margins_and_entropies_agree_with_scipy(scores: Scores, k: int) -> None:
    rows = sort_rows(scores)
    size = np.full(3, k)
    ordered = -np.sort(-scores.astype(np.float64), axis=1)
    p = softmax(ordered, axis=1)
    inside, outside = logsumexp(ordered[:, :k], axis=1), logsumexp(ordered[:, k:], axis=1)
    assert entropy(rows) == pytest.approx(scipy_entropy(p, axis=1), abs=1e-11)
    assert log_mass(rows, size) == pytest.approx(inside - logsumexp(ordered, axis=1), abs=1e-12)
    assert margin(rows, size) == pytest.approx(inside - math.log(k) - outside + math.log(12 - k), abs=1e-10)
    if k > 1:
        expected = scipy_entropy(p[:, :k], axis=1) / math.log(k)
        assert tie_uniformity(rows, size) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30)
@given(arrays(np.float32, (1, 30), elements=st.floats(-3, 3, width=32)), st.floats(0.25, 2))
def test_margin_min_is_the_gap_past_delta(scores: Scores, delta: float) -> None:
    gaps = np.float64(scores.max()) - scores[0].astype(np.float64)
    beyond = gaps[gaps > delta]
    found = margin_min(sort_rows(scores), delta)[0]
    assert np.isnan(found) if not len(beyond) else found == beyond.min()


def test_uniformity_of_a_delta_set_has_its_floor() -> None:
    """Within delta of the top, H / log k >= 1 - delta^2 / (8 log k): why delta sets say little."""
    scores = np.random.default_rng(1).uniform(0, 1, (200, 40)).astype(np.float32)
    found = tie_uniformity(sort_rows(scores), np.full(200, 40))
    assert (found >= 1 - 1 / (8 * math.log(40))).all()


# ---- invariances and edges ----------------------------------------------------------------------
def test_a_constant_per_row_changes_nothing() -> None:
    scores = np.random.default_rng(2).integers(-8, 8, (50, 33)).astype(np.float32)
    shift = np.arange(-25, 25, dtype=np.float32)[:, None] * 16
    a, b = sort_rows(scores), sort_rows(scores + shift)
    size = nearest_hardmax(a).size
    assert (nearest_hardmax(b).size == size).all()
    assert (nearest_hardmax(a).distance == nearest_hardmax(b).distance).all()
    for statistic in (
        entropy,
        lambda r: margin(r, size),
        lambda r: log_mass(r, size),
        lambda r: margin_min(r, 1.0),
    ):
        assert np.array_equal(statistic(a), statistic(b), equal_nan=True)


def test_the_order_of_keys_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 2, (20, 50)).astype(np.float32)
    shuffled = rng.permuted(scores, axis=1)
    assert nearest_hardmax(sort_rows(scores)).distance == pytest.approx(
        nearest_hardmax(sort_rows(shuffled)).distance, abs=1e-14
    )


@pytest.mark.parametrize("m", [40.0, 200.0, 2000.0])
def test_large_margins_do_not_saturate(m: float) -> None:
    rows = sort_rows(ties(3, m, 64))
    nearest = nearest_hardmax(rows)
    assert nearest.size[0] == 3
    assert margin(rows, nearest.size)[0] == pytest.approx(m, rel=1e-12)
    assert log_mass(rows, of(3))[0] == pytest.approx(-61 / 3 * math.exp(-m), rel=1e-9)
    assert entropy(rows)[0] == pytest.approx(math.log(3), abs=1e-12)
    assert nearest.distance[0] == pytest.approx(61 / 3 * math.exp(-m), abs=1e-15)


def test_keys_beyond_the_visible_ones_are_ignored_whatever_they_hold() -> None:
    rng = np.random.default_rng(4)
    short = rng.normal(0, 2, (6, 9)).astype(np.float32)
    for filler in (-np.inf, 1e4, np.float32(np.finfo(np.float32).min), np.nan):
        wide = np.concatenate([short, np.full((6, 5), filler, np.float32)], axis=1)
        a, b = sort_rows(short), sort_rows(wide, np.full(6, 9))
        assert (nearest_hardmax(a).distance == nearest_hardmax(b).distance).all()
        assert (nearest_hardmax(a).distance_to_all == nearest_hardmax(b).distance_to_all).all()
        assert (entropy(a) == entropy(b)).all()
        assert np.array_equal(margin(a, np.full(6, 9)), margin(b, np.full(6, 9)), equal_nan=True)
        assert np.array_equal(margin_min(a, 1.0), margin_min(b, 1.0), equal_nan=True)


def test_rows_of_several_lengths_are_each_themselves() -> None:
    scores = np.random.default_rng(5).normal(0, 2, (8, 8)).astype(np.float32)
    keys = np.arange(1, 9)
    together = nearest_hardmax(sort_rows(scores, keys))
    for i, k in enumerate(keys):
        alone = nearest_hardmax(sort_rows(scores[i : i + 1, :k]))
        assert together.distance[i] == pytest.approx(alone.distance[0], abs=1e-15)
        assert together.size[i] == alone.size[0]
    assert together.distance[0] == 0.0
    assert together.size[0] == 1


def test_visible_keys_with_no_weight_count_as_keys() -> None:
    rows = sort_rows(np.array([[0.0, -np.inf, 0.0, -np.inf]], np.float32))
    nearest = nearest_hardmax(rows)
    assert (nearest.size[0], nearest.distance[0]) == (2, 0.0)
    assert margin(rows, nearest.size)[0] == math.inf
    assert entropy(rows)[0] == pytest.approx(math.log(2))
    assert nearest.distance_to_all[0] == pytest.approx(0.5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        sort_rows(np.array([[0.0, bad, 1.0]], np.float32))


def test_impossible_numbers_of_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="3 keys"):
        sort_rows(np.zeros((2, 3), np.float32), np.array([1, 4]))
