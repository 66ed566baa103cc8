"""Picks that several figures make of their rows, and the scales they lay out for them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from workbench.figures.errors import NotApplicable, NotMeasured, Undefined
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import (
    after_last_block,
    cells,
    edges,
    has_value,
    head_names,
    highest,
    latest,
    nearest,
    not_measured,
    refuse_empty,
    rows_with_values,
    run_name,
    select,
    setting_of,
    sites,
    smallest_n,
    stack,
    telling,
    tidy,
)
from workbench.figures.style.marks import add_end_labels
from workbench.figures.style.scale import Scale


def test_only_drawn_statuses_with_a_value_are_valued() -> None:
    rows = pd.DataFrame({"status": ["ok", "sampled", "undefined", "ok"], "value": [1.0, 2.0, 3.0, np.nan]})
    assert list(rows_with_values(Frame.of(rows))["value"]) == [1.0, 2.0]


def test_the_latest_rows_are_each_runs_own() -> None:
    rows = pd.DataFrame({"run": ["a", "a", "b", "b"], "step": [1, 9, 1, 4], "value": [0.0, 1.0, 2.0, 3.0]})
    assert list(latest(Frame.of(rows), "step")["value"]) == [1.0, 3.0]


def test_after_the_last_block_is_not_its_middle() -> None:
    names = ["blocks.0.hook_resid_post", "blocks.1.hook_resid_mid", "blocks.1.hook_resid_post"]
    rows = pd.DataFrame({"site": names, "layer": [0.0, 1.0, 1.0]})
    assert list(after_last_block(Frame.of(rows))["site"]) == names[2:]


@pytest.mark.parametrize(("trained", "told"), [(60, [50, 200]), (50, [50, 200]), (20, [30, 200])])
def test_lengths_tell_most_at_the_last_trained_and_the_longest(trained: float, told: list[float]) -> None:
    frame = Frame.of(pd.DataFrame({"length": [200.0, 50.0, 30.0, 50.0], "step": [0, 7, 7, 3]}))
    assert telling(frame, "length", trained) == told
    assert telling(frame, "step", trained) == edges(frame, "step") == [0.0, 7.0]
    assert nearest([30, 50, 200], trained) == told[0]


def test_counts_get_whole_powers_of_two_and_never_an_empty_range() -> None:
    assert Scale.of_counts(np.array([0.0, 3.0, 9.0])) == Scale(1, 4, log=True)
    assert Scale.of_counts(np.array([4.0])) == Scale(2, 3, log=True)
    assert Scale.of_counts(np.array([])) == Scale(0, 1, log=True)
    assert Scale.spanning(2.0, 2.0) == Scale(2.0, 3.0)
    assert math.isnan(Scale.of_counts(np.array([4.0])).place(0.0))


def test_a_line_without_an_end_has_no_label() -> None:
    figure = go.Figure(layout={"xaxis": {"range": (0, 1)}})
    add_end_labels(figure, [("gone", None, "#000000", True), ("there", 0.5, "#000000", True)], (0, 1), 11)
    assert [one.text for one in figure.layout.annotations] == ["there"]


@pytest.mark.parametrize(
    ("high", "ticks"),
    [(3, ["1", "2", "4", "8"]), (4, ["1", "4", "16"]), (7, ["1", "4", "16", "64"]), (8, ["1", "8", "64"])],
)
def test_an_axis_of_counts_has_four_ticks_at_most(high: int, ticks: list[str]) -> None:
    axis = Scale(0, high, log=True).axis()
    assert axis["ticktext"] == ticks
    assert [2.0**k for k in axis["tickvals"]] == [float(tick) for tick in ticks]
    assert axis["range"] == pytest.approx([-0.05 * high, 1.05 * high])


# ---- what is said where there is nothing to draw -----------------------------------------------------
MEASURED = pd.DataFrame(
    {
        "measurement": ["m", "m", "m", "other"],
        "step": [10.0, 10.0, 20.0, 30.0],
        "length": [8.0, 16.0, 8.0, 4.0],
        "law": ["matched"] * 4,
        "status": ["ok"] * 4,
        "value": [0.5] * 4,
        "note": [""] * 4,
    }
)


@pytest.mark.parametrize(
    ("measurement", "asked", "said", "helps"),
    [
        ("absent", {}, "No rows of absent for this run.", True),
        ("m", {"step": 30}, "m is not measured at training step 30.", True),
        ("m", {"step": 10, "law": "challenge"}, "m has rows, but none for training step 10, law challenge.", False),
        ("m", {"law": "challenge", "mode": ""}, "m has rows, but none for law challenge.", False),
        ("m", {"step": 20, "length": 32}, "m has rows, but none for training step 20, length 32. It looks at length 8, 16.", False),
        ("m", {"step": 20, "length": 16}, "m has rows, but none for training step 20, length 16.", False),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_and_whether_measuring_helps(
    measurement: str, asked: dict[str, object], said: str, helps: bool
) -> None:
    error = not_measured(Frame.of(MEASURED), measurement, **asked)
    assert (type(error), str(error), error.helps) == (NotMeasured, said, helps)


def test_what_does_not_apply_says_why() -> None:
    frame = Frame.of(MEASURED.assign(status="not_applicable", note="no heads"))
    assert isinstance(error := not_measured(frame, "m", step=10), NotApplicable)
    assert str(error) == "m does not apply: no heads."
    some = Frame.of(MEASURED.assign(status=["not_applicable", "ok", "ok", "ok"]))
    assert type(not_measured(some, "m", step=30)) is NotMeasured


@pytest.mark.parametrize(
    ("statuses", "error", "said"),
    [
        (["not_applicable"] * 4, NotApplicable, "The curve does not apply here: flat; short."),
        (["censored"] * 4, Undefined, "The curve lies beyond what was measured: flat; short."),
        (["censored", "undefined"] * 2, Undefined, "The curve is undefined here: flat; short."),
        (["not_applicable", "undefined"] * 2, Undefined, "The curve is undefined here: flat; short."),
    ],
)
def test_rows_without_any_value_say_why(statuses: list[str], error: type[Exception], said: str) -> None:
    frame = Frame.of(MEASURED.assign(status=statuses, value=np.nan, note=["short.", "flat", "", "short"]))
    with pytest.raises(error) as raised:
        refuse_empty(frame, "The curve")
    assert (type(raised.value), str(raised.value)) == (error, said)
    refuse_empty(Frame.of(MEASURED), "The curve")
    refuse_empty(Frame.of(MEASURED[:0]), "The curve")


# ---- small picks --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("runs", "settings", "said"),
    [
        (["a", "a"], ["x", "x"], None),
        (["a", "b"], ["x", "x"], "the rows of m are of 2 runs; keep one by filtering the column 'run'"),
        (["a", "a"], ["x", "y"], "the rows of m are of 2 settings; keep one by filtering the column 'setting'"),
    ],
)
def test_rows_of_several_runs_or_settings_are_refused(runs: list[str], settings: list[str], said: str | None) -> None:
    frame = Frame.of(pd.DataFrame({"measurement": ["m", "m"], "run": runs, "setting": settings}))
    if said is None:
        assert len(select(frame, "m")) == 2
        return
    with pytest.raises(ValueError, match=said):
        select(frame, "m")


@pytest.mark.parametrize(
    ("status", "value", "drawn"),
    [
        ("ok", 0.0, True),
        ("sampled", 1.0, True),
        ("unseen_position", 1.0, True),
        ("ok", None, False),
        ("ok", math.nan, False),
        ("undefined", 1.0, False),
        ("censored", 1.0, False),
    ],
)
def test_a_value_may_be_drawn_where_it_is_one_and_its_status_is_drawn(status: str, value: Any, drawn: bool) -> None:
    row = {"status": status, "value": value}
    assert has_value(row) is drawn
    assert len(rows_with_values(Frame.from_rows([row]))) == drawn


TIDY = dict.fromkeys(("run", "law", "site", "measurement", "quantity", "target", "mode", "control", "note"), "")


def row(step: int, value: float | None, status: str = "ok", **others: Any) -> dict[str, Any]:
    """A row with every column of a tidy frame."""
    made = {**TIDY, "step": step, "length": 8, "layer": 0, "head": 1, "value": value, "label": "", "low": 0.25}
    return made | {"high": 0.75, "n": 40, "status": status} | others


def test_tidy_rows_are_sorted_and_empty_where_nothing_may_be_drawn() -> None:
    rows = Frame.from_rows([row(3, 0.5), row(1, 0.125, "undefined"), row(2, 0.375, "sampled")])
    found = tidy(rows, "s", "step")
    assert found["step"].tolist() == [1, 2, 3]
    for name, values in (
        ("value", [math.nan, 0.375, 0.5]),
        ("low", [math.nan, 0.25, 0.25]),
        ("high", [math.nan, 0.75, 0.75]),
    ):
        np.testing.assert_array_equal(found[name], values)
    assert found.names[0] == "series"
    assert len(tidy(Frame.from_rows([row(1, 0.5), row(1, 0.5, length=9)]), "s", ["step", "length"])) == 2
    assert len(tidy(Frame.from_rows([row(1, 0.5), row(1, 0.5)]), ["s", "t"], "step")) == 2
    with pytest.raises(ValueError, match="length 8"):
        tidy(Frame.from_rows([row(1, 0.5), row(2, 0.5), row(1, 0.25)]), "s", ["step", "length"])


def test_nothing_stacked_still_has_its_columns() -> None:
    assert len(stack([])) == 0
    assert "series" in stack([Frame.from_rows([], ["step"])])
    assert stack([Frame.from_rows([], ["step"]), Frame.from_rows([{"step": 1}])]).rows() == [{"step": 1}]


def test_the_highest_of_each_place_is_the_first_of_equals() -> None:
    rows = [row(2, 0.5, head=0), row(1, 0.25, head=1), row(2, 0.5, head=2), row(1, 0.75, head=3), row(1, None, head=4)]
    found = highest(Frame.from_rows(rows), "step")
    assert list(zip(found["step"].tolist(), found["head"].tolist(), strict=True)) == [(1, 3), (2, 0)]


def test_what_is_read_of_all_rows_of_a_frame() -> None:
    frame = Frame.from_rows([row(1, 0.5, n=30, run="r", site="a.hook_z"), row(2, 0.25, n=20, run="r", head=2)])
    nobody = Frame.from_rows([], frame.names)
    assert (smallest_n(frame), smallest_n(nobody)) == (20, None)
    assert smallest_n(Frame.from_rows([row(1, 0.5, n=0)])) == 0
    assert (run_name(frame), run_name(nobody)) == ("r", "")
    assert head_names(frame) == ["L0H1", "L0H2"]
    assert sites(frame, "hook_z").tolist() == [True, False]
    assert edges(nobody, "step") == []
    assert cells(Frame.from_rows([row(1, 0.5), row(2, None)]), "value").tolist() == [0.5]
    assert len(after_last_block(nobody)) == 0


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        (json.dumps({"fitted": 0.5}), 0.5),
        (json.dumps({"fitted": 0}), 0.0),
        (json.dumps({"robust": 1}), None),
        ("", None),
        (None, None),
    ],
)
def test_a_setting_of_a_row_may_be_told(setting: str | None, found: float | None) -> None:
    assert setting_of({"setting": setting}, "fitted") == found
    assert setting_of({}, "fitted") is None


def test_one_of_several_values_is_said_with_or() -> None:
    error = not_measured(Frame.of(MEASURED), "m", length=[1, 2048], quantity_of="x")
    assert str(error).startswith("m has rows, but none for length 1 or 2,048, quantity of x.")
