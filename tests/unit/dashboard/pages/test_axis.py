"""Runs of different N meet on axes in multiples of it: one span, pairs at equal multiples, one link."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.dashboard.answers import LIGHT
from tests.support.dashboard.claims import gallery  # noqa: F401 - a fixture
from workbench.dashboard.pages import compare
from workbench.dashboard.pages.runs import summary
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.render import READY, plot
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor
from workbench.figures.labels import MISSING

A, B = "majority_nope_s0", "flip_flop_rotary_s0"
PANELS = {one.id: one for one in compare.PANELS}


def at(gallery: Context, axis: str) -> PanelCursor:
    run = gallery.store.run(A)
    assert run is not None
    return PanelCursor.from_link(gallery.store, run, default_cursor(run), {"run2": B, "axis": axis})


def test_the_gallery_has_runs_of_different_n(gallery: Context) -> None:
    here = at(gallery, "times")
    assert here.other is not None
    assert here.run.trained != here.other.trained


@pytest.mark.parametrize("row", ["accuracy", "decodability"])
def test_axes_side_by_side_are_equal_in_multiples(gallery: Context, row: str) -> None:
    here = at(gallery, "times")
    side = "y" if row == "accuracy" else "x"
    spans, ticks = [], []
    for one in "abd":
        panel = PANELS[f"cmp-{row}-{one}"]
        layout = panel.plain(here, "light", 11).layout
        axis = layout[f"{side}axis"]
        n = panel.place(here).run.trained
        spans.append([2**u / n for u in axis["range"]])
        ticks.append(axis["ticktext"])
        assert [layout["meta"][side][end] for end in ("low", "high")] == axis["range"]
    assert spans[0] == pytest.approx(spans[1])
    assert spans[0] == pytest.approx(spans[2])
    assert ticks[0] == ticks[1] == ticks[2]


def test_a_difference_is_at_equal_multiples_and_never_empty(gallery: Context) -> None:
    for axis in ("times", "length"):
        here = at(gallery, axis)
        for row in ("accuracy", "decodability"):
            assert plot(PANELS[f"cmp-{row}-d"], here, LIGHT, "figure")[-1] == READY
    here = at(gallery, "times")
    data = PANELS["cmp-decodability-d"].data(here)
    for length in data["length"].astype(int).unique():
        assert length in here.run.lengths
    assert here.other_side.cursor.length / here.other_side.run.trained == pytest.approx(
        here.cursor.length / here.run.trained, abs=0.2
    )


def test_the_lines_of_b_stand_at_its_partner_or_else_at_as_many_times_its_own_n(gallery: Context) -> None:
    here = at(gallery, "times")
    b = here.other_side.cursor
    assert here.lines_beside == {"step": b.step, "length": b.length}
    assert here.other is not None
    bare = dataclasses.replace(here.other, brief=dataclasses.replace(here.other.brief, lengths=()))
    alone = dataclasses.replace(here, other=bare)
    times = here.other.trained / here.run.trained
    assert times != 1
    assert alone.lines_beside["length"] == here.cursor.length * times


def test_each_stop_of_a_has_its_place_in_b(gallery: Context) -> None:
    here = at(gallery, "times")
    stops = here.stops_beside
    assert (len(stops["step"]), len(stops["length"])) == (len(here.run.steps), len(here.run.lengths))
    for i, step in enumerate(here.run.steps):
        there = dataclasses.replace(here, cursor=dataclasses.replace(here.cursor, step=step))
        assert stops["step"][i] == there.other_side.cursor.step
    assert here.other is not None
    assert (stops["step"][0], stops["step"][-1]) == (0, here.other.steps[-1])
    assert stops["step"] == sorted(stops["step"])


def test_a_snippet_draws_the_axis_that_is_on_screen(gallery: Context) -> None:
    panel = PANELS["cmp-decodability-a"]
    told, tokens = (panel.snippet(at(gallery, axis)) for axis in ("times", "length"))
    assert "import decodability_over_length, in_multiples" in told
    assert "in_multiples(decodability_over_length(frame" in told
    assert "in_multiples" not in tokens
    here = at(gallery, "times")
    namespace: dict[str, object] = {}
    body = told.strip().rpartition("\n")
    exec(f"{body[0]}\nmade = {body[2]}", namespace)
    drawn = panel.plain(here, "light", 11).to_plotly_json()["layout"]["xaxis"]
    made = namespace["made"].to_plotly_json()["layout"]["xaxis"]  # type: ignore[attr-defined]
    assert list(made["range"]) == pytest.approx(drawn["range"])
    assert list(made["ticktext"]) == list(drawn["ticktext"])


def test_lines_of_runs_tell_their_failure_in_multiples(gallery: Context) -> None:
    lines = [summary(gallery, run) for run in gallery.store.comparable_runs().values()]
    failed = [line for line in lines if line.get("failed")]
    for line in failed:
        run = gallery.store.run(line["name"])
        assert run is not None
        tokens, times = (
            float(line[name].split()[0].rstrip(",").replace(",", "")) for name in ("failsText", "failsTimes")
        )
        assert tokens / run.trained == pytest.approx(times, abs=0.05)
        assert line["fails"] == pytest.approx(tokens / run.trained)
    without = [line for line in lines if str(line.get("failsTimes", "")).startswith("> ")]
    for line in without:
        run = gallery.store.run(line["name"])
        assert run is not None
        tokens = float(line["failsText"].removeprefix("> ").replace(",", ""))
        times = float(line["failsTimes"].removeprefix("> ").removesuffix(" \u00d7 N"))
        assert tokens / run.trained == pytest.approx(times, abs=0.05)
    assert without
    assert all(line["failsTimes"] == "> 8 \u00d7 N" for line in without)
    assert failed


def test_where_no_threshold_is_known_no_length_is_passed(gallery: Context) -> None:
    """Before, the language model was listed as not failing up to 4 N, though no accuracy to reach is known."""
    run = gallery.store.run("small_model")
    assert run is not None
    assert {row["status"] for row in run.brief.failure} == {"undefined"}
    line = summary(gallery, run)
    assert (line["failsText"], line["fails"]) == (MISSING, None)
    assert "failsTimes" not in line
