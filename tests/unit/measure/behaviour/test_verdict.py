"""The verdict's rules, case by case: who is asked again, where skill is lost, what is said and why."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from tests.support.held import Held
from tests.support.measure.held_rows import FLOAT, held_rows
from tests.support.measure.simulated import CHALLENGE_FLOORS, GRID, RULES
from workbench.measure.behaviour.accuracy_cells import Cell, Key, Rules
from workbench.measure.behaviour.interim_tests import LookBoard, Looks, Tally, look
from workbench.measure.behaviour.listed_sequences import with_few
from workbench.measure.behaviour.rows import cell_rows, verdict_rows
from workbench.measure.behaviour.verdict import (
    FailureLength,
    Verdict,
    decide,
    failure_length,
    fit_note,
    isolated_failures,
)
from workbench.measure.grid import make_grid
from workbench.measure.measurement import Grid
from workbench.tasks import make_task

LAST = 256


class Model:
    """Answers with stated misses in every 512 strings of a cell, always the same ones; all else is right.

    Args:
        wrong: misses in 512 strings, by law and length, or by length under both laws.
        second: misses in 512 strings of a second batch.
    """

    def __init__(self, wrong: Mapping[Key | int, int], second: int = 0, floor: float = 0.5, grid: Grid = GRID) -> None:
        self.wrong, self.second, self.floor, self.grid = wrong, second, floor, grid
        self.asked: list[tuple[str, int, int]] = []
        self.again: list[tuple[str, int, int]] = []

    def misses(self, law: str, n: int) -> int:
        return self.wrong.get((law, n), self.wrong.get(n, 0))

    def board(self, rules: Rules = RULES, unseen: frozenset[int] = frozenset(), **fields) -> LookBoard:
        first = rules.looks[0]
        cells = {
            (law, n): Cell(law, n, first - self.misses(law, n) * first // 512, first, self.floor, **fields)
            for law in ("matched", "challenge")
            for n in self.grid.lengths
        }
        return LookBoard(self.grid, rules, cells, unseen)

    def more(self, cell: Cell, start: int, stop: int) -> Tally:
        self.asked.append((*cell.key, stop))
        wrong = self.misses(*cell.key)
        return Tally(stop - start - wrong * stop // 512 + wrong * start // 512, stop - start)

    def second_batch(self, cell: Cell, strings: int) -> Tally:
        self.again.append((*cell.key, strings))
        return Tally(strings - self.second * strings // 512, strings)

    def judge(self, deep: bool = True, board: LookBoard | None = None) -> tuple[Verdict, LookBoard]:
        board = board or self.board()
        looks = Looks.of(board.rules, board.rules.looks[0], deep)
        made = look(board, looks, self.more, self.second_batch)
        return decide(board, looks, made), board


# Over a floor of .5 and among 512: fitted up to 4 misses, not fitted from 25 on; robust up to 14, failing from 43 on.
@pytest.mark.parametrize(("wrong", "label", "reason"), [
    ({}, "scale-robust", ""),
    ({LAST: 14}, "scale-robust", ""),
    ({16: 4}, "scale-robust", ""),
    ({16: 5}, "scale-robust", ""),  # open at the first look: 20 of 2,048 pass
    ({16: 25}, "not fitted", ""),
    ({16: 13}, "undecided", "at the bar"),
    ({16: 25, 64: 100, 96: 100}, "not fitted", ""),
    ({64: 43, 96: 43}, "length-coupled", ""),
    ({("challenge", 96): 43, ("challenge", 128): 43}, "length-coupled", ""),
    ({("challenge", 48): 250, ("challenge", 64): 250}, "scale-robust", ""),  # measured, not judged
    ({64: 200}, "undecided", "between the bars"),  # fails alone
    ({64: 25, 96: 25}, "undecided", "at the bar"),
])  # fmt: skip
def test_verdict(wrong, label, reason) -> None:
    verdict, _ = Model(wrong).judge()
    assert (verdict.label, verdict.reason, verdict.horizon) == (label, reason, 256)


def test_trained_cells_are_asked_alone_and_first() -> None:
    model = Model({16: 5, ("matched", 64): 19})
    verdict, board = model.judge()
    assert verdict.label == "scale-robust"
    assert model.asked == [("matched", 16, 2048), ("matched", 64, 2048)]
    assert [board.cells["matched", n].n for n in (8, 16, 32, 48, 64)] == [512, 2048, 512, 512, 2048]
    open_fit = Model({16: 13, 64: 20})
    open_fit.judge()
    assert open_fit.asked == [("matched", 16, 2048), ("matched", 16, 4096)], "beyond training nothing is asked"


def test_not_fitted_asks_nothing_more() -> None:
    model = Model({8: 100, 16: 5, 64: 20, LAST: 300})
    verdict, _ = model.judge()
    assert (verdict.label, model.asked, model.again) == ("not fitted", [], [])
    assert verdict.note == "skill 0.609 [0.519, 0.690] at trained length 8; fitted needs 0.95"


def test_once_robust_is_ruled_out_only_cells_that_could_make_a_pair_are_asked_again() -> None:
    """64 fails alone; 48 and 96 beside it pass, 128 is open with passing neighbours, the last one open itself."""
    model = Model({64: 200, ("matched", 128): 25, ("challenge", LAST): 25})
    verdict, _ = model.judge()
    assert {key[:2] for key in model.asked} == {("challenge", LAST)}
    assert verdict.reason == "between the bars"
    beside = Model({("matched", 64): 200, ("matched", 96): 42})
    verdict, board = beside.judge()
    assert beside.asked == [("matched", 96, 2048)], "open beside one that fails"
    assert (verdict.label, board.cells["matched", 96].n) == ("length-coupled", 2048)


def test_a_state_once_reached_is_kept_and_the_others_go_on() -> None:
    """A cell that failed at the first look is not drawn again, and what is shown is what it was shown on."""
    model = Model({("matched", 64): 200, ("matched", 96): 35})
    _, board = model.judge()
    assert board.cells["matched", 64].n == 512
    assert board.states["matched", 64] == "fail"


def test_a_collapse_at_the_last_length_alone_is_confirmed_by_a_second_batch() -> None:
    model = Model({("matched", LAST): 256}, second=256)
    verdict, board = model.judge()
    assert model.again == [("matched", LAST, 512)]
    assert verdict.label == "length-coupled"
    assert verdict.failures["matched"] == FailureLength(LAST, 192, LAST, "confirmed by a second batch")
    assert verdict.note.endswith("at length 256 under the matched law, confirmed by a second batch")
    assert verdict.failures["challenge"] == FailureLength(None, LAST, LAST)
    assert board.cells["matched", LAST].n == 512, "the second batch is no part of the cell"


def test_a_second_batch_that_does_not_fail_takes_the_failure_back() -> None:
    verdict, _ = Model({("matched", LAST): 256}, second=20).judge()
    assert (verdict.label, verdict.reason) == ("undecided", "between the bars")
    assert verdict.failures["matched"] == FailureLength(None, 192, LAST, "one batch of two fails at 256")
    assert verdict.note == "one batch of two fails at 256 under the matched law"


def test_the_second_batch_is_as_large_as_what_the_cell_was_given() -> None:
    # 35 of 512 are open, 140 of 2,048 fail.
    model = Model({("challenge", LAST): 35}, second=35)
    verdict, _ = model.judge()
    assert model.asked == [("challenge", LAST, 2048)]
    assert model.again == [("challenge", LAST, 2048)]
    assert verdict.label == "length-coupled"


def test_a_pair_needs_no_second_batch() -> None:
    model = Model({("matched", 192): 256, ("matched", LAST): 256})
    verdict, _ = model.judge()
    assert model.again == []
    assert verdict.failures["matched"] == FailureLength(192, 128, LAST)


def test_low_is_the_last_length_up_to_which_all_pass() -> None:
    """Not simply the grid length before: 64 is open here, and the pair is shown from 128 on."""
    verdict, _ = Model({("matched", 64): 30, ("matched", 128): 100, ("matched", 192): 100}).judge()
    assert verdict.failures["matched"] == FailureLength(128, 48, LAST)
    at_once, _ = Model({48: 100, 64: 100}).judge()
    assert at_once.failures["matched"] == FailureLength(48, 32, LAST)
    censored, _ = Model({("matched", 96): 25}).judge()
    assert censored.failures["matched"] == FailureLength(None, 64, LAST)


def test_an_isolated_failing_length_is_named_and_is_no_failure_length() -> None:
    verdict, _ = Model({("matched", 128): 200}).judge()
    assert verdict.failures["matched"] == FailureLength(None, 96, LAST, "fails at 128 alone")
    assert (verdict.label, verdict.note) == ("undecided", "fails at 128 alone under the matched law")


def test_the_bar_of_a_law_is_relative_to_its_own_trained_skill() -> None:
    """Skill .8 inside training on the challenge law: the bar there is .72, under the matched law .9."""
    weak = {("challenge", n): 51 for n in (8, 16, 32)}  # skill .801
    shared = {("matched", 96): 60, ("matched", 128): 60, ("challenge", 96): 60, ("challenge", 128): 60}  # skill .766
    verdict, board = Model(weak | shared).judge()
    assert board.bar("matched") == 0.9
    assert board.bar("challenge") == pytest.approx(0.9 * (1 - 2 * 51 / 512))
    assert verdict.failures["matched"].length == 96
    assert verdict.failures["challenge"].length is None
    between, _ = Model(weak | {key: n for key, n in shared.items() if key[0] == "challenge"}).judge()
    assert (between.label, between.reason) == ("undecided", "between the bars")
    assert "lies between the bars 0.721 and 0.9" in between.note


def test_a_cut_budget_is_told_apart_from_a_share_at_the_bar() -> None:
    cut, _ = Model({16: 9}).judge(deep=False)
    assert (cut.label, cut.reason) == ("undecided", "too few strings")
    assert cut.note.startswith("it is not known yet whether it fits: skill 0.965 [0.926, 0.987] at trained length 16")
    assert cut.note.endswith("the bar is 0.95; 4,096 strings would decide")
    outer, _ = Model({("matched", 96): 19}).judge(deep=False)
    assert outer.reason == "too few strings"
    assert outer.note == (
        "skill 0.926 [0.876, 0.960] at length 96 under the matched law, the bar is 0.9; 2,048 strings would decide"
    )
    whole, _ = Model({("matched", 96): 25}).judge()
    assert whole.reason == "at the bar"
    assert whole.note == "skill 0.902 [0.885, 0.918] at length 96 under the matched law, the bar is 0.9"
    hopeless, _ = Model({("matched", 96): 25}).judge(deep=False)
    assert hopeless.note.endswith("at this share 4,096 strings would not decide")


def test_open_cells_that_can_decide_nothing_are_no_want_of_strings() -> None:
    verdict, _ = Model({("matched", 48): 25, ("matched", 128): 200}).judge(deep=False)
    assert verdict.reason == "between the bars"


def test_an_open_fit_names_what_fails_beyond_it() -> None:
    verdict, _ = Model({16: 13, 96: 200, 128: 200}).judge()
    assert (verdict.label, verdict.reason) == ("undecided", "at the bar")
    assert "whether it fits stays open after 4,096 strings: skill 0.949" in verdict.note
    assert verdict.note.endswith("skill fails at 96 under the matched law")


def test_positions_never_seen_are_left_out_and_are_a_label_of_their_own() -> None:
    def judged(wrong: Mapping[Key | int, int], unseen: set[int]) -> str:
        model = Model(wrong)
        return model.judge(board=model.board(unseen=frozenset(unseen)))[0].label

    every = set(GRID.outside)
    assert judged(dict.fromkeys(GRID.outside, 250), every) == "unseen position"
    assert judged({}, {192, 256}) == "unseen position"
    assert judged({48: 200, 64: 200}, {192, 256}) == "length-coupled", "lost where ids were trained"
    assert judged({16: 100}, every) == "not fitted"
    model = Model({96: 200}, second=200)
    verdict, _ = model.judge(board=model.board(unseen=frozenset({128, 192, 256})))
    assert verdict.failures["matched"] == FailureLength(96, 64, 96, "confirmed by a second batch"), (
        "the last judged length"
    )


def test_robust_needs_eight_times_the_training_length() -> None:
    short = Grid(32, (8, 16, 32, 64, 128), (8, 16, 32), (64, 128))
    verdict, _ = Model({}, grid=short).judge()
    assert (verdict.label, verdict.horizon, verdict.reason) == ("undecided", 128, "horizon")
    assert verdict.note == "measured to length 128 only; scale-robust needs 256"
    inside, _ = Model({}, grid=Grid(32, (8, 16, 32), (8, 16, 32), ())).judge()
    assert (inside.label, inside.reason) == ("undecided", "horizon")
    assert inside.failures["matched"] == FailureLength(None, 32, None, "no length beyond training is judged")
    coupled, _ = Model({64: 200, 128: 200}, grid=short).judge()
    assert coupled.label == "length-coupled", "a failure needs no horizon"


def test_undefined_skill_decides_nothing() -> None:
    board = Model({}).board()
    board.cells["matched", 16] = Cell("matched", 16, 512, 512, 0.97)
    verdict, _ = Model({}).judge(board=board)
    assert (verdict.label, verdict.reason) == ("undecided", "undefined")
    assert "trained length 16" in verdict.note
    board = Model({}).board()
    board.cells["challenge", 128] = Cell("challenge", 128, 512, 512, 0.97)
    verdict, _ = Model({}).judge(board=board)
    assert (verdict.reason, verdict.note) == ("undefined", "skill is undefined at length 128 under the challenge law")
    board = Model({}).board()
    board.cells["challenge", 64] = Cell("challenge", 64, 512, 512, 0.97)
    assert Model({}).judge(board=board)[0].label == "scale-robust", "it is not judged there"


def test_what_is_counted_needs_no_confirmation() -> None:
    """Nothing is noisy: the first band below 0.9 of the trained share is the failure length."""
    grid = Grid(32, (8, 16, 32, 48, 64, 96, 128, 192, 256), (8, 16, 32), (48, 64, 96, 128, 192, 256))

    def judged(wrong: Mapping[int, int]) -> Verdict:
        def band(n: int) -> Cell:
            return Cell("matched", n, 16 - wrong.get(n, 0), 16, 0.0, counted=True)

        board = LookBoard(grid, RULES, {("matched", n): band(n) for n in grid.lengths})
        looks = Looks.of(RULES, 512, True)
        return decide(board, looks, look(board, looks, _never, _never))

    assert judged({}).label == "scale-robust"
    assert judged({64: 2}).failures["matched"] == FailureLength(64, 48, 256)
    assert judged({64: 2}).label == "length-coupled"
    assert judged({64: 1}).label == "scale-robust"
    assert judged({16: 1}).label == "not fitted"


def _never(*_: object) -> Tally:
    raise AssertionError("what is counted completely is not drawn again")


def test_fewer_strings_than_the_first_look_are_a_cut_budget() -> None:
    assert Looks.of(RULES, 512, True) == Looks((512, 2048, 4096), 3)
    assert Looks.of(RULES, 512, False) == Looks((512, 2048, 4096), 1)
    assert Looks.of(RULES, 32, True).allowed == 1
    assert Looks.of(RULES, 600, True) == Looks((600, 2048, 4096), 3)
    assert Looks.of(RULES, 4096, True) == Looks((4096,), 1)


def test_failure_lengths_stand_where_nothing_fits_too() -> None:
    _, board = Model({8: 100, 64: 200, 96: 200}).judge()
    assert failure_length(board, "matched").length == 64


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
    with pytest.raises(ValueError, match="length 20"):
        make_grid(make_task("majority"), 49, [20])


def counted(right: float, law: str = "matched", length: int = 64, floor: float = 0.0, n: int = 64) -> Cell:
    """A cell without sampling error: its limits are its skill."""
    return Cell(law, length, right, n, floor, counted=True)


def test_looks_that_are_allowed() -> None:
    rules = Rules((64, 128, 256))
    assert Looks.of(rules, 64, True) == Looks((64, 128, 256), 3)
    assert Looks.of(rules, 64, False) == Looks((64, 128, 256), 1)
    assert Looks.of(rules, 63, True) == Looks((63, 64, 128, 256), 1)
    assert Looks.of(rules, 100, True) == Looks((100, 128, 256), 3)
    assert Looks.of(rules, 128, True) == Looks((128, 256), 2)


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
        alone = [cell.key for law in one.board.laws for cell in isolated_failures(one.board, law)]
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
