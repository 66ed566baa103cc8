"""Determinacy of families with known correlation, its interval, and the labels that follow."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.claims.determinacy.statistics import (
    DECIDED,
    OPEN,
    TOO_UNIFORM,
    UNDECIDED,
    determinacy,
    mean_correlation,
)
from workbench.claims.errors import ClaimError


def families(rho: float, count: int, children: int, rng: np.random.Generator, spread: float = 0.2) -> np.ndarray:
    """Reach of families whose members correlate by ``rho``."""
    shared = rng.normal(size=(count, 1))
    own = rng.normal(size=(count, 1 + children))
    reach: np.ndarray = 0.5 + spread * (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own)
    return reach


def test_the_mean_over_pairs_by_hand() -> None:
    """Correlations 1, -1 and -1 of three columns."""
    reach = np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 0.5], [1.0, 1.0, 0.0]])
    assert mean_correlation(reach) == pytest.approx(-1 / 3)
    assert mean_correlation(reach[:, :2]) == pytest.approx(1)
    assert np.isnan(mean_correlation(np.array([[0.0, 1.0], [1.0, 1.0]])))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_the_estimate_is_the_planted_correlation(rho: float) -> None:
    rng = np.random.default_rng(1)
    values = [mean_correlation(families(rho, 24, 3, rng)) for _ in range(400)]
    assert np.mean(values) == pytest.approx(rho, abs=0.03)


@pytest.mark.parametrize("rho", [0.14, 0.6, 0.85])
def test_the_interval_covers_the_planted_correlation(rho: float) -> None:
    """24 families; the bootstrap of a correlation covers slightly less than its level."""
    rng = np.random.default_rng(2)
    inside = 0
    for number in range(100):
        reach = families(rho, 24, 3, rng)
        result = determinacy(reach, reach[:, 0], seed=number, resamples=200)
        inside += result.low <= rho <= result.high
    assert inside >= 85


@pytest.mark.parametrize(("rho", "label"), [(0.95, DECIDED), (0.0, OPEN), (0.5, UNDECIDED)])
def test_labels_follow_from_the_limits(rho: float, label: str) -> None:
    reach = families(rho, 48, 3, np.random.default_rng(3))
    result = determinacy(reach, reach[:, 0])
    assert result.label == label
    assert (result.low > 0.5, result.high < 0.5) == (label == DECIDED, label == OPEN)


def test_uniform_and_noisy_cells_say_nothing() -> None:
    rng = np.random.default_rng(4)
    narrow = families(0.95, 24, 3, rng, spread=0.05)
    assert determinacy(narrow, narrow[:, 0]).label == TOO_UNIFORM
    wide = families(0.95, 24, 3, rng)
    noisy = wide[:, 0] + rng.normal(scale=0.2, size=24)
    result = determinacy(wide, noisy)
    assert result.ceiling < 0.9
    assert result.label == TOO_UNIFORM


def test_p_values_are_small_only_where_families_are_alike() -> None:
    rng = np.random.default_rng(5)
    none = [determinacy(families(0.0, 24, 3, rng), np.zeros(24) + rng.normal(size=24), resamples=99).p
            for _ in range(60)]  # fmt: skip
    assert 0.35 < np.mean(none) < 0.65
    alike = families(0.6, 24, 3, rng)
    assert determinacy(alike, alike[:, 0]).p < 0.002


def test_results_do_not_depend_on_a_second_call() -> None:
    reach = families(0.5, 24, 3, np.random.default_rng(6))
    assert determinacy(reach, reach[:, 0]) == determinacy(reach, reach[:, 0])


@pytest.mark.parametrize("shape", [(2, 4), (5, 1), (5,)])
def test_too_few_families_or_members_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ClaimError, match="at least 3 families"):
        determinacy(np.zeros(shape), np.zeros(shape[0]))
