"""Picks that several figures make of their rows, and the scales they lay out for them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import after_last_block, edges, latest, nearest, telling, valued
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
