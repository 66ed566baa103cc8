"""The nine panels of the Run page: axes that do not move, gaps, labels, and data equal to drawing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from tests.support.places import GALLERY
from workbench import figures
from workbench.figures import (
    NotMeasured,
    accuracy_over_length,
    accuracy_over_training,
)
from workbench.figures.look import Look
from workbench.figures.style.design_tokens import TOKENS, TRAIN_ON_HEATMAP
from workbench.figures.style.template import MARGINS, PLOT_HEIGHT, u_length, u_step
from workbench.table import Table

TRAINED, STEP, LENGTH = 50, 1000, 200
Drawn = Callable[[str, str], go.Figure]

#: name -> (column kind, arguments)
BUILDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "accuracy_heatmap": ("step", {"trained": TRAINED}),
    "accuracy_over_length": ("length", {"trained": TRAINED, "step": STEP}),
    "accuracy_over_training": ("step", {"trained": TRAINED, "length": LENGTH}),
    "failure_length": ("failure", {"trained": TRAINED, "step": STEP, "layer": 0, "head": 1}),
    "decodability_over_training": ("step", {"trained": TRAINED, "length": LENGTH}),
    "decodability_over_length": ("length", {"trained": TRAINED, "step": STEP}),
    "decodability_by_layer": ("dumbbell", {"step": STEP, "length": LENGTH}),
    "head_over_training": ("step", {"trained": TRAINED, "length": LENGTH, "layer": 0, "head": 0}),
    "head_over_length": ("length", {"trained": TRAINED, "step": STEP, "layer": 0, "head": 0}),
    "head_grid_figure": ("dumbbell", {"step": STEP, "length": LENGTH, "layer": 0, "head": 0}),
}
LINES = [name for name in BUILDERS if "_over_" in name]
OVER_LENGTH = [name for name in BUILDERS if name.endswith("over_length")]


def build(name: str, frame: pd.DataFrame, **changes: Any) -> go.Figure:
    builder: Callable[..., go.Figure] = getattr(figures, name)
    return builder(frame, **(BUILDERS[name][1] | changes))


@pytest.fixture(scope="module")
def drawn(story_frame: pd.DataFrame) -> Drawn:
    """The unchanged figure of a run, built once; treat as read-only."""

    @cache
    def default(name: str, run: str) -> go.Figure:
        return build(name, story_frame[story_frame["run"] == run])

    return default


def data_of(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    rows: pd.DataFrame = getattr(figures, name).data(frame, **BUILDERS[name][1])
    return rows


def traces(figure: go.Figure, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


@pytest.mark.parametrize("name", BUILDERS)
def test_every_figure_has_its_margins_meta_and_theme(name: str, robust: pd.DataFrame) -> None:
    column, _ = BUILDERS[name]
    theme = "dark"
    figure = build(name, robust, look=Look(theme, 12))
    margin = figure.layout.margin
    assert {k: margin[k] for k in "lrtb"} == MARGINS[column]
    assert figure.layout.template.layout.font.size == 12
    assert figure.layout.template.layout.font.color == TOKENS[theme]["ink2"]
    meta = figure.layout.meta
    assert set(meta) >= {"title", "slice", "alt", "x", "n"}
    assert {meta["x"][k] for k in ("low", "high")} == set(figure.layout.xaxis.range)
    assert "\n" not in meta["alt"]
    assert meta["n"] in (512, 128)
    json.loads(figure.to_json())
    assert "NaN" not in json.dumps(meta)
    assert figure.layout.uirevision.startswith("robust/")


@pytest.mark.parametrize("name", BUILDERS)
def test_axes_stay_while_the_cursor_moves(name: str, robust: pd.DataFrame, drawn: Drawn) -> None:
    arguments = BUILDERS[name][1]
    moved = {k: v for k, v in {"step": 10, "length": 16}.items() if k in arguments}
    one, other = drawn(name, "robust"), build(name, robust, **moved)
    assert one.layout.xaxis.range == other.layout.xaxis.range
    assert one.layout.xaxis.ticktext == other.layout.xaxis.ticktext
    if name != "failure_length":  # its rows depend on what applies at the step
        assert one.layout.yaxis.range == other.layout.yaxis.range


def test_ranges(drawn: Drawn) -> None:
    assert drawn("accuracy_over_length", "robust").layout.yaxis.range == (pytest.approx(0.44), 1.04)
    heat = traces(drawn("accuracy_heatmap", "robust"), "cells")[0]
    assert (heat.zmin, heat.zmax) == (0.5, 1.0)
    for name in ("decodability_over_length", "head_over_length"):
        assert drawn(name, "robust").layout.yaxis.range == (pytest.approx(-0.05), pytest.approx(1.05))


def test_axes_align_down_a_column(drawn: Drawn) -> None:
    for kind in ("step", "length"):
        ranges = {drawn(n, "robust").layout.xaxis.range for n, (column, _) in BUILDERS.items() if column == kind}
        assert len(ranges) == 1


@pytest.mark.parametrize("name", OVER_LENGTH)
def test_training_length_is_a_dashed_line_with_wash_and_name(name: str, drawn: Drawn) -> None:
    figure = drawn(name, "robust")
    (line,) = [s for s in figure.layout.shapes if s.name == "training length"]
    assert line.x0 == line.x1 == u_length(TRAINED)
    assert line.line.color == TOKENS["light"]["train"]
    assert line.line.dash == "4px,3px"
    (wash,) = [s for s in figure.layout.shapes if s.fillcolor == TOKENS["light"]["train_wash"]]
    assert (wash.x0, wash.x1) == (figure.layout.xaxis.range[0], u_length(TRAINED))
    assert "trained ≤ 50" in [a.text for a in figure.layout.annotations]


def test_training_line_on_the_heatmap_lies_after_the_last_trained_row(drawn: Drawn) -> None:
    figure = drawn("accuracy_heatmap", "robust")
    under, over = [s for s in figure.layout.shapes if s.name == "training length"]
    edge = (u_length(50) + u_length(100)) / 2
    assert under.y0 == over.y0 == pytest.approx(edge)
    assert (under.line.color, under.line.width) == ("#FFFFFF", 3.5)
    assert (over.line.color, over.line.width) == (TRAIN_ON_HEATMAP, 1.5)


def test_heatmap_cells_are_float32_between_edges(drawn: Drawn, synthetic: Any) -> None:
    heat = traces(drawn("accuracy_heatmap", "robust"), "cells")[0]
    z = np.asarray(heat.z)
    assert z.dtype == np.float32
    assert z.shape == (len(synthetic.LENGTHS), len(synthetic.STEPS))
    assert len(heat.x) == z.shape[1] + 1
    assert len(heat.y) == z.shape[0] + 1
    story = synthetic.Story("robust", True)
    at = synthetic.LENGTHS.index(200), synthetic.STEPS.index(1000)
    assert z[at] == pytest.approx(story.accuracy(1000, 200, "matched"), abs=1e-6)


@pytest.mark.parametrize("name", LINES)
def test_what_is_drawn_is_what_the_data_says(name: str, coupled: pd.DataFrame, drawn: Drawn) -> None:
    along = "step" if "training" in name else "length"
    place = u_step if along == "step" else u_length
    figure, data = drawn(name, "coupled"), data_of(name, coupled)
    others = []
    for series, rows in data.groupby("series", sort=False):
        if series == "chance":
            line = traces(figure, "level")[0]
        elif str(series).startswith("L") and series != "L0H0":
            others.append((rows, place, along))
            continue
        else:
            (line,) = traces(figure, str(series))
        assert list(line.x) == [place(v) for v in rows[along]]
        assert list(line.y) == pytest.approx(list(rows["value"].clip(0, 1)))
    if others:
        (merged,) = traces(figure, "others")
        expected = [v for rows, _, _ in others for v in [*rows["value"], None]]
        assert [v if v is None else pytest.approx(v) for v in merged.y] == expected


def test_heatmap_data_are_its_cells(robust: pd.DataFrame, drawn: Drawn) -> None:
    heat = traces(drawn("accuracy_heatmap", "robust"), "cells")[0]
    data = data_of("accuracy_heatmap", robust)
    table = data.pivot(index="length", columns="step", values="value").to_numpy()
    np.testing.assert_allclose(np.asarray(heat.z), table, atol=1e-6)


def undefine(frame: pd.DataFrame, **where: Any) -> pd.DataFrame:
    made = frame.copy()
    hit = np.logical_and.reduce([made[k] == v for k, v in where.items()])
    assert hit.any()
    made.loc[hit, ["value", "low", "high"]] = np.nan
    made.loc[hit, ["status", "note"]] = ["undefined", "one class only"]
    return made


def test_undefined_values_leave_gaps_and_are_never_zero(robust: pd.DataFrame) -> None:
    frame = undefine(robust, quantity="summary_decodability", length=100, mode="transfer", control="")
    (line,) = traces(build("decodability_over_length", frame), "summary")
    missing = [i for i, y in enumerate(line.y) if not np.isfinite(y)]
    assert [line.x[i] for i in missing] == [u_length(100)]
    assert line.connectgaps is False
    frame = undefine(robust, quantity="accuracy", length=100, step=1000, law="matched")
    heat = traces(build("accuracy_heatmap", frame), "cells")[0]
    assert np.isnan(np.asarray(heat.z)).sum() == 1
    frame = undefine(robust, quantity="hardmax_distance", length=200, step=1000, layer=1, head=2)
    grid = figures.head_grid(frame, step=1000, length=200).set_index(["layer", "head"])
    assert grid.loc[(1, 2), "text"] == "–"
    assert math.isnan(grid.loc[(1, 2), "share"])
    assert grid.loc[(1, 2), "note"] == "one class only"


def test_a_value_stored_beside_an_undefined_status_is_not_drawn(robust: pd.DataFrame) -> None:
    frame = robust.copy()
    hit = (frame["quantity"] == "accuracy") & (frame["length"] == 100) & (frame["law"] == "matched")
    frame.loc[hit, "status"] = "not_applicable"
    (line,) = traces(build("accuracy_over_length", frame), "matched")
    assert not np.isfinite(list(line.y)[list(line.x).index(u_length(100))])


def test_bands_break_at_gaps_and_lone_points_are_seen(robust: pd.DataFrame) -> None:
    frame = robust
    for n in (100, 400):
        frame = undefine(frame, quantity="accuracy", length=n, law="matched")
    figure = build("accuracy_over_length", frame)
    (line,) = traces(figure, "matched")
    sizes = dict(zip(line.x, line.marker.size, strict=True))
    assert sizes[u_length(200)] > 0
    assert sum(v > 0 for v in sizes.values()) == 1
    band = next(t for t in traces(figure, "band") if t.fillcolor == "rgba(20,24,31,0.16)")
    assert [v is None or np.isnan(v) for v in band.x].count(True) == 3  # one end per polygon
    assert band.line.width == 0


def test_unseen_positions_are_drawn_and_said_in_the_tooltip(coupled: pd.DataFrame) -> None:
    frame = coupled.copy()
    hit = (frame["quantity"] == "accuracy") & (frame["length"] > 50)
    frame.loc[hit, "status"] = "unseen_position"
    figure = build("accuracy_over_length", frame)
    (line,) = traces(figure, "matched")
    assert np.isfinite(list(line.y)).all()
    assert "unseen position" in line.hovertext[-1]
    assert "unseen position" not in line.hovertext[0]
    assert "Unseen position" in build("failure_length", frame).layout.yaxis.ticktext


def test_tooltips_carry_value_interval_and_n(drawn: Drawn) -> None:
    for name in LINES:
        figure = drawn(name, "robust")
        texts = [t for trace in figure.data if trace.hovertext is not None for t in trace.hovertext if t]
        assert texts
        assert all("n 512" in t or "n 128" in t or "chance" in t for t in texts)
        assert all("[" in t for t in texts)


@pytest.mark.parametrize("run", ["robust", "coupled"])
@pytest.mark.parametrize("name", LINES)
def test_line_end_labels_do_not_overlap(name: str, run: str, drawn: Drawn) -> None:
    figure = drawn(name, run)
    low, high = figure.layout.yaxis.range
    heights = sorted(a.y for a in figure.layout.annotations if a.name == "end label")
    assert len(heights) >= 2
    assert (np.diff(heights) * PLOT_HEIGHT / (high - low) >= 12.9).all()
    assert low < heights[0]
    assert heights[-1] < high


def test_labels_have_the_colour_of_their_line(robust: pd.DataFrame) -> None:
    figure = build("decodability_over_length", robust, look=Look("dark"))
    colours = {a.text: a.font.color for a in figure.layout.annotations if a.name == "end label"}
    assert colours["summary"] == traces(figure, "summary")[0].line.color == TOKENS["dark"]["summary"]
    assert colours["position"] == traces(figure, "position")[0].line.color == TOKENS["dark"]["position"]


def test_controls_show_only_the_highest(robust: pd.DataFrame, drawn: Drawn) -> None:
    data = data_of("decodability_over_length", robust)
    controls = data[data["series"] == "controls"]
    assert set(controls["control"]) == {"untrained"}
    assert list(controls["value"]) == pytest.approx([0.15] * len(controls))
    (line,) = traces(drawn("decodability_over_length", "robust"), "controls")
    assert line.line.dash == "4px,3px"
    assert "untrained" in line.hovertext[0]


def test_r2_below_zero_is_clipped_in_the_drawing_only(robust: pd.DataFrame) -> None:
    frame = robust.copy()
    hit = (
        (frame["quantity"] == "position_decodability")
        & (frame["length"] == 1024)
        & (frame["mode"] == "refit")
        & (frame["control"] == "")
    )
    frame.loc[hit, ["value", "low", "high"]] = [-3.0, -3.5, -2.5]
    (line,) = traces(build("decodability_over_length", frame), "position")
    assert line.y[-1] == 0
    assert "\u22123" in line.hovertext[-1]
    data = data_of("decodability_over_length", frame)
    assert data[(data["series"] == "position") & (data["length"] == 1024)]["value"].item() == -3.0


@pytest.mark.parametrize("name", ["accuracy_over_length", "decodability_over_length", "head_over_training"])
def test_cursor_is_a_line_at_u(name: str, robust: pd.DataFrame, drawn: Drawn) -> None:
    figure = build(name, robust, cursor={"step": STEP, "length": LENGTH})
    (line,) = [s for s in figure.layout.shapes if s.name == "cursor"]
    assert line.x0 == (u_step(STEP) if "training" in name else u_length(LENGTH))
    assert not [s for s in drawn(name, "robust").layout.shapes if s.name == "cursor"]


def test_unbounded_quantities_get_a_fixed_axis_of_their_own(robust: pd.DataFrame) -> None:
    one = build("head_over_length", robust, quantity="effective_support")
    other = build("head_over_length", robust, quantity="effective_support", step=10)
    assert one.layout.yaxis.range == other.layout.yaxis.range
    (line,) = traces(one, "L0H0")
    rows = figures.head_over_length.data(robust, quantity="effective_support", step=STEP, layer=0, head=0)
    mine = rows[rows["series"] == "L0H0"]["value"]
    assert list(line.y) == pytest.approx([math.log2(v) for v in mine])


def test_head_grid_holds_every_head_with_its_curve(robust: pd.DataFrame, synthetic: Any) -> None:
    grid = figures.head_grid(robust, quantity="hardmax_distance", step=STEP, length=LENGTH)
    assert len(grid) == synthetic.LAYERS * synthetic.HEADS
    story = synthetic.Story("robust", True)
    for _, cell in grid.iterrows():
        d = story.hardmax(STEP, LENGTH, cell["layer"], cell["head"])
        assert cell["value"] == pytest.approx(d)
        assert cell["text"] == f"{d:.2f}"
        assert cell["share"] == pytest.approx(d)
        assert cell["lengths"] == list(synthetic.LENGTHS)
        expected = [story.hardmax(STEP, n, cell["layer"], cell["head"]) for n in synthetic.LENGTHS]
        assert cell["curve"] == pytest.approx(expected)
    assert not any(
        math.isnan(v) for v in figures.head_grid(robust, quantity="critical_length", step=1, length=5)["share"]
    )


MEASUREMENT_OF = {
    "accuracy": "behaviour",
    "failure": "behaviour",
    "decodability": "probes.summary",
    "head": "circuits.hardmax",
}


@pytest.mark.parametrize("name", BUILDERS)
def test_missing_rows_name_their_measurement(name: str, robust: pd.DataFrame) -> None:
    measurement = MEASUREMENT_OF[name.split("_")[0]]
    without = robust[~robust["measurement"].str.startswith(measurement.split(".")[0])]
    with pytest.raises(NotMeasured) as caught:
        build(name, without)
    assert caught.value.measurement == measurement
    assert caught.value.message.startswith("No rows of")
    nowhere = {k: 7 for k in ("step", "length") if k in BUILDERS[name][1]}
    if nowhere:
        with pytest.raises(NotMeasured, match=r"none for|not measured at training step 7") as caught:
            build(name, robust, **nowhere)
        assert caught.value.measurement == measurement


def test_one_probe_is_enough(robust: pd.DataFrame) -> None:
    for kept in ("summary", "position"):
        gone = {"summary": "position", "position": "summary"}[kept]
        frame = robust[robust["measurement"] != f"probes.{gone}"]
        for name in ("decodability_over_length", "decodability_over_training", "decodability_by_layer"):
            figure = build(name, frame)
            assert traces(figure, kept)
            assert not traces(figure, gone)


def test_rows_of_two_runs_or_two_settings_are_refused(story_frame: pd.DataFrame, robust: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="2 runs"):
        build("accuracy_heatmap", story_frame)
    twice = pd.concat([robust, robust.assign(setting='{"w":8}')])
    with pytest.raises(ValueError, match="2 settings"):
        build("head_over_length", twice)
    with pytest.raises(ValueError, match="two rows"):
        build("accuracy_over_length", pd.concat([robust, robust]))


def test_accuracies_without_chance_are_refused_by_name(robust: pd.DataFrame) -> None:
    with pytest.raises(NotMeasured, match="chance"):
        build("accuracy_heatmap", robust[robust["quantity"] != "chance"])


@pytest.mark.parametrize("name", ["accuracy_over_length", "failure_length", "decodability_by_layer"])
def test_nullable_columns_are_read_like_plain_ones(name: str, robust: pd.DataFrame, drawn: Drawn) -> None:
    assert build(name, robust.convert_dtypes()).to_json() == drawn(name, "robust").to_json()


def test_axes_span_all_rows_of_the_run_so_that_cursors_align(robust: pd.DataFrame, drawn: Drawn) -> None:
    later = robust["measurement"].eq("circuits.hardmax") & robust["step"].lt(100)
    figure = build("head_over_training", robust[~later])
    assert figure.layout.xaxis.range == drawn("accuracy_heatmap", "robust").layout.xaxis.range


def test_frames_are_not_changed(robust: pd.DataFrame) -> None:
    before = robust.copy()
    for name in ("accuracy_over_length", "failure_length", "decodability_by_layer", "head_over_length"):
        build(name, robust, cursor={"step": STEP, "length": LENGTH})
    pd.testing.assert_frame_equal(robust, before)


def test_the_name_of_the_training_length_keeps_off_the_lines(synthetic: Any) -> None:
    """A line that falls between two measured lengths passes through the name's usual places."""
    rows = synthetic.Story("coupled", False).rows()
    frame = synthetic.frame_of([r for r in rows if r["length"] is None or r["length"] in (5, 50, 1024)])
    hit = (frame["quantity"] == "accuracy") & (frame["length"] == 50)
    frame.loc[hit, ["value", "low", "high"]] = [0.6, 0.58, 0.62]
    figure = build("accuracy_over_length", frame, step=3000)
    (name,) = [a for a in figure.layout.annotations if a.name == "training label"]
    (line,) = traces(figure, "matched")
    left = name.x - 0.2 * (figure.layout.xaxis.range[1] - figure.layout.xaxis.range[0])
    passed = np.interp(np.linspace(left, name.x, 50), line.x, line.y)
    assert np.abs(passed - name.y).min() * PLOT_HEIGHT / 0.6 > 8


