"""Rounding, hardmax and the regimes of a log-scaled local term, against tables and their own definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers import precision
from workbench.theory.limit_transformers.precision import (
    argmax_mass,
    hardmax_weights,
    local_share,
    log10_p_bit_length,
    p_bit_weights,
    position_margin,
    regime,
)

SHARES = {
    0.5: (0.260, 0.092, 0.031, 0.0099, 0.0032),
    1.0: (0.526, 0.503, 0.500, 0.500, 0.500),
    1.5: (0.778, 0.910, 0.969, 0.990, 0.997),
    2.0: (0.917, 0.990, 0.999, 0.9999, 1.0),
}


@pytest.mark.parametrize("m", SHARES)
def test_the_table_of_regimes(m: float) -> None:
    for keys, share in zip((10, 100, 1_000, 10_000, 100_000), SHARES[m], strict=True):
        assert local_share(m, keys) == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize("m", SHARES)
def test_the_share_is_a_softmax(m: float) -> None:
    scores = np.zeros(500)
    scores[7] = m * math.log(500)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert local_share(m, 500) == pytest.approx(weights[7])


def test_regimes_are_named_by_where_the_share_goes() -> None:
    assert [regime(m) for m in (0.99, 1.0, 1.01)] == ["token-dominated", "balanced", "position-dominated"]
    assert local_share(0.99, 1e300) < 0.01
    assert local_share(1.01, 1e300) > 0.99


@pytest.mark.parametrize(("bits", "gamma"), [(8, 0.5), (8, 1.0), (4, 0.3), (10, 1.7)])
def test_the_threshold_is_where_rounding_becomes_a_hardmax(bits: float, gamma: float) -> None:
    scores = np.array([0.2, 0.2 - gamma, 0.2 - 2 * gamma, 0.2])
    threshold = math.ceil(10 ** log10_p_bit_length(bits, gamma) * (1 - 1e-12))
    assert np.array_equal(p_bit_weights(scores, threshold, bits), hardmax_weights(scores))
    assert not np.array_equal(p_bit_weights(scores, threshold - 1, bits), hardmax_weights(scores))


def test_the_printed_threshold_of_the_paper_is_not_one() -> None:
    # 2^p / gamma = 512 keys for p = 8, gamma = .5: a weight of 512^-.5 = .044 is not rounded away by 8 bits
    assert p_bit_weights([0.0, -0.5], 512, 8)[1] == pytest.approx(0.044 / 1.044, abs=1e-3)
    assert 10 ** log10_p_bit_length(8, 0.5) == pytest.approx(65_536)


def test_rounded_weights_may_hold_nearly_everything() -> None:
    """The limits of the threshold: each weight is rounded, not their sum."""
    assert argmax_mass(65_536, 0.5) == pytest.approx(0.0039, abs=1e-4)
    assert argmax_mass(256, 1.0) == pytest.approx(0.501, abs=1e-3)
    assert argmax_mass(256, 3.0) > 0.999


def test_the_argmax_mass_is_a_softmax() -> None:
    keys, size, gamma = 300, 7, 0.8
    scores = np.where(np.arange(keys) < size, 0.0, -gamma) * math.log(keys)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert argmax_mass(keys, gamma, size) == pytest.approx(weights[:size].sum())


def test_thresholds_that_exceed_every_float_stay_finite_logs() -> None:
    assert log10_p_bit_length(24, 0.001) == pytest.approx(24_000 * math.log10(2))
    assert log10_p_bit_length(24, 0.0) == math.inf


def test_position_margins() -> None:
    # the 1 stands for the bulk of far keys
    assert position_margin([[0.2, 1.6, 0.1]]) == pytest.approx(0.6)
    assert position_margin([[1.6, 1.9]]) == pytest.approx(0.3)
    assert position_margin([[0.25]]) == pytest.approx(0.75)
    assert position_margin([[1.6, 1.6]]) == pytest.approx(0.6)  # equal ones share at every length
    assert position_margin([[3.0, 0.0], [1.1, 0.0]]) == pytest.approx(0.1)  # the least over heads
    assert position_margin([[1.0, 1.0]]) == math.inf


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(TheoryError, match="negative"):
        log10_p_bit_length(8, -0.1)
    with pytest.raises(TheoryError, match="best keys"):
        argmax_mass(4, 1.0, 5)
    with pytest.raises(TheoryError, match="head, lag"):
        position_margin([1.0, 2.0])


def test_one_key_to_all_keys_may_be_the_best() -> None:
    assert precision.argmax_mass(4, 1.0, 4) == 1.0
    assert precision.argmax_mass(1, 0.3) == 1.0
    assert precision.argmax_mass(4, 1.0, 1) == pytest.approx(1 / (1 + 3 / 4))
    for size in (0.99, 4.01, 0):
        with pytest.raises(TheoryError, match="best keys"):
            precision.argmax_mass(4, 1.0, size)


def test_no_bits_round_at_every_length_and_one_key_is_seen() -> None:
    assert precision.log10_p_bit_length(0, 0.5) == 0.0
    assert precision.log10_p_bit_length(0, 0.0) == math.inf
    with pytest.raises(TheoryError, match="negative"):
        precision.log10_p_bit_length(-1, 0.5)
    assert precision.local_share(2.5, 1) == 1.0
    with pytest.raises(TheoryError, match="at least one key"):
        precision.local_share(2.5, 0.5)


@pytest.mark.parametrize(
    ("gap", "bits", "kept"), [(1.0, 3.0, False), (1.0, 3.01, True), (0.0, 0.5, True), (2.0, 6.0, False)]
)
def test_weights_of_exactly_so_many_bits_are_rounded_away(gap: float, bits: float, kept: bool) -> None:
    """Among 8 keys a weight at the gap 1 is 2^-3 of the best one."""
    assert (precision.p_bit_weights([gap, 0.0], 8, bits)[1] > 0) == kept


def test_scores_within_the_tie_are_tied() -> None:
    assert precision.hardmax_weights([1.0, 0.5, 0.25], tie=0.5).tolist() == [0.5, 0.5, 0.0]
    assert precision.hardmax_weights([1.0, 1.0, 0.0]).tolist() == [0.5, 0.5, 0.0]
