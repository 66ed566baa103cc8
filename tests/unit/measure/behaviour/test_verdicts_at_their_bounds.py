"""What is shown of a cell exactly at a bar, and the verdicts on many boards, as they are held."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.held import Held
from tests.support.measure.held_rows import FLOAT, held_rows, short
from tests.support.measure.simulated import CHALLENGE_FLOORS, GRID
from workbench.measure.behaviour.behaviour_rows import (
    cell_rows,
    first_wrong_row,
    floor_rows,
    near_ties_row,
    share_row,
    stratum_row,
    verdict_rows,
)
from workbench.measure.behaviour.cells import (
    Cell,
    Rules,
    bar_of,
    far_enough,
    judged_lengths,
    outer_state,
    trained_state,
)
from workbench.measure.behaviour.few_strings import Counted, band, bands_of, is_few, over_band, with_few
from workbench.measure.behaviour.floors import Floor
from workbench.measure.behaviour.looks import LookBoard, Looks, Tally, flawless, look, would_decide
from workbench.measure.behaviour.near_ties import Qualifier, Stratum, near_ties
from workbench.measure.behaviour.verdict import decide, fit_note, isolated
from workbench.measure.measurement import Grid
from workbench.tasks import make_task

EPS = 1e-9
HALVES = Rules((64, 128), fitted=0.75, robust=0.5)
"""Thresholds that a count can meet exactly."""


def counted(right: float, law: str = "matched", length: int = 64, floor: float = 0.0, n: int = 64) -> Cell:
    """A cell without sampling error: its limits are its skill."""
    return Cell(law, length, right, n, floor, counted=True)


# ---- cells ---------------------------------------------------------------------------------------
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
    with pytest.raises(ValueError, match=r"rise|above 0 and up to 1"):
        Rules(**fields)


def test_rules_that_just_can_be() -> None:
    rules = Rules((1,), fitted=1.0, robust=1.0)
    assert rules.level == 0.025
    assert Rules((1, 2, 3, 4)).level == 0.025 / 4


# ---- looks ---------------------------------------------------------------------------------------
def test_looks_that_are_allowed() -> None:
    rules = Rules((64, 128, 256))
    assert Looks.of(rules, 64, True) == Looks((64, 128, 256), 3)
    assert Looks.of(rules, 64, False) == Looks((64, 128, 256), 1)
    assert Looks.of(rules, 63, True) == Looks((63, 64, 128, 256), 1)
    assert Looks.of(rules, 100, True) == Looks((100, 128, 256), 3)
    assert Looks.of(rules, 128, True) == Looks((128, 256), 2)


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
    # ln .00625 / ln .9 = 48.2, / ln .95 = 98.9


class Drawn:
    """A board of random misses, few or many, some cells counted, undefined or unseen."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.rules = rng, Rules((64, 256, 512)) if seed % 3 else Rules((128,), 0.9, 0.8)
        lengths = GRID.lengths if seed % 5 else GRID.lengths[: 4 + seed % 4]
        grid = Grid(32, lengths, GRID.inside, tuple(n for n in lengths if n > 32))
        levels = rng.choice([1.0, 1.0, 1.0, 0.99, 0.97, 0.9, 0.75, 0.5], (2, len(lengths)))
        levels[:, :4] = np.where(rng.random((2, 4)) < 0.9, 1.0, levels[:, :4])
        if seed % 4 == 0:
            levels[:, 4:] = np.where(rng.random((2, len(lengths) - 4)) < 0.8, 1.0, levels[:, 4:])
        every = ("matched", "challenge")
        self.share = {(law, n): levels[i, j] for i, law in enumerate(every) for j, n in enumerate(lengths)}
        laws = ("matched", "challenge") if seed % 7 else ("matched",)
        first = self.rules.looks[0]
        cells = {}
        for law in laws:
            for n in lengths:
                floor = 0.5 if law == "matched" else CHALLENGE_FLOORS[n]
                floor = 0.96 if rng.random() < 0.01 else floor
                few = rng.random() < 0.05
                right = round(first * self.share[law, n])
                cells[law, n] = Cell(law, n, right, first, floor, 20 if few else first, counted=few)
        self.board = LookBoard(grid, self.rules, cells, frozenset(lengths[-2:]) if rng.random() < 0.1 else frozenset())

    def draw(self, cell: Cell, start: int, stop: int) -> Tally:
        return Tally(round((stop - start) * self.share[cell.key]), stop - start, stop)

    def again(self, cell: Cell, strings: int) -> Tally:
        return Tally(round(strings * (self.share[cell.key] if self.rng.random() < 0.6 else 1.0)), strings, strings)


