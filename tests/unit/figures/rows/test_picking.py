"""Picks that several figures make of their rows, and the scales they lay out for them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from workbench.figures.errors import NotApplicable, NotMeasured, Undefined
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import (
    after_last_block,
    edges,
    latest,
    nearest,
    nothing,
    refuse_empty,
    telling,
    valued,
)
from workbench.figures.style.marks import add_end_labels
from workbench.figures.style.scale import Scale


def test_only_drawn_statuses_with_a_value_are_valued() -> None:
    rows = pd.DataFrame({"status": ["ok", "sampled", "undefined", "ok"], "value": [1.0, 2.0, 3.0, np.nan]})
    assert list(valued(Frame.of(rows))["value"]) == [1.0, 2.0]


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
    error = nothing(Frame.of(MEASURED), measurement, **asked)
    assert (type(error), str(error), error.helps) == (NotMeasured, said, helps)


def test_what_does_not_apply_says_why() -> None:
    frame = Frame.of(MEASURED.assign(status="not_applicable", note="no heads"))
    assert isinstance(error := nothing(frame, "m", step=10), NotApplicable)
    assert str(error) == "m does not apply: no heads."
    some = Frame.of(MEASURED.assign(status=["not_applicable", "ok", "ok", "ok"]))
    assert type(nothing(some, "m", step=30)) is NotMeasured


@pytest.mark.parametrize(
    ("statuses", "error", "said"),
    [
        (["not_applicable"] * 4, NotApplicable, "The curve does not apply here: flat; short."),
        (["censored"] * 4, Undefined, "The curve lies beyond what was measured: flat; short."),
        (["censored", "undefined"] * 2, Undefined, "The curve is undefined here: flat; short."),
    ],
)
def test_rows_without_any_value_say_why(statuses: list[str], error: type[Exception], said: str) -> None:
    frame = Frame.of(MEASURED.assign(status=statuses, value=np.nan, note=["short.", "flat", "", "short"]))
    with pytest.raises(error) as raised:
        refuse_empty(frame, "The curve")
    assert (type(raised.value), str(raised.value)) == (error, said)
    refuse_empty(Frame.of(MEASURED), "The curve")
    refuse_empty(Frame.of(MEASURED[:0]), "The curve")
