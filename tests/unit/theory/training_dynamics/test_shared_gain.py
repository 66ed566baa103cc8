"""Couplings of a shared gain: against linear algebra by hand, against each other, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from workbench.theory.errors import TheoryError
from workbench.theory.training_dynamics import (
    OPTIMIZERS,
    coupling_from_gradient_cosine,
    coupling_of_shared_gain,
    critical_lengths,
    gradient_cosine,
)


def test_known_values() -> None:
    """For kappa 4 the formula kappa^2 / (kappa^2 + K) is 16/17, 16/20, 16/32 and 16/48."""
    values = [coupling_of_shared_gain(4, k) for k in (1, 4, 16, 32)]
    assert values == pytest.approx([16 / 17, 0.8, 0.5, 1 / 3])
    assert [coupling_of_shared_gain(k, 9, "sign_descent") for k in (1, 2, 4)] == pytest.approx([1 / 2, 2 / 3, 4 / 5])
    assert coupling_of_shared_gain(4, 16, "adam_one_length") == pytest.approx(0.5)
    assert coupling_of_shared_gain(2, 16, "adam_mixed_batches") == pytest.approx(2 / 3)


def test_gradient_descent_finds_the_solution_of_least_norm() -> None:
    """For any codes the coupling is that of the pseudoinverse."""
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((5, 7))
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    features = np.hstack([np.ones((5, 1)), 1.7 * codes])
    least = np.linalg.pinv(features) @ np.ones(5)
    assert coupling_of_shared_gain(1.7, 5, codes=codes) == pytest.approx(1 - least[0])


def test_decay_gives_the_ridge_solution() -> None:
    shares = np.array([0.1, 0.2, 0.7])
    features = np.hstack([np.ones((3, 1)), 2.0 * np.eye(3)])
    ridge = np.linalg.solve(features.T @ np.diag(shares) @ features + 0.03 * np.eye(4), features.T @ shares)
    value = coupling_of_shared_gain(2.0, 3, decay=0.03, shares=shares.tolist())
    assert value == pytest.approx(1 - ridge[0])
    assert value == pytest.approx(1 / (1 + sum(p / (4 * p + 0.03) for p in shares)))


def test_shares_do_not_matter_without_decay() -> None:
    assert coupling_of_shared_gain(3, 2, shares=[0.01, 0.99]) == pytest.approx(coupling_of_shared_gain(3, 2))


def test_a_large_start_of_depth_two_is_depth_one_and_a_small_one_is_sharp() -> None:
    assert coupling_of_shared_gain(4, 8, initial_scale=100) == pytest.approx(coupling_of_shared_gain(4, 8), abs=1e-4)
    small = [coupling_of_shared_gain(4, k, initial_scale=0.01) for k in (2, 4, 5, 8)]
    assert small == pytest.approx([0.995, 0.800, 0.414, 0.039], abs=5e-4)


@pytest.mark.parametrize("scale", [None, 1.0, 0.01])
def test_the_coupling_is_one_half_at_the_critical_number_of_lengths(scale: float | None) -> None:
    """By the formulas around the number, which need not be whole."""
    critical = critical_lengths(4.0, initial_scale=scale)
    below, above = math.floor(critical), math.floor(critical) + 1
    if critical == below:
        assert coupling_of_shared_gain(4.0, below, initial_scale=scale) == pytest.approx(0.5)
    else:
        assert coupling_of_shared_gain(4.0, below, initial_scale=scale) > 0.5
    assert coupling_of_shared_gain(4.0, above, initial_scale=scale) < 0.5


def test_optimizers_that_ignore_the_number_of_lengths_have_no_critical_one() -> None:
    assert critical_lengths(3.0, "adam_one_length") == 9
    assert critical_lengths(0.5, "sign_descent") == 0
    assert critical_lengths(2.0, "adam_mixed_batches") == math.inf
    with pytest.raises(TheoryError, match="every number of lengths"):
        critical_lengths(1.0, "sign_descent")


def test_the_cosine_of_two_gradients_predicts_the_coupling() -> None:
    for kappa in (0.5, 1.0, 3.0):
        one, two = np.array([1.0, kappa, 0.0]), np.array([1.0, 0.0, kappa])
        cosine = float(one @ two / (one @ one))
        assert gradient_cosine(kappa) == pytest.approx(cosine)
        assert coupling_from_gradient_cosine(cosine, 6) == pytest.approx(coupling_of_shared_gain(kappa, 6))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kappa": 0}, "kappa"),
        ({"kappa": math.nan}, "kappa"),
        ({"lengths": 0}, "whole number"),
        ({"lengths": 2.5}, "whole number"),
        ({"optimizer": "adam"}, "adam_mixed_batches"),
        ({"optimizer": "sign_descent", "decay": 0.1}, "leave out decay"),
        ({"optimizer": "adam_one_length", "initial_scale": 1.0}, "leave out initial_scale"),
        ({"decay": -1}, "decay"),
        ({"decay": math.inf}, "decay"),
        ({"codes": 2 * np.eye(2)}, "norm 1"),
        ({"codes": np.ones((2, 2)) / math.sqrt(2)}, "independent"),
        ({"codes": np.eye(3)}, "a row a trained length"),
        ({"codes": np.full((2, 2), math.nan)}, "norm 1"),
        ({"shares": [0.0, 1.0]}, "share above 0"),
        ({"shares": [0.5, 0.6]}, "sum 1"),
        ({"shares": [1.0]}, "each of 2 lengths"),
        ({"initial_scale": 0.0}, "initial_scale"),
        ({"initial_scale": 1.0, "decay": 0.1}, "leave out decay"),
    ],
)
def test_a_failed_assumption_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TheoryError, match=said):
        coupling_of_shared_gain(**{"kappa": 1.0, "lengths": 2, **arguments})


def test_other_refusals() -> None:
    assert len(OPTIMIZERS) == 4
    for cosine in (0.0, 1.1, math.nan):
        with pytest.raises(TheoryError, match="cosine"):
            coupling_from_gradient_cosine(cosine, 2)
    with pytest.raises(TheoryError, match="depth 1"):
        critical_lengths(2.0, "sign_descent", initial_scale=1.0)
    with pytest.raises(TheoryError, match="no formula"):
        critical_lengths(2.0, "adamw")  # type: ignore[arg-type]
