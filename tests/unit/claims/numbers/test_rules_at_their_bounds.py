"""Small rules of trained claims on both sides of their bounds: what is refused, what enters, and what stays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.claims.bearing import _alike
from workbench.claims.claim import Row
from workbench.claims.errors import ClaimError
from workbench.claims.surprises import short, span
from workbench.claims.trained import answer_steps, reductions, relations, retrieval_copies, training_runs
from workbench.claims.trained.in_text.regained import by_text, correlations, slopes
from workbench.claims.trained.trained_run import TrainedRun
from workbench.claims.trained.training_runs import STARTS, RunWork, remove_starts, train_and_measure
from workbench.claims.trained.two_sides import zero_shot_copies
from workbench.claims.trained_cells import Asked, PlannedRun, cell
from workbench.jobs.deadline import TimeIsUp
from workbench.models.handmade.attention_heads import induction_model
from workbench.tasks import make_task

SYMBOLS = 8


# ---- what is refused -------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def of_text() -> TrainedRun:
    run: Any = SimpleNamespace(trained_length=24)
    return TrainedRun(run, induction_model(SYMBOLS + 1, 12.0), make_task("copied_text", symbols=SYMBOLS))


@pytest.mark.parametrize(
    ("sizes", "shown", "refused"),
    [
        ([], 2, True), ([3, 9], 2, True), ([9, 3], 2, True), ([2, 8], 2, True), ([8, 2], 2, True), ([3, 5], 3, True),
        ([3], 0, True), ([1], 0, True), ([1], 1, True), ([3, 8], 2, False), ([2], 1, False), ([8], 7, False),
        ([8, 4, 5], 3, False),
    ],
)  # fmt: skip
def test_copies_need_more_symbols_than_are_shown_and_no_more_than_there_are(
    of_text: TrainedRun, monkeypatch: pytest.MonkeyPatch, sizes: Sequence[int], shown: int, refused: bool
) -> None:
    monkeypatch.setattr(zero_shot_copies, "STRINGS", 3)
    if not refused:
        rows = list(zero_shot_copies.zero_shot_rows(of_text, sizes, shown))
        assert [(row["setting"], row["length"], row["n"]) for row in rows[::2]] == [
            (f"n {size}", size + shown, 3) for size in sizes
        ]
        return
    with pytest.raises(ClaimError) as said:
        list(zero_shot_copies.zero_shot_rows(of_text, sizes, shown))
    told = ", ".join(map(str, sizes))
    assert str(said.value) == (
        f"copies of which {shown} symbols are shown need from {shown + 1} to {SYMBOLS} different symbols, not {told}"
    )


@pytest.mark.parametrize(("symbols", "refused"), [(3, "4"), (4, ""), (5, "")])
def test_a_copy_is_of_as_many_symbols_as_there_are_at_most(
    monkeypatch: pytest.MonkeyPatch, symbols: int, refused: str
) -> None:
    asked: list[tuple[int, int]] = []

    def right(run: object, task: object, length: int, count: int) -> torch.Tensor:
        asked.append((length, count))
        return torch.arange(count) < 2

    monkeypatch.setattr(retrieval_copies, "_right", right)
    monkeypatch.setattr(retrieval_copies, "lengths_in", lambda run, low, high: [5, 6] if low < 7 else [])
    monkeypatch.setattr(retrieval_copies, "STRINGS", 7)
    run: Any = SimpleNamespace(task=make_task("ur", symbols=symbols), longest=6)
    if refused:
        with pytest.raises(ClaimError, match=f"copies of {refused} different symbols need more than {symbols}"):
            list(retrieval_copies.copy_rows(run, 2))
        return
    (row,) = retrieval_copies.copy_rows(run, 2)
    assert asked == [(5, 4), (6, 4)]
    assert (row["quantity"], row["length"], row["n"], row["value"]) == ("b0 copied", 6, 8, 0.5)


@pytest.mark.parametrize(("written", "most", "found"), [(0, 7, 1), (1, 7, 2), (2, 7, 5), (3, 7, 6), (3, 6, None)])
def test_the_shortest_input_with_such_an_answer(
    monkeypatch: pytest.MonkeyPatch, written: int, most: int, found: int | None
) -> None:
    monkeypatch.setattr(answer_steps, "MOST_READ", most)
    task: Any = SimpleNamespace(name="halves", answer_length=lambda n: n // 2, drawable=lambda n: n != 4)
    if found is None:
        with pytest.raises(ClaimError, match="no answer of 3 tokens to an input of fewer than 6"):
            answer_steps._input_of(task, written)
    else:
        assert answer_steps._input_of(task, written) == found


# ---- which claims are about a run ------------------------------------------------------------------------
LEARNED = cell("majority", "ape", 16, 10)
BARE = cell("tomita", "nope", 16, 10, n=2)
SCANS = cell("parity", "signed", 16, 10)


@pytest.mark.parametrize(
    ("one", "task", "parameters", "positions", "ids", "architecture", "said"),
    [
        (LEARNED, "majority", {}, "learned", "random_offset", "transformer", True),
        (LEARNED, "majority", {"more": 1}, {"name": "learned"}, "random_offset", "transformer", True),
        (LEARNED, "parity", {}, "learned", "random_offset", "transformer", False),
        (LEARNED, "majority", {}, "learned", "arange", "transformer", False),
        (LEARNED, "majority", {}, "rotary", "random_offset", "transformer", False),
        (LEARNED, "majority", {}, "learned", "random_offset", "ssm-signed", False),
        (BARE, "tomita", {"n": 2}, "none", "arange", "transformer", True),
        (BARE, "tomita", {"n": 4}, "none", "arange", "transformer", False),
        (BARE, "tomita", {}, "none", "arange", "transformer", False),
        (BARE, "tomita", {"n": 2}, "none", "random_offset", "transformer", False),
        (SCANS, "parity", {}, "none", "arange", "ssm-signed", True),
        (SCANS, "parity", {}, "none", "arange", "ssm-nonnegative", False),
        (SCANS, "parity", {}, "none", "arange", "transformer", False),
        (SCANS, "majority", {}, "none", "arange", "ssm-signed", False),
    ],
)
def test_what_a_cell_and_a_run_must_have_in_common(
    one: Any, task: str, parameters: dict[str, Any], positions: Any, ids: str, architecture: str, said: bool
) -> None:
    assert _alike(one, task, parameters, positions, ids, architecture) is said


# ---- what a statistic takes in -----------------------------------------------------------------------------
def one_run(known: dict[str, Any], low: float = 0.0, n: int | None = 9) -> Any:
    """A run that has these values, each with an interval from ``low`` below it to as much above."""
    rows = {
        told: SimpleNamespace(
            told=told, value=value, low=value, n=n, spread=2.0, label="", ends=((value or 0) - low, (value or 0) + low)
        )
        for told, value in known.items()
    }
    return reductions.OneRun(LEARNED, 0, rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reached", "last"),
    [
        ((True, True, True), 4.0), ((True, True, False), 2.0), ((True, False, True), 1.0), ((False, True, True), 0.0),
        ((False, False, False), 0.0),
    ],
)  # fmt: skip
def test_the_last_factor_before_one_that_is_not_reached(reached: Sequence[bool], last: float) -> None:
    assert relations._last_of_all((1.0, 2.0, 4.0), reached) == last


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


@pytest.mark.parametrize(
    ("x", "y", "slope"), [((1, 2, 3), (1, 3, 5), 2.0), ((0, 4), (2, 0), -0.5), ((2, 2), (1, 5), None)]
)
def test_a_slope_over_runs(x: Sequence[float], y: Sequence[float], slope: float | None) -> None:
    found = relations._slope(np.array(x, dtype=float), np.array(y, dtype=float))
    assert found == (None if slope is None else pytest.approx(slope))


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
    with pytest.raises(ClaimError, match=r"majority ape, seed 0, has no score U of a head at N on task"):
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
    assert reductions._auc(np.array(values), np.array(labels, dtype=bool)) == area


def test_where_a_falling_line_has_a_level() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = reductions._crossing(x, np.array([[[5.0], [3.0], [1.0]], [[4.0], [4.0], [4.0]]]), 2.0)
    assert found[0] == pytest.approx(2.5)
    assert found[1] == pytest.approx(2.0 + 2e6)  # a line that does not fall has it nowhere near


@pytest.mark.parametrize(
    ("value", "n", "error"), [(4.0, 4, 0.25), (1.0, None, 2.0), (None, 4, 1e30), (1e-40, 4, 1e30), (0.5, 1, 4.0)]
)
def test_the_error_of_a_mean_over_the_mean(value: float | None, n: int | None, error: float) -> None:
    row = one_run({"x": value}, n=n).rows["x"]
    assert reductions._relative_error(row) == pytest.approx(error)


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


# ---- texts one by one ----------------------------------------------------------------------------------
def test_values_of_texts_are_in_the_order_of_their_numbers() -> None:
    run = one_run({"loss, text 10": 3.0, "loss, text 2": 2.0, "loss, text 1": 1.0, "loss, own, text 0": 9.0})
    assert by_text(run, "loss").tolist() == [1.0, 2.0, 3.0]
    assert by_text(run, "loss", "own").tolist() == [9.0]
    with pytest.raises(ClaimError, match="has no row of gain of single texts"):
        by_text(run, "gain")


def test_slopes_and_correlations_of_draws_are_0_where_nothing_varies() -> None:
    x, y = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]), np.array([[2.0, 6.0, 4.0]] * 2 + [[1.0] * 3])
    assert slopes(x, y).tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert correlations(x, y).tolist() == pytest.approx([0.5, 0.0, 0.0])


# ---- when runs begin, and which stay ------------------------------------------------------------
@pytest.mark.parametrize(("until", "begins"), [(None, True), (106.5, True), (105.0, False), (100.5, False)])
def test_a_run_begins_that_will_end_in_time(monkeypatch: pytest.MonkeyPatch, until: float | None, begins: bool) -> None:
    class Begun(Exception):
        """Training has begun."""

    def begin(work: RunWork) -> None:
        raise Begun

    monkeypatch.setattr(training_runs, "time", SimpleNamespace(time=lambda: 100.0, monotonic=lambda: 0.0))
    monkeypatch.setattr(training_runs, "PACE", SimpleNamespace(expected=lambda seconds: 5.0))
    monkeypatch.setattr(training_runs, "_starting_weights", begin)
    with pytest.raises(Begun if begins else TimeIsUp):
        train_and_measure(RunWork(PlannedRun("r", LEARNED, 0, (Asked("fit"),)), until=until))


@pytest.mark.parametrize(
    ("needed", "kept", "there", "beside"),
    [
        ((), False, ["b"], []),
        ((), True, ["a", "b"], []),
        (("a",), True, ["b"], ["a"]),
        (("a", "b"), False, ["b"], ["a", "b"]),
        (("b",), False, ["b"], ["b"]),
    ],
)
def test_runs_that_none_begins_from_go_to_where_runs_are_kept(
    tmp_path: Path, needed: Sequence[str], kept: bool, there: list[str], beside: list[str]
) -> None:
    runs = tmp_path / "kept" / "runs"
    (runs / "b").mkdir(parents=True)
    (runs / "b" / "run.json").write_text("its own")
    for name in ("a", "b"):
        (tmp_path / STARTS / name).mkdir(parents=True)
        (tmp_path / STARTS / name / "run.json").write_text("a start")
    remove_starts(tmp_path, needed, runs if kept else None)
    assert sorted(path.name for path in runs.iterdir()) == there
    assert (runs / "b" / "run.json").read_text() == "its own"
    home = tmp_path / STARTS
    assert home.exists() is bool(beside)
    assert sorted(path.name for path in home.iterdir() if beside) == beside if beside else True
    remove_starts(tmp_path / "nowhere", (), None)


def test_where_runs_are_kept_is_made_with_the_first_of_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / STARTS / name).mkdir(parents=True)
    runs = tmp_path / "new" / "runs"
    remove_starts(tmp_path, (), runs)
    assert sorted(path.name for path in runs.iterdir()) == ["a", "b"]


# ---- numbers in paragraphs ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0.5, 0.4, 0.6)], "0.50 [0.40, 0.60]"),
        ([(0.5, None, None)], "0.50"),
        ([(0.5, 0.4, None)], "0.50"),
        ([(0.5, None, 0.6)], "0.50"),
        ([(0.7, 0.1, 0.9), (0.5, 0.4, 0.6)], "0.50 to 0.70"),
        ([(0.501, 0.1, 0.9), (0.499, 0.4, 0.6)], "0.50"),
        ([(-0.25, None, None), (0.0, None, None), (0.1, None, None)], "\u22120.25 to 0.10"),
    ],
)
def test_the_least_and_the_greatest_value_in_words(rows: Sequence[tuple[float, Any, Any]], said: str) -> None:
    assert span([Row("q", "", value, low, high) for value, low, high in rows]) == said
    assert short(-0.004) == "\u22120.00"


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
