"""The qualifier of the verdict, over stratum counts."""

from __future__ import annotations

import pytest

from workbench.measure.behaviour.cells import Cell
from workbench.measure.behaviour.near_ties import STRINGS, Qualifier, Stratum, near_ties
from workbench.measure.intervals import clopper_pearson, lower_limit, upper_limit

LENGTHS = (47, 63, 93, 125, 187, 249)


def strata(right: dict[tuple[str, str, int], int], names: tuple[str, ...] = ("lead 1", "lead 3 to 5")) -> list[Stratum]:
    """128 of 128 right everywhere but where it says."""
    return [
        Stratum(name, Cell(law, n, right.get((name, law, n), 128), 128, 0.5))
        for name in names
        for law in ("matched", "challenge")
        for n in (31, *LENGTHS)
    ]


def test_the_interval_of_a_stratum() -> None:
    assert STRINGS == 128
    assert clopper_pearson(128, 128) == (pytest.approx(0.972, abs=5e-4), 1.0)
    assert clopper_pearson(64, 128) == (pytest.approx(0.410, abs=5e-4), pytest.approx(0.590, abs=5e-4))


def test_a_blurred_threshold_fails_and_a_sound_one_holds() -> None:
    """What the compiled majority with gain for 32 does: half of `lead 1` from 131 on."""
    assert near_ties(strata({}), 31) == Qualifier("hold", "lead 1: 1.00 at 249, 1.00 at 31 (matched law)")
    blunt = {("lead 1", law, n): 64 for law in ("matched", "challenge") for n in (187, 249)}
    found = near_ties(strata(blunt), 31)
    assert found == Qualifier("fail", "lead 1: 0.50 at 187, 1.00 at 31 (matched law)")
    alone = near_ties(strata({("lead 3 to 5", "challenge", 249): 64}), 31)
    assert alone == Qualifier("fail", "lead 3 to 5: 0.50 at 249, 1.00 at 31 (challenge law)")


@pytest.mark.parametrize("names", [("lead 1",), ("lead 1", "lead 3 to 5")])
def test_the_level_of_fail_is_divided_by_the_rows_and_that_of_hold_is_not(names: tuple[str, ...]) -> None:
    """Skill at N is 1, so the bar is .9 of skill: .95 of accuracy, over a floor of .5."""
    rows = len(names) * 2 * len(LENGTHS)
    fails = max(k for k in range(129) if upper_limit(k, 128, 0.025 / rows) < 0.95)
    holds = min(k for k in range(129) if lower_limit(k, 128, 0.025) >= 0.95)
    where = ("lead 1", "matched", 93)
    labels = {k: near_ties(strata({where: k}, names), 31) for k in (fails, fails + 1, holds - 1, holds)}
    assert [found.label for found in labels.values()] == ["fail", "open", "open", "hold"]
    assert fails < max(k for k in range(129) if upper_limit(k, 128, 0.025) < 0.95), "the correction does something"


def test_what_was_never_right_is_not_lost() -> None:
    """A stratum at chance at N too: nothing there can fail."""
    never = {("lead 1", law, n): 64 for law in ("matched", "challenge") for n in (31, *LENGTHS)}
    assert near_ties(strata(never), 31).label == "open"


def test_laws_are_compared_with_themselves() -> None:
    weak = {("lead 1", "challenge", n): 100 for n in (31, *LENGTHS)}
    assert near_ties(strata(weak), 31).label == "open", "as at N, though far below the other law"
    assert near_ties(strata({**weak, ("lead 1", "challenge", 31): 128}), 31).label == "fail"


def test_nothing_to_compare_is_no_qualifier() -> None:
    assert near_ties([], 31) is None
    assert near_ties([s for s in strata({}) if s.cell.length > 31], 31) is None, "without N"
    assert near_ties([s for s in strata({}) if s.cell.length <= 31], 31) is None, "without anything beyond"
    undefined = [Stratum("lead 1", Cell("matched", n, 0, 0, 0.5)) for n in (31, 47)]
    assert near_ties(undefined, 31) is None