def test_the_verdicts_on_many_boards(held: Held) -> None:
    said, labels, rows = [], Counter[str](), []
    for seed in range(160):
        one = Drawn(seed)
        looks = Looks.of(one.rules, one.rules.looks[0], seed % 6 != 1)
        made = look(one.board, looks, one.draw, one.again)
        verdict = with_few(decide(one.board, looks, made), one.board)
        labels[f"{verdict.label} {verdict.reason}"] += 1
        ends = [[law, f.length, f.low, f.tested, f.note] for law, f in verdict.failures.items()]
        alone = [cell.key for law in one.board.laws for cell in isolated(one.board, law)]
        note = FLOAT.sub("#", verdict.note)
        fit = "" if one.board.fit == "pass" else FLOAT.sub("#", fit_note(one.board))
        said.append(str([verdict.label, verdict.reason, verdict.horizon, note, ends, sorted(made.items()), alone, fit]))
        if seed < 40:
            rows += verdict_rows(verdict, one.board)
            for cell in one.board.cells.values():
                rows += cell_rows(cell, one.rules, {"law": cell.law, "length": cell.length})
        assert "<" in verdict._repr_html_()
    held({
        "labels": labels,
        "said": [zlib.crc32("\n".join(said[start : start + 20]).encode()) for start in range(0, 160, 20)],
        "rows": held_rows(rows),
    })  # fmt: skip


# ---- near ties -----------------------------------------------------------------------------------
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
    assert near_ties([*at_n, *fails], 8) == Qualifier("fail", "a: 0.50 at 16, 1.00 at 8 (matched law)")
    holds = [stratum("a", 16, 0.95), stratum("a", 32, 0.95), stratum("b", 64, 0.49)]
    assert near_ties([*at_n, *holds], 8) == Qualifier("hold", "a: 0.95 at 32, 1.00 at 8 (matched law)")
    open_ones = [Stratum("a", Cell("matched", n, k, 64, 0.0)) for n, k in ((16, 61), (32, 60), (64, 62))]
    assert near_ties([*at_n, *open_ones], 8) == Qualifier("open", "a: 0.94 at 32, 1.00 at 8 (matched law)")
    assert near_ties([stratum("a", 8, 1.0), stratum("a", 8, 0.1)], 8) is None, "N itself is not beyond it"


# ---- few strings ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("distinct", "n", "few"),
    [
        (None, 512, False),
        (31, 512, True),
        (32, 512, False),
        (15, 32, True),
        (16, 32, False),
        (0, 1, True),
        (1, 2, False),
    ],
)
def test_few_distinct_strings(distinct: int | None, n: int, few: bool) -> None:
    assert is_few(Cell("matched", 8, 0, n, 0.0, distinct)) is few


