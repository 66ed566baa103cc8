"""Outputs and readings along a sequence at their margins: how many are drawn, named and marked."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tests.support.figures.sequences import a_pass, a_reading, a_sequence
from workbench import figures
from workbench.figures.sequence.sequence_marks import chosen_positions, round_ticks, top_classes

DRAW = figures.figure_by_name("sequence_view").plain


def traces(figure: Any, name: str) -> list[Any]:
    """The traces of a name."""
    return [one for one in figure.data if one.name == name]


def notes(figure: Any, name: str) -> list[str]:
    """The texts of a name."""
    return [one.text for one in figure.layout["annotations"] if one.name == name]


@pytest.mark.parametrize(
    ("asked", "within", "count", "apart"),
    [(512, range(512), 512, 1), (513, range(513), 257, 2), (1024, range(1024), 512, 2), (1025, range(1025), 342, 3)],
)
def test_marks_are_thinned_evenly(asked: int, within: range, count: int, apart: int) -> None:
    found = chosen_positions([True] * asked, within)
    assert len(found) == count
    assert set(np.diff(found).tolist()) == {apart}
    assert chosen_positions([False, True, False, True, True], range(2, 5)).tolist() == [3, 4]
    assert len(chosen_positions([False] * 4, range(4))) == 0


def test_of_equal_classes_the_first_is_the_likeliest() -> None:
    assert top_classes(np.array([0.25, 0.25, 0.3, 0.2])) == [2, 0, 1, 3]
    assert top_classes(np.array([0.1] * 7)) == [0, 1, 2, 3, 4]
    assert top_classes(np.array([0.1, 0.9]), 1) == [1]


@pytest.mark.parametrize(("classes", "rows"), [(8, [f"c{i}" for i in (1, 3, 5, 7)]), (9, ["top 4", "top 2", "oracle"])])
def test_up_to_eight_classes_have_a_row_each(classes: int, rows: list[str]) -> None:
    axis = DRAW(a_sequence(4, classes), rows=["outputs"]).layout["yaxis"]
    assert len(axis["ticktext"]) == len(axis["tickvals"])
    assert axis["range"] == [-0.5, (classes if classes == 8 else 6) - 0.5]
    assert axis["ticktext"] == rows


@pytest.mark.parametrize(
    ("classes", "ticks"), [(1, [0]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (5, [0, 2, 4]), (6, [1, 3, 5])]
)
def test_of_more_than_four_rows_every_other_is_named_and_the_last_always(classes: int, ticks: list[int]) -> None:
    axis = DRAW(a_sequence(4, classes), rows=["outputs"]).layout["yaxis"]
    assert axis["tickvals"] == ticks
    assert axis["ticktext"] == [f"c{i}" for i in ticks]


def test_the_likeliest_classes_are_those_of_the_pass_that_is_drawn() -> None:
    clean, edited = np.linspace(0.0, 1.0, 10), np.linspace(1.0, 0.0, 10)
    found = a_sequence(3, 10, oracle=[4, None, 4], clean=a_pass([clean] * 3), edited=a_pass([edited] * 3))
    for part, first, right in (
        ("clean", "c9", clean[4]),
        ("edited", "c0", edited[4]),
        ("change", "c9", edited[4] - clean[4]),
    ):
        (cells,) = traces(DRAW(found, rows=["outputs"], part=part), "probability")
        assert [row[0] for row in cells["text"]][-2:] == [first, "c4"]
        assert [row[1] for row in cells["text"]][-1] == ""
        drawn = np.frombuffer(base64.b64decode(cells["z"]["bdata"]), np.float32).reshape(6, 3)
        assert drawn[-1, 0] == pytest.approx(right)
        assert np.isnan(drawn[-1, 1])
        assert (cells["zmin"], cells["zmax"]) == ((-1, 1) if part == "change" else (0, 1))


@pytest.mark.parametrize(("letters", "written"), [(8, True), (9, False)])
def test_names_stand_in_the_cells_where_they_fit(letters: int, written: bool) -> None:
    names = [f"{i}{'x' * (letters - 1)}" for i in range(9)]
    (cells,) = traces(DRAW(a_sequence(6, 9, outputs_names=names), rows=["outputs"]), "probability")
    assert (cells.texttemplate == "%{text}") is written


@pytest.mark.parametrize(("count", "marked"), [(512, True), (513, False)])
def test_right_answers_are_marked_where_every_position_has_room(count: int, marked: bool) -> None:
    found = a_sequence(count, clean=a_pass(np.full((count, 2), 0.5)))
    assert bool(traces(DRAW(found, rows=["outputs"]), "oracle")) is marked


@pytest.mark.parametrize(
    ("count", "size", "edge"), [(30, 8.0, 1), (66, 5.0, 1), (82, 330 / 82, 1), (83, 330 / 83, 0.6), (200, 2.5, 0.6)]
)
def test_marks_of_right_answers_shrink_with_their_number(count: int, size: float, edge: float) -> None:
    (found,) = traces(DRAW(a_sequence(count), rows=["outputs"]), "oracle")
    assert found["marker"]["size"] == pytest.approx(size)
    assert found["marker"]["line"]["width"] == edge


def test_a_right_answer_is_white_where_the_pass_that_is_drawn_agrees() -> None:
    right: list[bool | None] = [True, False, True]
    clean, edited = a_pass(np.full((3, 2), 0.5), right), a_pass(np.full((3, 2), 0.5), [not one for one in right])
    found = a_sequence(3, clean=clean, edited=edited, oracle=[0, 1, None], asked=[True, True, False])
    for part, colours in (
        ("clean", ["#FFFFFF", "#14181F"]),
        ("edited", ["#14181F", "#FFFFFF"]),
        ("change", ["#14181F", "#FFFFFF"]),
    ):
        (drawn,) = traces(DRAW(found, rows=["outputs"], part=part), "oracle")
        assert drawn["marker"]["color"] == colours
        assert drawn["marker"]["line"]["color"] == colours[::-1]
        assert (drawn["x"], drawn["y"]) == ([0, 1], [0, 1])
    assert drawn["hovertext"] == [
        "prefix 0: the oracle\u2019s answer is c0; the model\u2019s differs",
        "prefix 1: the oracle\u2019s answer is c1",
    ]


def test_components_share_one_scale_of_the_oracle_and_the_model() -> None:
    made = {"outputs_names": None, "components": ["a", "b"], "oracle": [[1.0, -4.0], None]}
    clean, edited = a_pass([[0.5, 2.0], [-3.0, 0.0]]), a_pass([[0.5, 2.0], [-8.0, 0.0]])
    found = a_sequence(2, clean=clean, edited=edited, **made)
    for part, low, high in (("clean", 0, 4.0), ("edited", 0, 8.0), ("change", -5.0, 5.0)):
        (cells,) = traces(DRAW(found, rows=["outputs"], part=part), "probability")
        assert (cells["zmin"], cells["zmax"]) == (low, high)
    assert "1" in cells["text"][0][0]
    assert cells["text"][0][0].startswith("a, the oracle ")


# ---- readings -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("classes", "ticks"), [(2, [0, 1]), (4, [0, 1, 2, 3]), (5, [0, 2, 4]), (8, [0, 2, 4, 6]), (9, [0, 3, 6])]
)
def test_at_most_four_classes_of_a_reading_are_named(classes: int, ticks: list[int]) -> None:
    names = [f"c{i}" for i in range(classes)]
    axis = DRAW(a_sequence(3), a_reading([0, 1, -1], [0, 0, 1], names), rows=["summary"]).layout["yaxis"]
    assert (axis["tickvals"], axis["ticktext"]) == (ticks, [f"c{i}" for i in ticks])
    assert axis["range"] == [-0.5, classes - 0.5]


def test_a_reading_is_open_where_it_is_wrong_and_a_class_unknown_to_the_probe_has_no_place() -> None:
    figure = DRAW(a_sequence(3), a_reading([0, 1, -1], [0, 0, 1], ["a", "b"]), rows=["summary"])
    (marks,) = traces(figure, "summary")
    assert marks["marker"]["symbol"] == ["circle", "circle-open", "circle-open"]
    assert marks["marker"]["line"]["width"] == [0, 1.3, 1.3]
    assert marks["hovertext"] == ["prefix 0: summary a", "prefix 1: summary a", "prefix 2: summary b"]
    assert notes(figure, "end label") == ["read", "true"]


@pytest.mark.parametrize(
    ("edited", "ends", "said"),
    [([0, 1, 1], ["changed"], []), ([0, 0, 1], [], ["0 of 3 readings change"])],
)
def test_a_change_of_readings_marks_those_that_change(edited: list[int], ends: list[str], said: list[str]) -> None:
    outputs = np.full((3, 2), 0.5)
    found = a_sequence(3, edited=a_pass(outputs, None, np.full((3, 3), 0.1)))
    figure = DRAW(found, a_reading([0, 1, 1], [0, 0, 1], ["a", "b"], edited), rows=["summary"], part="change")
    assert (notes(figure, "end label"), notes(figure, "note")) == (ends, said)
    (marks,) = traces(figure, "summary")
    assert len(marks["hovertext"]) == len(ends)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([1.0, 3.0], 0.84, 3.16), ([2.0, 2.0], 1.42, 2.58), ([np.nan, np.nan], -0.08, 1.08)],
)
def test_an_axis_of_readings_spans_them(values: list[float], low: float, high: float) -> None:
    axis = DRAW(a_sequence(2), a_reading(values, values), rows=["position"]).layout["yaxis"]
    assert axis["range"] == pytest.approx([low, high])
    assert axis["title"]["text"] == "position"


@pytest.mark.parametrize(("ends", "decimals"), [((8.0, 9.5), True), ((8.5, 10.0), False), ((-10.0, -8.5), False)])
def test_numbers_below_ten_have_decimals(ends: tuple[float, float], decimals: bool) -> None:
    axis = DRAW(a_sequence(2), a_reading(ends, ends), rows=["position"]).layout["yaxis"]
    assert len(axis["ticktext"]) == 4
    assert any("." in text for text in axis["ticktext"]) is decimals


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0.0, 0.5, 1.0]),
        (0.0, 3.0, [0.0, 1.0, 2.0, 3.0]),
        (0.0, 4.0, [0.0, 2.0, 4.0]),
        (-0.1, 0.1, [-0.1, 0.0, 0.1]),
    ],
)
def test_ticks_are_round_and_four_at_most(low: float, high: float, ticks: list[float]) -> None:
    assert round_ticks(low, high) == ticks
