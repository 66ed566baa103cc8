"""Exponents and lengths against closed forms and exhaustive search over K."""

from __future__ import annotations

import math

import numpy as np
import pytest

from circuits.attention.row_statistics import entropy, log_mass
from circuits.hardmax.critical_lengths import (
    critical_length,
    dispersion_exponent,
    growth_exponent,
    hardmax_length,
    leak_exponent,
    p_bit_length,
    scaling_exponent,
)
from workbench.models.transformer.tie_sets import sort_rows


def log_support(m: float, keys: int) -> float:
    """log(1/p_(1)) of one key at margin m among ``keys``."""
    return math.log(math.exp(m) + keys - 1) - m


def test_dispersion_of_one_key_at_a_margin() -> None:
    lengths = [16, 64, 256, 1024, 4096, 16384]
    found = dispersion_exponent([log_support(6, k) for k in lengths], np.log(lengths))
    assert found == pytest.approx([0.078, 0.249, 0.558, 0.829, 0.950], abs=5e-4)


@pytest.mark.parametrize(
    ("m", "keys", "beta", "slope"),
    [
        (3, 10, 0.344, 1.056),
        (3, 1000, 0.981, 1.039),
        (6, 100, 0.199, 1.158),
        (6, 1000, 0.713, 1.944),
        (10, 100, 0.0045, 0.050),
        (10, 10_000, 0.312, 2.460),
        (10, 100_000, 0.819, 2.299),
    ],
)
def test_local_dispersion_is_k_over_z_while_entropy_overshoots(m: float, keys: int, beta: float, slope: float) -> None:
    h = max(1, keys // 1000)
    low, high = keys - h, keys + h
    rows = [sort_rows(np.r_[m, np.zeros(k - 1)].astype(np.float32)[None]) for k in (low, high)]
    log_keys = np.log([low, high])
    found = dispersion_exponent([np.log(r.total[0]) for r in rows], log_keys)[0]
    assert found == pytest.approx(keys / (math.exp(m) + keys - 1), rel=1e-2)
    assert found == pytest.approx(beta, abs=4e-3)
    assert np.diff([entropy(r)[0] for r in rows])[0] / np.diff(log_keys)[0] == pytest.approx(slope, abs=6e-3)


def test_uniform_attention_disperses_and_does_not_leak() -> None:
    lengths = np.array([10, 100, 1000])
    assert dispersion_exponent(np.log(lengths), np.log(lengths)) == pytest.approx([1.0, 1.0])
    assert leak_exponent(np.zeros(3), np.log(lengths)) == pytest.approx([0.0, 0.0])


def test_a_point_head_leaks_once_it_is_past_its_critical_length() -> None:
    lengths = [10**3, 10**4, 10**6, 10**7]
    leak = leak_exponent([-log_support(3, k) for k in lengths], np.log(lengths))
    assert leak[[0, 2]] == pytest.approx([1.0, 1.0], abs=0.01)
    sharp = leak_exponent([-log_support(20, k) for k in (100, 1000)], np.log([100, 1000]))
    assert sharp[0] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(("m", "length"), [(3, 21.1), (6, 404.4), (10, 22_027.5)])
def test_critical_length_of_a_point(m: float, length: float) -> None:
    assert float(critical_length(1, m)) == pytest.approx(length, abs=0.05)


def test_critical_length_is_where_the_mass_is_split_evenly() -> None:
    k, keys, p = 7, 50, 0.83
    m = math.log((p / k) / ((1 - p) / (keys - k)))
    found = float(critical_length(k, m))
    assert found == pytest.approx(k + (keys - k) * p / (1 - p))
    inside, outside = k * math.exp(m), found - k
    assert inside == pytest.approx(outside)


@pytest.mark.parametrize(("now", "kappa"), [(5.0, 0.0), (20.0, 1.0), (10.0, 0.5)])
def test_growth_of_a_tie_set(now: float, kappa: float) -> None:
    assert growth_exponent(now, 5.0, 400, 100) == pytest.approx(kappa)
    with pytest.raises(ValueError, match="two ascending"):
        growth_exponent(1, 1, 100, 100)


# ---- scores multiplied by log K -----------------------------------------------------------------
def scaled_mass(gamma: float, keys: float) -> float:
    return keys**gamma / (keys**gamma + keys - 1)


@pytest.mark.parametrize(
    ("gamma", "masses", "support"),
    [
        (0.5, [0.2600, 0.0917, 0.0307, 0.0099, 0.0032], 98_511),
        (1.0, [0.5263, 0.5025, 0.5003, 0.5000, 0.5000], 632.4),
        (1.5, [0.7785, 0.9099, 0.9694, 0.9901, 0.9968], 1.059),
        (2.0, [0.9174, 0.9902, 0.9990, 0.9999, 1.0000], 1.0003),
    ],
)
def test_mass_and_support_under_log_scaling(gamma: float, masses: list[float], support: float) -> None:
    for keys, mass in zip([10, 100, 1000, 10_000, 100_000], masses, strict=True):
        rows = sort_rows(np.r_[gamma * math.log(keys), np.zeros(keys - 1)].astype(np.float32)[None])
        assert math.exp(log_mass(rows, np.array([1]))[0]) == pytest.approx(mass, abs=6e-5)
    assert math.exp(entropy(rows)[0]) == pytest.approx(support, rel=5e-4)


def test_dispersion_under_log_scaling_tends_to_one_minus_gamma() -> None:
    lengths = [10_000, 100_000]
    found = {
        gamma: float(dispersion_exponent([-math.log(scaled_mass(gamma, k)) for k in lengths], np.log(lengths))[0])
        for gamma in (0.5, 1.0, 1.5, 2.0)
    }
    assert found[0.5] == pytest.approx(0.498, abs=1e-3)
    assert found[1.0] == pytest.approx(0.0, abs=1e-4)
    assert -0.01 < found[1.5] < 0
    assert -0.01 < found[2.0] < 0


@pytest.mark.parametrize(("gamma", "exact", "formula"), [(2.0, 8, 9), (1.5, 79, 81), (1.2, 59_044, 59_049)])
def test_hardmax_length_of_a_point(gamma: float, exact: int, formula: float) -> None:
    assert hardmax_length(gamma, 0.1, size=1) == pytest.approx(formula)
    keys = np.arange(2, 60_000, dtype=np.float64)
    first = keys[np.argmax(keys**gamma / (keys**gamma + keys - 1) >= 0.9)]
    assert first == exact


@pytest.mark.parametrize(("share", "gamma", "length"), [(0.5, 1.0, 9), (0.1, 1.0, 81), (0.5, 0.25, 6561)])
def test_hardmax_length_of_a_class(share: float, gamma: float, length: float) -> None:
    found = hardmax_length(gamma, 0.1, share=share)
    assert found == pytest.approx(length)
    odds = share * found**gamma / (1 - share)
    assert odds / (1 + odds) == pytest.approx(0.9)


def test_hardmax_length_of_a_class_is_at_least_its_size() -> None:
    """The formula gives 2.25 keys for 4 that are tied: with fewer than 4 keys in view all weight lies on tied ones."""
    assert hardmax_length(2.0, 0.1, size=4) == 4
    assert hardmax_length(2.0, 0.1, size=2) == pytest.approx(4.5)


def test_hardmax_length_is_never_without_enough_growth() -> None:
    assert hardmax_length(1.0, size=1) == math.inf
    assert hardmax_length(0.0, share=0.5) == math.inf


def test_rounding_every_weight_is_not_a_hardmax() -> None:
    assert p_bit_length(8, 0.5) == pytest.approx(65_536)
    assert scaled_mass(0.5, 65_536) == pytest.approx(0.0039, abs=5e-5)
    assert p_bit_length(8, 1.0) == pytest.approx(256)
    assert scaled_mass(1.0, 256) == pytest.approx(0.501, abs=5e-4)
    assert scaling_exponent(3.0, math.e**2) == pytest.approx(1.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: hardmax_length(2.0),
        lambda: hardmax_length(2.0, size=1, share=0.5),
        lambda: hardmax_length(2.0, epsilon=0.0, size=1),
        lambda: hardmax_length(2.0, size=0),
        lambda: hardmax_length(2.0, share=1.0),
        lambda: p_bit_length(8, 0.0),
        lambda: scaling_exponent(1.0, 1.0),
    ],
)
def test_impossible_arguments_are_refused(call: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        call()  # type: ignore[operator]


def test_a_set_of_one_key_does_not_grow_from_a_sequence_of_one_key() -> None:
    assert growth_exponent(1, 1, 4, 1) == 0.0
    assert growth_exponent(4, 1, 4, 1) == 1.0
    with pytest.raises(ValueError, match="ascending"):
        growth_exponent(1, 1, 4, 0)
