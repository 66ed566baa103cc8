"""Gap and horizon of a gated counter: against sums by hand and small steps of gradient descent, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.theory.errors import TheoryError
from workbench.theory.training_dynamics import (
    adam_gate_rate,
    decayed_gate_gap,
    error_at_multiple,
    error_of_scaled_gap,
    gate_gap,
    horizon_after_training,
    horizon_of_gap,
    horizon_of_gated_counter,
    loss_slope,
    mean_gap_weight,
    relative_error,
    scaled_gap_of_error,
    time_to_gap,
)


def test_errors_by_hand() -> None:
    """At length 3 and a = 1/2 the errors of the inputs are 0, 1/2 and 3/4."""
    assert relative_error(0.5, 3) == pytest.approx((0.25 + 0.5625) / 3)
    assert relative_error(0.3, 1) == 0
    assert relative_error(1.0, 4) == pytest.approx(3 / 4)
    assert mean_gap_weight(2) == pytest.approx(0.25)
    assert mean_gap_weight(16) == pytest.approx(27.08, abs=0.01)


def test_the_weight_is_that_of_a_small_gap() -> None:
    gap = 1e-6
    loss = np.mean([relative_error(gap, n) for n in range(1, 33)])
    assert loss / gap**2 == pytest.approx(mean_gap_weight(32), rel=1e-4)


@pytest.mark.parametrize("scaled", [1e-4, 9.999e-4, 1.001e-3, 0.1, 1.0, 8.0])
def test_the_error_of_a_scaled_gap_is_its_integral(scaled: float) -> None:
    edges = np.linspace(0, scaled, 20_001)
    middle = (edges[1:] + edges[:-1]) / 2
    assert error_of_scaled_gap(scaled) == pytest.approx(float(np.mean(np.expm1(-middle) ** 2)), rel=1e-6)
    assert scaled_gap_of_error(error_of_scaled_gap(scaled)) == pytest.approx(scaled, rel=1e-6)


def test_the_slope_of_the_loss_is_its_difference() -> None:
    def loss(gap: float) -> float:
        return float(np.mean([relative_error(gap, n) for n in range(1, 9)])) / 2

    for gap in (0.5, 0.1, 0.001):
        assert loss_slope(gap, 8) == pytest.approx((loss(gap + 1e-6) - loss(gap - 1e-6)) / 2e-6, rel=1e-4)
    assert loss_slope(1e-9, 16) / 1e-9 == pytest.approx(mean_gap_weight(16), rel=1e-6)


def test_the_error_at_a_multiple_is_its_square_for_small_errors() -> None:
    assert error_at_multiple(1e-8, 4) == pytest.approx(16e-8, rel=1e-3)
    assert error_at_multiple(0.2, 1) == pytest.approx(0.2)
    assert error_at_multiple(0.01, 4) < 0.16


def test_the_gap_of_a_sigmoid_gate_is_that_of_small_steps() -> None:
    """Gradient descent on the exact loss, written out here once more."""
    lengths = np.arange(1, 9)
    tails = np.array([np.mean((lengths > k) / lengths) for k in range(8)])
    theta, rate, k = 0.0, 0.5, np.arange(8)
    for _ in range(40_000):
        a = 1 / (1 + math.exp(-theta))
        slope = float(np.sum(tails * -(1 - a**k) * k * a ** np.maximum(k - 1, 0)))
        theta -= rate * slope * a * (1 - a)
    assert gate_gap(8, 20_000) == pytest.approx(1 / (1 + math.exp(theta)), rel=0.01)


def test_gaps_by_hand() -> None:
    assert gate_gap(16, 0) == pytest.approx(0.5)
    assert gate_gap(16, 0, "free") == pytest.approx(0.5)
    assert gate_gap(16, 1e9) == pytest.approx(1 / math.sqrt(2 * mean_gap_weight(16) * 1e9), rel=1e-3)
    assert math.log(gate_gap(16, 2, "free") / gate_gap(16, 3, "free")) == pytest.approx(mean_gap_weight(16))
    assert [decayed_gate_gap(16, lam) for lam in (1e-2, 1e-3, 1e-4, 1e-5)] == pytest.approx(
        [0.0352, 0.0127, 0.00447, 0.001547], rel=3e-3
    )


def test_horizons() -> None:
    assert horizon_of_gap(0.001) == pytest.approx(math.sqrt(0.03) / 0.001, rel=0.08)
    assert relative_error(0.001, round(horizon_of_gap(0.001))) == pytest.approx(0.01, rel=0.02)
    assert horizon_of_gated_counter(16) == math.inf
    assert horizon_of_gated_counter(16, gate="free") == math.inf
    long = [horizon_of_gated_counter(16, time) for time in (1e8, 4e8)]
    assert long[1] / long[0] == pytest.approx(2, rel=1e-2)
    decayed = horizon_of_gated_counter(16, decay=1e-4)
    assert decayed == pytest.approx(horizon_of_gap(decayed_gate_gap(16, 1e-4)))
    assert horizon_of_gated_counter(16, 1e9, decay=1e-4) == decayed
    assert horizon_of_gated_counter(16, 10, decay=1e-4) < decayed


def test_the_rate_under_adam_is_that_of_adam_on_a_square() -> None:
    """A gradient that falls as delta^2, with Adam written out: theta grows by the formula's rate."""
    for rate, beta2 in ((5e-4, 0.99), (2e-3, 0.99), (1e-2, 0.99), (1e-4, 0.999)):
        theta, mean, square = 0.0, 0.0, 0.0
        steps = round(8 / adam_gate_rate(rate, beta2=beta2))
        ends = {}
        for step in range(1, steps + 1):
            gradient = -math.exp(-2 * theta)
            mean = 0.9 * mean + 0.1 * gradient
            square = beta2 * square + (1 - beta2) * gradient**2
            theta -= rate * (mean / (1 - 0.9**step)) / math.sqrt(square / (1 - beta2**step))
            ends[step] = theta
        half = steps // 2
        assert (ends[steps] - ends[half]) / (steps - half) == pytest.approx(adam_gate_rate(rate, beta2=beta2), rel=0.01)
    assert adam_gate_rate(1e-9) == pytest.approx(1e-9, rel=1e-4)
    assert adam_gate_rate(100.0) == pytest.approx(-math.log(0.999) / 4, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: relative_error(1.5, 3), "between 0 and 1"),
        (lambda: relative_error(math.nan, 3), "between 0 and 1"),
        (lambda: relative_error(0.5, 0), "whole number"),
        (lambda: mean_gap_weight(1), "from 2 on"),
        (lambda: gate_gap(16, -1), "0 or more"),
        (lambda: gate_gap(16, 1, "open"), "no formula"),  # type: ignore[arg-type]
        (lambda: decayed_gate_gap(16, 0), "above 0"),
        (lambda: horizon_of_gap(0), "above 0"),
        (lambda: horizon_of_gap(0.1, 0.95), "at most 0.9"),
        (lambda: horizon_of_gated_counter(16, decay=0.1, gate="free"), "free gate"),
        (lambda: horizon_of_gated_counter(16, decay=-0.1), "0 or more"),
        (lambda: horizon_of_gated_counter(1), "from 2 on"),
        (lambda: horizon_of_gated_counter(16, error=2.0), "at most 0.9"),
        (lambda: error_of_scaled_gap(-1), "0 or more"),
        (lambda: error_at_multiple(0.1, 0.5), "1 or more"),
        (lambda: loss_slope(2.0, 16), "between 0 and 1"),
        (lambda: loss_slope(0.1, 1), "from 2 on"),
        (lambda: time_to_gap(16, 0.6), "at most 0.5"),
        (lambda: adam_gate_rate(0), "above 0"),
        (lambda: adam_gate_rate(0.1, beta1=0.9, beta2=0.5), "beta1"),
    ],
)
def test_a_failed_assumption_is_named(call: Callable[[], float], said: str) -> None:
    with pytest.raises(TheoryError, match=said):
        call()