@pytest.mark.parametrize(
    ("grid", "every", "period", "bands"),
    [
        (Grid(8, (2, 4, 8, 16, 32), (2, 4, 8), (16, 32)), 1, 1,
         {2: (1, 2), 4: (3, 4), 8: (5, 8), 16: (9, 16), 32: (17, 32)}),
        (Grid(8, (2, 4, 8, 16, 32), (2, 4, 8), (16, 32)), 1, 2, {4: (1, 4), 8: (5, 8), 16: (9, 16), 32: (17, 32)}),
        (Grid(8, (2, 4, 8, 16, 32), (2, 4, 8), (16, 32)), 1, 3, {8: (1, 8), 16: (9, 16), 32: (17, 32)}),
        (Grid(8, (2, 4, 8, 16, 20), (2, 4, 8), (16, 20)), 1, 3, {8: (1, 8), 20: (9, 20)}),
        (Grid(8, (2, 4, 8, 16, 22), (2, 4, 8), (16, 22)), 1, 3, {8: (1, 8), 16: (9, 16), 22: (17, 22)}),
        (Grid(8, (4, 8, 16), (4, 8), (16,)), 2, 2, {8: (2, 8), 16: (10, 16)}),
        (Grid(8, (8, 16), (8,), (16,)), 1, 50, {8: (1, 8), 16: (9, 16)}),
    ],
)  # fmt: skip
def test_bands_hold_two_periods(grid: Grid, every: int, period: int, bands: dict[int, tuple[int, int]]) -> None:
    kept, found = bands_of(grid, range(every, max(grid.lengths) + 1, every), period)
    assert {n: (some[0], some[-1]) for n, some in found.items()} == bands
    assert [n for some in found.values() for n in some] == list(range(every, max(grid.lengths) + 1, every))
    assert kept.lengths == tuple(bands)
    assert (kept.inside, kept.outside) == (tuple(n for n in bands if n <= 8), tuple(n for n in bands if n > 8))


def test_what_is_counted_of_one_string_per_length() -> None:
    grid = Grid(4, (4, 8), (4,), (8,))
    right = {1: 0.0, 2: 1.0, 3: 1.0, 4: 0.0, 5: 1.0, 6: 1.0, 7: 0.0, 8: 0.0}
    made = Counted(grid, {4: [1, 2, 3, 4], 8: [5, 6, 7, 8]}, right)
    assert made.first_wrong == 7
    cells = made.cells(("matched",))
    assert (cells["matched", 4].right, cells["matched", 4].n, cells["matched", 4].first) == (2.0, 4, 1)
    assert cells["matched", 8].note == "2 of 4 lengths, all counted: 5-8"
    assert cells["matched", 8].distinct == 4
    assert Counted(grid, {}, {4: 0.0, 5: 1.0}).first_wrong is None
    single = Counted(grid, {8: [8]}, {8: 1.0}).cells(("challenge",))["challenge", 8]
    assert single.note == "1 of 1 lengths, all counted: 8"


def test_the_band_that_ends_at_a_length() -> None:
    task, grid = make_task("majority"), Grid(9, (5, 9, 17), (5, 9), (17,))
    assert band(task, grid, 5) == [1, 3, 5]
    assert band(task, grid, 9) == [7, 9]
    made = over_band(Cell("matched", 9, 5, 64, 0.5, 7), type("Of", (), {"lengths": [7, 9]})(), 0.25)  # type: ignore[arg-type]
    assert made == Cell("matched", 9, 0, 0, 0.25, 0, first=7, note="lengths 7-9")


# ---- rows ----------------------------------------------------------------------------------------
def test_rows_of_all_kinds(held: Held) -> None:
    where = {"law": "matched", "length": 8, "mode": "teacher_forced"}
    rules = Rules((64, 128))
    kinds = [
        Cell("matched", 8, 60, 64, 0.5, 30), Cell("matched", 8, 64, 64, 0.0), counted(60.5, floor=0.25),
        Cell("matched", 8, 0, 0, 0.5, note="nothing"), Cell("matched", 8, 60, 64, 0.96),
    ]  # fmt: skip
    rows = [r for cell in kinds for r in cell_rows(cell, rules, where)]
    rows += [stratum_row(f"kind {i}", cell) for i, cell in enumerate(kinds)]
    rows += floor_rows(Floor(0.75, 0.5, {"last": 0.75, "first": 0.25}), where)
    rows += [share_row("exact_match", "ids", np.array([True, False, True]), where)]
    rows += [near_ties_row(Qualifier("open", "a: 1 at 2"), 64), first_wrong_row(17, where, 64)]
    rows += [first_wrong_row(None, where, 64)]
    held(held_rows(rows))
