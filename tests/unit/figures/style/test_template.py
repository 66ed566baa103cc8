"""Axes, margins and cell edges."""

from __future__ import annotations

import math
import re

import pytest

from workbench.figures.look import Look
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.template import (
    MARGINS,
    accuracy_axis,
    cell_edges,
    choose_ticks,
    length_axis,
    step_axis,
    template,
    u_length,
    u_step,
)


def test_u_is_the_logarithm_to_base_two() -> None:
    assert [u_step(s) for s in (0, 1, 7, 1023)] == [0, 1, 3, 10]
    assert [u_length(n) for n in (1, 8, 1024)] == [0, 3, 10]


def test_margins_are_fixed_per_column() -> None:
    assert MARGINS["step"] == {"l": 50, "r": 58, "t": 6, "b": 36}
    assert MARGINS["length"] == {"l": 44, "r": 58, "t": 6, "b": 36}
    assert (MARGINS["dumbbell"]["l"], MARGINS["dumbbell"]["r"]) == (58, 14)
    assert (MARGINS["failure"]["l"], MARGINS["failure"]["r"]) == (112, 14)
    assert (MARGINS["sequence"]["l"], MARGINS["sequence"]["r"]) == (64, 64)


def test_cell_edges_lie_at_midpoints() -> None:
    edges = cell_edges([0.0, 1.0, 3.0, 4.0])
    assert list(edges[1:-1]) == [0.5, 2.0, 3.5]
    assert (edges[0], edges[-1]) == (pytest.approx(-0.2), pytest.approx(4.2))  # 5 % of the span at most
    assert list(cell_edges([2.0])) == [1.5, 2.5]


def test_the_training_length_is_always_a_tick_and_ticks_do_not_touch() -> None:
    for trained in (6, 17, 50, 63, 65, 500, 1000):
        axis = length_axis([5, 16, 50, 256, 1024], trained)
        assert u_length(trained) in axis["tickvals"]
        assert (sorted(axis["tickvals"])) == axis["tickvals"]
        pixels = 300 / (axis["range"][1] - axis["range"][0])
        for i in range(len(axis["tickvals"]) - 1):
            gap = (axis["tickvals"][i + 1] - axis["tickvals"][i]) * pixels
            widths = 6.2 * (len(axis["ticktext"][i]) + len(axis["ticktext"][i + 1])) / 2
            assert gap >= widths + 9.9


def test_ticks_of_the_usual_grid() -> None:
    axis = length_axis([5, 8, 16, 32, 50, 64, 128, 256, 512, 1024], 50)
    assert axis["ticktext"] == ["5", "16", "50", "128", "256", "512", "1,024"]
    assert step_axis([0, 1, 10, 100, 1000, 3000])["ticktext"] == ["0", "1", "10", "100", "1k", "3k"]


def test_the_training_tick_has_the_colour_of_training() -> None:
    texts = length_axis([5, 1024], 50, "dark")["ticktext"]
    coloured = [text for text in texts if TOKENS["dark"]["train"] in text]
    assert [re.sub("<[^>]*>", "", text) for text in coloured] == ["50"]


def test_ticks_outside_the_axis_are_left_out() -> None:
    assert choose_ticks([(5.0, "a"), (0.5, "b"), (-1.0, "c")], 0, 1, 100) == [1]


def test_vertical_ticks_need_height_only() -> None:
    wanted = [(float(i), "1,024") for i in range(6)]
    assert len(choose_ticks(wanted, 0, 5, 100, vertical=True)) == 6
    assert len(choose_ticks(wanted, 0, 5, 100)) < 6


def test_accuracy_runs_from_below_chance_to_1_04() -> None:
    axis = accuracy_axis(0.2)
    assert axis["range"] == [pytest.approx(0.14), 1.04]
    assert axis["ticktext"] == ["0.20", "0.60", "1.00"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [11, 12])
def test_template(theme: str, size: int) -> None:
    layout = template(Look(theme, size)).layout
    assert layout.font.family.startswith("Inter")
    assert layout.font.size == size
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.showlegend is False
    assert layout.dragmode is False
    assert layout.clickanywhere is True
    assert layout.xaxis.fixedrange is True
    assert layout.xaxis.automargin is False
    assert layout.yaxis.ticks == ""
    assert layout.xaxis.gridcolor == TOKENS[theme]["grid"]


def test_an_unknown_theme_is_named() -> None:
    with pytest.raises(ValueError, match="sepia"):
        template(Look("sepia"))


def test_step_axis_of_a_single_step() -> None:
    axis = step_axis([100])
    assert axis["range"] == [pytest.approx(math.log2(101) - 0.5), pytest.approx(math.log2(101) + 0.5)]
