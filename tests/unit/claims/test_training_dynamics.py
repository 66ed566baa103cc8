"""Readers and counters in training: short trainings agree with the formulas, and a planted fault does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.claims.claim import Claim, Row
from workbench.claims.exact.gated_counter_training import (
    error_on_draws,
    gaps_by_flow,
    gaps_on_draws,
    gaps_with_adam,
    measured_horizon,
)
from workbench.claims.exact.shared_gain_training import (
    Reader,
    coupling_by_flow,
    coupling_of_depth_two_by_flow,
    couplings_of_depth_two_on_draws,
    couplings_on_draws,
    falling_shares,
)
from workbench.claims.suites.own_training_dynamics import SUITE
from workbench.theory.training_dynamics import (
    adam_gate_rate,
    coupling_of_shared_gain,
    decayed_gate_gap,
    gate_gap,
    relative_error,
    time_to_gap,
)

CLAIMS: dict[str, Claim] = {claim.id: claim for claim in SUITE.claims}


def side(claim: str, quantity: str, value: float, expected: float) -> str:
    """Which side of the claim's condition a number is on."""
    (condition,) = [each for each in CLAIMS[claim].conditions if each.quantity == quantity]
    row = Row(quantity, "", value, expected=expected)
    return condition.side(*row.ends, row.expected)


def test_ten_claims_with_conditions() -> None:
    assert list(CLAIMS) == [f"DX{number:02d}" for number in range(1, 11)]
    assert all(claim.conditions and not claim.trained for claim in CLAIMS.values())


def test_sgd_on_draws_finds_the_formula_and_no_other_exponent() -> None:
    readers = [Reader(2.0, 4), Reader(2.0, 4, falling_shares(4))]
    values = couplings_on_draws(readers, "sgd", steps=1000, rate=0.5, batch=64, batches="mixed")
    for value in values:
        assert side("DX01", "coupling, trained on draws", value, coupling_of_shared_gain(2.0, 4)) == "holds"
        wrong_exponent = 2.0 / (2.0 + 4)
        assert side("DX01", "coupling, trained on draws", value, wrong_exponent) == "fails"


def test_a_dropped_decay_fails() -> None:
    reader = Reader(1.0, 4, falling_shares(4), decay=0.1)
    formula = coupling_of_shared_gain(1.0, 4, decay=0.1, shares=reader.shares)
    (value,) = couplings_on_draws([reader], "sgd", steps=1000, rate=0.5, batch=64, batches="mixed")
    assert side("DX02", "coupling, trained on draws", value, formula) == "holds"
    assert coupling_by_flow(reader) == pytest.approx(formula, abs=1e-9)
    without = Reader(1.0, 4, falling_shares(4))
    (dropped,) = couplings_on_draws([without], "sgd", steps=1000, rate=0.5, batch=64, batches="mixed")
    assert side("DX02", "coupling, trained on draws", dropped, formula) == "fails"


def test_a_wrong_optimizer_fails() -> None:
    """Adam on mixed batches, on batches of one length, and sign descent each meet their own formula alone."""
    reader = Reader(2.0, 4)
    mixed, sign = (
        couplings_on_draws([reader], name, steps=1000, rate=2e-3, batch=256, batches="mixed")[0]
        for name in ("adam", "sign")
    )
    (single,) = couplings_on_draws([reader], "adam", steps=2500, rate=2e-3, batch=32, batches="one length")
    equal, rooted = (coupling_of_shared_gain(2.0, 4, name) for name in ("adam_mixed_batches", "adam_one_length"))
    assert side("DX03", "coupling, Adam on mixed batches", mixed, equal) == "holds"
    assert side("DX03", "coupling, sign descent", sign, equal) == "holds"
    assert side("DX04", "coupling, trained on draws", single, rooted) == "holds"
    assert side("DX04", "coupling, trained on draws", mixed, rooted) == "fails"
    assert side("DX03", "coupling, Adam on mixed batches", single, equal) == "fails"


def test_depth_two_by_flow_and_on_draws() -> None:
    formula = coupling_of_shared_gain(4.0, 5, initial_scale=0.1)
    assert coupling_of_depth_two_by_flow(4.0, 5, 0.1) == pytest.approx(formula, abs=1e-6)
    (value,) = couplings_of_depth_two_on_draws([(4.0, 5, 0.1)], steps=4000, rate=0.01, batch=80)
    assert side("DX05", "coupling, trained on draws", value, formula) == "holds"
    other_start = coupling_of_shared_gain(4.0, 5, initial_scale=0.3)
    assert side("DX05", "coupling, trained on draws", value, other_start) == "fails"


def test_smooth_codes_have_norm_one_and_the_stated_correlation() -> None:
    codes = Reader(2.0, 4, correlation_length=1.0).codes
    assert np.linalg.norm(codes, axis=1) == pytest.approx(np.ones(4))
    assert codes[0] @ codes[1] == pytest.approx(math.exp(-0.5))


def test_the_flow_of_a_free_gate_reaches_a_gap_in_the_integrated_time() -> None:
    (gap,) = gaps_by_flow(16, (time_to_gap(16, 1e-3),), "free")
    assert gap == pytest.approx(1e-3, rel=1e-5)
    times = (0.5, 1.0, 1.3)
    assert gaps_by_flow(16, times, "free") == pytest.approx([gate_gap(16, time, "free") for time in times], rel=1e-3)


def test_a_sigmoid_gate_on_draws_follows_the_square_root_and_not_the_exponential() -> None:
    early, late = gaps_on_draws(16, (500, 2000), "sigmoid", rate=2.0, batch=32)
    quantity = "gap over its formula, on draws"
    assert side("DX07", quantity, late / gate_gap(16, 4000), 1.0) == "holds"
    assert side("DX07", quantity, late / (early * math.exp(-3)), 1.0) == "fails"
    assert math.log(late / early) / math.log(4) == pytest.approx(-0.5, abs=0.05)


def test_decay_stops_the_gate_and_without_it_the_gap_falls_on() -> None:
    (gap,) = gaps_by_flow(16, (20_000.0,), "sigmoid", 1e-3)
    quantity = "gap over its formula, by the flow"
    assert side("DX08", quantity, gap / decayed_gate_gap(16, 1e-3), 1.0) == "holds"
    (without,) = gaps_by_flow(16, (20_000.0,), "sigmoid")
    assert side("DX08", quantity, without / decayed_gate_gap(16, 1e-3), 1.0) == "fails"


def test_adam_falls_by_its_formula_and_sgd_does_not() -> None:
    rate = adam_gate_rate(2e-3, beta2=0.99)
    first, last = gaps_with_adam(16, (round(4 / rate), round(7 / rate)), rate=2e-3, beta2=0.99)
    quantity = "slope over its formula, AdamW, exact gradient"
    assert side("DX10", quantity, math.log(first / last) / 3, 1.0) == "holds"
    by_sgd, later = gaps_by_flow(16, (4 / rate, 7 / rate), "sigmoid")
    assert side("DX10", quantity, math.log(by_sgd / later) / 3, 1.0) == "fails"


def test_errors_and_horizons_of_a_gap() -> None:
    assert error_on_draws(0.01, 32, 4000) == pytest.approx(relative_error(0.01, 32), rel=0.1)
    horizon = measured_horizon(0.002, 0.01)
    assert relative_error(0.002, math.floor(horizon)) < 0.01 <= relative_error(0.002, math.ceil(horizon))
