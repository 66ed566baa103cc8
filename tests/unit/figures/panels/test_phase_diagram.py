"""The small parts of a phase diagram: order and words of its axes, what a cell says, which rows of a run count, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import proportion
from workbench.figures.panels import phase_diagram as phase
from workbench.figures.rows.frame import Frame


def test_numbers_come_first_then_words_then_what_is_lacking() -> None:
    given: list[Any] = [None, "b", 2, "a", True, -1, 0.5]
    assert sorted(given, key=phase._order) == [-1, 0.5, True, 2, "a", "b", None]


@pytest.mark.parametrize(
    ("runs", "said"),
    [([1, 1], "1 run a cell"), ([2], "2 runs a cell"), ([1, 3, 2], "1 to 3 runs a cell")],
)
def test_how_many_runs_a_cell_has(runs: list[int], said: str) -> None:
    assert phase._runs(Frame({"runs": np.array(runs)})) == said


@pytest.mark.parametrize(
    ("one", "said"),
    [
        ({"run": "r", "step": 1000.0, "length": 64.0, "value": 0.25}, "r step 1,000 length 64: 0.25"),
        ({"run": "r", "step": 0.0, "length": float("nan"), "value": 2000.0}, "r step 0: 2,000"),
    ],
)
def test_what_is_said_of_a_run(one: dict[str, Any], said: str) -> None:
    assert phase._member(one) == said


def told(members: int, note: str = "") -> list[str]:
    row = {
        "runs": members, "low": 0.1, "high": 0.9, "value": 0.5, "note": note, "x": 64, "y": None,
        "members": "; ".join(f"m{i}" for i in range(members)),
    }  # fmt: skip
    return phase._tooltip(row, "model.d_model", "task.name", proportion).split("<br>")


def test_a_cell_lists_up_to_eight_of_its_runs() -> None:
    place = "d model (model) 64 · task –"
    assert told(1) == [place, "<b>0.50</b>", "1 run", "m0"]
    assert told(2) == [place, "<b>0.50</b> [0.10, 0.90] lowest to highest", "2 runs", "m0", "m1"]
    assert told(8)[3:] == [f"m{i}" for i in range(8)]
    assert told(9)[3:] == [*(f"m{i}" for i in range(8)), "and 1 more"]
    assert told(11)[-1] == "and 3 more"
    assert told(2, "not pooled: why")[1] == "<b>not pooled: why</b>"


def flat_of(*tasks: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"r{i}": {"model.d": i, **task} for i, task in enumerate(tasks)}


A, B = {"task.name": "a"}, {"task.name": "b"}


@pytest.mark.parametrize(
    ("flat", "chances", "why"),
    [
        (flat_of(A, A), {}, ""),
        (flat_of(A, {**A, "task.k": 1}), {"r0": 0.5}, "not pooled: different tasks (a) whose chance was not measured"),
        (flat_of(A, B), {}, "not pooled: different tasks (a, b) whose chance was not measured"),
        (flat_of(B, A), {"r0": 0.0, "r1": 0.02}, "not pooled: chance is 0.00 to 0.02 (a, b)"),
        (flat_of(B, A), {"r0": 0.019, "r1": 0.0}, ""),
        (flat_of(A, B, B), {"r0": 0.5, "r1": 0.51, "r2": 0.1}, "not pooled: chance is 0.10 to 0.51 (a, b)"),
    ],
)
def test_tasks_whose_chance_differs_are_not_pooled(
    flat: dict[str, dict[str, Any]], chances: dict[str, float], why: str
) -> None:
    found = phase._unlike(list(flat), flat, chances)
    assert found == (f"{why}; hold the task fixed" if why else "")


def test_up_to_three_axes_that_were_pooled_are_named_the_most_telling_first() -> None:
    def said(count: int) -> str:
        names = ("training.z", "model.a", "seeds.init", "origin", "task.name")[:count]
        flat = {f"r{i}": dict.fromkeys(names, i) | {"versions.torch": i} for i in range(2)}
        return phase.pooled_text(Frame({}, {"runs": [["r0"], ["r1", "r0"]]}), flat)

    assert said(0) == ""
    assert said(1) == "pooled over z (training) (2)"
    assert said(2) == "pooled over a (model) (2), z (training) (2)"
    assert said(3) == "pooled over init (seeds) (2), a (model) (2), z (training) (2)"
    assert said(4) == "pooled over origin (2), init (seeds) (2), a (model) (2) and 1 more"
    assert said(5) == "pooled over task (2), origin (2), init (seeds) (2) and 2 more"


def test_an_axis_that_one_run_lacks_is_no_difference_and_the_most_values_count() -> None:
    flat = {"a": {"model.d": 1, "model.e": 0}, "b": {"model.d": 2}, "c": {"model.d": 3}, "d": {"model.d": 3}}
    data = Frame({}, {"runs": [["a", "b", "c"], ["c", "d"], ["b", "c"]]})
    assert phase.pooled_axes(data, flat) == {"model.d": 3}


def rows(*made: tuple[str, int, float | None]) -> Frame:
    return Frame.of(
        pd.DataFrame(
            [
                {
                    "run": run,
                    "step": step,
                    "length": n,
                    "value": 1.0,
                    "status": "ok",
                    "measurement": "m",
                    "quantity": "q",
                }
                for run, step, n in made
            ]
        )
    )


def test_which_checkpoint_is_a_share_of_a_runs_training() -> None:
    steps = (("a", 0, 8.0), ("a", 50, 8.0), ("a", 100, 8.0), ("b", 0, 8.0), ("b", 100, 8.0), ("c", 0, 8.0))

    def at(share: float, **lasts: int) -> list[tuple[str, int]]:
        found = phase._at_share(rows(*steps), share, lasts)
        return list(zip(found["run"].tolist(), found["step"].tolist(), strict=True))

    assert at(0.5) == [("a", 50)]
    assert at(1.0) == [("a", 100), ("b", 100)]
    assert at(0.5, a=200, b=200) == [("a", 100), ("b", 100)]
    assert at(0.25, a=200) == [("a", 50)]


def test_which_length_is_a_multiple_of_a_runs_own() -> None:
    places = (("a", 1, 8.0), ("a", 1, 16.0), ("b", 1, 16.0), ("b", 1, 32.0), ("c", 1, 8.0))
    flat = {run: {"training.trained_length": n} for run, n in (("a", 8), ("b", 16), ("c", 8))}
    found = phase._at_multiple(rows(*places), flat, 2.0)
    assert list(zip(found["run"].tolist(), found["length"].tolist(), strict=True)) == [("a", 16), ("b", 32)]


def test_a_run_without_a_length_has_none_and_is_taken_at_its_highest_step() -> None:
    one = phase._one_run("a", rows(("a", 3, None), ("a", 5, None)), "mean")
    assert (one["value"], one["step"]) == (1.0, 5.0)
    assert np.isnan(one["length"])
    assert phase._one_run("a", rows(("a", 3, 8.0), ("a", 3, 16.0)), "max")["length"] == 16.0


CONFIGS = {"a": {"model": {"d": 1}, "task": {"name": "t"}}}


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"over": "sum"}, ValueError, "'sum'"),
        ({"length": 8, "times": 2.0}, ValueError, "multiple"),
        ({"step": 5, "share": 0.5}, ValueError, "share"),
        ({"length": 9}, NotMeasured, "value"),
        ({"step": 0}, NotMeasured, "value"),
        ({"x": "model.e"}, KeyError, "no run's configuration has 'model.e'"),
        ({"y": "task.k"}, KeyError, "no run's configuration has 'task.k'"),
    ],
)
def test_what_no_diagram_is_made_of(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        figures.phase_diagram.data(rows(("a", 1, 8.0)), CONFIGS, **{"x": "model.d", "y": "task.name", **given})


def test_rows_of_nothing_are_of_this_quantity() -> None:
    none = rows(("a", 1, 8.0)).take([])
    with pytest.raises(NotMeasured, match="quantity"):
        figures.phase_diagram.data(none, CONFIGS, x="model.d", y="task.name")


@pytest.mark.parametrize(("across", "up", "written"), [(15, 16, True), (241, 1, False)])
def test_values_are_written_in_up_to_240_cells(across: int, up: int, written: bool) -> None:
    configs = {
        f"r{i}": {"model": {"d": i % across, "e": i % up}, "task": {"name": "t"}} for i in range(max(across, up))
    }
    drawn = figures.figure_by_name("phase_diagram").plain(rows(("r0", 1, 8.0)), configs, x="model.d", y="model.e")
    assert any(note.name == "value" for note in drawn.layout.annotations) is written


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.25, 0.0, 1.0, "0.25"),
        (1.0, 0.0, 1.0, "1.00"),
        (1.0, 0.0, 1.5, "1"),
        (0.0, -0.5, 1.0, "0"),
        (0.0, 0.0, 1.0, "0.00"),
    ],
)
def test_shares_have_two_decimals_and_others_three_digits(value: float, low: float, high: float, text: str) -> None:
    frame = rows(("a", 1, 8.0)).with_columns(value=[value])
    drawn = figures.phase_diagram(frame, CONFIGS, x="model.d", y="task.name", low=low, high=high)
    assert [note.text for note in drawn.layout.annotations if note.name == "value"] == [text]
