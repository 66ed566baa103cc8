"""The rates of the rules, simulated through the project's own functions on binomial draws with fixed seeds.

The expected rates come from 4,000 repetitions of an independent simulation. A rate passes within 3.5 standard errors of
the draws made here, and one draw: a rule that is off by a look, a level or a cell is off by far more.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import pytest

from tests.support.measure.simulated import GRID, Truth, flat, floors, many, rates
from workbench.measure.behaviour.accuracy_cells import judged_lengths

DRAWS = 200


def where(lengths: set[int], a: float, laws: tuple[str, ...] = ("matched", "challenge")) -> Truth:
    """Right everywhere but at some lengths."""
    return lambda law, n: a if n in lengths and law in laws else 1.0


BEYOND = set(GRID.outside)
BAR, BETWEEN, OPEN = "at the bar", "between the bars", "fit open"


@pytest.mark.parametrize(("truth", "floor", "expected"), [
    # Right inside, flat beyond; the floors of majority.
    (flat(1, 0.995), {}, {"scale-robust": 1}),
    (flat(1, 0.985), {}, {"scale-robust": 1}),
    (flat(1, 0.98), {}, {"scale-robust": 0.96, BAR: 0.04}),
    (flat(1, 0.97), {}, {"scale-robust": 0.009, BETWEEN: 0.002, BAR: 0.99}),
    (flat(1, 0.96), {}, {"length-coupled": 0.011, BETWEEN: 0.64, BAR: 0.35}),
    (flat(1, 0.95), {}, {"length-coupled": 0.86, BETWEEN: 0.14}),
    (flat(1, 0.94), {}, {"length-coupled": 1}),
    # The same accuracy at every length.
    (flat(0.99, 0.99), {}, {"scale-robust": 1}),
    (flat(0.985, 0.985), {}, {"scale-robust": 0.957, OPEN: 0.043}),
    (flat(0.98, 0.98), {}, {"scale-robust": 0.053, OPEN: 0.944, "not fitted": 0.0003}),
    (flat(0.975, 0.975), {}, {OPEN: 0.98, "not fitted": 0.02}),
    (flat(0.97, 0.97), {}, {OPEN: 0.455, "not fitted": 0.545}),
    (flat(0.96, 0.96), {}, {"not fitted": 1}),
    # Other floors, both laws alike.
    (flat(0.97, 0.97), {"matched": 0.2, "challenge": 0.2}, {"scale-robust": 0.67, OPEN: 0.33}),
    (flat(0.99, 0.99), {"matched": 0.7, "challenge": 0.7}, {"scale-robust": 0.32, OPEN: 0.68}),
    (flat(1, 0.96), {"challenge": 0.5}, {"scale-robust": 0.06}),
    (flat(1, 0.94), {"challenge": 0.5}, {"length-coupled": 0.76}),
    (flat(1, 0.91), {"matched": 0.2, "challenge": 0.2}, {"length-coupled": 0.41}),
    (flat(1, 0.98), {"matched": 0.7, "challenge": 0.7}, {"scale-robust": 0.65, "length-coupled": 0}),
    (flat(1, 0.97), {"matched": 0.7, "challenge": 0.7}, {"scale-robust": 0, "length-coupled": 0}),  # on the bar
    # Drops.
    (where({256}, 0.96), {}, {"length-coupled": 0, "scale-robust": 0.04}),
    (where({256}, 0.95), {}, {"length-coupled": 0.12}),
    (where({256}, 0.94), {}, {"length-coupled": 0.89}),
    (where({256}, 0.5), {}, {"length-coupled": 1}),
    (where({128}, 0.5), {}, {BETWEEN: 1}),
    (where(BEYOND, 0.95, ("challenge",)), {}, {"length-coupled": 0.86}),
    (where(BEYOND - {48}, 0.95), {}, {"length-coupled": 0.86}),
])  # fmt: skip
def test_rates(truth: Truth, floor: Mapping[str, float], expected: Mapping[str, float]) -> None:
    found = rates(truth, floors(**floor), DRAWS)
    for outcome, rate in expected.items():
        slack = 3.5 * sqrt(rate * (1 - rate) / DRAWS) + 1 / DRAWS
        assert found.get(outcome, 0.0) == pytest.approx(rate, abs=slack), outcome


def test_one_look_alone() -> None:
    """512 strings and no more: .99 everywhere is robust in .05 and open in .93, at the first of three levels."""
    found = rates(flat(0.99, 0.99), floors(), DRAWS, deep=False)
    assert found["scale-robust"] == pytest.approx(0.05, abs=0.06)
    assert found[OPEN] == pytest.approx(0.93, abs=0.07)
    assert rates(flat(0.999, 0.999), floors(), DRAWS, deep=False)["scale-robust"] > 0.97


@pytest.mark.parametrize(("a", "strings", "tokens"), [(0.995, 1.005, 1.005), (0.985, 1.21, 1.30), (0.96, 4.12, 6.01)])
def test_cost(a: float, strings: float, tokens: float) -> None:
    """In multiples of 512 strings at every length from N/4 on, under both laws."""
    counted = {key: floor for key, floor in floors().items() if key[1] >= 8}
    found = rates(flat(1, a), counted, DRAWS)
    assert found["cost in strings"] == pytest.approx(strings, rel=0.03)
    assert found["cost in tokens"] == pytest.approx(tokens, rel=0.03)


def test_the_first_failing_length_lies_in_the_interval() -> None:
    """Skill falls at 96 by .3 at once: the failure length is 96 in most draws, and the interval holds it always."""
    hits = 0
    for one in many(where({96, 128, 192, 256}, 0.85), floors(), 100):
        failure = one.verdict.failures["matched"]
        assert failure.length is not None
        assert failure.low < 96 <= failure.length
        hits += failure.length == 96
    assert hits >= 95


def test_what_the_former_rules_got_wrong() -> None:
    """A flat .97 was coupled at 48, a collapse at 8N undecided, .985 everywhere not fitted, .99 hardly ever robust."""
    labels = {
        name: {one.verdict.label for one in many(truth, floors(), 50)}
        for name, truth in {
            "flat": flat(1, 0.97),
            "end": where({256}, 0.5),
            "985": flat(0.985, 0.985),
            "99": flat(0.99, 0.99),
        }.items()
    }
    assert "length-coupled" not in labels["flat"]
    assert labels["end"] == {"length-coupled"}
    assert "not fitted" not in labels["985"]
    assert labels["99"] == {"scale-robust"}
    for one in many(where({256}, 0.5), floors(), 20):
        for law in ("matched", "challenge"):
            failure = one.verdict.failures[law]
            assert (failure.length, failure.low) in ((256, 192), (None, 192))


def test_the_challenge_law_is_measured_and_not_judged_before_eight_thirds_of_n() -> None:
    """A challenge law that is lost at 3N/2 and 2N alone, where one window sees every event, changes nothing."""
    assert judged_lengths(GRID, "challenge") == (96, 128, 192, 256)
    lost = where({48, 64}, 0.5, ("challenge",))
    assert {one.verdict.label for one in many(lost, floors(), 20)} == {"scale-robust"}