def test_the_band_of_kept_skill_is_that_of_the_rows_own_rules(story_frame: pd.DataFrame) -> None:
    run = story_frame[story_frame["run"] == story_frame["run"].iloc[0]]
    floor = run.loc[run["quantity"] == "chance", "value"].min()
    for setting, kept in (("{}", 0.9), ('{"robust":0.8}', 0.8)):
        figure = build("accuracy_over_length", run.assign(setting=setting))
        assert f"band {floor + kept * (1 - floor):.2f}–1.00" in figure.layout.meta["slice"]
        (level,), band = traces(figure, "level"), traces(figure, "band")[0]
        drawn_from = np.array([y for y in band.y if y is not None])
        assert drawn_from.min() == pytest.approx(min(level.y) + kept * (1 - min(level.y)))


def with_shortcuts(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with shortcuts: on challenge at 0.83 up to 100, then at 0.52; one that the task leaves out has 0.99."""
    chance = frame[frame["quantity"] == "chance"]
    near = chance.assign(quantity="shortcut", target="last_window")
    near["value"] = np.where(near["length"] <= 100, 0.83, 0.52)
    outside = chance.assign(quantity="shortcut", target="counts", value=0.99, note="outside the baseline")
    return pd.concat([frame, near, outside], ignore_index=True)


@pytest.mark.parametrize("step", [1000, 3000])
def test_each_test_set_is_drawn_with_its_own_baseline(coupled: pd.DataFrame, step: int) -> None:
    frame = with_shortcuts(coupled)
    figure = accuracy_over_length(frame, trained=50, step=step)
    data = accuracy_over_length.data(frame, step=step)
    (chance,), (shortcut,) = traces(figure, "level"), traces(figure, "best shortcut")
    assert set(chance.y) == {0.5}
    rows = data[data["series"] == "best shortcut"]
    assert list(shortcut.y) == list(rows["value"]) == [0.83 if n <= 100 else 0.52 for n in rows["length"]]
    assert set(rows["law"]) == {"challenge"}
    assert set(rows["target"]) == {"last_window"}
    assert set(rows["step"]) == {step}
    assert {"chance", "shortcut"} <= {a.text for a in figure.layout.annotations}


def test_lengths_at_which_challenge_is_not_judged_are_hatched(coupled: pd.DataFrame) -> None:
    """N is 50: judged from 134 on, and 200 is the first measured length from there."""
    figure = accuracy_over_length(with_shortcuts(coupled), trained=50, step=3000)
    (hatched,) = traces(figure, "not tested")
    assert {min(hatched.x), max(hatched.x)} == {u_length(50), u_length(200)}
    assert hatched.fillpattern.shape == "/"
    assert "hatched: challenge not tested" in figure.layout.meta["slice"]
    assert "challenge 0.50 at length 200" in figure.layout.meta["alt"]
    assert "where the best shortcut has 0.52 at length 200" in figure.layout.meta["alt"]
    matched = coupled[coupled["law"] != "challenge"]
    alone = accuracy_over_length(matched, trained=50, step=3000)
    assert not traces(alone, "not tested")
    assert "challenge" not in alone.layout.meta["slice"] + alone.layout.meta["alt"]
    unjudged = accuracy_over_training(coupled, trained=50, length=100)
    assert "at length 100, challenge not tested" in unjudged.layout.meta["slice"]
    assert "not tested" not in accuracy_over_training(coupled, trained=50, length=200).layout.meta["slice"]


def test_equal_values_of_both_concepts_do_not_hide_each_other(story_frame: pd.DataFrame) -> None:
    """At one layer both are .9, at the others apart: there the markers stay on the line of their layer."""
    frame = story_frame[story_frame["run"] == story_frame["run"].iloc[0]].copy()
    at = frame["quantity"].isin(["summary_decodability", "position_decodability"]) & (frame["layer"] == 0)
    frame.loc[at & (frame["control"] == ""), "value"] = 0.9
    figure = build("decodability_by_layer", frame)
    concepts = [trace for trace in figure.data if trace.name in ("summary", "position")]
    heights = [dict(zip(np.round(trace.y).tolist(), trace.y, strict=True)) for trace in concepts]
    values = [dict(zip(np.round(trace.y).tolist(), trace.x, strict=True)) for trace in concepts]
    together = {row for row in values[0] if row in values[1] and abs(values[0][row] - values[1][row]) < 0.04}
    assert together
    for row in values[0]:
        apart = abs(heights[0][row] - heights[1][row])
        assert apart == pytest.approx(0.28 if row in together else 0.0)


def test_a_bar_joins_both_concepts_where_both_have_a_value_and_nothing_elsewhere(story_frame: pd.DataFrame) -> None:
    """At one layer there is no row of the position: its summary stands alone."""
    frame = story_frame[story_frame["run"] == story_frame["run"].iloc[0]]
    alone = frame[~((frame["quantity"] == "position_decodability") & (frame["layer"] == 0))]

    def bars(shown: pd.DataFrame) -> dict[float, tuple[float, float]]:
        shapes = build("decodability_by_layer", shown).layout.shapes
        return {s.y0: (s.x0, s.x1) for s in shapes if s.type == "line" and s.y0 == s.y1 and s.layer == "below"}

    every = bars(frame)
    figure = build("decodability_by_layer", frame)
    values = {
        name: {round(y): x for x, y in zip(t.x, t.y, strict=True)}
        for name in ("summary", "position")
        for t in traces(figure, name)
    }
    assert len(every) == len(values["summary"]) == len(values["position"]) > 1
    for row, ends in every.items():
        assert ends == pytest.approx(sorted(one[round(row)] for one in values.values()))
    assert len(bars(alone)) == len(every) - 1
    assert set(bars(alone)) < set(every)


def test_hundreds_of_other_heads_are_a_band(story_frame: pd.DataFrame) -> None:
    """One layer of 102 heads: head h is at h / 101 at every length; the others are 1 to 101, their median .505."""
    run = story_frame[story_frame["run"] == story_frame["run"].iloc[0]]
    one = run[(run["quantity"] == "hardmax_distance") & (run["layer"] == 0) & (run["head"] == 0)]
    heads = [one.assign(head=float(head), value=head / 101, low=head / 101, high=head / 101) for head in range(102)]
    figure = build("head_over_length", pd.concat(heads))
    lines = [trace for trace in figure.data if trace.name == "others"]
    assert len(lines) == 1
    assert np.allclose(lines[0].y, 51 / 101)
    assert lines[0].hovertext[0] == "median of 101 other heads; band: nine tenths of them"
    band = next(trace for trace in figure.data if trace.name == "band" and len(trace.x) == 2 * len(lines[0].x) + 1)
    assert {round(v, 6) for v in band.y if v is not None} == {round(6 / 101, 6), round(96 / 101, 6)}
    assert "band: nine tenths of 101 others" in figure.layout.meta["slice"]
    few = build("head_over_length", pd.concat(heads[:20]))
    assert "band" not in few.layout.meta["slice"]


def test_a_language_model_is_drawn_against_the_table_of_its_text_without_a_band() -> None:
    """The best constant answer is its weakest predictor, and no skill over it is asked for."""
    frame = Table.load(GALLERY / "small_model").frame(measurement="behaviour")
    figure = accuracy_over_length(frame, trained=256, step=14_650)
    names = [note.text for note in figure.layout.annotations]
    assert "bigram" in names
    assert "chance" not in names
    (level,) = traces(figure, "bigram")
    assert [round(value, 2) for value in level.y] == [0.35, 0.34, 0.33, 0.33, 0.34]
    assert not figure.layout.meta["slice"].startswith("band")
    assert "; bigram is 0.33 to 0.35; challenge" in figure.layout.meta["alt"]
