"""Markov subsequences: their law, the rate of their error, and what independent choices get wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.theory.limit_models import limit_model
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.two_layer_subsequence import (
    SubsetErrors,
    error_slope,
    last_output,
    markov_subset,
    subset_errors,
)


def runs_of(kept: np.ndarray) -> np.ndarray:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], kept.astype(int), [0]])))
    return edges[1::2] - edges[::2]


@pytest.mark.parametrize(("size", "run"), [(1_000, None), (8_000, None), (20_000, 5.0), (500, 1.0)])
def test_sizes_and_runs_are_as_asked(size: int, run: float | None) -> None:
    rng = np.random.default_rng(0)
    kept = [markov_subset(100_000, size, rng, run) for _ in range(30)]
    mean = size ** (1 / 3) if run is None else run
    assert np.mean([k.sum() for k in kept]) == pytest.approx(size, rel=0.1)
    assert np.concatenate([runs_of(k) for k in kept]).mean() == pytest.approx(mean, rel=0.1)


def test_the_chain_starts_stationary() -> None:
    rng = np.random.default_rng(1)
    starts = np.mean([markov_subset(300, 60, rng)[0] for _ in range(1_500)])
    assert starts == pytest.approx(0.2, abs=0.04)


def test_impossible_subsets_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(TheoryError, match="between 1 and 9"):
        markov_subset(10, 10, rng)
    with pytest.raises(TheoryError, match="longer runs"):
        markov_subset(10, 9, rng, 1.0)


def test_errors_are_of_the_whole_answer_and_ends_are_kept() -> None:
    x = np.arange(200)
    seen: list[np.ndarray] = []

    def ends(z: np.ndarray) -> np.ndarray:
        seen.append(z)
        return np.array([float(z[0]), float(z[-3]), float(len(z) > 0)])

    found = subset_errors(ends, x, [20], np.random.default_rng(0), draws=5, keep_first=2, keep_last=3)
    assert (found[0].median, found[0].best, found[0].draws) == (0.0, 0.0, 5)
    assert all(z[:2].tolist() == [0, 1] and z[-3:].tolist() == [197, 198, 199] for z in seen)
    with pytest.raises(TheoryError, match="positive"):
        error_slope([*found, *found])


def test_any_trained_model_can_be_simulated() -> None:
    model = limit_model(2, 1, n_layers=2, seed=2)
    x = np.random.default_rng(3).integers(1, 4, 400)
    x[0] = 0
    answers = last_output(model)
    assert answers(x).shape == (4,)
    found = subset_errors(answers, x, [20, 200], np.random.default_rng(0), draws=8, keep_first=1, keep_last=2)
    assert found[1].median < found[0].median
    assert found[1].best == pytest.approx(float(np.abs(answers(found[1].best_tokens) - answers(x)).max()))


@pytest.mark.parametrize(("length", "size", "run", "refused"), [
    (10, 0, None, "between 1 and 9, not 0"), (10, 10, None, "between 1 and 9, not 10"), (10, 1, 1.0, ""), (10, 5, 1.0, ""),
    (10, 6, 1.0, "cannot cover the share 0.6"), (10, 6, 1.5, ""), (10, 5, 0.99, "runs of mean length 0.99"), (2, 1, None, ""),
])  # fmt: skip
def test_subsets_that_can_be_drawn(length: int, size: int, run: float | None, refused: str) -> None:
    rng = np.random.default_rng(0)
    if refused:
        with pytest.raises(TheoryError, match=refused):
            markov_subset(length, size, rng, run)
    else:
        assert markov_subset(length, size, rng, run).shape == (length,)


def test_runs_of_one_that_make_up_half_alternate() -> None:
    kept = markov_subset(9, 4, np.random.default_rng(1), 9 / (9 - 4) * 4 / 4)
    assert 0 < kept.sum() < 9
    even = markov_subset(10, 5, np.random.default_rng(1), 1.0)
    assert even.tolist() in ([True, False] * 5, [False, True] * 5)


def test_a_slope_needs_two_sizes_and_errors_above_zero() -> None:
    def one(length: float, median: float) -> SubsetErrors:
        return SubsetErrors(1, length, median, median, 1, np.zeros(1, dtype=np.int64))

    assert error_slope([one(8.0, 0.5), one(64.0, 0.25)]) == pytest.approx(-1 / 3)
    for errors in ([one(8.0, 0.5)], [one(8.0, 0.5), one(64.0, 0.0)]):
        with pytest.raises(TheoryError, match="sizes"):
            error_slope(errors)
