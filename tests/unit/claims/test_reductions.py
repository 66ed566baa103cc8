"""What each claim's statistic makes of rows that are written by hand: value, sign, item, and which runs enter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from tests.support.claims.somewhere import HERE
from workbench.claims.claim import Claim, Row
from workbench.claims.claim_on_cells import above, claim_on
from workbench.claims.errors import ClaimError
from workbench.claims.reproducing import reduce_runs
from workbench.claims.trained import orderings, plateaus, reductions, relations
from workbench.claims.trained.claim_runs import OneRun, as_it_is, runs_of
from workbench.claims.trained.in_text.regained import by_text
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained.run_statistics import version_of
from workbench.claims.trained_cells import FIT, TrainedCell, cell

STRINGS = 500
Known = Mapping[str, float | str | None]
"""Of one run: quantity with its setting -> share, number, or label."""
ONE, OTHER, THIRD = (cell("majority", positions, 16, 10, requests=(FIT,)) for positions in ("ape", "nope", "rope"))


def rows(one: TrainedCell, seed: int, known: Known, fitted: bool = True, strings: int | None = None) -> list[RunRow]:
    """What the table would hold of a run; with ``strings`` shares have the interval of so many, else none."""
    where = (one.recipe(seed), f"{one.name} {seed}", 10, one.name, seed, FIT.key, version_of(FIT))
    made = [RunRow(*where, "fitted", label="pass" if fitted else "fail")]
    for told, value in known.items():
        if isinstance(value, str):
            made.append(RunRow(*where, told, label=value, n=64))
        elif strings is None:
            made.append(RunRow(*where, told, value=value))
        else:
            right = round((value or 0.0) * strings)
            low = float(beta.ppf(0.025, right, strings - right + 1)) if right else 0.0
            high = float(beta.ppf(0.975, right + 1, strings - right)) if right < strings else 1.0
            made.append(RunRow(*where, told, value=value, low=low, high=high, n=strings))
    return made


def of_seeds(
    by_cell: Mapping[str, Sequence[Known]],
    cells: Sequence[TrainedCell],
    unfitted: Sequence[tuple[str, int]] = (),
    strings: int | None = None,
) -> RunTable:
    """Name of a cell -> what is known of the run of each seed."""
    return RunTable(
        row
        for one in cells
        for seed, known in zip(one.seeds, by_cell[one.name], strict=True)
        for row in rows(one, seed, known, (one.name, seed) not in unfitted, strings)
    )


def alike(cells: Sequence[TrainedCell], values: Sequence[float], told: str = "b1", **more: Any) -> RunTable:
    """All runs of a cell have its value."""
    return of_seeds({one.name: [{told: v}] * 3 for one, v in zip(cells, values, strict=True)}, cells, **more)


def claim(reduce: str, *cells: TrainedCell, asks: str = "b1", exempt: bool = False, **arguments: Any) -> Claim:
    return claim_on("T", HERE, "so", "it", above(asks, 0.5), *cells, reduce=reduce, exempt=exempt, **arguments)


def made(one: Claim, table: RunTable) -> list[Row]:
    found, _, whole = reduce_runs(one, table)
    assert whole
    return list(found)


def test_a_row_of_a_run_keeps_its_value_interval_strings_and_run() -> None:
    (run, *_) = runs_of(ONE, alike([ONE], [0.8], strings=STRINGS))
    row = as_it_is(run, "b1", "told so", "item")
    assert (row.quantity, row.item, row.value, row.n, row.seed) == ("told so", "item", 0.8, STRINGS, 0)
    assert row.low == pytest.approx(0.7622, abs=1e-4)  # Clopper-Pearson for 400 of 500
    assert row.high == pytest.approx(0.8342, abs=1e-4)
    assert (row.run, row.step, row.fitted) == (f"{ONE.name} 0", 10, True)
    assert (as_it_is(run, "b1").quantity, as_it_is(run, "b1").item) == ("b1", ONE.name)


def test_each_setting_of_each_cell_is_an_item_of_its_own() -> None:
    table = of_seeds({ONE.name: [{"right, k 1": 0.9, "right, k 2": 0.4 + seed / 10} for seed in range(3)]}, [ONE])
    found = made(claim("by_setting", ONE, asks="right", settings={ONE.name: ["k 2"]}), table)
    assert [(row.quantity, row.item, row.seed) for row in found] == [("right", f"{ONE.name}, k 2", s) for s in range(3)]
    assert [row.value for row in found] == pytest.approx([0.4, 0.5, 0.6])


@pytest.mark.parametrize(
    ("verdict", "fails"),
    [("length-coupled", 1.0), ("unseen position", 1.0), ("scale-robust", 0.0), ("undecided", 0.0)],
)
def test_a_run_fails_beyond_if_it_is_coupled_or_has_no_position_there(verdict: str, fails: float) -> None:
    table = of_seeds({ONE.name: [{"verdict": verdict}] * 3}, [ONE])
    found = made(claim("fails_beyond", ONE, asks="fails beyond N"), table)
    assert [(row.value, row.low, row.high, row.n) for row in found] == [(fails, fails, fails, 64)] * 3


def test_a_quantity_enters_where_another_one_is_large_enough() -> None:
    table = of_seeds({ONE.name: [{"gate": -0.9, "right": right} for right in (0.95, 0.9, 0.89)]}, [ONE])
    one = claim("values_where", ONE, asks="gate", where="right", least=0.9)
    assert [(row.value, row.seed) for row in made(one, table)] == [(-0.9, 0), (-0.9, 1)]
    assert {row.item for row in made(one, table)} == {"right of 0.9 or more"}
    (none,) = made(claim("values_where", ONE, asks="gate", where="right", least=0.96), table)
    assert (none.item, none.low, none.high, none.entered, none.planned) == ("no run holds", -math.inf, math.inf, 0, 1)


# ---- of one run ------------------------------------------------------------------------------------
def test_a_share_over_its_own_under_another_setting() -> None:
    known = {"skill, span 8": 0.2, "skill, span 4": 0.8}
    one = claim("over_own", ONE, quantity="skill", base="span 4", settings=["span 8"])
    row = made(one, of_seeds({ONE.name: [known] * 3}, [ONE]))[0]
    assert (row.quantity, row.value, row.low, row.high) == ("skill, span 8 over span 4", 0.25, 0.25, 0.25)
    wide = made(one, of_seeds({ONE.name: [known] * 3}, [ONE], strings=STRINGS))[0]
    # Clopper-Pearson of 100 of 500, and of 400 of 500: least over greatest, greatest over least.
    assert wide.low == pytest.approx(0.16584 / 0.83416, abs=1e-4)
    assert wide.high == pytest.approx(0.23780 / 0.76220, abs=1e-4)


def test_the_slope_on_the_place_of_a_setting() -> None:
    known = {f"b1, k {k}": value for k, value in enumerate((0.9, 0.7, 0.5, 0.3), start=1)}
    one = claim("slope_on_setting", ONE, quantity="b1", settings=[f"k {k}" for k in range(1, 5)])
    assert [row.value for row in made(one, of_seeds({ONE.name: [known] * 3}, [ONE]))] == pytest.approx([-0.2] * 3)
    exact = made(one, of_seeds({ONE.name: [known] * 3}, [ONE]))[0]
    assert (exact.low, exact.high) == pytest.approx((-0.2, -0.2))
    drawn = made(one, of_seeds({ONE.name: [known] * 3}, [ONE], strings=STRINGS))[0]
    # Each share has an error of about the root of p (1 - p) / n; the slope weighs them by -.3, -.1, .1 and .3.
    error = math.sqrt(sum(w * w * p * (1 - p) for w, p in zip((0.3, 0.1, 0.1, 0.3), known.values(), strict=True)) / 500)
    assert drawn.low == pytest.approx(-0.2 - 1.96 * error, abs=2e-3)
    assert drawn.high == pytest.approx(-0.2 + 1.96 * error, abs=2e-3)
    # The middle one of a longer list of settings does not count more than its ends.
    bent = {f"b1, k {k}": value for k, value in enumerate((0.2, 0.8, 0.2), start=1)}
    one = claim("slope_on_setting", ONE, quantity="b1", settings=["k 1", "k 2", "k 3"])
    assert made(one, of_seeds({ONE.name: [bent] * 3}, [ONE]))[0].value == pytest.approx(0.0)


def test_the_strongest_period_that_is_needed_and_no_other() -> None:
    aa = cell("aa_star", "ape", 16, 10, requests=(FIT,))
    heads = {"L0H0": (3.0, 0.95), "L0H1": (4.0, 0.7), "L1H0": (2.0, 0.3), "L1H1": (None, 0.99)}
    known: dict[str, float | None] = {"b1 every prefix": 0.9}
    for head, (period, strength) in heads.items():
        known |= {f"period, weights, {head}": period, f"period_strength, weights, {head}": strength}
    table = of_seeds({aa.name: [known, {**known, "b1 every prefix": 0.89}, known]}, [aa])
    found = made(claim("period_strength", aa, asks="strength of the period"), table)
    assert [(row.seed, row.value, row.low, row.high) for row in found] == [(0, 0.7, 0.7, 0.7), (2, 0.7, 0.7, 0.7)]
    lost = of_seeds({aa.name: [{**known, "b1 every prefix": 0.1}] * 3}, [aa])
    (none,) = made(claim("period_strength", aa, asks="strength of the period"), lost)
    assert (none.item, none.entered, none.low, none.high) == ("no run holds", 0, 0.0, 1.0)
    four = cell("aaaa_star", "ape", 16, 10, requests=(FIT,))
    of_two = {**known, "period, weights, L0H1": 2.0}
    (row, *_) = made(
        claim("period_strength", four, asks="strength of the period"), of_seeds({four.name: [of_two] * 3}, [four])
    )
    assert row.value == 0.0


# ---- differences, paired by seed -------------------------------------------------------------------
def test_differences_are_the_first_less_the_second_and_keep_their_names() -> None:
    table = alike([ONE, OTHER, THIRD], [0.9, 0.6, 0.5])
    pairs = {"there": [0, 1], "back": [2, 0]}
    found = made(claim("named_differences", ONE, OTHER, THIRD, quantity="b1", pairs=pairs), table)
    assert [row.quantity for row in found] == ["difference of b1, there", "difference of b1, back"]
    assert [row.value for row in found] == pytest.approx([0.3, -0.4])
    assert [row.item for row in found] == [f"{ONE.name} less {OTHER.name}", f"{THIRD.name} less {ONE.name}"]
    assert [(row.entered, row.planned) for row in found] == [(3, 3)] * 2


def test_each_cell_less_the_next_one() -> None:
    table = alike([ONE, OTHER, THIRD], [0.9, 0.6, 0.5])
    one = claim("steps_down", ONE, OTHER, THIRD, quantity="b1", told="fall", groups=[[0, 1], [1, 2]])
    found = made(one, table)
    assert [(row.quantity, row.item) for row in found] == [
        ("fall", f"{ONE.name} and next"),
        ("fall", f"{OTHER.name} and next"),
    ]
    assert [row.value for row in found] == pytest.approx([0.3, 0.1])


def test_a_value_stands_before_its_difference() -> None:
    table = alike([ONE, OTHER], [0.9, 0.6])
    *values, less = made(claim("value_and_difference", ONE, OTHER, quantity="b1"), table)
    assert [(row.quantity, row.item, row.value) for row in values] == [("b1", ONE.name, 0.9)] * 3
    assert (less.quantity, less.value) == ("difference of b1", pytest.approx(0.3))


def test_a_pair_enters_if_both_are_fitted_or_the_claim_is_exempt() -> None:
    cells = [ONE, OTHER]
    by_cell = {ONE.name: [{"b1": value} for value in (0.9, 0.8, 0.7)], OTHER.name: [{"b1": 0.5}] * 3}
    table = of_seeds(by_cell, cells, unfitted=[(OTHER.name, 0)])
    (row,) = made(claim("difference", *cells, quantity="b1"), table)
    assert (row.value, row.entered, row.planned) == (pytest.approx(0.25), 2, 3)
    (row,) = made(claim("difference", *cells, quantity="b1", exempt=True), table)
    assert (row.value, row.entered, row.planned) == (pytest.approx(0.3), 3, 3)


@pytest.mark.parametrize(("share", "skill"), [("b2", "b2 skill"), ("accuracy at 4 N", "skill at 4 N")])
def test_a_skill_is_drawn_as_the_share_that_it_was_made_from(share: str, skill: str) -> None:
    """With a floor of a half the skills .5 and -.1 are shares of .75 and .45, and twice as uncertain as these."""

    def run_rows(one: TrainedCell, seed: int, right: float) -> list[RunRow]:
        below = rows(one, seed, {share: right}, strings=STRINGS)
        above = rows(one, seed, {skill: right}, strings=STRINGS)[-1]
        assert above.value is not None
        ends = {end: (getattr(above, end) - 0.5) / 0.5 for end in ("value", "low", "high")}
        return [*below, replace(above, **ends)]

    known = ((ONE, 0.75), (OTHER, 0.45))
    table = RunTable(row for one, right in known for seed in one.seeds for row in run_rows(one, seed, right))
    (row,) = made(claim("difference", ONE, OTHER, quantity=skill), table)
    error = 2 * math.sqrt((0.75 * 0.25 + 0.45 * 0.55) / STRINGS / 3)
    assert row.value == pytest.approx(0.6)
    quantile = 4.3027  # of t with two degrees of freedom, as there are three pairs
    assert row.low == pytest.approx(0.6 - quantile * error, abs=1e-2)
    assert row.high == pytest.approx(0.6 + quantile * error, abs=1e-2)
    assert row.each == pytest.approx((0.6, 0.6, 0.6))
    alone = RunTable(one for one in table if one.quantity != share)
    with pytest.raises(ClaimError, match=f"{share}"):
        made(claim("difference", ONE, OTHER, quantity=skill), alone)


def test_a_share_over_a_skill_below_0_keeps_its_ends_in_order() -> None:
    known = [("skill, span 8", -0.1, -0.2, 0.1), ("skill, span 4", 0.8, 0.5, 0.9)]
    table = RunTable(
        row
        for seed in ONE.seeds
        for row in (
            rows(ONE, seed, {})[0],
            *(replace(rows(ONE, seed, {told: 0.5})[-1], value=v, low=low, high=high) for told, v, low, high in known),
        )
    )
    row = made(claim("over_own", ONE, quantity="skill", base="span 4", settings=["span 8"]), table)[0]
    assert (row.value, row.low, row.high) == pytest.approx((-0.125, -0.4, 0.2))


def test_several_differences_in_one_mean() -> None:
    four = [ONE, OTHER, THIRD, cell("majority", "alibi", 16, 10, requests=(FIT,))]
    (row,) = made(
        claim("mean_difference", *four, quantity="b1", pairs=[[0, 1], [2, 3]]), alike(four, [0.9, 0.5, 0.6, 0.4])
    )
    assert (row.quantity, row.value) == ("difference of b1", pytest.approx(0.3))
    assert (row.entered, row.planned) == (6, 6)
    some = alike(four, [0.9, 0.5, 0.6, 0.4], unfitted=[(THIRD.name, seed) for seed in range(3)])
    (row,) = made(claim("mean_difference", *four, quantity="b1", pairs=[[0, 1], [2, 3]]), some)
    assert (row.value, row.entered, row.planned) == (pytest.approx(0.4), 3, 6)


def test_the_lead_is_over_the_better_fitted_cell_of_the_same_task() -> None:
    parity = cell("parity", "nope", 16, 10, requests=(FIT,))
    cells = [THIRD, ONE, OTHER, parity]
    one = claim("lead_over_better", *cells, quantity="b1", others=1)
    (row,) = made(one, alike(cells, [0.7, 0.9, 0.8, 0.99]))
    assert (row.quantity, row.item, row.value) == ("lead over the better", THIRD.name, pytest.approx(-0.2))
    off = [(ONE.name, seed) for seed in range(3)]
    (row,) = made(one, alike(cells, [0.7, 0.9, 0.8, 0.99], unfitted=off))
    assert row.value == pytest.approx(-0.1)


# ---- orderings over cells --------------------------------------------------------------------------
def test_the_lead_of_one_label_over_another_in_area_under_the_curve() -> None:
    """Inside .9 and .5, outside .6 and .1: 3 of 4 pairs in order. By the other label the .9 stands alone, against it."""
    cells = [cell(task, "ape", 16, 10, requests=(FIT,)) for task in ("majority", "flip_flop", "parity", "dyck_1")]
    one = claim("label_lead", *cells, quantity="b1", inside=2, other=("majority",))
    (row,) = made(one, alike(cells, [0.9, 0.5, 0.6, 0.1]))
    assert (row.value, row.entered, row.planned) == (0.75, 4, 4)
    assert row.low is not None
    assert row.high is not None
    assert (row.low, row.high) == (0.75, 0.75)  # twelve runs, and those of a cell agree
    off = [(cells[3].name, seed) for seed in range(3)]
    (row,) = made(one, alike(cells, [0.9, 0.5, 0.6, 0.1], unfitted=off))
    assert (row.value, row.entered) == (0.5, 3)
    (row,) = made(one, alike(cells, [0.9, 0.5, 0.5, 0.1]))  # a tie counts half
    assert row.value == pytest.approx(3.5 / 4)


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        ((0.0, 0.1, 0.2), (0.3, 0.4, 0.5), 0.0213),  # F of 13.5 with 1 and 4 degrees of freedom
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 1.0),
        ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0.0),
    ],
)
def test_settings_matter_if_runs_differ_more_between_cells_than_within(
    one: Sequence[float], other: Sequence[float], p: float
) -> None:
    table = of_seeds({ONE.name: [{"b1": v} for v in one], OTHER.name: [{"b1": v} for v in other]}, [ONE, OTHER])
    (row,) = made(claim("settings_matter", ONE, OTHER, quantity="b1", groups=[2]), table)
    assert (row.quantity, row.item) == ("p of the F-test", "majority")
    assert (row.value, row.entered, row.planned) == (pytest.approx(p, abs=1e-4), 6, 6)


def test_groups_of_settings_are_those_of_the_cells_in_their_order() -> None:
    parity = [cell("parity", positions, 16, 10, requests=(FIT,)) for positions in ("ape", "nope", "rope")]
    cells = [ONE, OTHER, *parity]
    found = made(
        claim("settings_matter", *cells, quantity="b1", groups=[2, 3]), alike(cells, [0.5, 0.5, 0.1, 0.2, 0.3])
    )
    assert [(row.item, row.value, row.entered) for row in found] == [("majority", 1.0, 6), ("parity", 0.0, 9)]


def test_a_correlation_over_runs_takes_the_mean_of_heads_and_fitted_runs() -> None:
    cells = [ONE, OTHER, THIRD]
    by_cell = {
        one.name: [
            {"T, weights, L0H0": x, "T, weights, L0H1": x + 2, "T, content, L0H0": 9.0, "b2": 1 - x / 20}
            for x in (place + 3 * seed for seed in range(3))
        ]
        for place, one in enumerate(cells)
    }
    (row,) = made(claim("run_correlation", *cells, one="T", other="b2"), of_seeds(by_cell, cells))
    assert (row.quantity, row.value, row.entered, row.planned) == ("correlation", pytest.approx(-1.0), 9, 9)
    # A run that is off the line and not fitted changes nothing; nothing is said of two cells.
    by_cell[ONE.name][0] = {**by_cell[ONE.name][0], "b2": 0.0}
    (row,) = made(claim("run_correlation", *cells, one="T", other="b2"), of_seeds(by_cell, cells, [(ONE.name, 0)]))
    assert (row.value, row.entered) == (pytest.approx(-1.0), 8)
    (row,) = made(claim("run_correlation", *cells[:2], one="T", other="b2"), of_seeds(by_cell, cells[:2]))
    assert (row.entered, row.low, row.high) == (0, -math.inf, math.inf)


LEARNED = cell("majority", "ape", 16, 10)


def one_run(known: dict[str, Any], low: float = 0.0, n: int | None = 9) -> Any:
    """A run that has these values, each with an interval from ``low`` below it to as much above."""
    rows = {
        told: SimpleNamespace(
            told=told, value=value, low=value, n=n, spread=2.0, label="", ends=((value or 0) - low, (value or 0) + low)
        )
        for told, value in known.items()
    }
    return OneRun(LEARNED, 0, rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("skills", "place"),
    [((0.9, 0.9), 2.0), ((0.95, 0.89), 1.0), ((0.89, 0.95), 0.0), ((0.5, 0.4), 0.0), ((1.0, 1.0), 2.0)],
)
def test_a_run_fails_where_its_upper_end_is_below_the_bar(skills: Sequence[float], place: float) -> None:
    run = one_run({"skill at 1 N": skills[0], "skill at 2.5 N": skills[1]})
    assert relations._fails_at(run, (1, 2.5), 0.9) == place
    wide = one_run({"skill at 1 N": skills[0], "skill at 2.5 N": skills[1]}, low=0.6)
    assert relations._fails_at(wide, (1, 2.5), 0.9) == 2.0


def test_the_slope_of_keys_needed_is_of_heads_that_have_a_number_at_every_length() -> None:
    counts: dict[str, Any] = {
        "keys_needed at 1 N, L0H0": 2.0, "keys_needed at 4 N, L0H0": 8.0,
        "keys_needed at 1 N, L0H1": 3.0, "keys_needed at 4 N, L0H1": 3.0,
        "keys_needed at 1 N, L1H0": 3.0,
        "keys_needed at 1 N, L1H1": 3.0, "keys_needed at 4 N, L1H1": None,
        "keys_needed at 4 N, L2H0": 99.0,
    }  # fmt: skip
    assert relations._keys_slope(one_run(counts), (1, 4)) == pytest.approx(0.5)
    assert relations._keys_slope(one_run({"keys_needed at 1 N, L1H0": 3.0}), (1, 4)) is None


def test_the_share_of_heads_with_a_label() -> None:
    run = one_run({"kind, L0H0": 0.0, "kind, L0H1": 0.0, "kind, L1H0": 0.0, "kind of all": 0.0, "other, L0H0": 0.0})
    run.rows["kind, L0H1"].label = run.rows["kind of all"].label = run.rows["other, L0H0"].label = "hard"
    assert relations._share(run, "kind", "hard") == pytest.approx(1 / 3)
    assert relations._share(run, "nothing", "hard") == 0.0


def test_the_best_head_is_one_that_has_a_score() -> None:
    known: dict[str, Any] = {
        "T at 1 N, task, L0H0": None, "T at 1 N, task, L0H1": -0.5, "T at 1 N, task, L1H0": -0.2,
        "T at 1 N, repeats, L0H0": 0.9, "T at 2 N, task, L0H0": 0.9,
    }  # fmt: skip
    assert reductions.best_head(one_run(known), "T", "task").value == -0.2
    assert reductions.best_head(one_run(known), "T", "repeats").value == 0.9
    with pytest.raises(ClaimError, match="seed 0"):
        reductions.best_head(one_run(known), "U", "task")


def test_means_over_heads_are_by_the_weights() -> None:
    known: dict[str, Any] = {"T, weights, L0H0": 1.0, "T, weights, L0H1": None, "T, content, L0H0": 9.0, "T": 9.0}
    assert reductions.mean_by_weights(one_run({**known, "T, weights, L1H0": 2.0}), "T") == 1.5
    assert reductions.mean_by_weights(one_run({"T, weights, L0H1": None}), "T") is None


@pytest.mark.parametrize(
    ("values", "labels", "area"),
    [((3, 2, 1), (1, 1, 0), 1.0), ((3, 2, 1), (0, 1, 1), 0.0), ((2, 2, 1), (1, 0, 0), 0.75), ((1, 1), (1, 0), 0.5)],
)
def test_the_area_under_a_curve(values: Sequence[float], labels: Sequence[int], area: float) -> None:
    assert orderings.area_under_curve(np.array(values), np.array(labels, dtype=bool)) == area


def test_where_a_falling_line_has_a_level() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = plateaus._crossing(x, np.array([[[5.0], [3.0], [1.0]], [[4.0], [4.0], [4.0]]]), 2.0)
    assert found[0] == pytest.approx(2.5)
    assert found[1] == pytest.approx(2.0 + 2e6)  # a line that does not fall has it nowhere near


@pytest.mark.parametrize(
    ("value", "n", "error"), [(4.0, 4, 0.25), (1.0, None, 2.0), (None, 4, 1e30), (1e-40, 4, 1e30), (0.5, 1, 4.0)]
)
def test_the_error_of_a_mean_over_the_mean(value: float | None, n: int | None, error: float) -> None:
    row = one_run({"x": value}, n=n).rows["x"]
    assert plateaus._relative_error(row) == pytest.approx(error)


@pytest.mark.parametrize(
    ("b1", "b2", "passes"),
    [(0.9, 0.9, True), (0.899, 1.0, False), (1.0, 0.899, False), (1.0, 0.9, True), (None, 1.0, False)],
)
def test_a_failure_is_hidden_behind_nine_of_ten_in_both_bins(
    monkeypatch: pytest.MonkeyPatch, b1: float | None, b2: float, passes: bool
) -> None:
    run = one_run({"b1 every prefix": b1, "b2 every prefix": b2, "verdict": 0.0})
    run.rows["verdict"].label = "length-coupled"
    monkeypatch.setattr(reductions, "runs_of", lambda one, table: [run])
    (row,) = reductions.hidden_failures(SimpleNamespace(cells=(LEARNED,)), None)  # type: ignore[arg-type]
    assert (row.n, row.value, row.high) == ((1, 1.0, 1.0) if passes else (0, 0.0, 1.0))
    assert (row.low or 0.0) == pytest.approx(0.025 if passes else 0.0)


def test_values_of_texts_are_in_the_order_of_their_numbers() -> None:
    run = one_run({"loss, text 10": 3.0, "loss, text 2": 2.0, "loss, text 1": 1.0, "loss, own, text 0": 9.0})
    assert by_text(run, "loss").tolist() == [1.0, 2.0, 3.0]
    assert by_text(run, "loss", "own").tolist() == [9.0]
    with pytest.raises(ClaimError, match="for single texts"):
        by_text(run, "gain")


def test_a_share_is_drawn_with_the_strings_that_it_is_of() -> None:
    run = one_run({"b1": 0.75, "b1 skill": 0.5, "skill at 4 N": 0.5, "accuracy at 4 N": 0.6, "b2": None})
    run.rows["b2"].low = 0.1
    assert run.share("b1") == (0.75, 9, 0.0)
    value, strings, floor = run.share("b1 skill")
    assert (value, strings, floor) == (0.5, 9, pytest.approx(0.5))
    assert run.share("skill at 4 N")[2] == pytest.approx(0.2)
    assert run.share("b2") == (0.0, 9, 0.0)
    run.rows["b1 skill"].low = None
    assert run.share("b1 skill") == (0.5, 0, 0.0)
    assert math.isclose(run.share("b1").value, 0.75)


ROW = RunRow("r", "run", 9, "c", 0, "fit", 1, "skill", value=0.5)


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(None, None, (0.5, 0.5)), (0.4, None, (0.4, 0.5)), (None, 0.6, (0.5, 0.6)), (0.0, 0.0, (0.0, 0.0))],
)
def test_the_ends_of_a_number_are_its_own_where_it_has_none(
    low: float | None, high: float | None, ends: tuple[float, float]
) -> None:
    assert replace(ROW, low=low, high=high).ends == ends
    assert replace(ROW, value=0.0).ends == (0.0, 0.0)
    with pytest.raises(ClaimError, match="seed 0"):
        assert replace(ROW, value=None, low=low, high=high).ends


def test_a_table_knows_rows_by_recipe_and_by_what_was_asked_in_which_version() -> None:
    table = RunTable([ROW, replace(ROW, quantity="fitted"), replace(ROW, recipe="s", version=2)])
    assert len(table) == len(list(table)) == 3
    for key, there in ((("r", "fit", [1]), True), (("r", "fit", [2]), False), (("r", "bins", [1]), False),
                       (("s", "fit", [2]), True), (("t", "fit", [1]), False), (("r", "fit", [2, 1]), True),
                       (("s", "fit", [1]), False), (("r", "fit", []), False)):  # fmt: skip
        assert table.has(*key) is there
    assert [row.quantity for row in table.of("r")] == ["skill", "fitted"]
    table.add([replace(ROW, quantity="new"), replace(ROW, asked="bins", quantity="b0")])
    assert [row.quantity for row in table.of("r")] == ["new", "b0"]
    assert len(table) == 3
    assert [replace(ROW, setting=setting).full_name for setting in ("", "k 2")] == ["skill", "skill, k 2"]
