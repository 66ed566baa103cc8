"""Marks at their margins: names at line ends, the training length, the cursor, and heights that keep off lines."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
import pytest

from workbench.figures.look import Look
from workbench.figures.rows.frame import Frame
from workbench.figures.style import marks
from workbench.figures.style.heatmap import add_heatmap_cursor, add_training_edge, grid_of, pool
from workbench.figures.style.plain_figure import PlainFigure
from workbench.figures.style.series import LineStyle, alt_text


def plot(low: float = 0.0, high: float = 8.0) -> PlainFigure:
    """An empty plot between two places, and between 0 and 1."""
    return PlainFigure({"template": {}, "xaxis": {"range": (low, high)}, "yaxis": {"range": (0.0, 1.0)}})


def row(series: str, length: int, value: float, **others: Any) -> dict[str, Any]:
    """A row of a line."""
    made = {"series": series, "layer": None, "head": None, "control": "", "step": 10, "length": length, "value": value}
    return made | {"low": value, "high": value, "n": 9, "status": "ok", "note": "", **others}


@pytest.mark.parametrize(
    ("ends", "led"),
    [
        ([8.0, 8.0], []),
        ([4.0, 8.0], [4.0]),
        ([6.0, 6.0], []),
        ([5.9, 6.0], [5.9]),
        ([5.0, 5.5], [5.0, 5.5]),
        ([7.0, 7.5], [7.0]),
        ([9.0, 7.9], [7.9]),
    ],
)
def test_a_line_that_stops_before_others_is_led_to_its_name(ends: list[float], led: list[float]) -> None:
    figure = plot()
    labels = [(f"l{i}", marks.LineEnd(0.2 + 0.5 * i, x), "#000000", bool(i)) for i, x in enumerate(ends)]
    marks.add_end_labels(figure, [*labels, ("plain", 0.9, "#000000", False)], (0, 1), 11)
    leaders = [one.path for one in figure.layout.shapes if one.name == "leader"]
    assert [float(path[1:].partition(",")[0]) for path in leaders] == led
    assert [one.font.weight for one in figure.layout.annotations] == [400, 600, 400]


@pytest.mark.parametrize(
    ("trained", "wash", "line", "anchor"),
    [
        (1, None, None, None),
        (2, (1.0, 1.0), 1.0, "left"),
        (4, (1.0, 2.0), 2.0, "left"),
        (128, (1.0, 7.0), 7.0, "right"),
        (256, (1.0, 8.0), 8.0, "right"),
        (512, (1.0, 8.0), None, None),
    ],
)
def test_the_training_length_is_drawn_where_the_axis_reaches_it(
    trained: float, wash: tuple[float, float] | None, line: float | None, anchor: str | None
) -> None:
    figure = plot(1.0, 8.0)
    marks.add_training(figure, trained, Look("light", 11))
    zones = [(one.x0, one.x1) for one in figure.layout.shapes if one.type == "rect"]
    assert zones == ([] if wash is None else [wash])
    assert [one.x0 for one in figure.layout.shapes if one.name == "training length"] == ([] if line is None else [line])
    assert [(one.xanchor, one.xshift) for one in figure.layout.annotations] == (
        [] if anchor is None else [(anchor, 5 if anchor == "left" else -5)]
    )
    bare = plot(1.0, 8.0)
    marks.add_training(bare, trained, Look("light", 11), label=False)
    assert bare.layout.annotations == []
    assert bare.layout.shapes == figure.layout.shapes


@pytest.mark.parametrize(
    ("avoid", "height"),
    [
        ([], 0.12),
        ([(6.0, 0.9)], 0.12),
        ([(6.0, 0.2)], 0.36),
        ([(1.0, 0.2)], 0.12),
        ([(6.0, math.nan)], 0.12),
        ([(6.0, 0.12), (6.0, 0.5)], 0.28),
        ([(6.0, 0.12), (6.0, 0.4)], 0.56),
    ],
)
def test_the_name_of_training_keeps_off_what_is_drawn(avoid: list[tuple[float, float]], height: float) -> None:
    figure = plot(0.0, 8.0)
    marks.add_training(figure, 128, Look("light", 11), avoid=avoid)
    assert figure.layout.annotations[0].y == pytest.approx(height)


@pytest.mark.parametrize(
    ("cursor", "drawn"),
    [
        (None, []),
        ({}, []),
        ({"step": 4}, []),
        ({"length": 4}, [0.5]),
        ({"length": 8}, []),
        ({"length": 16}, [0.75]),
        ({"length": 32}, [0.25]),
    ],
)
def test_lines_are_marked_where_they_meet_the_cursor(cursor: Any, drawn: list[float]) -> None:
    data = Frame.from_rows([row("a", 4, 0.5), row("a", 8, math.nan), row("a", 16, 0.9), row("a", 32, 0.1)])
    figure = plot()
    marks.add_cursor(figure, cursor, "length", "light", [(data, "#000000", "circle")], clip=(0.25, 0.75))
    assert [one.y[0] for one in figure.data] == drawn
    assert len(figure.layout.shapes) == (cursor is not None and "length" in cursor)


def test_lines_are_spoken_at_their_places() -> None:
    data = Frame.from_rows([row("a", 4, 0.5), row("b", 4, 0.25), row("a", 8, 0.75), row("b", 8, math.nan)])
    assert alt_text(data, "length", [4, 8, 4]) == "a 0.50 at length 4, 0.75 at length 8; b 0.25 at length 4"
    assert alt_text(data, "length", [8], ["b", "c"]) == "b nowhere defined"
    assert alt_text(data, "length", [8], ["c"]) == ""


def test_a_line_is_drawn_with_its_name_and_its_interval_unless_told_otherwise() -> None:
    one = LineStyle("#000000")
    assert (one.band, one.written, one.strong) == (True, "", False)


@pytest.mark.parametrize(("width", "size"), [(2.2, 5.4), (1.0, 3.0)])
def test_a_lone_point_is_a_dot(width: float, size: float) -> None:
    data = Frame.from_rows([row("a", n, v) for n, v in ((1, 0.5), (2, 0.5), (4, math.nan), (8, 0.5))])
    figure = plot()
    end = marks.add_line(figure, data, "length", "#000000", width=width, band=False, shift=0.5)
    assert end is not None
    assert (float(end), end.x) == (0.5, 3.5)
    assert len(figure.data) == 1
    sizes = np.frombuffer(base64.b64decode(figure.data[0].marker["size"]["bdata"]))
    assert sizes.tolist() == pytest.approx([0, 0, 0, size])
    assert marks.add_line(figure, data.take([2]), "length", "#000000") is None


# ---- heatmaps -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("trained", "edge"), [(1, 0.9), (2, 1.5), (3, 1.5), (4, 2.5), (7.9, 2.5), (8, 3.1)])
def test_training_ends_behind_its_last_row(trained: float, edge: float) -> None:
    for colour, widths in ((None, [3.5, 1.5]), ("#000000", [1.5])):
        figure = plot()
        add_training_edge(figure, [2, 4, 8], trained, colour)
        assert [one.y0 for one in figure.layout.shapes] == pytest.approx([edge] * len(widths))
        assert [one.line.width for one in figure.layout.shapes] == widths


@pytest.mark.parametrize(
    ("cursor", "lines"), [(None, 0), ({}, 0), ({"step": 3}, 2), ({"length": 4}, 2), ({"step": 0, "length": 4}, 4)]
)
def test_a_cursor_on_cells_is_two_lines_each_way(cursor: Any, lines: int) -> None:
    figure = plot()
    add_heatmap_cursor(figure, cursor)
    assert len(figure.layout.shapes) == lines


def test_cells_without_a_value_are_empty() -> None:
    data = Frame.from_rows([row("a", 4, 0.5), row("a", 8, math.nan), row("a", 8, 0.25, step=20)])
    values, texts = grid_of(data, [10, 20], [4, 8])
    np.testing.assert_array_equal(values, [[0.5, np.nan], [np.nan, 0.25]])
    assert [[bool(text) for text in line] for line in texts.tolist()] == [[True, False], [False, True]]


@pytest.mark.parametrize(("count", "cells", "block"), [(512, 512, 1), (513, 257, 2), (1024, 512, 2), (1025, 342, 3)])
def test_a_side_of_cells_is_pooled_beyond_its_most(count: int, cells: int, block: int) -> None:
    wide, by, bx = pool(np.zeros((1, count)))
    assert (wide.shape, by, bx) == ((1, cells), 1, block)
    tall, by, bx = pool(np.zeros((count, 1)))
    assert (tall.shape, by, bx) == ((cells, 1), block, 1)


def test_names_stay_inside_the_axis() -> None:
    figure = plot()
    marks.add_end_labels(figure, [("a", 1.0, "#000000", True), ("b", 0.0, "#000000", True)], (0, 1), 11, pixels=130)
    assert [one.y for one in figure.layout.annotations] == pytest.approx([0.95, 0.05])


def test_points_on_a_line_begin_at_its_first_row_and_leave_gaps() -> None:
    values = ((1, 0.0), (4, 1.0), (8, math.nan), (16, 0.5))
    found = marks.drawn_points(Frame.from_rows([row("a", n, v) for n, v in values]), "length", steps=2)
    assert found == [(0.0, 0.0), (1.0, 0.5), (2.0, 1.0), (4.0, 0.5)]
