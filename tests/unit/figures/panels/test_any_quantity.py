"""Names, order, axis and looks of the lines of any quantity; and what a notebook's lines are drawn over."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from workbench import figures
from workbench.figures.errors import NotApplicable, NotMeasured, Undefined
from workbench.figures.panels import any_quantity_notebook as notebook
from workbench.figures.panels.any_quantity import _missing_last, _name
from workbench.figures.rows.frame import Frame
from workbench.table.schema import FIELDS, row

GIVEN: dict[str, Any] = {"run": "r", "measurement": "m", "quantity": "some_q", "step": 1, "length": 8, "n": 9}


def frame(*made: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([row(**{**GIVEN, **one}) for one in made], columns=list(FIELDS))


def over_length(rows: pd.DataFrame, **given: Any) -> Any:
    return figures.quantity_over_length(rows, measurement="m", quantity="some_q", trained=16, step=1, **given)


@pytest.mark.parametrize(("status", "kind"), [("not_applicable", NotApplicable), ("undefined", Undefined)])
def test_what_has_no_value_says_why_and_not_that_it_has_no_length(status: str, kind: type[NotMeasured]) -> None:
    """A task without a neutral symbol has one row of filler agreement, without a length."""
    rows = frame({"length": None, "status": status, "note": "the task states no neutral symbol"}, {"quantity": "other"})
    with pytest.raises(kind, match="neutral") as caught:
        over_length(rows)
    assert "whole model" not in caught.value.message
    of_the_model = frame({"length": None, "value": 0.5})
    with pytest.raises(NotMeasured, match="prefix"):
        over_length(of_the_model)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"layer": 1, "head": 2}, "L1H2"),
        ({"layer": 0, "head": 0}, "L0H0"),
        ({"layer": 1}, "after 1"),
        ({"layer": -1, "head": None}, "embed"),
        ({"layer": float("nan"), "head": 3}, "head 3"),
        ({"head": 0}, "head 0"),
        ({"head": float("nan")}, "value"),
        ({"layer": 1, "head": 2, "control": "a_b", "law": "matched", "target": ""}, "L1H2, a b, matched"),
        ({"mode": None, "site": "x_y"}, "x y"),
        ({"mode": "", "control": None}, "value"),
        ({}, "value"),
    ],
)
def test_a_line_is_named_by_what_tells_it_apart(parts: dict[str, Any], name: str) -> None:
    assert _name(parts) == name


def test_lines_of_which_something_is_missing_are_last() -> None:
    keys: list[tuple[Any, ...]] = [(None, 2.0), (1.0, None), (0.0, 5.0), (1.0, 3.0), (None, None)]
    found = sorted(((key, Frame({})) for key in keys), key=_missing_last)
    assert [key for key, _ in found] == [(0.0, 5.0), (1.0, 3.0), (1.0, None), (None, 2.0), (None, None)]


@pytest.mark.parametrize(
    ("values", "span", "ticks"),
    [
        ((0.2, 0.4), (-0.06, 1.06), ["0", "0.5", "1"]),
        ((0.0, 1.0), (-0.06, 1.06), ["0", "0.5", "1"]),
        ((0.5, 1.5), (0.44, 1.56), ["0.5", "1", "1.5"]),
        ((0.0, 2.0), (-0.12, 2.12), ["0", "1", "2"]),
        ((-1.0, 1.0), (-1.12, 1.12), ["−1", "0", "1"]),
        ((5.0, 5.0), (4.94, 5.06), ["5", "5", "5"]),
    ],
)
def test_shares_have_the_whole_axis_and_others_what_they_span(
    values: tuple[float, float], span: tuple[float, float], ticks: list[str]
) -> None:
    drawn = over_length(frame(*({"length": n, "value": v} for n, v in zip((8, 16), values, strict=True))))
    assert list(drawn.layout.yaxis.range) == pytest.approx(span)
    assert list(drawn.layout.yaxis.ticktext) == ticks


@pytest.mark.parametrize(
    ("lines", "bands", "strong"),
    [(1, True, True), (4, True, True), (5, False, True), (8, False, True), (9, False, False)],
)
def test_few_lines_have_bands_and_up_to_eight_their_names(lines: int, bands: bool, strong: bool) -> None:
    rows = [
        {"target": f"t{i}", "length": n, "value": 0.1 * i, "low": 0.1 * i - 0.05, "high": 0.1 * i + 0.05}
        for i in range(lines)
        for n in (8, 16)
    ]
    drawn = over_length(frame(*rows))
    assert any(trace.fill == "toself" or trace.fill == "tonexty" for trace in drawn.data) is bands
    assert {trace.line.width for trace in drawn.data if trace.hoverinfo == "text"} == {1.8 if strong else 1}
    named = {note.text for note in drawn.layout.annotations} & {f"t{i}" for i in range(lines)}
    assert len(named) == (lines if strong and lines > 1 else 0)


@pytest.mark.parametrize(("length", "said"), [(8, "at length 8"), (None, "of the whole model")])
def test_over_training_it_says_at_which_length(length: int | None, said: str) -> None:
    rows = frame(
        *({"step": s, "length": length, "value": 0.5} for s in (0, 1)), {"step": 0, "length": 64, "value": 0.5}
    )
    rows = rows if length else rows.iloc[:2]
    given: dict[str, Any] = {"measurement": "m", "quantity": "some_q", "length": 8}
    drawn = figures.quantity_over_training(rows, **given, trained=16)
    assert drawn.layout.meta["slice"].startswith(said)
    assert len(figures.quantity_over_training.data(rows, **given)) == 2


def test_a_quantity_that_is_not_there_is_said() -> None:
    rows = frame({"length": None, "value": 0.5})
    with pytest.raises(NotMeasured, match="prefix") as whole:
        over_length(rows)
    with pytest.raises(NotMeasured, match="length 9") as there:
        figures.quantity_over_training(frame({"value": 0.5}), measurement="m", quantity="some_q", length=9, trained=16)
    assert not whole.value.helps
    assert not there.value.helps


# ---- in a notebook -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "along", "places"),
    [
        (
            [{"site": "blocks.0.hook_q"}, {"site": "blocks.1.hook_resid_post", "length": 16}],
            "site",
            ["0.q", "1.resid_post"],
        ),
        ([{"step": 1}, {"step": 2, "length": 16}], "step", [1.0, 2.0]),
        ([{}, {"length": 16}], "length", [8.0, 16.0]),
        ([{"layer": 0}, {"layer": 1, "head": 2}], "head", ["layer 0", "L1H2"]),
        ([{"target": "x"}, {}], "head", ["x", "all"]),
    ],
)
def test_what_a_notebooks_rows_are_drawn_over(rows: list[dict[str, Any]], along: str, places: list[Any]) -> None:
    given = Frame.of(frame(*rows))
    assert notebook._axis(given) == along
    assert notebook._places(given, along) == places


NAN = float("nan")


@pytest.mark.parametrize(
    ("by", "key", "name"),
    [
        (["layer", "head"], (1, 2), "L1H2"),
        (["layer", "head"], (NAN, 2), "h2"),
        (["layer", "head"], (1, NAN), "layer 1"),
        (["layer", "head"], (NAN, NAN), "all layers"),
        (["head"], (2,), "h2"),
        (["head"], (NAN,), "measured"),
        (["layer"], (0,), "layer 0"),
        (["layer"], (NAN,), "all layers"),
        (["length", "mode"], (8, "zero"), "at 8, zero"),
        (["length", "control"], (NAN, ""), "measured"),
    ],
)
def test_names_of_a_notebooks_lines(by: list[str], key: tuple[Any, ...], name: str) -> None:
    assert notebook._name(by, key) == name


def test_a_notebooks_figure_has_bars_a_training_line_and_grey_controls() -> None:
    ends = {"value": 0.5, "low": 0.4, "high": 0.8}
    both = [{**ends, "length": n, "control": control} for control in ("", "a random donor") for n in (16, 8)]
    drawn = notebook.causes(frame(*both), "m", "some_q", trained=12)
    assert drawn.layout.title.text == "some q (m)"
    assert drawn.layout.xaxis.type == "log"
    assert drawn.layout.showlegend
    own, control = drawn.data
    assert (list(own.x), own.name, control.name) == ([8.0, 16.0], "measured", "a random donor")
    assert list(own.error_y.array) == pytest.approx([0.3, 0.3])
    assert list(own.error_y.arrayminus) == pytest.approx([0.1, 0.1])
    assert (own.error_y.color, own.line.color) == (None, None)
    assert control.error_y.color == control.line.color is not None
    assert [line.x0 for line in drawn.layout.shapes] == [12]
    alone = notebook.causes(frame(ends, {**ends, "step": 2}), "m", "some_q", trained=12)
    assert (alone.layout.showlegend, alone.layout.xaxis.type, len(alone.layout.shapes)) == (False, None, 0)
    assert not notebook.causes(frame(*both), "m", "some_q").layout.shapes
    heads = notebook.causes(frame({**ends, "layer": 0, "head": 1}), "m", "some_q")
    assert (heads.layout.xaxis.type, list(heads.layout.xaxis.categoryarray)) == ("category", ["L0H1"])


def test_one_row_alone_is_drawn_and_one_without_a_value_is_said_to_have_none() -> None:
    assert over_length(frame({"value": 0.5})).layout.meta["alt"] == (
        "some q over prefix length at step 1: 1 lines between 0 and 1"
    )
    with pytest.raises(Undefined, match=r"^Some q is undefined here: why"):
        over_length(frame({"status": "undefined", "note": "why"}))


def test_rows_of_the_whole_model_stand_beside_those_of_a_length() -> None:
    both = frame({"value": 0.5, "target": "x"}, {"value": 0.2, "length": None, "target": "y"})
    given: dict[str, Any] = {"measurement": "m", "quantity": "some_q", "length": 8}
    assert figures.quantity_over_training(both, **given, trained=16).layout.meta["slice"].startswith("at length 8")
    assert list(figures.quantity_over_training.data(both, **given)["series"]) == ["x", "y"]


@pytest.mark.parametrize("chosen", [{}, {"layer": 0}, {"head": 1}, {"layer": 0, "head": 1}, {"layer": 5, "head": 1}])
@pytest.mark.parametrize("layers", [(0,), (0, 1)])
def test_the_chosen_head_alone_is_in_ink_and_named(layers: tuple[int, ...], chosen: dict[str, int]) -> None:
    """In a model of one layer heads are named without it; head 1 is not head 10."""
    places = [(layer, head) for layer in layers for head in (0, 1, 10)]
    rows = frame(*({"layer": la, "head": h, "length": n, "value": 0.1 * h} for la, h in places for n in (8, 16)))
    drawn = over_length(rows, **chosen)
    thick = [trace.name for trace in drawn.data if trace.hoverinfo == "text" and trace.line.width == 1.8]
    every = [f"L{la}H{h}" if len(layers) > 1 else f"head {h}" for la, h in places]
    names = [every[1]] if chosen == {"layer": 0, "head": 1} else every
    assert sorted(thick) == sorted(names)
    assert {note.text for note in drawn.layout.annotations} & {*every} == {*names}


@pytest.mark.parametrize(
    ("apart", "dashed"), [({"control": "c"}, True), ({"law": "challenge"}, True), ({"mode": "zero"}, False)]
)
def test_controls_and_the_challenge_law_are_dashed(apart: dict[str, str], dashed: bool) -> None:
    rows = frame(*({**one, "length": n, "value": 0.5} for one in ({}, apart) for n in (8, 16)))
    lines = {trace.name: trace.line.dash for trace in over_length(rows).data if trace.hoverinfo == "text"}
    assert {name: dash != "solid" for name, dash in lines.items()} == {
        "value": False,
        next(iter(apart.values())): dashed,
    }
