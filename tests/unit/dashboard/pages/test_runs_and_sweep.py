"""What Runs and Sweep say of all runs of the gallery at once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from dash import html

from tests.support.dashboard.answers import texts
from tests.support.dashboard.claims import NAMES, gallery, view_of  # noqa: F401 - fixtures
from tests.support.places import GALLERY
from workbench.dashboard.components import prose
from workbench.dashboard.pages import runs, sweep
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.pages.cursor_page import troubles
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state import seed_groups
from workbench.dashboard.state.run_brief import Brief
from workbench.dashboard.state.run_description import origin
from workbench.dashboard.state.run_summary import summarise
from workbench.dashboard.state.series_rows import REACH_SERIES
from workbench.dashboard.state.store import Store
from workbench.dashboard.state.sweep_query import choices_of, read
from workbench.figures.rows.frame import Frame
from workbench.table import Table


def test_a_sweep_pools_no_compiled_run_with_trained_ones(gallery: Context) -> None:
    """By default; a reader who clears the setting that is held fixed sees both kinds."""
    compiled = {name for name in NAMES if name.startswith("compiled/")}

    def members(asked: dict[str, str]) -> list[set[str]]:
        parts = [cell.split("; ") for cell in sweep.PHASE.rows(gallery, asked)["members"]]
        return [{one.partition(" step ")[0] for one in cell} for cell in parts]

    assert compiled
    assert not any(compiled & cell for cell in members({}))
    axes = {"x": "model.positions.name", "y": "task.name"}
    assert not any(compiled & cell for cell in members(axes))
    assert any(compiled & cell and cell - compiled for cell in members(axes | {"fix": ""})), (
        "pooled where the reader asks for it"
    )
    assert all(cell <= compiled or not cell & compiled for cell in members({"x": "origin"}))
    said = texts(html.Div(sweep.PAGE.draw(gallery, Visit("/sweep", "")).content))
    assert "Compiled models are left out until you clear" in said
    choices = choices_of(gallery.store)
    for asked in ({}, {"fix": ""}, {"x": "origin"}, {"x": "task.name", "y": "origin", "fix": "origin=compiled"}):
        query = read(asked, choices)[0]
        assert read(query.address_parts(choices.fixed(query.x, query.y)), choices)[0] == query


def test_the_training_row_gives_accuracies_of_its_log_only_until_behaviour_is_measured(
    gallery: Context,
) -> None:
    run = view_of(gallery, "flip_flop_rotary_s0")
    log = Frame.from_rows([{"step": 600, "loss": 0.1, "lr": 1e-3, "accuracy_in": 0.91, "accuracy_out": 0.72}])
    measured, unmeasured = ({"log": log, "brief": brief} for brief in (run.brief, Brief(specs={})))
    assert "Accuracy" not in "".join(prose.training(SimpleNamespace(live=False, planned_steps=600, **measured)))
    text = "".join(prose.training(SimpleNamespace(live=False, planned_steps=600, **unmeasured)))
    assert text == "Step 600 of 600. Accuracy 0.91 at trained lengths, 0.72 at twice that."


def test_one_trained_length_is_no_range(gallery: Context) -> None:
    assert "trained on length 256" in origin(view_of(gallery, "small_model"))
    assert "trained on lengths 1 to 32" in origin(view_of(gallery, "flip_flop_rotary_s0"))


def test_reach_stands_in_the_line_of_each_run(gallery: Context) -> None:
    """The values of `lengthlens show`, and a reason where a length is missing."""
    coupled = summarise(view_of(gallery, "flip_flop_rotary_s0"))
    assert coupled["reach"] == pytest.approx((0.68359375 + 0.6484375 + 0.63671875 + 0.45703125 + 0.2578125) / 5)
    assert (coupled["reachText"], coupled["reachInterval"]) == ("0.54", "[0.50, 0.57]")
    assert coupled["reachTitle"] == "0.54 [0.50, 0.57], the mean skill at lengths 48, 64, 96, 128 and 256"
    missing = summarise(view_of(gallery, "small_model"))
    assert missing["reachWhy"] == "No value, because length 384 (1.5 N) was not measured"
    assert "reach" not in missing
    assert not any(name.startswith("reach") for name in summarise(view_of(gallery, "pretrained/smollm2_copy")))


def test_seeds_together_have_the_median_of_reach(gallery: Context) -> None:
    seeds = [view_of(gallery, f"flip_flop_rotary_s{seed}") for seed in (0, 1)]
    line = seed_groups.line(seeds, [summarise(run) for run in seeds])
    assert line["reach"] == pytest.approx((0.53671875 + 0.5125) / 2)
    assert line["reachInterval"] == "0.51 to 0.54"
    assert line["reachTitle"] == "0.52, the median of 2 seeds with a value"


def test_a_sweep_opens_on_the_task_with_the_most_runs(gallery: Context) -> None:
    """Of trained runs with a verdict, three are of majority and two of flip-flop; its axes are those that differ."""
    choices = choices_of(gallery.store)
    query, notices = read({}, choices)
    assert (query.fixed, notices) == ((("origin", "trained"), ("task.name", "majority")), [])
    assert (query.x, query.y) == ("model.positions.name", "seeds.init")
    members = "; ".join(sweep.PHASE.rows(gallery, {})["members"])
    assert {one.partition(" step ")[0] for one in members.split("; ")} == {
        name for name in NAMES if name.startswith("majority")
    }
    said = texts(html.Div(sweep.PAGE.draw(gallery, Visit("/sweep", "")).content))
    assert "At first the page shows only the task with the most runs." in said
    both = read({"x": "task.name"}, choices)[0]
    assert both.fixed == (("origin", "trained"),), "an axis is not held fixed"


def test_the_colours_of_an_accuracy_begin_at_chance_and_cells_count_robust_runs(gallery: Context) -> None:
    asked = {"x": "model.positions.name", "y": "task.name"}
    figure = sweep.PHASE.figure(gallery, asked, "light", 11)
    (heat,) = [trace for trace in figure.data if trace.name == "cells"]
    assert (heat.zmin, heat.zmax) == (0.5, 1.0), "all tasks of these cells have chance 0.5"
    cells = sweep.PHASE.rows(gallery, asked)
    for cell in cells.to_dict("records"):
        runs = [view_of(gallery, one.partition(" step ")[0]) for one in cell["members"].split("; ")]
        verdicts = [run.brief.verdicts[run.brief.last] for run in runs]
        assert (cell["robust"], cell["decided"]) == (verdicts.count("scale-robust"), len(verdicts))
    assert cells["robust"].sum() == 3
    counts = sorted(note.text[-3:] for note in figure.layout.annotations if note.name == "count")
    assert counts == ["0/1", "0/2", "1/1", "2/2"]
    reach = sweep.PHASE.figure(gallery, asked | {"quantity": "|".join(REACH_SERIES)}, "light", 11)
    assert next(trace for trace in reach.data if trace.name == "cells").zmin == 0.0, "reach has no chance level"


def test_a_damaged_table_is_named_in_its_line(tmp_path: Path) -> None:
    """With the sentence of the Run page; rows that are only missing have none."""
    for name in ("parity_nope", "flip_flop_rotary_s1"):
        shutil.copytree(GALLERY / name, tmp_path / name)
    table = tmp_path / "parity_nope" / "table.parquet"
    table.write_bytes(table.read_bytes()[:100])
    context = Context(Store([tmp_path], patience=0), Worker())
    lines = {name: runs.summary(context, run) for name, run in context.store.comparable_runs().items()}
    (sentence,) = troubles(context, "parity_nope", {})
    assert (lines["parity_nope"]["verdict"], lines["parity_nope"]["damage"]) == ("not measured", sentence)
    assert "is damaged" in sentence
    assert "damage" not in lines["flip_flop_rotary_s1"]
    context.close()


def test_a_sweep_can_be_coloured_by_reach(gallery: Context) -> None:
    """The rows are those of `Table.reach`, at each run's last step and at an earlier one."""
    asked = {"quantity": "|".join(REACH_SERIES), "x": "task.name", "y": "seeds.init", "fix": ""}
    choices = choices_of(gallery.store)
    query, notices = read(asked, choices)
    assert (query.series, query.length, query.times, notices) == (REACH_SERIES, None, None, [])
    assert ("behaviour", "reach") in choices.pairs
    assert choices.series("behaviour", "reach") == [REACH_SERIES]
    stored = Table.load(GALLERY).reach()
    for step in (None, 400):
        drawn = choices.rows(replace(query, step=step))
        assert isinstance(drawn, Frame)
        before = stored[(stored["step"] <= (step or 1e9)) & stored["value"].notna()]
        expected = before.groupby("run").tail(1).set_index("run")["value"].to_dict()
        assert {str(row["run"]): row["value"] for row in drawn.rows()} == expected
    cells = sweep.PHASE.rows(gallery, asked)
    assert cells["value"].between(0, 1).all()
    assert "Table.load(" in sweep.PHASE.code(gallery, asked)
    assert ".reach()" in sweep.PHASE.code(gallery, asked)
