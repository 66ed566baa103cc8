"""Numbers that figures compute themselves: which row, which range, which stretch, which lines."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.cited import said
from workbench.figures import compare_sentence, failure_length, loss_plateau, phase_diagram
from workbench.figures.look import Look
from workbench.figures.panels.any_quantity_notebook import causes
from workbench.figures.panels.differences import _sides, different_stretches
from workbench.figures.panels.failure_length import read_at
from workbench.figures.panels.phase_diagram import colour_range
from workbench.figures.panels.plateau import at_trained, growth
from workbench.figures.rows.frame import Frame
from workbench.figures.style.scale import Scale
from workbench.figures.style.template import blank
from workbench.table.schema import row


# ---- the critical length of a head, told at N -------------------------------------------------------
@pytest.mark.parametrize(("trained", "told"), [(64, 64), (100, 64), (300, 256), (8, 64)])
def test_a_critical_length_is_read_at_n_or_next_below_it(trained: float, told: int) -> None:
    rows = Frame.from_rows([{"length": 64, "value": 500.0}, {"length": 256, "value": 900.0}])
    assert read_at(rows, trained).row(0)["length"] == told
    assert len(read_at(rows.where(length=7), trained)) == 0


def test_the_failure_panel_shows_the_critical_length_that_n_gives(synthetic: ModuleType) -> None:
    head = {"run": "r", "law": "matched", "step": 9, "layer": 0, "head": 1}
    critical = {**head, "measurement": "circuits.hardmax", "quantity": "critical_length"}
    failed = {"run": "r", "law": "matched", "step": 9, "measurement": "behaviour", "quantity": "failure_length"}
    rows = [row(**critical, length=n, value=value) for n, value in ((64, 500.0), (256, 900.0))]
    frame = synthetic.frame_of([*rows, row(**failed, value=128.0)])
    data = failure_length.data(frame, trained=64, step=9, layer=0, head=1)
    assert data[data["series"] == "L0H1 critical"]["value"].tolist() == [500.0]


# ---- the plateau -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("losses", "grown"), [([2.0, 4.0, 1.0], 0.5), ([1.0, 4.0, 2.0], 2.0), ([3.0], 1.0), ([4.0, 1.0, 2.0], 0.5)]
)
def test_growth_is_the_last_loss_over_the_first_whatever_lies_between(losses: list[float], grown: float) -> None:
    assert growth(np.array(losses)) == grown


def test_a_dot_marks_n_and_no_other_length() -> None:
    line = Frame.from_rows([{"length": n, "value": 1.0} for n in (4, 8, 16)])
    assert at_trained(line, 8)["length"].tolist() == [8]
    assert len(at_trained(line, 9)) == 0


def test_the_plateaus_dots_are_drawn_at_n() -> None:
    given = {"measurement": "behaviour", "quantity": "loss", "law": "matched", "step": 1, "task": "simple"}
    rows = [
        {
            **given,
            "run": f"{trained}",
            "trained_high": trained,
            "length": n,
            "value": n / trained,
            "parameters": '{"k":1}',
        }
        for trained in (4, 8)
        for n in (4, 8, 16, 32)
    ]
    figure = loss_plateau(pd.DataFrame(rows), knobs={"simple": "k"})
    assert [list(one.x) for one in figure.data if one.mode == "markers"] == [[4], [8]]


# ---- which stretch of lengths two runs differ over ----------------------------------------------------
@pytest.mark.parametrize(
    ("equal", "values", "stretches"),
    [
        ([False, False, True], [-1.0, 1.0, 0.0], [(0, 0), (1, 1)]),  # they differ in the middle and agree at the end
        ([True, False, False], [0.0, 1.0, 2.0], [(1, 2)]),
        ([False, True, False], [1.0, 0.0, 1.0], [(0, 0), (2, 2)]),
        ([False, False], [1.0, 1.0], [(0, 1)]),
    ],
)
def test_the_stretches_in_one_direction(
    equal: list[bool], values: list[float], stretches: list[tuple[int, int]]
) -> None:
    assert different_stretches(equal, values) == stretches


def test_runs_that_differ_in_the_middle_and_agree_at_the_end() -> None:
    rows = [
        {"length": n, "value": value, "low": value - 0.1, "high": value + 0.1}
        for n, value in ((32, -0.5), (64, 0.4), (128, 0.0))
    ]
    assert (
        said(compare_sentence(pd.DataFrame(rows)))
        == "At length 32 B is higher by 0.50 [0.40, 0.60]; at length 64 A is higher by 0.40 [0.30, 0.50]."
    )
    assert (
        said(compare_sentence(pd.DataFrame(rows), items=True))
        == "At 32 items B is higher by 0.50 [0.40, 0.60]; at 64 items A is higher by 0.40 [0.30, 0.50]."
    )


# ---- colours and scales --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "low", "high", "found"),
    [
        ([0.2, 0.7, 0.5], None, None, (0.2, 0.7)),
        ([0.2, 0.7], 0.0, 1.0, (0.0, 1.0)),
        ([0.4, 0.4], None, None, (0.4, 1.4)),
        ([], None, None, (0.0, 1.0)),
    ],
)
def test_colours_run_from_the_lowest_value_to_the_highest(
    values: list[float], low: float | None, high: float | None, found: tuple[float, float]
) -> None:
    assert colour_range(np.array(values), low, high) == pytest.approx(found)


def test_a_phase_diagrams_colours_begin_at_its_lowest_cell() -> None:
    given = {"measurement": "m", "quantity": "q", "step": 1, "length": 8, "status": "ok"}
    frame = pd.DataFrame([{**given, "run": run, "value": value} for run, value in (("a", 0.2), ("b", 0.7))])
    configs = {
        run: {"task": {"name": "t"}, "model": {"d": d}, "training": {"trained_length": 8}, "seeds": {"init": d}}
        for run, d in (("a", 1), ("b", 2))
    }
    heat = phase_diagram(frame, configs, x="model.d", y="seeds.init", length=8).data[0]
    assert (heat.zmin, heat.zmax) == pytest.approx((0.2, 0.7))


@pytest.mark.parametrize(("value", "place"), [(0.5, -1.0), (1.0, 0.0), (8.0, 3.0)])
def test_a_scale_in_powers_of_two_places_values_below_one(value: float, place: float) -> None:
    assert Scale(-2, 4, log=True).place(value) == place
    assert math.isnan(Scale(-2, 4, log=True).place(0.0))


# ---- which lines there are -------------------------------------------------------------------------------
@pytest.mark.parametrize("modes", [("mean",), ("mean", "zero"), ("mean", "zero", "resample")])
def test_every_mode_is_a_line_of_its_own(modes: tuple[str, ...], synthetic: ModuleType) -> None:
    common: dict[str, Any] = {"run": "r", "law": "matched", "measurement": "m", "quantity": "q", "step": 1}
    rows = [row(**common, mode=mode, length=n, value=0.5) for mode in modes for n in (8, 16)]
    figure = causes(synthetic.frame_of(rows), "m", "q")
    assert [one.name for one in figure.data] == (list(modes) if len(modes) > 1 else [""])
    assert all(len(one.x) == 2 for one in figure.data)


def test_lines_of_a_notebook_are_named_by_what_tells_them_apart(synthetic: ModuleType) -> None:
    """Over steps: a line for each head at each length; a row of no head, and one of no length, say so."""
    common: dict[str, Any] = {"run": "r", "law": "matched", "measurement": "m", "quantity": "q", "value": 0.5}
    places: list[dict[str, Any]] = [
        {"layer": 1, "head": 2, "length": 8},
        {"layer": 1, "head": 2, "length": 16},
        {"layer": 1, "length": 16},
        {"layer": 0, "head": 2},
    ]
    rows = [row(**common, **place, step=step) for place in places for step in (1, 2)]
    figure = causes(synthetic.frame_of(rows), "m", "q")
    assert sorted(one.name for one in figure.data) == sorted(["at 8, L1H2", "at 16, L1H2", "at 16, layer 1", "L0H2"])
    assert {tuple(one.x) for one in figure.data} == {(1.0, 2.0)}


@pytest.mark.parametrize(("points", "place"), [
    ([], (0, 0.9)),
    ([(0.3, 0.9)], (0, 0.9)),
    ([(0.29, 0.9)], (1, 0.9)),
    ([(0.1, 0.9), (0.7, 0.9)], (1, 0.9)),
    ([(0.1, 0.9), (0.71, 0.9)], (0, 0.55)),
    ([(0.1, 0.9), (0.71, 0.72)], (0, 0.55)),
    ([(0.1, y) for y in (0.9, 0.55, 0.25)] + [(0.9, y) for y in (0.9, 0.55, 0.25)], (0, 0.9)),
])  # fmt: skip
def test_whose_side_of_zero_it_is_stands_where_no_line_runs(
    points: list[tuple[float, float]], place: tuple[int, float]
) -> None:
    """A third of the width is wanted free of points that are nearer than 0.2; where no place is, the first is taken."""
    drawn = blank(Look("light", 12), column="length", xaxis={"range": [0.0, 1.0]}, yaxis={}, meta={}, uirevision="")
    _sides(drawn, points, Look("light", 12))
    higher = next(one for one in drawn.layout.annotations if "A higher" in one.text)
    assert (higher.x, higher.y) == place
