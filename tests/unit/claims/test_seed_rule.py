"""The rule of trained claims: how often it errs with the typical run on the threshold, and how often it decides.

The error and power of the rule are printed in ``docs/claims/index.md``; here they are simulated with named streams.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from tests.unit.claims.test_judging import TRAINED
from workbench.claims.claim import Condition, Row
from workbench.claims.resampling import cell_correlation, each_draw, over_seeds, paired_difference
from workbench.claims.typical_run import (
    NONE,
    SIGN_TEST,
    STUDENT,
    SeedShare,
    counts_of,
    floor_of,
    own_interval,
    seeds_needed,
    sign_test_p,
    typical_run,
)
from workbench.claims.verdict_rule import judge, side_of_typical
from workbench.core.seeds import seed_of
from workbench.measure.intervals import clopper_pearson

STRINGS = 512
THRESHOLD = 0.9
DRAWS = 4_000
"""Of each line of the table. The standard error of an error of 0.05 is then 0.0034."""
BOUND = Condition("b1", at_least=THRESHOLD, fails_below=THRESHOLD)
SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - math.log(2),
    "log-normal": lambda rng, shape: np.exp(rng.standard_normal(shape)) - 1,
}
"""Values of seeds whose median is 0."""


def stream(*parts: object) -> np.random.Generator:
    return np.random.default_rng(seed_of("claims", "seed rule", *parts))


def share_row(right: int, seed: int = 0, n: int = STRINGS, item: str = "", fitted: bool = True) -> Row:
    low, high = clopper_pearson(right, n)
    run = f"run{seed}{item}"
    return Row("b1", item, right / n, low, high, n=n, run=run, seed=seed, fitted=fitted, floor=0.0)


def plain_row(value: float, seed: int = 0) -> Row:
    return Row("b1", "", value, run=f"run{seed}", seed=seed, fitted=True)


def wrong_decisions(shape: str, seeds: int, parts: int, claim_side: int) -> tuple[float, float]:
    """Shares of draws in which the typical run is found above and below the threshold, on which it lies.

    Args:
        shape: of the seeds' values.
        seeds: that enter.
        parts: items of the claim. All have to be above for *holds*, one below is enough for *does not hold*.
        claim_side: 1 where the long tail lies on the claim's side, -1 where it lies on the other.
    """
    values = claim_side * SHAPES[shape](stream(shape, seeds, parts, claim_side), (DRAWS // parts, parts, seeds))
    bound = Condition("b1", at_least=0.0, fails_below=0.0)
    sides = [[side_of_typical(bound, [plain_row(v) for v in item], parts) for item in draw] for draw in values.tolist()]
    return (
        float(np.mean([set(draw) == {"holds"} for draw in sides])),
        float(np.mean(["fails" in draw for draw in sides])),
    )


# ---- error ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("seeds", [6, 9, 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_sign_test_decides_wrongly_in_at_most_one_draw_in_twenty(shape: str, seeds: int) -> None:
    holds, fails = wrong_decisions(shape, seeds, 1, 1)
    exact = {6: 2 / 64, 9: 20 / 512, 10: 22 / 1024}[seeds]
    assert holds + fails <= 0.05
    assert holds + fails == pytest.approx(exact, abs=4 * math.sqrt(exact / DRAWS))


@pytest.mark.parametrize("seeds", [3, 4, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_t_interval_decides_wrongly_in_at_most_three_draws_in_forty(shape: str, seeds: int) -> None:
    assert sum(wrong_decisions(shape, seeds, 1, 1)) <= 0.075


@pytest.mark.parametrize(("seeds", "most"), [(3, 0.075), (4, 0.075), (5, 0.075), (9, 0.05), (10, 0.05)])
@pytest.mark.parametrize("shape", SHAPES)
def test_of_ten_items_none_is_wrongly_found_on_the_other_side_more_often(shape: str, seeds: int, most: float) -> None:
    """The long tail of skewed seeds lies on the claim's side, which is the worse one."""
    holds, fails = wrong_decisions(shape, seeds, 10, 1)
    assert holds <= 0.01
    assert holds + fails <= most