@pytest.mark.parametrize("beta2", [0.99, 0.999])
def test_the_horizon_after_training_is_that_of_the_trained_counter(beta2: float) -> None:
    """PyTorch's AdamW on the exact gradient, with another implementation of the step."""
    from workbench.claims.exact.gated_counter_training import gaps_with_adam

    for steps, gap in zip((50, 400), gaps_with_adam(8, (50, 400), rate=0.02, beta2=beta2), strict=True):
        found = horizon_after_training(8, [0.02] * steps, betas=(0.9, beta2))
        assert found == pytest.approx(horizon_of_gap(gap), rel=1e-4)


def test_the_horizon_after_sgd_is_that_of_the_formula() -> None:
    """After a time of 1,000; momentum multiplies the time. A rate of 0 changes nothing."""
    formula = horizon_of_gated_counter(16, 1000.0)
    assert horizon_after_training(16, [0.5] * 2000, optimizer="sgd") == pytest.approx(formula, rel=0.02)
    heavy = horizon_after_training(16, [0.05] * 2000 + [0.0] * 300, optimizer="sgd", momentum=0.9)
    assert heavy == pytest.approx(formula, rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"optimizer": "lion"}, "choose adamw or sgd"),
        ({"momentum": 1.0}, "below 1"),
        ({"rates": [-1.0]}, "0 or more"),
    ],
)
def test_settings_that_no_counter_has_are_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(TheoryError, match=problem):
        horizon_after_training(16, **{"rates": [0.1], **arguments})
