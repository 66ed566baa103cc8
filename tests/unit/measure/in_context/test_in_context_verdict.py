"""The verdict in context: curves with their limits and labels, and how often a label is wrong on the mark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tests.support.held import Held
from tests.support.measure.held_rows import short
from workbench.core.thresholds import ERROR, FITTED, PARTIAL, ROBUST
from workbench.measure.in_context.verdict import Point, decide_in_context, level, limits, limits_of_mean
from workbench.measure.intervals import lower_limit, upper_limit

Curve = tuple[tuple[int, float, float, float], ...]
"""Items, skill, lower limit, upper limit."""
GEMMA: Curve = ((8, 0.80, 0.64, 0.92), (32, 0.94, 0.90, 0.98), (128, 0.970, 0.954, 0.98), (300, 0.892, 0.856, 0.92))
"""Gemma-3-270M copies words; at 300 the lower limit rounds to 0.86, and 0.9 of the reference is 0.859."""
SMOLLM2: Curve = (
    (8, 0.70, 0.64, 0.76), (16, 0.83, 0.79, 0.86), (32, 0.69, 0.64, 0.73), (64, 0.29, 0.23, 0.36),
    (128, 0.18, 0.13, 0.23), (192, 0.33, 0.27, 0.37),
)  # fmt: skip
"""SmolLM2-135M copies words; limits at 95 %."""
CURVES: dict[str, tuple[Curve, str, int, str]] = {
    "Gemma-3-270M": (GEMMA, "undecided", 300, "capable from 128 items, undecided from 300 items"),
    "Gemma-3-270M to 128": (GEMMA[:3], "undecided", 128, "capable from 128 items, the longest judged length"),
    "SmolLM2-135M": (SMOLLM2, "partial", 64, "below half of the 0.790 shown at 16 items"),
    "SmolLM2-135M to 64": (SMOLLM2[:4], "not capable", 64, "below 0.95 at every judged length"),
    "exact to the end": (((8, 1, 0.97, 1), (16, 1, 0.97, 1), (32, 1, 0.97, 1)), "holds", 32, "at every length up to 32"),
    "slow start": (((8, 0.9, 0.8, 0.94), (16, 1, 0.97, 1), (32, 0.95, 0.9, 0.99)), "holds", 32, "capable from 16"),
    "collapse": (((8, 1, 0.97, 1), (16, 0.5, 0.4, 0.6), (32, 0.1, 0.0, 0.2)), "decays", 16, "capable from 8 items"),
    "collapse at the longest": (((8, 1, 0.97, 1), (16, 1, 0.97, 1), (32, 0.1, 0, 0.2)), "undecided", 32, "--lengths 8,16,32,64"),
    "dip": (((8, 1, 0.97, 1), (16, 0.5, 0.4, 0.6), (32, 1, 0.97, 1)), "undecided", 16, "but only there"),
    "wide": (((8, 1, 0.97, 1), (16, 0.85, 0.7, 0.95), (32, 0.85, 0.7, 0.95)), "undecided", 16, "undecided from 16"),
    "never": (((8, 0.3, 0.2, 0.4), (16, 0.1, 0.0, 0.2), (32, 0.0, 0.0, 0.1)), "not capable", 32, "0.300 [0.200, 0.400]"),
    "rises to half": (((8, 0.1, 0.0, 0.2), (16, 0.7, 0.6, 0.8), (32, 0.2, 0.1, 0.29), (64, 0.1, 0, 0.2)), "partial", 32, "0.600 shown at 16"),
    "few strings": (((8, 0.9, 0.6, 0.99), (16, 0.5, 0.3, 0.7), (32, 0.5, 0.3, 0.7)), "undecided", 32, "no length is shown"),
}  # fmt: skip


def points(curve: Curve) -> list[Point]:
    return [Point(n, 2 * n, skill, low, high) for n, skill, low, high in curve]


@pytest.mark.parametrize("name", CURVES)
def test_the_label_of_a_curve_and_the_length_it_names(name: str) -> None:
    curve, label, length, words = CURVES[name]
    verdict = decide_in_context(points(curve), 1000, 2 * curve[-1][0])
    assert (verdict.label, verdict.length) == (label, length)
    assert words in verdict.note


def test_the_first_length_decides_nothing_by_itself() -> None:
    """0.80 at 8 items is below 0.95; the former rule called this model not capable."""
    assert decide_in_context(points(GEMMA), 32768).capable_from == 128


def simulated(truth: tuple[float, ...], strings: int, repetitions: int = 4000) -> list[Any]:
    """Verdicts on draws of 0/1 answers with these accuracies, chance being 0."""
    rng = np.random.default_rng(7)
    error = level(len(truth))
    verdicts = []
    for right in rng.binomial(strings, truth, (repetitions, len(truth))).tolist():
        curve = [
            Point(4 << i, 8 << i, k / strings, lower_limit(k, strings, error), upper_limit(k, strings, error))
            for i, k in enumerate(right)
        ]
        verdicts.append(decide_in_context(curve, 10_000))
    return verdicts


@pytest.mark.parametrize("strings", [64, 128, 512])
@pytest.mark.parametrize("lengths", [1, 4, 8])
def test_capable_is_wrong_in_at_most_one_draw_of_forty_where_every_length_is_on_the_mark(
    lengths: int, strings: int
) -> None:
    verdicts = simulated((FITTED - 1e-9,) * lengths, strings)
    assert np.mean([verdict.capable_from is not None for verdict in verdicts]) <= ERROR


@pytest.mark.parametrize("strings", [64, 128, 512])
@pytest.mark.parametrize(
    "truth",
    [
        (1.0, *[ROBUST] * 3),
        (1.0, *[ROBUST] * 7),
        (1.0, 1.0, 1.0, 1.0, ROBUST, ROBUST),
        (0.99, *[0.99 * ROBUST] * 5),
        (0.8, *[0.4] * 5),
    ],
)
def test_decays_is_wrong_in_at_most_one_draw_of_forty_where_lengths_are_on_the_mark(
    truth: tuple[float, ...], strings: int
) -> None:
    verdicts = simulated(truth, strings)
    assert np.mean([verdict.label in ("decays", "partial") for verdict in verdicts]) <= ERROR


@pytest.mark.parametrize(("rare", "share"), [(0.5, 0.1), (0.3, 0.05 / 0.7), (0.0, 0.05), (0.9, 0.5)])
@pytest.mark.parametrize("lengths", [1, 6])
def test_limits_of_shares_with_rare_values_are_wrong_as_seldom_as_they_say(
    rare: float, share: float, lengths: int
) -> None:
    """A share of the strings has few right answers, and the mean is 0.95; counted over all numbers of such strings."""
    strings, truth, error = 64, FITTED, level(lengths)
    wrong = np.zeros(2)
    for count in range(strings + 1):
        values = np.ones(strings)
        values[:count] = rare
        low, high = limits(values, error, np.random.default_rng(1))
        chance = binom.pmf(count, strings, share)
        wrong += chance * np.array([low > truth + 1e-12, high < truth - 1e-12])
    assert (wrong <= error).all(), wrong


def test_limits_that_know_the_mean_alone_are_wider() -> None:
    rng = np.random.default_rng(0)
    for values in (np.ones(64), np.zeros(40), rng.integers(0, 2, 64).astype(float), rng.integers(0, 9, 64) / 8):
        low, high = limits(values, 0.005, rng)
        wide_low, wide_high = limits_of_mean(float(values.mean()), len(values), 0.005)
        assert wide_low <= low + 1e-9
        assert wide_high >= high - 1e-9
    assert limits_of_mean(1.0, 10, 0.1) == (pytest.approx(0.1 ** (1 / 10)), 1.0)
    assert limits_of_mean(0.0, 10, 0.1) == (0.0, pytest.approx(1 - 0.1 ** (1 / 10)))


EPS = 1e-9


def curve(*limits: tuple[float, float], unseen: int = 0) -> list[Point]:
    """Points of (lower, upper limit), lengths doubling from 4."""
    seen = len(limits) - unseen
    return [
        Point(4 << i, 10 << i, (low + high) / 2, low, high, unseen=i >= seen) for i, (low, high) in enumerate(limits)
    ]


SURE, LOST, BLURRED, HALF = (0.96, 0.99), (0.1, 0.3), (0.85, 0.95), (0.6, 0.7)


EDGE = ROBUST * SURE[0]
"""0.9 of the reference behind SURE."""


CASES: dict[str, list[Point]] = {
    "holds": curve(SURE, SURE, SURE),
    "holds at the threshold": curve((FITTED, 1.0), (ROBUST * FITTED, 1.0)),
    "just below the threshold": curve((FITTED, 1.0), (ROBUST * FITTED - EPS, 1.0)),
    "capable later": curve((0.5, 0.7), SURE, SURE),
    "just not capable": curve((0.5, FITTED - EPS), (0.9, FITTED - EPS)),
    "open": curve((0.5, 0.7), (FITTED - EPS, FITTED)),
    "decays": curve(SURE, SURE, LOST, LOST),
    "decays at the second": curve(SURE, LOST, LOST, SURE),
    "decays from just below": curve(SURE, (0.1, EDGE - EPS), (0.1, EDGE - EPS)),
    "does not decay at the threshold": curve(SURE, (0.1, EDGE), (0.1, EDGE)),
    "the reference is the largest so far": curve(SURE, (0.99, 1.0), (0.8, 0.88), (0.8, 0.88)),
    "the reference is not later": curve(SURE, (0.8, 0.88), (0.8, 0.88), (0.99, 1.0)),
    "below at one length": curve(SURE, LOST, SURE),
    "below at the longest": curve(SURE, SURE, LOST),
    "below at the longest after an open one": curve(SURE, BLURRED, LOST),
    "open beyond": curve(SURE, BLURRED, (0.8, 0.95)),
    "one length": curve(SURE),
    "capable at the longest": curve(HALF, SURE),
    "the rest beyond the window": curve(SURE, SURE, LOST, LOST, unseen=2),
    "partial": curve(HALF, HALF, (LOST[0], 0.6 / 2 - EPS), (0.0, 0.2)),
    "not below half": curve(HALF, HALF, (0.1, 0.6 / 2), (0.0, 0.2)),
    "partial needs half": curve((PARTIAL - EPS, 0.7), (0.0, 0.1), (0.0, 0.1)),
    "partial has half": curve((PARTIAL, 0.7), (0.0, 0.1), (0.0, 0.1)),
    "partial is not before its reference": curve((0.0, 0.1), (0.0, 0.1), HALF),
    "partial at one length": curve(HALF, (0.0, 0.1)),
    "partial with an open length": curve((0.6, 0.96), (0.0, 0.1), (0.0, 0.1)),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts_in_context(name: str, held: Held) -> None:
    found = decide_in_context(CASES[name], 1000, 2 * CASES[name][-1].length)
    held(vars(found))


def test_without_a_length_in_the_window_there_is_none() -> None:
    with pytest.raises(ValueError, match="window"):
        decide_in_context(curve(SURE, unseen=1), 1000)


def test_limits_of_all_kinds_of_values(held: Held) -> None:
    rng = np.random.default_rng(0)
    kinds = {
        "0/1": np.array([1.0, 1, 0, 1, 1, 1]), "all right": np.ones(9), "none": np.zeros(4),
        "equal": np.full(7, 0.25), "shares": rng.integers(0, 5, 40) / 4,
    }  # fmt: skip
    held({
        name: short([
            [limits(values, error, np.random.default_rng(1)), limits_of_mean(float(values.mean()), len(values), error)]
            for error in (0.025, 0.2)
        ])
        for name, values in kinds.items()
    })  # fmt: skip
