"""Six pictures of a run: every drawn mark is its row, and every run of the gallery is drawn or told what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.figures.gallery_rows import GALLERY, trained_of
from workbench import figures
from workbench.core.names import TEST_SETS
from workbench.core.verdicts import NOT_FITTED, UNDECIDED
from workbench.figures.errors import NotMeasured
from workbench.figures.pictures.code_fan import angle_of, other_length, radius_of
from workbench.figures.pictures.failure_anatomy import wrong_parts
from workbench.figures.pictures.training_events import training_events
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.verdict_states import STATES, state_rows
from workbench.figures.style.template import cell_edges, u_length, u_step
from workbench.measure.behaviour.followed_shortcuts import agreements

ALL_RUNS = sorted(str(file.parent.relative_to(GALLERY)) for file in GALLERY.rglob("run.json"))
MADE_BY = {
    "attended_distance": "circuits.positional",
    "code_fan": "probes.drift",
    "event_order": "behaviour",
    "failure_anatomy": "behaviour",
    "intervention_matrix": "diagnosis",
    "verdict_state_map": "behaviour",
}
"""Picture -> the measurement that makes its rows, which an empty panel names."""
FLIP_FLOP, MAJORITY = "flip_flop_rotary_s0", "majority_nope_s0"


@cache
def whole_frame(run: str) -> Frame:
    """All rows of a run of the gallery, at every checkpoint."""
    return Frame.of(pd.read_parquet(GALLERY / run / "table.parquet"))


def options(run: str, name: str, **more: Any) -> dict[str, Any]:
    """The arguments of a picture at the last step of a run, with the head L0H1."""
    known = {"trained": trained_of(run), "step": int(whole_frame(run).distinct("step")[-1]), "layer": 0, "head": 1}
    taken = getattr(figures, name).__signature__.parameters
    return {key: value for key, value in (known | more).items() if key in taken}


def drawn(name: str, run: str, **more: Any) -> tuple[Any, pd.DataFrame]:
    """A picture of a run, and its rows as a table."""
    picture, arguments = getattr(figures, name), options(run, name, **more)
    return picture(whole_frame(run), **arguments), picture.data(whole_frame(run), **arguments).to_pandas()


def traces(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


# ---- of every run ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MADE_BY)
@pytest.mark.parametrize("run", ALL_RUNS)
def test_every_run_of_the_gallery_is_drawn_or_told_what_is_missing(name: str, run: str) -> None:
    missing = None
    try:
        figure, rows = drawn(name, run)
    except NotMeasured as error:
        missing = error
    if missing is not None:
        assert missing.measurement == MADE_BY[name]
        assert missing.message
        return
    assert len(rows)
    assert figure.data
    for word in ("title", "slice", "alt"):
        assert figure.layout.meta[word], f"{name} of {run} has no {word}"
    assert figure.layout.meta["n"] or name == "event_order"


@pytest.mark.parametrize("name", MADE_BY)
def test_a_picture_is_the_same_drawn_plainly(name: str) -> None:
    frame, arguments = whole_frame(FLIP_FLOP), options(FLIP_FLOP, name)
    plain = getattr(figures, name).plain(frame, **arguments).to_plotly_json()
    checked = getattr(figures, name)(frame, **arguments).to_plotly_json()
    assert [trace["name"] for trace in plain["data"]] == [trace["name"] for trace in checked["data"]]
    assert len(plain["layout"].get("shapes", ())) == len(checked["layout"].get("shapes", ()))


# ---- attended distance ----------------------------------------------------------------------------------
def test_the_line_and_the_dots_of_the_attended_distance_are_its_rows() -> None:
    figure, rows = drawn("attended_distance", FLIP_FLOP)
    mine = rows[(rows["quantity"] == "attention_locality") & (rows["series"] == "L0H1")]
    (line,) = traces(figure, "L0H1")
    np.testing.assert_allclose(line.x, [u_length(n) for n in mine["length"]])
    np.testing.assert_allclose(line.y, np.log2(mine["value"]))
    (dots,) = traces(figure, "top keys")
    mass = rows[rows["quantity"] == "argmax_mass"].set_index("length")["value"]
    sizes = [4 + 9 * math.sqrt(mass[n]) for n in mine["length"]]
    np.testing.assert_allclose(dots.marker.size, sizes)
    np.testing.assert_allclose(dots.y, line.y)


def test_the_attended_distance_states_the_score_of_the_answers_key_where_a_diagnosis_has_it() -> None:
    figure, rows = drawn("attended_distance", FLIP_FLOP)
    (gap,) = rows[rows["quantity"] == "oracle_key_gap"].to_dict("records")
    (words,) = [note for note in figure.layout.annotations if note.name == "answer's key"]
    assert words.x == u_length(gap["length"])
    assert f"{-gap['value']:.1f} nats below" in words.text


def test_no_head_attends_further_back_than_the_prefix() -> None:
    figure, rows = drawn("attended_distance", MAJORITY)
    distances = rows[rows["quantity"] == "attention_locality"]
    assert (distances["value"] <= distances["length"]).all()
    (whole,) = traces(figure, "whole prefix")
    np.testing.assert_allclose(whole.x, whole.y)  # tokens back = prefix length, both as powers of two


# ---- order of events ------------------------------------------------------------------------------------
@pytest.mark.parametrize("run", [FLIP_FLOP, MAJORITY, "parity_nope"])
def test_the_dots_of_events_stand_at_the_steps_of_their_rows(run: str) -> None:
    figure, rows = drawn("event_order", run)
    for end in ("last step without", "first step with"):
        drawn_steps = sorted(float(trace.x[0]) for trace in traces(figure, end))
        of_rows = sorted(u_step(step) for step in rows[rows["series"].str.endswith(end)]["step"])
        np.testing.assert_allclose(drawn_steps, of_rows)
    assert list(figure.layout.yaxis.ticktext) == [event.name for event in events_of(run)]


def events_of(run: str) -> list[Any]:
    return training_events(whole_frame(run), trained=trained_of(run), layer=0, head=1)


def test_an_event_lies_between_the_verdicts_that_bracket_it() -> None:
    by_key = {event.key: event for event in events_of(FLIP_FLOP)}
    verdicts = whole_frame(FLIP_FLOP).where(quantity="verdict").sort("step").rows()
    labels = {row["step"]: row["label"] for row in verdicts}
    fitted = by_key["fitted"]
    assert labels[fitted.without["step"]] == NOT_FITTED
    assert labels[fitted.holds["step"]] not in (NOT_FITTED, UNDECIDED)
    between = [labels[step] for step in labels if fitted.without["step"] < step < fitted.holds["step"]]
    assert set(between) <= {UNDECIDED}  # undecided steps widen the bracket


def test_seeds_of_one_configuration_are_faint_brackets() -> None:
    both = Frame.concat([whole_frame("flip_flop_rotary_s0"), whole_frame("flip_flop_rotary_s1")])
    figure = figures.event_order(both, trained=32, layer=0, head=1)
    assert "1 further seed" in figure.layout.meta["slice"]
    of_seed = {event.key: event for event in events_of("flip_flop_rotary_s1")}
    ends = sorted(u_step(event.holds["step"]) for event in of_seed.values() if event.holds is not None)
    np.testing.assert_allclose(sorted(trace.x[1] for trace in traces(figure, "seed")), ends)


def events_in_rows(labels: list[str]) -> Iterator[dict[str, Any]]:
    for step, label in enumerate(labels):
        yield {"step": step, "label": label}


@pytest.mark.parametrize(
    ("labels", "without", "holds"),
    [
        ([NOT_FITTED, "length-coupled", "length-coupled"], 0, 1),
        ([NOT_FITTED, "length-coupled", NOT_FITTED, "length-coupled"], 2, 3),  # what ends again has not begun for good
        ([NOT_FITTED, UNDECIDED, "length-coupled"], 0, 2),
        ([NOT_FITTED, NOT_FITTED], 1, None),
        (["length-coupled", "length-coupled"], None, 0),
    ],
)
def test_the_bracket_of_an_event(labels: list[str], without: int | None, holds: int | None) -> None:
    template = whole_frame(FLIP_FLOP).where(quantity="verdict").rows()[0]
    frame = Frame.from_rows([template | row for row in events_in_rows(labels)])
    fitted = next(event for event in training_events(frame, trained=32) if event.key == "fitted")
    assert (fitted.without and fitted.without["step"]) == without
    assert (fitted.holds and fitted.holds["step"]) == holds


# ---- interventions --------------------------------------------------------------------------------------
@pytest.mark.parametrize("run", [FLIP_FLOP, "flip_flop_rotary_s1", "compiled/majority_first_32"])
def test_the_dots_of_interventions_are_their_two_rows(run: str) -> None:
    figure, rows = drawn("intervention_matrix", run)
    at = rows[rows["control"] == "wrong_constant"]["length"].iloc[0]
    here = rows[rows["length"] == at].assign(control=rows["control"].fillna(""))
    table = here.pivot_table(index=["target", "control"], columns="quantity", values="value")
    for name, control in (("intervention", ""), ("control", "wrong_constant")):
        pairs = table.xs(control, level="control").dropna()
        (dots,) = traces(figure, name)
        expected = sorted(zip(pairs["harm_inside"], pairs["restored_share"], strict=True))
        np.testing.assert_allclose(sorted(zip(dots.x, dots.y, strict=True)), expected)
    untried = table.xs("", level="control")["restored_share"].isna()
    assert sum(len(trace.x) for trace in traces(figure, "costs too much")) == untried.sum()


# ---- states of the verdict ------------------------------------------------------------------------------
@pytest.mark.parametrize("run", [run for run in ALL_RUNS if "pretrained" not in run and run != "small_model"])
def test_states_agree_with_the_stored_verdicts_and_failure_lengths(run: str) -> None:
    frame, trained = whole_frame(run), trained_of(run)
    states = state_rows(frame, trained=trained).to_pandas()
    for step, here in states.groupby("step"):
        verdict = frame.where(quantity="verdict", step=step).rows()[0]["label"]
        near = set(here[here["length"] <= trained]["label"])
        assert ("fail" in near) == (verdict == NOT_FITTED)
        for law in TEST_SETS if verdict != NOT_FITTED else ():
            past = here[(here["length"] > trained) & (here["law"] == law)].sort_values("length")
            labels = [*past["label"], ""]
            pair = next(
                (n for n, a, b in zip(past["length"], labels, labels[1:], strict=False) if a == b == "fail"), None
            )
            stored = frame.where(quantity="failure_length", law=law, step=step).rows()[0]["value"]
            assert pair == (None if stored != stored else stored)


def test_the_halves_of_the_cells_are_the_states_of_their_rows() -> None:
    figure, rows = drawn("verdict_state_map", "flip_flop_rotary_s1")
    (cells,) = traces(figure, "cells")
    skills = rows[rows["quantity"] == "skill"]
    steps = sorted(whole_frame("flip_flop_rotary_s1").distinct("step"))
    lengths = sorted(skills["length"].unique())
    both = {(row.step, row.length) for row in skills.itertuples() if row.law == "challenge"}
    seen = np.isnan(np.asarray(cells.z, dtype=float))
    for row in skills.itertuples():
        line, column = lengths.index(row.length), 2 * steps.index(row.step) + (row.law == "challenge")
        halves = [column] if (row.step, row.length) in both else [column, column + 1]
        for half in halves:
            assert cells.z[line][half] == STATES.index(row.label)
            seen[line][half] = True
    assert seen.all()  # no cell is drawn that no row has


def test_the_front_runs_along_the_first_failing_lengths() -> None:
    figure, rows = drawn("verdict_state_map", "flip_flop_rotary_s1")
    lengths = sorted(rows[rows["quantity"] == "skill"]["length"].unique())
    edges = cell_edges([u_length(n) for n in lengths])
    for law in TEST_SETS:
        failed = rows[rows["series"] == f"first failing length, {law}"].sort_values("step")
        front = traces(figure, f"first failing length, {law}")[-1]
        heights = [y for y in front.y if y is not None and y == y]
        np.testing.assert_allclose(heights, np.repeat([edges[lengths.index(n)] for n in failed["value"]], 2))


# ---- rotation of the code -------------------------------------------------------------------------------
@pytest.mark.parametrize("step", [17, 1200])
def test_the_dots_of_the_fan_have_the_angle_and_the_length_of_their_rows(step: int) -> None:
    figure, rows = drawn("code_fan", FLIP_FLOP, step=step)
    for name in ("code", "highest control"):
        here = [row for row in rows[rows["series"] == name].to_dict("records") if row["value"] == row["value"]]
        dots = traces(figure, name)
        if not here:
            assert not dots
            continue
        own = [
            other_length(row, 32) for row in rows[rows["series"] == "code"].dropna(subset=["value"]).to_dict("records")
        ]
        radii = [radius_of(other_length(row, 32), [*own, 32]) for row in here]
        np.testing.assert_allclose(np.hypot(dots[0].x, dots[0].y), radii)
        angles = np.degrees(np.arctan2(dots[0].y, dots[0].x))
        np.testing.assert_allclose(angles, [angle_of(row["value"]) for row in here], atol=1e-6)


def test_angles_of_known_cosines() -> None:
    assert [round(angle_of(cosine)) for cosine in (1.0, 0.5, 0.0, -1.0, 1.0 + 1e-9)] == [0, 60, 90, 180, 0]


# ---- anatomy of a failure -------------------------------------------------------------------------------
@pytest.mark.parametrize("run", [FLIP_FLOP, MAJORITY, "parity_nope", "compiled/majority"])
def test_bars_and_markers_of_the_anatomy_are_its_rows(run: str) -> None:
    figure, rows = drawn("failure_anatomy", run)
    for law in TEST_SETS:
        accuracy = rows[rows["series"] == f"right, {law}"].sort_values("length")["value"]
        (right,), (wrong,) = traces(figure, f"right, {law}"), traces(figure, f"wrong, {law}")
        shares, rest, base = (np.asarray(values, dtype=float) for values in (right.y, wrong.y, wrong.base))
        np.testing.assert_allclose(shares, accuracy.astype(float))
        np.testing.assert_allclose(base + rest, 1.0)
        explained = dict(zip(right.x.tolist(), (base - shares).tolist(), strict=True))
        for trace in [one for one in figure.data if one.name.startswith("wrong as") and one.name.endswith(law)]:
            for x, y, from_ in zip(trace.x, trace.y, trace.base, strict=True):
                length = rows["length"][np.isclose(np.log2(rows["length"]), x, atol=0.15)].iloc[0]
                here = rows[(rows["length"] == length) & (rows["law"] == law)].set_index("series")["value"]
                name = trace.name.removeprefix("wrong as ")
                assert y == here[name] - here[f"right, {law}"]
                assert from_ == here[f"right, {law}"]
                assert explained.pop(x) == pytest.approx(y)
        assert all(part == pytest.approx(0.0) for part in explained.values()), "no other wrong answer has a colour"
    agreements = rows[rows["quantity"] == "shortcut_agreement"]
    markers = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]
    expected = sorted((row["value"], row["low"] >= 0.95) for row in agreements.to_dict("records"))
    shown = [
        (float(y), not symbol.endswith("-open"))
        for trace in markers
        for y, symbol in zip(trace.y, trace.marker.symbol, strict=True)
    ]
    assert sorted(shown) == expected


def test_every_colour_of_the_anatomy_has_a_legend_entry_with_a_name() -> None:
    figure, _ = drawn("failure_anatomy", "parity_nope")
    bars = {trace.name.rpartition(",")[0]: trace.marker.color for trace in figure.data if trace.type == "bar"}
    entries = {str(note.text): note.font.color for note in figure.layout.annotations}
    assert set(bars) == {"right", "wrong", "wrong as constant answer"}
    assert {"blue: right", "grey: wrong, other"} <= set(entries)
    assert entries["wrong as constant answer"] == bars["wrong as constant answer"]
    assert len(set(bars.values())) == 3


def test_the_coloured_part_is_never_more_than_the_wrong_answers_shared_with_the_shortcut() -> None:
    rng = np.random.default_rng(5)
    hit = rng.random(400) < 0.5
    right = hit ^ (rng.random(400) < 0.01)
    (agreement,) = agreements({"first_window": hit.astype(float)}, right)
    assert agreement.followed
    shared = {"law": "challenge", "length": 64, "n": 400}
    low, high = agreement.limits
    columns = {"value": agreement.share, "low": low, "high": high, "target": "first_window"}
    rows, none = Frame.from_rows([shared | columns]), Frame.from_rows([shared | columns | {"n": 399}])
    mine = Frame.from_rows([shared | {"value": float(right.mean())}])
    (part,) = wrong_parts(mine, rows)
    assert part is not None
    both_wrong = float((~hit & ~right).mean())
    assert 0 < part["value"] - right.mean() <= both_wrong + 1e-12
    assert wrong_parts(mine, none) == [None], "of other sequences, it says nothing on these"


def test_the_anatomy_is_of_the_hard_inputs_that_fail() -> None:
    figure, rows = drawn("failure_anatomy", MAJORITY)
    assert "only lead 1" in figure.layout.meta["slice"]
    assert set(rows["quantity"]) == {"stratum_accuracy", "shortcut_agreement"}


def test_the_words_on_the_answers_key_stand_below_all_points() -> None:
    """On a phone these words are nearly as wide as the plot: at the height of the first points they would cover them."""
    figure, _ = drawn("attended_distance", FLIP_FLOP)
    (words,) = [one for one in figure.layout.annotations if one.name == "answer's key"]
    low, high = figure.layout.yaxis.range
    lowest = min(float(np.nanmin(np.asarray(trace.y, float))) for trace in figure.data if trace.y is not None)
    pixels = 200 * (lowest - low) / (high - low)
    (trained,) = [one for one in figure.layout.annotations if str(one.text).startswith("trained")]
    assert words.y == low
    assert trained.y - low > 0.25 * (high - low), "the name of N keeps away from them"
    assert pixels > 2 * 1.3 * words.font.size + 2, "two lines fit below the lowest point in a plot of 200 pixels"
