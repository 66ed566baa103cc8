"""Markov subsequences: their law, the rate of their error, and what independent choices get wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.theory.limit_models import limit_model
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.two_layer_subsequence import (
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
    with pytest.raises(TheoryError, match="longer ones"):
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
