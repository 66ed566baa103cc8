"""The rules of a verdict, each on rows made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from workbench.claims.claim import Claim, Condition, Row
from workbench.claims.errors import ClaimError
from workbench.claims.judging import chance, judge
from workbench.claims.resampling import cell_correlation, paired_difference, spearman

EXACT = Claim(
    "X1", "E", "nowhere", "It is at most 2.", "the slope", (Condition("slope", at_most=2.0),), "none", "", 1.0
)
TRAINED = replace(EXACT, id="T1", kind="T", conditions=(Condition("b1", at_least=0.95, fails_below=0.75),), seeds=3)


def runs(*ends: tuple[float, float], fitted: tuple[bool, ...] = ()) -> list[Row]:
    """A row of b1 per seed, from the ends of its interval."""
    return [
        Row(
            "b1", "", (low + high) / 2, low, high, run=f"run{i}", step=100, seed=i, fitted=fitted[i] if fitted else True
        )
        for i, (low, high) in enumerate(ends)
    ]


# ---- exact claims --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row("slope", "", 2.0), "holds"),
        (Row("slope", "", 2.1), "does not hold at this scale"),
        (Row("slope", "", 1.9, 1.8, 2.0), "holds"),
        (Row("slope", "", 1.9, 1.8, 2.1), "undecided"),
        (Row("slope", "", 2.3, 2.1, 2.5), "does not hold at this scale"),
    ],
)
def test_an_interval_decides_only_as_a_whole(row: Row, verdict: str) -> None:
    assert judge(EXACT, [row]).verdict == verdict


def test_every_item_must_hold_and_the_one_that_does_not_is_named() -> None:
    said = judge(EXACT, [Row("slope", "m 2", 1.0), Row("slope", "m 3", 3.0), Row("slope", "m 4", 1.0)])
    assert said.verdict == "does not hold at this scale"
    assert said.observation == "slope at m 3: 3"
    assert judge(EXACT, [Row("slope", "m 2", 1.0), Row("slope", "m 4", 2.0)]).observation == "slope 1 to 2 in 2 cases"


def test_what_is_expected_is_compared_within_the_tolerance() -> None:
    claim = replace(EXACT, conditions=(Condition("rows", near=0.5),))
    assert judge(claim, [Row("rows", "", 8.5, expected=8.0)]).verdict == "holds"
    assert judge(claim, [Row("rows", "", 8.6, expected=8.0)]).verdict == "does not hold at this scale"
    assert judge(claim, [Row("rows", "", 8.6, expected=8.0)]).observation == "rows: 8.6, expected 8"
    with pytest.raises(ClaimError, match="no expected value"):
        judge(claim, [Row("rows", "", 8.0)])


def test_incomplete_rows_are_not_run_never_undecided() -> None:
    two = replace(EXACT, conditions=(*EXACT.conditions, Condition("error", at_most=1.0)))
    assert judge(EXACT, []).verdict == "not run"
    assert judge(EXACT, [Row("slope", "", 1.0)], complete=False).verdict == "not run"
    said = judge(two, [Row("slope", "", 1.0)])
    assert (said.verdict, said.why) == ("not run", "no rows of error")


def test_a_failed_condition_outweighs_an_open_one() -> None:
    two = replace(EXACT, conditions=(*EXACT.conditions, Condition("error", at_most=1.0)))
    assert judge(two, [Row("slope", "", 2.0, 1.0, 3.0), Row("error", "", 2.0)]).verdict == "does not hold at this scale"


def test_a_description_is_neither_held_nor_refuted() -> None:
    assert judge(replace(EXACT, conditions=()), [Row("slope", "", 9.0)]).verdict == "described"


def test_conditions_that_ask_nothing_or_overlap_are_refused() -> None:
    with pytest.raises(ClaimError, match="asks for nothing"):
        Condition("slope")
    with pytest.raises(ClaimError, match="beyond what holds"):
        Condition("b1", at_least=0.75, fails_below=0.95)


# ---- trained claims ------------------------------------------------------------------------------
HIGH, LOW, BETWEEN, ACROSS = (0.96, 0.99), (0.5, 0.6), (0.8, 0.9), (0.94, 0.97)


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((HIGH, HIGH, HIGH), "holds"),
        ((LOW, LOW, LOW), "does not hold at this scale"),
        ((HIGH, HIGH, LOW), "undecided"),
        ((HIGH, HIGH, ACROSS), "undecided"),
        ((BETWEEN, BETWEEN, BETWEEN), "undecided"),
    ],
)
def test_the_envelope_of_the_seeds_decides(ends: tuple[tuple[float, float], ...], verdict: str) -> None:
    assert judge(TRAINED, runs(*ends)).verdict == verdict


def test_the_envelope_is_from_the_least_lower_to_the_greatest_upper_limit() -> None:
    said = judge(TRAINED, runs((0.96, 0.97), (0.95, 0.98), (0.97, 0.99)))
    assert (said.low, said.high, said.seeds, said.fitted) == (0.95, 0.99, 3, 3)


def test_runs_that_are_not_fitted_do_not_enter() -> None:
    said = judge(TRAINED, runs(HIGH, HIGH, HIGH, LOW, fitted=(True, True, True, False)))
    assert (said.verdict, said.seeds, said.fitted) == ("holds", 4, 3)


def test_too_few_fitted_seeds_leave_it_undecided_and_say_how_many() -> None:
    said = judge(TRAINED, runs(HIGH, HIGH, HIGH, fitted=(True, False, True)))
    assert (said.verdict, said.why) == ("undecided", "2 of 3 fitted")
    assert judge(replace(TRAINED, exempt=True), runs(LOW, LOW, LOW, fitted=(False,) * 3)).verdict.startswith("does not")


def test_of_several_numbers_about_runs_the_one_with_fewest_is_told() -> None:
    rows = [Row("b1", "many", 0.97, *HIGH, entered=5, planned=5), Row("b1", "few", 0.97, *HIGH, entered=1, planned=4)]
    said = judge(TRAINED, rows)
    assert (said.verdict, said.why, said.fitted, said.seeds) == ("undecided", "1 of 4 fitted", 1, 4)
    assert judge(TRAINED, rows[::-1]).fitted == 1
    failing = judge(TRAINED, [Row("b1", "off", 0.55, *LOW, entered=3, planned=3), *rows])
    assert (failing.verdict, failing.fitted, failing.seeds) == ("does not hold at this scale", 3, 3)
    assert (judge(TRAINED, rows[:1]).fitted, judge(TRAINED, rows[:1]).seeds) == (5, 5)


def test_where_two_seeds_are_planned_two_may_decide_and_the_verdict_says_so() -> None:
    said = judge(replace(TRAINED, seeds=2), runs(HIGH, HIGH))
    assert (said.verdict, said.why) == ("holds", "2 seeds")
    assert judge(replace(TRAINED, seeds=1), runs(HIGH)).why == "1 seed"


def test_of_five_fitted_seeds_one_may_be_left_out_and_is_named() -> None:
    said = judge(replace(TRAINED, seeds=5), runs(HIGH, HIGH, HIGH, LOW, HIGH))
    assert (said.verdict, said.why) == ("holds", "seed 3 left out")
    assert judge(replace(TRAINED, seeds=5), runs(HIGH, HIGH, LOW, LOW, HIGH)).verdict == "undecided"
    assert judge(replace(TRAINED, seeds=4), runs(HIGH, HIGH, LOW, HIGH)).verdict == "undecided"


# ---- over runs -----------------------------------------------------------------------------------
def test_a_paired_difference_draws_seeds_then_strings() -> None:
    rng = np.random.default_rng(0)
    value, low, high = paired_difference([np.full(50, 0.1), np.full(80, 0.3)], rng)
    assert (value, low, high) == pytest.approx((0.2, 0.1, 0.3))  # two seeds: between the two, whatever the strings
    within = paired_difference([np.repeat([0.0, 1.0], 200)] * 3, rng)
    assert within[0] == 0.5
    assert within[2] - within[1] == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 400 / 3), rel=0.1)
    with pytest.raises(ClaimError, match="a seed"):
        paired_difference([], rng)


@pytest.mark.parametrize("kinds", [2, 4, 1000], ids=["two values", "ties", "hardly any tie"])
def test_spearmans_correlation_is_scipys(kinds: int) -> None:
    """Of values with ties and without; and of ranks by hand: 1, 2.5, 2.5, 4 beside 1, 2, 4, 3."""
    rng = np.random.default_rng(kinds)
    for count in range(4, 40):
        x, y = rng.integers(0, kinds, count) / 7, rng.integers(0, kinds, count) / 3
        x[:2], y[:2] = (0, 1), (1, 0)
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic, rel=1e-13, abs=1e-15)
    assert spearman(np.array([3.0, 5.0, 5.0, 9.0]), np.array([0.0, 1.0, 7.0, 2.0])) == pytest.approx(
        3 / math.sqrt(4.5 * 5)
    )
    found = spearman(np.array([1.0, 2.0, 3.0]), np.array([9.0, 8.0, -1.0]))
    assert found == pytest.approx(-1)


def test_a_correlation_draws_whole_cells() -> None:
    rng = np.random.default_rng(1)
    x = np.repeat(np.arange(6.0), 5)
    value, low, high = cell_correlation(x, x**3, x.astype(int).tolist(), rng)
    assert (value, low, high) == pytest.approx((1.0, 1.0, 1.0))
    # thirty runs of three cells are not thirty independent ones: the interval spans nearly everything
    noise = cell_correlation(
        np.repeat([0.0, 1.0, 2.0], 10), np.repeat([1.0, 0.0, 2.0], 10), [0] * 10 + [1] * 10 + [2] * 10, rng
    )
    assert noise[1] < -0.9
    with pytest.raises(ClaimError, match="three cells"):
        cell_correlation([1, 2], [1, 2], [0, 1], rng)


def test_chance_counts_only_what_rests_on_intervals() -> None:
    exact = judge(EXACT, [Row("slope", "", 1.0)])
    sampled = judge(EXACT, [Row("slope", "", 1.0, 0.9, 1.1)])
    open_one = judge(EXACT, [Row("slope", "", 2.0, 1.9, 2.1)])
    luck = chance([exact, sampled, sampled, open_one])
    assert (luck.decided, luck.by_interval, luck.false_by_chance) == (3, 2, pytest.approx(0.1))
