"""The verdict's rules, case by case."""

from __future__ import annotations

import pytest

from workbench.measure.grid import make_grid
from workbench.measure.measurement import Grid
from workbench.measure.verdict import Failure, Skill, decide, failure_length
from workbench.tasks import make_task

GRID = Grid(50, (13, 25, 50, 100, 200, 400), (13, 25, 50), (100, 200, 400))


def curve(*values: float, half: float = 0.02, unseen_from: int | None = None) -> dict[int, Skill]:
    return {
        n: Skill(v, v - half, min(1.0, v + half), v - 1.5 * half, unseen_from is not None and n >= unseen_from)
        for n, v in zip(GRID.lengths, values, strict=True)
    }


GOOD = curve(1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(("matched", "challenge", "label"), [
    (GOOD, GOOD, "scale-robust"),
    (curve(1, 1, 1, 1, 1, 0.94), GOOD, "scale-robust"),
    (curve(1, 1, 0.96, 1, 1, 1), GOOD, "not fitted"),  # its lower limit is 0.94
    (curve(1, 1, 0.5, 0.5, 0.5, 0.5), GOOD, "not fitted"),
    (curve(1, 1, 1, 0.5, 0.2, 0.1), GOOD, "length-coupled"),
    (GOOD, curve(1, 1, 1, 0.5, 0.2, 0.1), "length-coupled"),
    (curve(1, 1, 1, 0.5, 1, 1), GOOD, "undecided"),  # one dip is not confirmed by the next length
    (curve(1, 1, 1, 1, 1, 0.3), GOOD, "undecided"),  # nothing beyond the last length confirms it
    (curve(1, 1, 1, 0.92, 0.92, 0.92), GOOD, "undecided"),  # lower limits at 0.89, upper ones at 0.94
    (curve(1, 1, 1, 0.1, 0.1, 0.1, unseen_from=100), GOOD, "unseen position"),
    (curve(1, 1, 1, 1, 1, 1, unseen_from=200), GOOD, "unseen position"),
    (curve(1, 1, 1, 0.1, 0.1, 0.1, unseen_from=400), GOOD, "length-coupled"),  # lost where ids were trained
])  # fmt: skip
def test_verdict(matched, challenge, label) -> None:
    assert decide({"matched": matched, "challenge": challenge}, GRID).label == label


def test_the_challenge_law_is_no_challenge_below_twice_the_training_length() -> None:
    grid = Grid(50, (13, 25, 50, 75, 100, 200, 400), (13, 25, 50), (75, 100, 200, 400))
    low = GOOD | {75: Skill(1, 0.93, 1, 0.85)}
    assert decide({"matched": GOOD | {75: GOOD[100]}, "challenge": low}, grid).label == "scale-robust"
    assert decide({"matched": low, "challenge": GOOD | {75: GOOD[100]}}, grid).label == "undecided"
    missing = {n: s for n, s in GOOD.items() if n != 200}
    verdict = decide({"matched": GOOD | {75: GOOD[100]}, "challenge": missing}, grid)
    assert (verdict.label, verdict.note) == ("undecided", "skill is undefined at length 200 under the challenge law")


def test_robust_needs_eight_times_the_training_length() -> None:
    short = Grid(50, (13, 25, 50, 100, 200), (13, 25, 50), (100, 200))
    cut = {n: s for n, s in GOOD.items() if n <= 200}
    verdict = decide({"matched": cut, "challenge": cut}, short)
    assert (verdict.label, verdict.horizon) == ("undecided", 200)
    assert "needs 400" in verdict.note
    inside = Grid(50, (13, 25, 50), (13, 25, 50), ())
    cut = {n: s for n, s in GOOD.items() if n <= 50}
    assert decide({"matched": cut, "challenge": cut}, inside).label == "undecided"


def test_undefined_skill_inside_training_decides_nothing() -> None:
    without = {n: s for n, s in GOOD.items() if n != 25}
    verdict = decide({"matched": without, "challenge": GOOD}, GRID)
    assert verdict.label == "undecided"
    assert "trained length 25" in verdict.note


@pytest.mark.parametrize(("values", "expected"), [
    ((1, 1, 1, 1, 1, 1), Failure(None, 400)),
    ((1, 1, 1, 0.5, 0.5, 0.5), Failure(100, 50)),
    ((1, 1, 1, 1, 0.5, 0.5), Failure(200, 100)),
    ((1, 1, 1, 0.5, 1, 0.5), Failure(None, 400)),
    ((0.5, 0.5, 0.5, 0.46, 0.44, 0.44), Failure(None, 400)),  # relative to the skill in training
    ((0.5, 0.5, 0.5, 0.42, 0.42, 0.42), Failure(100, 50)),
])  # fmt: skip
def test_failure_length_is_confirmed_and_interval_censored(values, expected) -> None:
    assert failure_length(curve(*values), GRID) == expected


def test_the_default_grid_rounds_up_to_admissible_lengths() -> None:
    grid = make_grid(make_task("majority"), 49)
    assert grid.inside == (13, 25, 49)
    assert {99, 197, 393} <= set(grid.outside)
    assert all(n % 2 for n in grid.lengths)
    assert max(grid.lengths) >= 8 * 49
    assert make_grid(make_task("parity"), 16).outside == (24, 32, 48, 64, 96, 128)


def test_given_lengths_keep_the_trained_ones() -> None:
    grid = make_grid(make_task("parity"), 16, [20, 40])
    assert (grid.lengths, grid.inside, grid.outside) == ((4, 8, 16, 20, 40), (4, 8, 16), (20, 40))
    with pytest.raises(ValueError, match="no strings of length 20; the next admissible length is 21"):
        make_grid(make_task("majority"), 49, [20])
