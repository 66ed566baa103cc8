"""The qualifier of the verdict, over stratum counts."""

from __future__ import annotations

import pytest

from workbench.measure.behaviour.accuracy_cells import Cell
from workbench.measure.behaviour.followed_shortcuts import Agreement
from workbench.measure.behaviour.hard_strata_verdict import STRINGS, Qualifier, Stratum, near_ties, stratum_verdicts
from workbench.measure.intervals import clopper_pearson, lower_limit, upper_limit

LENGTHS = (47, 63, 93, 125, 187, 249)
ONE, HALF = "1.00 [0.97, 1.00]", "0.50 [0.41, 0.59]"
"""128 and 64 of 128 with their intervals."""


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
    assert near_ties(strata({}), 31) == Qualifier(
        "hold", f"lead 1: {ONE} at 249 (matched law), {ONE} at 31; worst of 24 cells"
    )
    blunt = {("lead 1", law, n): 64 for law in ("matched", "challenge") for n in (187, 249)}
    found = near_ties(strata(blunt), 31)
    assert found == Qualifier("fail", f"lead 1: {HALF} at 187 (matched law), {ONE} at 31; worst of 24 cells")
    alone = near_ties(strata({("lead 3 to 5", "challenge", 249): 64}), 31)
    assert alone == Qualifier("fail", f"lead 3 to 5: {HALF} at 249 (challenge law), {ONE} at 31; worst of 24 cells")


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


def test_each_stratum_has_a_verdict_of_its_own_with_the_cell_that_shows_it() -> None:
    blunt = {("lead 1", "challenge", n): 64 for n in (187, 249)}
    fails, holds = stratum_verdicts(strata(blunt), 31)
    assert (fails.label, fails.shown.name, fails.shown.cell.law, fails.shown.cell.length) == (
        "fail", "lead 1", "challenge", 187,
    )  # fmt: skip
    assert fails.note == f"{ONE} at 31; worst of 12 cells"
    assert (holds.label, holds.shown.name, holds.shown.cell.length) == ("hold", "lead 3 to 5", 249)
    assert near_ties(strata(blunt), 31).label == "fail", "all together are as the worst"


def test_a_stratum_without_strings_at_n_is_compared_with_the_longest_trained_length_that_has_some() -> None:
    """Of a mixture whose components have odd and even lengths: nothing at 31, everything at 21 and 11."""
    cells = [Stratum("b", Cell("matched", n, right, 128, 0.5)) for n, right in ((11, 100), (21, 128), (63, 64))]
    cells += [Stratum("b", Cell("matched", n, 0, 0, 0.5, note="too rare, or there is none")) for n in (31, 47)]
    (verdict,) = stratum_verdicts(cells, 31)
    assert (verdict.label, verdict.reference.cell.length, verdict.cells) == ("fail", 21, 1)
    assert verdict.note == f"{ONE} at 21; one cell"
    assert near_ties(cells, 31) == Qualifier("fail", f"b: {HALF} at 63 (matched law), {ONE} at 21; one cell")


def test_the_shortcut_that_a_stratum_follows_is_told() -> None:
    at_n = Stratum("lead 1", Cell("challenge", 31, 128, 128, 0.5))
    found = [Agreement("last_window", 0, 128), Agreement("first_window", 128, 128)]
    followed = Stratum("lead 1", Cell("challenge", 187, 64, 128, 0.5), tuple(found))
    said = "right exactly where the first N tokens alone would be (128 of 128 sequences)"
    assert near_ties([at_n, followed], 31).note.endswith(f"; {said}; one cell")
    doubtful = Stratum("lead 1", followed.cell, (Agreement("first_window", 120, 128),))
    assert "exactly" not in near_ties([at_n, doubtful], 31).note, "its lower limit is below 0.95"


def stratum(name: str, length: int, skill: float, law: str = "matched") -> Stratum:
    return Stratum(name, Cell(law, length, skill * 64, 64, 0.0, counted=True))


@pytest.mark.parametrize(
    ("there", "here", "label"),
    [(1.0, 0.9, "hold"), (1.0, 0.9 - 1e-6, "fail"), (0.5, 0.45, "hold"), (0.5, 0.44, "fail"), (0.0, 0.0, "hold")],
)
def test_near_ties_at_their_bar(there: float, here: float, label: str) -> None:
    found = near_ties([stratum("lead 1", 8, there), stratum("lead 1", 16, here)], 8)
    assert found is not None
    assert found.label == label


def test_near_ties_tell_the_worst_and_of_equal_ones_the_shortest_that_fails_or_the_longest_that_holds() -> None:
    at_n = [stratum("a", 8, 1.0), stratum("b", 8, 0.5)]
    fails = [stratum("a", 16, 0.5), stratum("a", 32, 0.5), stratum("b", 64, 0.2)]
    assert near_ties([*at_n, *fails], 8) == Qualifier(
        "fail", "a: 0.50 at 16 (matched law), 1.00 at 8; worst of 3 cells"
    )
    holds = [stratum("a", 16, 0.95), stratum("a", 32, 0.95), stratum("b", 64, 0.49)]
    assert near_ties([*at_n, *holds], 8) == Qualifier(
        "hold", "a: 0.95 at 32 (matched law), 1.00 at 8; worst of 3 cells"
    )
    open_ones = [Stratum("a", Cell("matched", n, k, 64, 0.0)) for n, k in ((16, 61), (32, 60), (64, 62))]
    assert near_ties([*at_n, *open_ones], 8) == Qualifier(
        "open", "a: 0.94 [0.85, 0.98] at 32 (matched law), 1.00 at 8; worst of 3 cells"
    )
    assert near_ties([stratum("a", 8, 1.0), stratum("a", 8, 0.1)], 8) is None, "N itself is not beyond it"