@pytest.mark.parametrize("seeds", [3, 5, 6])
def test_shares_of_sequences_keep_the_error_with_and_without_a_spread_of_seeds(seeds: int) -> None:
    for spread in (0.0, 1.0):
        rng = stream("shares", seeds, spread)
        truth = expit(logit(THRESHOLD) + spread * rng.standard_normal((DRAWS // 4, seeds)))
        rows = [[share_row(right) for right in draw] for draw in rng.binomial(STRINGS, truth).tolist()]
        decided = np.mean([side_of_typical(BOUND, draw) != "open" for draw in rows])
        assert decided <= (0.05 if seeds >= 6 else 0.075)


def test_seeds_that_are_all_alike_seldom_seem_to_depend_on_the_seed() -> None:
    rng = stream("alike")
    draws = rng.binomial(STRINGS, THRESHOLD, (400, 5)).tolist()
    claim = replace(TRAINED, conditions=(BOUND,), seeds=5)
    verdicts = [judge(claim, [share_row(right, i) for i, right in enumerate(draw)]).verdict for draw in draws]
    assert np.mean([verdict == "depends on the seed" for verdict in verdicts]) <= 0.05


# ---- power ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("seeds", "power"), [(6, 0.53), (10, 0.74)])
def test_power_of_the_sign_test_where_nine_seeds_of_ten_lie_above(seeds: int, power: float) -> None:
    exact = sum(stats.binom.pmf(k, seeds, 0.9) for k in range(seeds + 1) if sign_test_p(seeds - k, seeds) <= 0.05)
    assert exact == pytest.approx(power, abs=5e-3)
    above = stream("power", seeds).random((DRAWS, seeds)) < 0.9
    sides = [side_of_typical(BOUND, [plain_row(0.95 if up else 0.5) for up in draw]) for draw in above.tolist()]
    assert np.mean([side == "holds" for side in sides]) == pytest.approx(power, abs=0.03)


@pytest.mark.parametrize(("seeds", "on_side"), [(6, 6), (7, 7), (8, 8), (9, 8), (10, 9), (12, 10)])
def test_how_many_seeds_must_agree(seeds: int, on_side: int) -> None:
    assert stats.binomtest(on_side, seeds).pvalue <= 0.05 < stats.binomtest(on_side - 1, seeds).pvalue
    assert sign_test_p(seeds - on_side, seeds) == pytest.approx(stats.binomtest(on_side, seeds).pvalue)
    values = [0.95] * on_side + [0.1] * (seeds - on_side)
    assert side_of_typical(BOUND, list(map(plain_row, values))) == "holds"
    assert side_of_typical(BOUND, list(map(plain_row, [*values[1:], 0.1]))) == "open"
    assert seeds_needed(seeds - on_side) <= seeds
    assert [seeds_needed(fewer) for fewer in range(4)] == [6, 9, 12, 15]


# ---- the typical run -----------------------------------------------------------------------------
def test_the_number_of_seeds_alone_says_which_test_applies() -> None:
    for values in ([0.5] * 12, np.linspace(0, 1, 12).tolist()):
        tests = [typical_run(list(map(plain_row, values[:k]))).test for k in range(1, 13)]
        assert tests == [NONE] * 2 + [STUDENT] * 3 + [SIGN_TEST] * 7
    assert typical_run([plain_row(0.3), plain_row(0.5)]).ends == (-math.inf, math.inf)


def test_the_t_interval_of_numbers_is_scipys() -> None:
    values = [0.2, 0.7, 0.4]
    found = typical_run(list(map(plain_row, values)))
    wanted = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.value == 0.4
    assert found.ends == pytest.approx((wanted.low, wanted.high))
    tenth = typical_run(list(map(plain_row, values)), 0.005)
    assert tenth.ends == pytest.approx(tuple(stats.ttest_1samp(values, 0.0).confidence_interval(0.995)))


def test_the_t_interval_of_shares_is_one_of_smoothed_logits() -> None:
    rights = [300, 400, 480]
    values = logit((np.array(rights) + 0.5) / (STRINGS + 1))
    half = stats.t.ppf(0.975, 2) * values.std(ddof=1) / math.sqrt(3)
    smooth = expit([values.mean() - half, values.mean() + half])
    assert typical_run(list(map(share_row, rights))).ends == pytest.approx((smooth * (STRINGS + 1) - 0.5) / STRINGS)


def test_the_spread_is_not_below_the_noise_of_the_sequences() -> None:
    """Of three runs with 460 of 512 the logits are the same; each has a standard error of 0.146."""
    low, high = typical_run([share_row(460)] * 3).ends
    half = stats.t.ppf(0.975, 2) * math.sqrt(1 / 460.5 + 1 / 52.5) / math.sqrt(3)
    assert logit(high) - logit(low) == pytest.approx(2 * half, rel=0.01)
    noisy = [replace(plain_row(0.5), low=0.4, high=0.6)] * 3
    assert typical_run(noisy).high == pytest.approx(0.5 + stats.t.ppf(0.975, 2) * 0.1 / 1.95996 / math.sqrt(3))


def test_all_right_in_three_runs_is_no_certainty_and_no_failure() -> None:
    low, high = typical_run([share_row(STRINGS)] * 3).ends
    assert (0.96 < low < 0.98, high) == (True, 1.0)
    counted = Row("b1", "", 1.0, 1.0, 1.0, n=16, run="r", seed=0, fitted=True, floor=0.0)
    assert typical_run([counted] * 3).low < 0.5
    assert side_of_typical(Condition("b1", at_least=1.0), [counted] * 3) == "open"
    assert side_of_typical(Condition("b1", at_least=1.0), [counted] * 6) == "holds"


def test_seeds_that_agree_exactly_without_any_noise_give_no_t_interval() -> None:
    assert typical_run([plain_row(0.0)] * 5).ends == (-math.inf, math.inf)
    assert typical_run([plain_row(0.0)] * 6).ends == (0.0, 0.0)


def test_a_threshold_for_holding_and_one_for_failing_are_tested_each() -> None:
    bound = Condition("b1", at_least=0.9, fails_below=0.5)
    assert side_of_typical(bound, [plain_row(v) for v in (0.91, 0.92, 0.9, 0.95, 0.99, 0.9)]) == "holds"
    assert side_of_typical(bound, [plain_row(v) for v in (0.6, 0.7, 0.8, 0.6, 0.7, 0.8)]) == "open"
    assert side_of_typical(bound, [plain_row(v) for v in (0.1, 0.2, 0.4, 0.3, 0.49, 0.0)]) == "fails"


def test_one_of_two_items_fails_at_half_the_error() -> None:
    """Six seeds below have p = 0.031: enough for one item, not for one of two; seven have 0.016."""
    below = [plain_row(0.1)] * 7
    assert side_of_typical(BOUND, below[:6], parts=1) == "fails"
    assert side_of_typical(BOUND, below[:6], parts=2) == "open"
    assert side_of_typical(BOUND, below, parts=2) == "fails"
    assert side_of_typical(BOUND, [plain_row(0.95)] * 6, parts=10) == "holds"  # all ten have to, so each at 0.05


# ---- counts, own intervals and the share of seeds --------------------------------------------------
def test_the_floor_of_a_skill_follows_from_its_interval() -> None:
    for right, floor in [(300, 0.5), (512, 0.5), (0, 0.25), (128, 0.25), (461, 0.0), (512, 0.0)]:
        ends = [right / STRINGS, *clopper_pearson(right, STRINGS)]
        value, low, high = ((end - floor) / (1 - floor) for end in ends)
        assert floor_of(value, low, high, STRINGS) == pytest.approx(floor, abs=1e-9)
        row = Row("b1", "", value, low, high, n=STRINGS, floor=floor)
        counts = counts_of(row)
        assert counts is not None
        assert counts.right == right
        wide = [(end - floor) / (1 - floor) for end in clopper_pearson(right, STRINGS, 0.99)]
        assert own_interval(row, 0.01) == pytest.approx(wide)
    assert floor_of(0.5, 0.4, 0.6, STRINGS) is None  # no exact interval of any count
    assert own_interval(Row("x", "", 0.5, 0.4, 0.6), 0.01) == pytest.approx((0.5 - 0.13143, 0.5 + 0.13143), abs=1e-5)
    assert own_interval(Row("x", "", 0.5, 0.5, 0.5), 0.01) == (0.5, 0.5)


def test_the_share_of_seeds_has_its_exact_interval() -> None:
    assert str(SeedShare(2, 3)) == "2 of 3 [0.09, 0.99]"
    said = judge(TRAINED, [share_row(right, i) for i, right in enumerate((500, 300, 490))])
    assert said.share == SeedShare(2, 3)


# ---- numbers about several runs ----------------------------------------------------------------------
def test_the_mean_over_the_seeds_of_a_cell_has_students_interval() -> None:
    for count in (3, 5, 8):
        values = stream("mean", count).standard_normal(count)
        found = over_seeds(["a"] * count, lambda i, v=values: v[i].mean(1), stream("mean draws", count))
        wanted = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert found is not None
        assert (found.freedom, found.fewest) == (pytest.approx(count - 1), count)
        assert found.high - found.low == pytest.approx(wanted.high - wanted.low, rel=0.06)
        assert (found.low + found.high) / 2 == pytest.approx(values.mean())


def test_the_difference_of_two_cells_has_the_interval_of_welch() -> None:
    one, other = np.array([0.1, 0.3, 0.2, 0.4]), np.array([1.0, 3.0, 8.0])
    values = np.concatenate([one, other])

    def difference(chosen: np.ndarray) -> float:
        return float(values[chosen[chosen >= 4]].mean() - values[chosen[chosen < 4]].mean())

    found = over_seeds([0] * 4 + [1] * 3, each_draw(difference), stream("welch"))
    wanted = stats.ttest_ind(other, one, equal_var=False)
    assert found is not None
    assert found.freedom == pytest.approx(wanted.df, rel=0.02)
    ends = wanted.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=0.08)


def test_the_interval_is_not_narrower_than_the_sequences_allow() -> None:
    shares = [np.repeat([0.0, 1.0], 200)] * 3  # no spread of seeds at all
    found = paired_difference(shares, stream("strings"))
    half = stats.t.ppf(0.975, 2) * math.sqrt(0.25 / 400 / 3)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), rel=0.03)
    without = over_seeds([0, 0, 0], each_draw(lambda i: 0.25), stream("none"))
    assert without is not None
    assert (without.low, without.high) == (-math.inf, math.inf)


def test_a_correlation_draws_the_seeds_of_each_cell() -> None:
    """Two far groups of cells order perfectly whatever seeds are drawn; within one cell nothing is ordered."""
    x = np.repeat(np.arange(6.0), 3)
    noise = stream("correlation").standard_normal(18)
    found = cell_correlation(x, x + 0.2 * noise, x.astype(int).tolist(), stream("draws"))
    assert 0.8 < found.low < found.value <= found.high <= 1.0
    loose = cell_correlation(x, x + 3 * noise, x.astype(int).tolist(), stream("draws"))
    assert loose.high - loose.low > 3 * (found.high - found.low)
    assert found.freedom >= 2
