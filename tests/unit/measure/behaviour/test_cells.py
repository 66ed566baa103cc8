"""Cells: limits, floors and the three states, by the numbers that the rules were worked out with."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.support.held import Held
from tests.support.measure.held_rows import short
from workbench.core.thresholds import ERROR, LOOKS
from workbench.measure.behaviour.accuracy_cells import (
    Cell,
    Rules,
    bar_of,
    far_enough,
    judged_lengths,
    outer_state,
    trained_state,
)
from workbench.measure.behaviour.interim_tests import flawless, would_decide
from workbench.measure.intervals import clopper_pearson, lower_limit, upper_limit
from workbench.measure.measurement import Grid

RULES = Rules()
GAMMA = 0.025 / 3
GRID = Grid(32, (4, 8, 16, 32, 48, 64, 96, 128, 192, 256), (8, 16, 32), (48, 64, 96, 128, 192, 256))


def cell(misses: float, n: int, floor: float, **fields) -> Cell:
    return Cell("matched", 32, n - misses, n, floor, **fields)


def test_three_looks_share_the_error() -> None:
    assert LOOKS == (512, 2048, 4096)
    assert RULES.level == pytest.approx(GAMMA, rel=1e-12)
    assert ERROR == 0.025
    assert Rules(looks=(512,)).level == 0.025


@pytest.mark.parametrize(("right", "n", "level", "low", "high"), [
    (512, 512, GAMMA, 0.990693, None),
    (507, 512, GAMMA, 0.974069, 0.997607),
    (500, 512, GAMMA, 0.955229, 0.989603),
    (2030, 2048, GAMMA, 0.984918, None),
    (3900, 4096, GAMMA, 0.943570, 0.959791),
    (500, 512, GAMMA / 3, None, 0.990993),
    (500, 512, GAMMA / 10, None, 0.992220),
    (480, 512, GAMMA / 10, None, 0.966103),
    (3900, 4096, GAMMA / 10, None, 0.961988),
])  # fmt: skip
def test_one_sided_limits(right: int, n: int, level: float, low: float | None, high: float | None) -> None:
    if low is not None:
        assert lower_limit(right, n, level) == pytest.approx(low, abs=6e-7)
    if high is not None:
        assert upper_limit(right, n, level) == pytest.approx(high, abs=6e-7)
    both = clopper_pearson(right, n, 1 - 2 * level)
    assert both == pytest.approx((lower_limit(right, n, level), upper_limit(right, n, level)), abs=1e-12)


@pytest.mark.parametrize(("floor", "fitted", "not_fitted", "robust", "coupled"), [
    (0.2, (10, 60, 134), (35, 108, 201), (26, 134, 286), (62, 205, 384)),
    (0.5, (4, 34, 78), (25, 73, 132), (14, 79, 171), (43, 136, 251)),
    (0.58, (3, 27, 64), (22, 63, 113), (10, 64, 141), (38, 117, 215)),
    (0.7, (1, 17, 43), (17, 48, 85), (6, 43, 97), (30, 88, 160)),
])  # fmt: skip
def test_misses_allowed_and_misses_needed(floor, fitted, not_fitted, robust, coupled) -> None:
    """Exactly there the state turns: one miss more does not pass, one less does not fail."""
    for look, n in enumerate(LOOKS):

        def trained(misses: int, n: int = n) -> str:
            return trained_state(cell(misses, n, floor), RULES, 3)

        def outer(misses: int, n: int = n) -> str:
            return outer_state(cell(misses, n, floor), RULES, 0.9, 10)

        for state, passes, fails in ((trained, fitted[look], not_fitted[look]), (outer, robust[look], coupled[look])):
            assert [state(passes), state(passes + 1), state(fails - 1), state(fails)] == [
                "pass",
                "open",
                "open",
                "fail",
            ]


@pytest.mark.parametrize(("floor", "fitted", "robust"), [
    (0.2, 118, 58), (0.5, 190, 94), (0.58, 226, 112), (0.7, 317, 158),
])  # fmt: skip
def test_strings_that_would_decide_where_nothing_was_wrong_yet(floor: float, fitted: int, robust: int) -> None:
    assert flawless(floor, 0.95, RULES) == would_decide(cell(0, 15, floor), 0.95, RULES, 3, 0.95) == fitted
    assert flawless(floor, 0.9, RULES) == robust
    assert trained_state(cell(0, fitted, floor), RULES, 3) == "pass"
    assert trained_state(cell(0, fitted - 1, floor), RULES, 3) == "open"


def test_the_look_that_would_decide_at_the_present_share() -> None:
    # .99 of 512 leaves "fitted" open over a floor of .5; 34 of 2,048 wrong would pass.
    assert would_decide(cell(5, 512, 0.5), 0.95, RULES, 3, 0.95) == 2048
    assert would_decide(cell(1, 100, 0.5), 0.95, RULES, 3, 0.95) == 2048, "5 of 512 would still be open"
    assert would_decide(cell(20, 512, 0.5), 0.95, RULES, 3, 0.95) == 2048, "80 of 2,048 wrong would be a fail"
    assert would_decide(cell(13, 512, 0.5), 0.95, RULES, 3, 0.95) is None, "at the bar: no planned look decides"


def test_the_states_between() -> None:
    """With a trained skill of .8 the bar is .72: what is shown to lie between .72 and .9 has not failed."""
    bar = bar_of([Cell("matched", n, 90, 100, 0.5) for n in (8, 16, 32)], RULES)
    assert bar == pytest.approx(0.72)
    between = Cell("matched", 64, 0.91 * 4096 // 1, 4096, 0.5)  # skill .82
    assert outer_state(between, RULES, bar, 10) == "between"
    assert outer_state(between, RULES, 0.9, 10) == "fail"
    assert outer_state(between, RULES, None, 10) == "between", "without a trained skill nothing can have failed"
    assert bar_of([Cell("matched", 8, 99, 100, 0.97)], RULES) is None
    assert bar_of([cell(0, 512, 0.5)], RULES) == 0.9


def test_the_level_of_fail_is_divided_by_the_cells_that_could() -> None:
    """480 of 512 over a floor of .5: proven below .94 alone, not as one of ten."""
    one = cell(32, 512, 0.5)
    assert one.upper(GAMMA) == pytest.approx(2 * upper_limit(480, 512, GAMMA) - 1)
    bar = (2 * upper_limit(480, 512, GAMMA) - 1 + 2 * 0.966103 - 1) / 2
    assert outer_state(one, Rules(robust=0.999), bar, 1) == "fail"
    assert outer_state(one, Rules(robust=0.999), bar, 10) != "fail"


@pytest.mark.parametrize(("lengths", "fitted", "robust"), [
    (4, 4, 4), (8, 8, 8), (16, 16, 15), (32, 31, 29), (64, 61, 58),
])  # fmt: skip
def test_what_is_counted_completely_has_no_interval(lengths: int, fitted: int, robust: int) -> None:
    def counted(right: int) -> Cell:
        return Cell("matched", 64, right, lengths, 0.0, counted=True)

    for right in range(lengths + 1):
        assert counted(right).lower(GAMMA) == counted(right).upper(GAMMA) == right / lengths
        assert trained_state(counted(right), RULES, 3) == ("pass" if right >= fitted else "fail")
        assert outer_state(counted(right), RULES, 0.9, 10) == ("pass" if right >= robust else "fail")


def test_the_challenge_law_is_judged_from_eight_thirds_of_n_on() -> None:
    assert judged_lengths(GRID, "matched") == (48, 64, 96, 128, 192, 256)
    assert judged_lengths(GRID, "challenge") == (96, 128, 192, 256)
    near = Grid(30, (30, 60, 79, 80, 81), (30,), (60, 79, 80, 81))
    assert judged_lengths(near, "challenge") == (80, 81)


def test_skill_is_undefined_over_a_floor_that_leaves_no_room() -> None:
    assert cell(0, 512, 0.95).defined
    assert not cell(0, 512, 0.951).defined
    assert not Cell("matched", 32, 0, 0, 0.5).defined


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"looks": ()}, "rising"),
    ({"looks": (512, 512)}, r"\b2048\b"),
    ({"fitted": 0.0}, "fitted"),
    ({"robust": 1.5}, "robust"),
])  # fmt: skip
def test_rules_that_make_no_sense_are_refused(fields, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        Rules(**fields)


EPS = 1e-9


HALVES = Rules((64, 128), fitted=0.75, robust=0.5)
"""Thresholds that a count can meet exactly."""


def counted(right: float, law: str = "matched", length: int = 64, floor: float = 0.0, n: int = 64) -> Cell:
    """A cell without sampling error: its limits are its skill."""
    return Cell(law, length, right, n, floor, counted=True)


@pytest.mark.parametrize(("right", "state"), [(48, "pass"), (47.999, "fail"), (64, "pass"), (0, "fail")])
def test_a_trained_cell_at_its_bar(right: float, state: str) -> None:
    assert trained_state(counted(right), HALVES, 3) == state


@pytest.mark.parametrize(
    ("right", "bar", "state"),
    [
        (32, 0.25, "pass"),
        (31.999, 0.25, "between"),
        (16, 0.25, "between"),
        (15.999, 0.25, "fail"),
        (0, None, "between"),
        (32, None, "pass"),
        (31, 0.5, "fail"),
    ],
)
def test_an_outer_cell_at_its_bars(right: float, bar: float | None, state: str) -> None:
    assert outer_state(counted(right), HALVES, bar, 3) == state


def test_the_level_of_fail_is_shared_out_and_that_of_pass_is_not() -> None:
    cells = [Cell("matched", 8, k, 64, 0.0) for k in range(65)]
    for state in (lambda one, of: trained_state(one, HALVES, of), lambda one, of: outer_state(one, HALVES, 0.4, of)):
        alone, many = (Counter(state(one, of) for one in cells) for of in (1, 4))
        assert alone["fail"] > many["fail"] > 0
        assert alone["pass"] == many["pass"] > 0


@pytest.mark.parametrize(("skills", "bar"), [([], None), ([64, 64], 0.5), ([32, 64], 0.375), ([0, 0], 0.0)])
def test_the_bar_is_half_of_the_mean_trained_skill(skills: list[float], bar: float | None) -> None:
    assert bar_of([counted(right) for right in skills], HALVES) == bar
    assert bar_of([*(counted(right) for right in skills), counted(1, floor=0.96), counted(0, n=0)], HALVES) == bar


def test_a_skill_is_defined_up_to_the_highest_floor() -> None:
    assert counted(1, floor=0.95).defined
    assert not counted(1, floor=0.95 + EPS).defined
    assert not Cell("matched", 8, 0, 0, 0.0).defined
    assert Cell("matched", 8, 0, 1, 0.0).defined
    assert counted(48, floor=0.5).skill == 0.5
    assert counted(48, floor=0.5).accuracy == 0.75


def test_lengths_that_are_judged() -> None:
    grid = Grid(3, (1, 3, 7, 8, 9, 24), (1, 3), (7, 8, 9, 24))
    assert judged_lengths(grid, "matched") == (7, 8, 9, 24)
    assert judged_lengths(grid, "challenge") == (8, 9, 24), "8 is 8/3 of 3"
    assert far_enough(grid)
    assert not far_enough(replace(grid, lengths=(3, 23)))


@pytest.mark.parametrize("fields", [
    {"looks": ()}, {"looks": (0,)}, {"looks": (4, 4)}, {"looks": (8, 4)}, {"fitted": 0.0}, {"fitted": 1.1},
    {"robust": 0.0}, {"robust": 1.0001}, {"robust": -1.0},
])  # fmt: skip
def test_rules_that_cannot_be(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"rising|above 0 and at most 1"):
        Rules(**fields)


def test_rules_that_just_can_be() -> None:
    rules = Rules((1,), fitted=1.0, robust=1.0)
    assert rules.level == 0.025
    assert Rules((1, 2, 3, 4)).level == 0.025 / 4


def test_how_many_strings_would_decide(held: Held) -> None:
    rules = Rules((64, 128, 512, 1024))
    found = [
        would_decide(Cell("matched", 8, right, n, floor), bar, rules, cells, below) or 0
        for n in (64, 128, 512, 1024)
        for right in (n, n - 1, round(n * 0.97), round(n * 0.92), round(n * 0.8))
        for floor in (0.0, 0.5)
        for bar in (0.9, 0.95)
        for cells, below in ((1, None), (6, 0.85), (2, 0.95))
    ]
    held([Counter(found), short(found)])
    assert [flawless(floor, 0.9, rules) for floor in (0.0, 0.5)] == [49, 99]
