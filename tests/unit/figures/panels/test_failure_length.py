"""Failure lengths: observed, computed, beyond measurement, undefined."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from workbench.figures import failure_length
from workbench.figures.style.template import u_length

STEP = 1000


def build(frame: pd.DataFrame, **changes: Any) -> go.Figure:
    return failure_length(frame, **({"trained": 50, "step": STEP, "layer": 0, "head": 1} | changes))


def traces(figure: go.Figure, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def test_failure_length_is_filled_where_observed_hollow_where_computed(coupled: pd.DataFrame) -> None:
    figure = build(coupled)
    symbols = {t.name: t.marker.symbol for t in figure.data if t.name != "not tested"}
    assert symbols == {"matched set": "circle", "challenge set": "circle", "L0H1 critical": "circle-open"}
    assert [t.x[0] for t in figure.data if t.name in symbols] == [u_length(100), u_length(100), u_length(120)]
    told = [a.text for a in figure.layout.annotations]
    assert "100" in told
    assert "120 keys" in told
    assert "L0H1 critical 120 keys at 50" in figure.layout.meta["alt"]


def test_the_first_length_with_unseen_positions_is_hollow_where_it_lies(coupled: pd.DataFrame) -> None:
    frame = coupled.copy()
    accuracy = (frame["quantity"] == "accuracy") & (frame["step"] == STEP)
    lengths = sorted(frame.loc[accuracy, "length"].unique())
    frame.loc[accuracy & (frame["length"] >= lengths[-2]), "status"] = "unseen_position"
    (unseen,) = traces(build(frame), "unseen position")
    assert list(unseen.x) == [u_length(lengths[-2])]
    assert unseen.marker.symbol == "circle-open"


def test_a_critical_length_past_the_axis_is_told_at_its_end(coupled: pd.DataFrame) -> None:
    frame = coupled.copy()
    frame.loc[frame["quantity"] == "critical_length", ["value", "low", "high"]] = [1e6, 9e5, 2e6]
    figure = build(frame)
    (mark,) = traces(figure, "L0H1 critical")
    assert mark.marker.symbol == "triangle-right-open", "a mark stands where the value leaves the axis"
    (told,) = [a for a in figure.layout.annotations if a.text == "1,000,000 [900,000, 2,000,000] keys"]
    assert told.x == mark.x[0] <= figure.layout.xaxis.range[1]


def test_the_critical_length_is_that_of_the_selected_length_with_its_interval(coupled: pd.DataFrame) -> None:
    frame = coupled.copy()
    at = (
        (frame["quantity"] == "critical_length")
        & (frame["step"] == STEP)
        & (frame["layer"] == 0)
        & (frame["head"] == 1)
    )
    for length, value in ((50, 4982.0), (100, 945.0), (200, 595.0)):
        limits = [value, 0.9 * value, 1.1 * value]
        frame.loc[at & (frame["length"] == length), ["value", "low", "high"]] = limits
    for asked, length, value in ((200, 200, 595), (100, 100, 945), (150, 100, 945), (None, 50, 4982)):
        figure = build(frame, length=asked)
        row = failure_length.data(frame, trained=50, step=STEP, layer=0, head=1, length=asked).iloc[-1]
        assert (row["length"], row["value"], row["layer"], row["head"], row["step"]) == (length, value, 0, 1, STEP)
        said = f"{value:,} [{round(0.9 * value):,}, {round(1.1 * value):,}] keys"
        assert said in [a.text for a in figure.layout.annotations]
        assert f"{said} at {length}" in figure.layout.meta["alt"]
        assert figure.layout.yaxis.ticktext[-1] == f"L0H1 critical<br>at length {length}"


def test_lengths_at_which_challenge_is_not_judged_are_hatched(coupled: pd.DataFrame, robust: pd.DataFrame) -> None:
    for frame in (coupled, robust):  # N 50, so judged from 134 on: of the measured lengths from 200
        figure = build(frame, step=3000)
        (hatched,) = traces(figure, "not tested")
        assert {min(hatched.x), max(hatched.x)} == {u_length(50), u_length(200)}
        (mark,) = traces(figure, "challenge set")
        assert min(hatched.y) < mark.y[0] < max(hatched.y), "on the row of the challenge test set alone"
        assert "tested from length 200 on" in mark.hovertext[0]
        assert "(tested from 200)" in figure.layout.meta["alt"]


def test_no_failure_is_an_arrow_past_the_longest_length(robust: pd.DataFrame) -> None:
    figure = build(robust)
    arrow = traces(figure, "matched set")[0]
    assert arrow.marker.symbol == "triangle-right"
    assert arrow.x[0] > u_length(1024)
    assert "> 1,024" in [a.text for a in figure.layout.annotations]
    assert "none up to 1,024" in figure.layout.meta["alt"]


def test_before_a_run_fits_it_has_no_failure_length(robust: pd.DataFrame) -> None:
    frame = robust.copy()
    hit = (frame["quantity"] == "failure_length") & (frame["step"] == 10)
    frame.loc[hit, ["value", "low", "high", "status"]] = [100.0, 50.0, 100.0, "ok"]
    figure = build(frame, step=10, layer=None, head=None)
    assert len(figure.data) == 0
    assert [a.text for a in figure.layout.annotations].count("not fitted") == 2


def test_an_undefined_failure_length_has_a_word_and_no_dot(robust: pd.DataFrame) -> None:
    frame = robust.copy()
    hit = (frame["quantity"] == "failure_length") & (frame["step"] == STEP)
    frame.loc[hit, ["status", "note"]] = ["undefined", "skill_in not above noise"]
    figure = build(frame, layer=None, head=None)
    assert len(figure.data) == 0
    assert [a.text for a in figure.layout.annotations].count("undefined") == 2


def test_an_infinite_critical_length_is_said_not_drawn(coupled: pd.DataFrame) -> None:
    frame = coupled.copy()
    frame.loc[frame["quantity"] == "critical_length", "value"] = math.inf
    figure = build(frame)
    assert "no bound" in [a.text for a in figure.layout.annotations]
    assert not traces(figure, "L0H1 critical")


def test_a_censored_length_ends_at_the_longest_judged_one_and_says_up_to_where_all_are_kept(
    robust: pd.DataFrame,
) -> None:
    """One cell at 400 is open: nothing failed up to 1,024, and all is shown to hold up to 200."""
    frame = robust.copy()
    hit = (frame["quantity"] == "failure_length") & (frame["step"] == STEP) & (frame["law"] == "matched")
    frame.loc[hit, ["low", "length"]] = [200.0, 1024]
    figure = build(frame)
    (arrow,) = traces(figure, "matched set")
    assert arrow.x[0] > u_length(1024)
    assert "<b>> 1,024</b> (shown to hold up to 200)" in arrow.hovertext[0]
    assert "matched set none up to 1,024" in figure.layout.meta["alt"]
    (other,) = traces(figure, "challenge set")
    assert "kept up to" not in other.hovertext[0]


def test_a_critical_length_ends_where_it_is_censored_not_where_it_was_read(robust: pd.DataFrame) -> None:
    frame = robust.copy()
    critical = frame["quantity"] == "critical_length"
    frame.loc[critical, "status"] = "censored"
    frame.loc[critical, ["value", "low", "high"]] = [float("nan"), 400.0, float("nan")]
    figure = failure_length(frame, trained=50, step=3000, layer=0, head=0)
    (told,) = (trace.hovertext[0] for trace in figure.data if "critical" in str(trace.name))
    assert (
        "computed at length 50<br><b>> 400 keys</b>" in told
    )  # the row's own length is N, at which attention was read
    assert "kept up to" not in told


def test_one_length_alone_with_unseen_positions_is_the_first(coupled: pd.DataFrame) -> None:
    frame = coupled.copy()
    accuracy = (frame["quantity"] == "accuracy") & (frame["step"] == STEP) & (frame["law"] == "matched")
    longest = frame.loc[accuracy, "length"].max()
    frame.loc[accuracy & (frame["length"] == longest), "status"] = "unseen_position"
    (unseen,) = traces(build(frame), "unseen position")
    assert list(unseen.x) == [u_length(longest)]


def test_a_step_that_fits_on_one_law_only_is_not_fitted(coupled: pd.DataFrame) -> None:
    verdict = coupled[(coupled["quantity"] == "verdict") & (coupled["step"] == STEP)]
    assert len(verdict)
    frame = pd.concat([coupled, verdict.assign(label="not fitted")])
    told = [note.text for note in build(frame, layer=None).layout.annotations if note.name == "number"]
    assert told == ["not fitted", "not fitted"]


def test_the_axis_reaches_past_what_was_measured_and_below_n_and_names_begin_large(coupled: pd.DataFrame) -> None:
    figure = build(coupled, layer=None)
    lengths = coupled[coupled["quantity"] == "accuracy"]["length"]
    assert list(figure.layout.xaxis.range) == [u_length(50 / 3.5), u_length(5.0 * lengths.max())]
    assert list(figure.layout.yaxis.range) == [1.95, -0.75]
    assert list(figure.layout.yaxis.ticktext) == ["Matched set", "Challenge set"]
    assert "computed" not in figure.layout.meta["slice"]
    (zone,) = [note for note in figure.layout.annotations if note.text == "not measured"]
    assert (zone.x, zone.y, zone.xanchor, zone.yanchor) == (figure.layout.xaxis.range[1], 0, "right", "bottom")
