"""Size and power of the hardmax verdict, exactly, and its outcome on synthetic heads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from circuits.hardmax.verdict import hardmax_kind, hardmax_verdict, least_hardmax_count, power
from workbench.models.transformer.tie_sets import nearest_hardmax, sort_rows

KEYS, QUERIES, SEQUENCES = 256, 8, 128
Scores = NDArray[np.float64]


def near(x: int, n: int) -> NDArray[np.float64]:
    """``n`` distances of which ``x`` are within 0.1."""
    return np.r_[np.full(x, 0.05), np.full(n - x, 0.5)]


@pytest.mark.parametrize(
    ("n", "least", "powers"),
    [
        (36, 36, [0.003, 0.022, 0.16, 0.33, 0.70]),
        (64, 63, [0.000, 0.010, 0.16, 0.42, 0.87]),
        (128, 122, [0.000, 0.024, 0.54, 0.91, 1.00]),
        (256, 240, [0.000, 0.024, 0.86, 1.00, 1.00]),
    ],
)
def test_size_and_power(n: int, least: int, powers: list[float]) -> None:
    assert least_hardmax_count(n) == least
    assert hardmax_verdict(near(least, n)).label == "hardmax"
    assert hardmax_verdict(near(least - 1, n)).label != "hardmax"
    for share, expected in zip([0.85, 0.90, 0.95, 0.97, 0.99], powers, strict=True):
        assert power(n, share) == pytest.approx(expected, abs=6e-3)
        assert power(n, share) == pytest.approx(sum(binom.pmf(range(least, n + 1), n, share)), abs=1e-12)


def test_fewer_than_36_sequences_never_show_a_hardmax() -> None:
    assert least_hardmax_count(35) is None
    assert hardmax_verdict(near(35, 35)).label == "undecided"
    assert power(35, 1.0) == 0.0


@pytest.mark.parametrize(
    ("x", "label"), [(128, "hardmax"), (121, "undecided"), (64, "mixed"), (20, "undecided"), (0, "soft")]
)
def test_labels(x: int, label: str) -> None:
    found = hardmax_verdict(near(x, SEQUENCES))
    assert (found.label, found.share, found.n) == (label, x / SEQUENCES, SEQUENCES)
    assert found.low <= found.share <= found.high


def test_the_threshold_itself_counts_as_hardmax() -> None:
    assert hardmax_verdict(np.full(128, 0.1)).label == "hardmax"


def test_distances_that_are_missing_are_refused() -> None:
    for bad in ([], [0.1, np.nan]):
        with pytest.raises(ValueError, match="distance"):
            hardmax_verdict(bad)


@pytest.mark.parametrize(
    ("sink", "to_all", "growth", "kind"),
    [
        (0.95, 0.0, 0.0, "sink"),
        (0.90, 0.05, 1.0, "uniform"),
        (0.0, 0.9, 0.0, "point"),
        (0.0, 0.9, 0.24, "point"),
        (0.0, 0.4, 0.5, "growing"),
        (0.0, 0.4, 1.0, "class"),
        (0.0, 0.4, None, None),
        (1.0, 0.4, None, "sink"),
    ],
)
def test_kinds_in_their_order(sink: float, to_all: float, growth: float | None, kind: str | None) -> None:
    assert hardmax_kind(sink, to_all, growth) == kind


# ---- synthetic heads: [sequence, query, key] scores -----------------------------------------------
def effects(rng: np.random.Generator, sd: float) -> Scores:
    """Random effects per sequence and per query, ``[sequence, query, 1]``."""
    return rng.normal(0, sd, (SEQUENCES, 1, 1)) + rng.normal(0, sd, (SEQUENCES, QUERIES, 1))


def top(k: int, height: float | Scores, tie_noise: float = 0.0) -> Callable[[np.random.Generator], Scores]:
    def draw(rng: np.random.Generator) -> Scores:
        scores = np.zeros((SEQUENCES, QUERIES, KEYS))
        scores[:, :, :k] = height + rng.normal(0, tie_noise, (SEQUENCES, QUERIES, k))
        return scores

    return draw


def point(m: float, sd: float) -> Callable[[np.random.Generator], Scores]:
    def draw(rng: np.random.Generator) -> Scores:
        scores = np.zeros((SEQUENCES, QUERIES, KEYS))
        scores[:, :, :1] = m + effects(rng, sd)
        return scores

    return draw


def gaussian(sd: float) -> Callable[[np.random.Generator], Scores]:
    return lambda rng: rng.normal(0, sd, (SEQUENCES, QUERIES, KEYS))


def fixed(row: Scores) -> Callable[[np.random.Generator], Scores]:
    return lambda rng: np.broadcast_to(row, (SEQUENCES, QUERIES, KEYS)).copy()


def half_of_the_queries(rng: np.random.Generator) -> Scores:
    scores = np.zeros((SEQUENCES, QUERIES, KEYS))
    scores[:, ::2, 0] = 12.0
    scores[:, 1::2] = rng.normal(0, 1, (SEQUENCES, QUERIES // 2, KEYS))
    return scores


@pytest.mark.parametrize(
    ("head", "label"),
    [
        pytest.param(point(10, 0.5), "hardmax", id="point 10, large effects"),
        pytest.param(point(8.5, 0.3), "hardmax", id="point 8.5"),
        pytest.param(point(7.74, 0.3), "mixed", id="point at epsilon on average"),
        pytest.param(point(6, 0.3), "soft", id="point 6"),
        pytest.param(top(4, 9.0), "hardmax", id="4 ties"),
        pytest.param(top(4, 9.0, 0.1), "hardmax", id="4 ties, little noise"),
        pytest.param(top(4, 9.0, 0.5), "soft", id="4 ties, noise"),
        pytest.param(top(128, 4.0, 0.2), "hardmax", id="half class"),
        pytest.param(gaussian(0.1), "hardmax", id="uniform, little noise"),
        pytest.param(gaussian(0.5), "soft", id="uniform, noise"),
        pytest.param(gaussian(1.0), "soft", id="gaussian 1"),
        pytest.param(gaussian(4.0), "soft", id="gaussian 4"),
        pytest.param(fixed(-np.log(2) * np.arange(KEYS)), "soft", id="geometric"),
        pytest.param(fixed(-2 * np.log(np.arange(1, KEYS + 1))), "soft", id="power law"),
        pytest.param(half_of_the_queries, "soft", id="half of the queries sharp"),
    ],
)
def test_synthetic_heads(head: Callable[[np.random.Generator], Scores], label: str) -> None:
    scores = head(np.random.default_rng(0)).astype(np.float32).reshape(-1, KEYS)
    distances = nearest_hardmax(sort_rows(scores)).distance.reshape(SEQUENCES, QUERIES)
    assert hardmax_verdict(distances.mean(1)).label == label


def test_wide_gaussian_rows_are_sometimes_hardmax() -> None:
    scores = gaussian(10.0)(np.random.default_rng(1)).astype(np.float32).reshape(-1, KEYS)
    distances = nearest_hardmax(sort_rows(scores)).distance.reshape(SEQUENCES, QUERIES)
    found = hardmax_verdict(distances.mean(1))
    assert found.label == "mixed"
    assert found.share == pytest.approx(0.35, abs=0.1)


def test_tie_noise_moves_a_delta_set_far_more_than_the_distance() -> None:
    """Half of 256 keys at margin 6 with noise 0.2: the free distance reads about 0.09."""
    distances = nearest_hardmax(
        sort_rows(top(128, 6.0, 0.2)(np.random.default_rng(2)).astype(np.float32).reshape(-1, KEYS))
    )
    assert distances.distance.mean() == pytest.approx(0.088, abs=0.01)


@pytest.mark.parametrize(("kappa", "kind"), [
    (0.24, "point"), (0.26, "growing"), (0.74, "growing"), (0.76, "class"), (None, None),
])  # fmt: skip
def test_kinds_change_at_a_quarter_and_at_three_quarters(kappa: float | None, kind: str | None) -> None:
    assert hardmax_kind(0.0, 0.5, kappa) == kind
    assert hardmax_kind(0.91, 0.5, kappa) == "sink"
    assert hardmax_kind(0.9, 0.05, kappa) == "uniform"
