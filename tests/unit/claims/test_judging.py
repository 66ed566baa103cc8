"""The rules of a verdict, each on rows made by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.support.claims.somewhere import HERE
from workbench.claims.claim import Claim, Condition, Row
from workbench.claims.errors import ClaimError
from workbench.claims.resampling import cell_correlation, paired_difference, spearman
from workbench.claims.typical_run import SeedShare
from workbench.claims.verdict_rule import _counted, decided_by, judge, strict_error

EXACT = Claim("X1", "E", (HERE,), "It is at most 2.", "the slope", (Condition("slope", at_most=2.0),), "none", "", 1.0)
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
        (Row("slope", "", 2.1), "does not hold"),
        (Row("slope", "", 1.9, 1.8, 2.0), "holds"),
        (Row("slope", "", 1.9, 1.8, 2.1), "undecided"),
        (Row("slope", "", 2.3, 2.1, 2.5), "does not hold"),
    ],
)
def test_an_interval_decides_only_as_a_whole(row: Row, verdict: str) -> None:
    assert judge(EXACT, [row]).verdict == verdict


def test_every_item_must_hold_and_the_one_that_does_not_is_named() -> None:
    said = judge(EXACT, [Row("slope", "m 2", 1.0), Row("slope", "m 3", 3.0), Row("slope", "m 4", 1.0)])
    assert said.verdict == "does not hold"
    assert said.observation == "slope at m 3: 3"
    assert judge(EXACT, [Row("slope", "m 2", 1.0), Row("slope", "m 4", 2.0)]).observation == "slope 1 to 2 in 2 cases"


def test_what_is_expected_is_compared_within_the_tolerance() -> None:
    claim = replace(EXACT, conditions=(Condition("rows", near=0.5),))
    assert judge(claim, [Row("rows", "", 8.5, expected=8.0)]).verdict == "holds"
    assert judge(claim, [Row("rows", "", 8.6, expected=8.0)]).verdict == "does not hold"
    assert judge(claim, [Row("rows", "", 8.6, expected=8.0)]).observation == "rows: 8.6, expected 8"
    with pytest.raises(ClaimError, match="value"):
        judge(claim, [Row("rows", "", 8.0)])


def test_incomplete_rows_are_not_run_never_undecided() -> None:
    two = replace(EXACT, conditions=(*EXACT.conditions, Condition("error", at_most=1.0)))
    assert judge(EXACT, []).verdict == "not run"
    assert judge(EXACT, [Row("slope", "", 1.0)], complete=False).verdict == "not run"
    said = judge(two, [Row("slope", "", 1.0)])
    assert (said.verdict, said.why) == ("not run", "no rows of error")


def test_a_failed_condition_outweighs_an_open_one() -> None:
    two = replace(EXACT, conditions=(*EXACT.conditions, Condition("error", at_most=1.0)))
    assert judge(two, [Row("slope", "", 2.0, 1.0, 3.0), Row("error", "", 2.0)]).verdict == "does not hold"


def test_a_description_is_neither_held_nor_refuted() -> None:
    assert judge(replace(EXACT, conditions=()), [Row("slope", "", 9.0)]).verdict == "described"


def test_conditions_that_ask_nothing_or_overlap_are_refused() -> None:
    with pytest.raises(ClaimError, match="has no bound"):
        Condition("slope")
    with pytest.raises(ClaimError, match="thresholds on b1 contradict each other"):
        Condition("b1", at_least=0.75, fails_below=0.95)


# ---- trained claims ------------------------------------------------------------------------------
HIGH, LOW, BETWEEN, ACROSS = (0.96, 0.99), (0.5, 0.6), (0.8, 0.9), (0.94, 0.97)


@pytest.mark.parametrize(
    ("ends", "verdict", "why"),
    [
        ((HIGH, (0.955, 0.985), (0.96, 0.98)), "holds", "3 seeds"),
        ((LOW, (0.52, 0.62), (0.5, 0.61)), "does not hold at this scale", "3 seeds"),
        ((HIGH, HIGH, LOW), "depends on the seed", "2 of 3 seeds shown on its side, 1 on the other"),
        ((HIGH, HIGH, BETWEEN), "undecided", "the threshold lies within the interval; 6 more fitted seeds may decide"),
        ((BETWEEN,) * 3, "undecided", "the threshold lies within the interval; 12 more fitted seeds may decide"),
    ],
)
def test_three_seeds_decide_by_their_t_interval(ends: tuple[tuple[float, float], ...], verdict: str, why: str) -> None:
    said = judge(TRAINED, runs(*ends))
    assert (said.verdict, said.why) == (verdict, why)


def test_six_seeds_decide_by_the_sign_test_and_their_ordered_values_are_the_interval() -> None:
    ends = ((0.96, 0.97), (0.95, 0.98), (0.97, 0.99), (0.95, 0.99), (0.96, 0.98), (0.94, 0.99))
    said = judge(TRAINED, runs(*ends))
    assert (said.verdict, said.why, said.tests) == ("holds", "", ("sign test",))
    assert (said.low, said.high) == pytest.approx((0.965, 0.98))
    open_one = judge(TRAINED, runs(*ends[:5], (0.94, 0.95)))
    assert (open_one.verdict, open_one.needs) == ("undecided", 3)
    assert open_one.why == "the seeds do not agree enough for the sign test; 3 more fitted seeds may decide"
    assert judge(TRAINED, runs(*ends[:5], (0.94, 0.95), *[HIGH] * 3)).verdict == "holds"  # 8 of 9


def test_runs_that_are_not_fitted_do_not_enter() -> None:
    said = judge(TRAINED, runs(HIGH, (0.955, 0.985), HIGH, LOW, fitted=(True, True, True, False)))
    assert (said.verdict, said.seeds, said.fitted) == ("holds", 4, 3)
    assert said.share == SeedShare(3, 3)


def test_too_few_fitted_seeds_leave_it_undecided_and_say_how_many() -> None:
    said = judge(TRAINED, runs(HIGH, HIGH, HIGH, fitted=(True, False, True)))
    assert (said.verdict, said.why, said.cause, said.needs) == ("undecided", "2 of 3 fitted; 3 are needed", "fit", 1)
    two = judge(replace(TRAINED, seeds=2), runs(HIGH, HIGH))
    assert (two.verdict, two.why, two.cause) == ("undecided", "2 of 2 fitted; 3 are needed", "few")
    exempt = judge(replace(TRAINED, exempt=True), runs(LOW, (0.51, 0.6), LOW, fitted=(False,) * 3))
    assert exempt.verdict == "does not hold at this scale"


def test_two_seeds_that_are_shown_on_both_sides_are_enough_to_depend_on_the_seed() -> None:
    assert judge(replace(TRAINED, seeds=2), runs(HIGH, LOW)).verdict == "depends on the seed"
    # at 0.05 / 3 the interval of the second run is wider than at 0.05, and no longer above the threshold
    assert judge(TRAINED, runs((0.951, 0.99), (0.951, 0.99), LOW)).verdict == "undecided"


def test_what_fails_outweighs_what_depends_and_that_what_is_open() -> None:
    failing, depending, open_item = (
        [replace(row, item=item) for row in runs(*ends)]
        for item, ends in (
            ("f", [(0.50, 0.51), (0.5, 0.52), (0.51, 0.52)]),
            ("d", [HIGH, HIGH, LOW]),
            ("o", [BETWEEN] * 3),
        )
    )
    assert judge(TRAINED, [*open_item, *depending, *failing]).verdict == "does not hold at this scale"
    assert judge(TRAINED, [*open_item, *depending]).verdict == "depends on the seed"
    above = [replace(row, item="h") for row in runs((0.94, 0.98), (0.94, 0.99), (0.93, 0.99))]  # open, all above 0.95
    assert judge(TRAINED, above).needs == 3
    assert judge(TRAINED, [*above, *open_item]).needs == 12


def several(item: str, low: float, high: float, entered: int, planned: int, **more: float) -> Row:
    spread = {"freedom": float(entered - 1), "fewest": entered} | more
    return Row("b1", item, (low + high) / 2, low, high, entered=entered, planned=planned, **spread)


def test_of_several_numbers_about_runs_the_one_with_fewest_is_told() -> None:
    rows = [several("many", *HIGH, 5, 5), several("few", *HIGH, 1, 4)]
    said = judge(TRAINED, rows)
    assert (said.verdict, said.why, said.fitted, said.seeds) == ("undecided", "1 of 4 fitted; 3 are needed", 1, 4)
    assert judge(TRAINED, rows[::-1]).fitted == 1
    failing = judge(TRAINED, [several("off", 0.55, 0.56, 3, 3), *rows])
    assert (failing.verdict, failing.fitted, failing.seeds) == ("does not hold at this scale", 3, 3)
    assert (judge(TRAINED, rows[:1]).fitted, judge(TRAINED, rows[:1]).why) == (5, "5 seeds")


def test_a_number_about_several_runs_needs_the_spread_of_three_seeds() -> None:
    assert judge(TRAINED, [several("pairs", *HIGH, 2, 2)]).cause == "few"
    thin = judge(TRAINED, [several("cells", *HIGH, 12, 12, freedom=1.4, fewest=2)])
    assert (thin.verdict, thin.why) == ("undecided", "2 fitted seeds of some cells; 3 are needed")
    assert judge(TRAINED, [several("cells", *HIGH, 12, 12, freedom=4.0, fewest=2)]).why == "2 seeds"
    without = Row("b1", "", 0.97, entered=16, planned=16, fewest=2)  # a p value, which has no interval
    assert judge(TRAINED, [without]).verdict == "undecided"
    assert judge(TRAINED, [replace(without, fewest=3)]).verdict == "holds"


def test_one_of_two_numbers_about_several_runs_fails_at_a_quarter_of_the_error() -> None:
    near = several("near", 0.6, 0.74, 3, 3)  # at a quarter of the error 4.30 standard errors become 8.86
    assert judge(TRAINED, [near]).verdict == "does not hold at this scale"
    said = judge(TRAINED, [near, several("other", *HIGH, 3, 3)])
    assert said.verdict == "undecided"
    assert said.why == "on the other side at error 0.05, but not at 0.013, as one of 2 parts must be"
    assert strict_error("sign test", 2) == 0.025


def test_the_share_of_seeds_of_a_paired_difference_is_that_of_its_pairs() -> None:
    row = replace(several("pairs", *HIGH, 3, 3), each=(0.96, 0.99, 0.5))
    assert judge(TRAINED, [row]).share == SeedShare(2, 3)


# ---- exact claims outside of a theorem ---------------------------------------------------------------
def test_what_lies_outside_a_theorem_is_no_failure_of_it_and_has_no_scale() -> None:
    beyond, rows = replace(EXACT, outside="n lies below its N"), [Row("slope", "", 2.1)]
    assert judge(beyond, rows).verdict == "outside the theorem's range"
    assert not judge(beyond, rows).decided
    assert judge(beyond, [Row("slope", "", 1.0)]).verdict == "holds"
    assert judge(EXACT, rows).verdict == "does not hold"


# ---- over runs -----------------------------------------------------------------------------------
def test_a_paired_difference_needs_seeds_and_strings_of_each() -> None:
    rng = np.random.default_rng(0)
    assert paired_difference([np.full(50, 0.1), np.full(80, 0.3)], rng).value == pytest.approx(0.2)
    for wrong in ([], [np.zeros(3), np.zeros(0)]):
        with pytest.raises(ClaimError, match="values of every seed"):
            paired_difference(wrong, rng)


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


def test_a_correlation_needs_three_cells_and_two_quantities_that_vary() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ClaimError, match="three settings"):
        cell_correlation([1, 2], [1, 2], [0, 1], rng)
    with pytest.raises(ClaimError, match="differ between runs"):
        cell_correlation([1, 1, 1], [1, 2, 3], [0, 1, 2], rng)


def test_a_claim_is_counted_at_the_test_with_the_largest_error() -> None:
    exact = judge(EXACT, [Row("slope", "", 1.0)])
    by_t = judge(TRAINED, runs(HIGH, (0.955, 0.985), HIGH))
    open_one = judge(TRAINED, runs(HIGH, BETWEEN, BETWEEN))
    torn = judge(TRAINED, runs(HIGH, HIGH, LOW))
    assert decided_by([exact, by_t, by_t, open_one, torn]) == {"exact": 1, "t interval": 2, "depends on the seed": 1}


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([], (0, 0)),
        ([(None, 5), (0, 3)], (0, 0)),
        ([(3, 3), (4, 2)], (4, 2)),
        ([(4, 2), (3, 3)], (4, 2)),
        ([(2, 1), (4, 2)], (4, 2)),
        ([(4, 2), (2, 1)], (4, 2)),
        ([(3, None), (4, 1)], (3, 0)),
        ([(9, 4), (2, 1)], (9, 4)),
        ([(2, 1), (9, 5)], (2, 1)),
    ],
)
def test_runs_are_counted_where_the_fewest_of_those_planned_entered(
    counts: Sequence[tuple[int | None, int | None]], said: tuple[int, int]
) -> None:
    assert _counted([Row("q", "", 0.5, entered=entered, planned=planned) for planned, entered in counts]) == said
