"""Figures about many runs, and of any quantity: seeds, phase diagrams, bounds; each against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.figures.errors import NotApplicable, NotMeasured
from workbench.figures.look import Look
from workbench.figures.panels.phase_diagram import axes_of, axis_title, flatten
from workbench.figures.rows.multiples import length_at, partners, step_partners
from workbench.table.schema import FIELDS, row


def rows(made: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame([row(**one) for one in made], columns=list(FIELDS))


def accuracy(run: str, step: int, length: int, value: float) -> dict[str, Any]:
    given = {"measurement": "behaviour", "quantity": "accuracy", "law": "matched", "mode": "teacher_forced"}
    return {**given, "run": run, "step": step, "length": length, "value": value, "n": 10}


SEEDS = rows(
    [
        *(accuracy("a", 10, n, v) for n, v in ((5, 0.9), (10, 0.8), (20, 0.6))),
        *(accuracy("b", 10, n, v) for n, v in ((5, 1.0), (10, 0.6), (20, 0.5))),
        *(accuracy("c", 7, n, v) for n, v in ((5, 0.5), (10, 0.7))),
        accuracy("c", 11, 5, 0.0),
    ]
)


def test_the_median_over_seeds_spans_the_lowest_to_the_highest() -> None:
    data = figures.seeds_over_length.data(SEEDS, step=10)
    middle = data[data["series"] == "median"].set_index("length")
    # run c has not been measured at length 20, so that a median there would be of other runs: it is left out
    assert list(middle.index) == [5, 10]
    assert (middle["value"] == pd.Series({5: 0.9, 10: 0.7})).all()
    assert (middle["low"] == pd.Series({5: 0.5, 10: 0.6})).all()
    assert (middle["high"] == pd.Series({5: 1.0, 10: 0.8})).all()
    assert set(middle["n"]) == {3}
    # c is shown at its last checkpoint that is not later than the step asked for, never at a later one
    assert set(data[data["series"] == "c"]["step"]) == {7}


@pytest.mark.parametrize("law", ["matched", "challenge"])
def test_seeds_are_shown_on_either_law(law: str) -> None:
    shown = "accuracy" if law == "matched" else law
    other = rows([accuracy("a", 10, 5, 0.1)]).assign(law="challenge" if law == "matched" else "matched")
    frame = pd.concat([SEEDS.assign(law=law), other])
    data = figures.seeds_over_length.data(frame, step=10, shown=shown)
    assert data[data["series"] == "median"]["value"].tolist() == [0.9, 0.7]
    drawn = figures.seeds_over_length(frame, trained=10, step=10, shown=shown)
    assert "median of 3 seeds" in drawn.layout.meta["alt"]


def test_a_stream_read_within_a_block_too_has_one_place_per_layer() -> None:
    """A probe reads between attention and MLP as well: the same layer, another site, another value."""
    given = {"measurement": "probes.summary", "quantity": "summary_decodability", "target": "output_summary"}
    given |= {"law": "matched", "mode": "transfer", "run": "a", "step": 10, "length": 5, "layer": 1, "n": 10}
    sites = {"blocks.1.hook_resid_mid": 0.3, "blocks.1.hook_resid_post": 0.9}
    frame = rows([{**given, "site": site, "value": value} for site, value in sites.items()])
    data = figures.seeds_over_length.data(frame, step=10, shown="summary")
    assert data["value"].tolist() == [0.9, 0.9]


def hatched(figure: Any) -> list[tuple[float, float]]:
    """From which length to which one a figure is hatched."""
    spans = [trace.x for trace in figure.data if trace.name == "not tested"]
    return [(float(2 ** min(x)), float(2 ** max(x))) for x in spans]


def test_lengths_at_which_the_challenge_set_is_not_judged_are_hatched_over_many_runs() -> None:
    """Judged from 8/3 N on: with N 6 from 16 on, of the lengths that were tested from 24 on."""
    lengths = (6, 12, 24, 48)
    frame = rows([accuracy(run, 10, n, 0.9) for run in "ab" for n in lengths]).assign(law="challenge")
    a, b = (frame[frame["run"] == run] for run in "ab")
    drawn = {"trained": 6, "shown": "challenge"}
    configurations = {"A": {"a": 10}, "B": {"b": 10}}

    def many(**given: Any) -> Any:
        return figures.configurations_over_length(frame, configurations=configurations, **drawn, **given)

    for figure in (
        figures.seeds_over_length(frame, step=10, **drawn),
        figures.seeds_compared(a, b, step=10, **drawn),
        many(),
    ):
        assert hatched(figure) == [pytest.approx((6, 24))]
        assert figure.layout.meta["slice"].endswith(" · hatched: challenge not tested")
    # B, trained on 12 tokens, is judged from 48 on: in tokens the spans overlap, by multiples of N they are one.
    of_both = many(trained_each={"B": 12})
    assert hatched(of_both) == [pytest.approx((6, 48))]
    assert of_both.layout.meta["slice"].endswith(" · hatched: challenge not tested for some")
    assert hatched(many(trained_each={"B": 12}, axis="times")) == [pytest.approx((6, 24))]
    matched = frame.assign(law="matched")
    plain = figures.configurations_over_length(matched, configurations=configurations, trained=6)
    assert (hatched(plain), "hatched" in plain.layout.meta["slice"]) == ([], False)


def test_axes_with_a_value_for_every_run_make_no_diagram() -> None:
    configs = {f"r{k}": {"seeds": {"init": k, "data": k}, "training": {"steps": 10}} for k in range(150)}
    frame = rows([accuracy(run, 10, 5, 0.5) for run in configs])
    with pytest.raises(NotApplicable, match="150 values"):
        figures.phase_diagram(frame, configs, x="seeds.init", y="seeds.data", length=5)
    assert figures.phase_diagram(frame, configs, x="seeds.init", y="training.steps", length=5)


def test_seeds_are_drawn_faint_and_their_median_strong() -> None:
    figure = figures.seeds_over_length(SEEDS, trained=5, step=10)
    widths = {trace.name: trace.line.width for trace in figure.data if trace.name != "band"}
    assert widths["a"] == widths["b"] == widths["c"] < widths["median"]
    assert "3 seeds" in figure.layout.meta["slice"]
    with pytest.raises(NotMeasured, match="step 3"):
        figures.seeds_over_length(SEEDS, trained=5, step=3)


def test_two_configurations_are_compared_by_their_medians() -> None:
    first, second = SEEDS[SEEDS["run"] != "c"], SEEDS[SEEDS["run"] == "c"]
    data = figures.seeds_compared.data(first, second, step=10)
    assert data[data["series"] == "A"].set_index("length")["value"].to_dict() == pytest.approx(
        {5: 0.95, 10: 0.7, 20: 0.55}
    )
    assert data[data["series"] == "B"].set_index("length")["value"].to_dict() == {5: 0.5, 10: 0.7}
    assert (
        "A minus B is 0.00 at length 10" in figures.seeds_compared(first, second, trained=5, step=10).layout.meta["alt"]
    )


def test_up_to_eight_configurations_are_medians_and_ranges_and_one_seed_its_own_interval() -> None:
    """By hand: of a and b .95, .7, .55; c alone with its interval, at its own step, twice as long as N is."""
    frame = SEEDS.assign(low=SEEDS["value"] - 0.01, high=SEEDS["value"] + 0.02)
    given = {"A": {"a": 10, "b": 10}, "B": {"c": 9}, "C": {"nobody": 10}}
    data = figures.configurations_over_length.data(frame, configurations=given).set_index(["series", "length"])
    first, second = data.loc["A"], data.loc["B"]
    assert first["value"].to_dict() == pytest.approx({5: 0.95, 10: 0.7, 20: 0.55})
    assert (first["low"].to_dict(), first["high"].to_dict()) == ({5: 0.9, 10: 0.6, 20: 0.5}, {5: 1.0, 10: 0.8, 20: 0.6})
    assert second["value"].to_dict() == {5: 0.5, 10: 0.7}
    assert (second["low"].to_dict(), set(second["step"])) == (pytest.approx({5: 0.49, 10: 0.69}), {7})
    assert set(data.index.get_level_values("series")) == {"A", "B"}
    drawn = {
        axis: figures.configurations_over_length(
            frame, configurations=given, trained=5, trained_each={"B": 10}, axis=axis
        )
        for axis in ("times", "length")
    }
    for axis, at in (("times", (2.5, 5)), ("length", (5, 10))):
        lines = {trace.name: trace for trace in drawn[axis].data if trace.name in ("A", "B")}
        assert list(lines["A"].x) == pytest.approx(np.log2([5, 10, 20]))
        assert list(lines["B"].x) == pytest.approx(np.log2(at)), "at the same multiples of the first one's N"
        assert (lines["A"].line.dash, lines["B"].line.dash) == ("solid", "5px,3px")
        assert "no rows: C" in drawn[axis].layout.meta["slice"]
    ends = [shape.x0 for shape in drawn["length"].layout.shapes if shape.type == "line"]
    assert ends == pytest.approx(np.log2([5, 10])), "in tokens each N has its line"
    with pytest.raises(NotMeasured, match="challenge test set"):
        figures.configurations_over_length(frame, configurations=given, trained=5, shown="challenge")
    with pytest.raises(ValueError, match="9 configurations"):
        figures.configurations_over_length(frame, configurations={str(k): {"a": 10} for k in range(9)}, trained=5)


CONFIGS = {
    "a": {"task": {"name": "t"}, "model": {"d_model": 16, "positions": {"name": "none"}}, "training": {"rate": 0.1}},
    "b": {"task": {"name": "t"}, "model": {"d_model": 16, "positions": {"name": "none"}}, "training": {"rate": 0.1}},
    "c": {"task": {"name": "t"}, "model": {"d_model": 64, "positions": {"name": "alibi"}}, "training": {"rate": 0.1}},
    "bare": {"task": {"name": "t"}, "model": {"d_model": 64, "positions": {"name": "none"}}, "training": {"rate": 0.1}},
}
AXES = {"x": "model.d_model", "y": "model.positions.name"}


def test_axes_are_what_differs_between_runs() -> None:
    assert axes_of(CONFIGS) == {"model.d_model": [16, 64], "model.positions.name": ["alibi", "none"]}
    assert flatten({"a": {"b": [1, 2]}, "c": None}) == {"a.b": "[1, 2]", "c": None}
    assert axis_title("model.positions.name") == "positions (model)"
    assert axis_title("task.name") == "task"


def test_a_cell_is_the_median_of_its_runs() -> None:
    cells = figures.phase_diagram.data(SEEDS, CONFIGS, **AXES, length=10).set_index(["x", "y"])
    assert cells.loc[(16, "none"), "value"] == pytest.approx(0.7)
    assert (cells.loc[(16, "none"), "low"], cells.loc[(16, "none"), "high"]) == (0.6, 0.8)
    assert cells.loc[(16, "none"), "runs"] == 2
    assert cells.loc[(16, "none"), "members"] == "a step 10 length 10: 0.8; b step 10 length 10: 0.6"
    # at its last step, 11, run c was measured at length 5 alone: neither that length nor an earlier step stands in
    assert (64, "alibi") not in cells.index
    earlier = figures.phase_diagram.data(SEEDS, CONFIGS, **AXES, length=10, step=10).set_index(["x", "y"])
    assert earlier.loc[(64, "alibi"), "value"] == 0.7


def test_a_run_without_the_axis_has_a_cell_of_its_own() -> None:
    """As compiled runs have no learning rate: beside numbers, no value must not become NaN."""
    configs = {**CONFIGS, "c": {**CONFIGS["c"], "training": {}}}
    figure = figures.phase_diagram(SEEDS, configs, x="training.rate", y="model.d_model", length=5)
    assert list(figure.layout.xaxis.ticktext) == ["0.1", "\u2013"]
    cells = figures.phase_diagram.data(SEEDS, configs, x="training.rate", y="model.d_model", length=5)
    assert cells["x"].tolist() == [0.1, None]


def test_a_cell_without_a_run_or_a_value_stays_empty() -> None:
    figure = figures.phase_diagram(SEEDS, CONFIGS, **AXES, length=5, low=0.0, high=1.0)
    drawn = np.array(next(trace.z for trace in figure.data if trace.name == "cells"), dtype=float)
    # columns 16, 64; lines alibi, none: nothing at (16, alibi), and the run at (64, none) is not measured
    assert np.isnan(drawn).tolist() == [[True, False], [False, True]]
    assert sorted(a.text for a in figure.layout.annotations if a.name == "value") == ["0.00", "0.95"]


def two_tasks(chance: float) -> tuple[pd.DataFrame, dict[str, Any], dict[str, float]]:
    """Three runs of two tasks with N 10 and 49, measured at 4 N and at length 40; the chance of ``maj`` is .5."""
    made = [accuracy("small", 10, 40, 0.9), accuracy("maj", 10, 197, 0.7), accuracy("maj", 10, 40, 1.0)]
    configs = {
        run: {
            "task": {"name": task, "parameters": {}},
            "model": {"d_model": 16},
            "training": {"rate": rate, "trained_length": n},
            "seeds": {"init": seed},
        }
        for run, task, n, rate, seed in (("small", "kgram", 10, 0.1, 0), ("maj", "majority", 49, 0.2, 1))
    }
    return rows(made), configs, {"small": chance, "maj": 0.5}


def test_a_cell_holds_what_was_measured_at_its_length_or_its_multiple_alone() -> None:
    frame, configs, chances = two_tasks(0.5)
    given: dict[str, Any] = {"x": "model.d_model", "y": "training.rate", "chances": chances}
    at = figures.phase_diagram.data(frame, configs, length=40, **given)
    assert at[["y", "value"]].to_numpy().tolist() == [[0.1, 0.9], [0.2, 1.0]]
    times = figures.phase_diagram.data(frame, configs, times=4.0, **given)
    assert times[["y", "value"]].to_numpy().tolist() == [[0.1, 0.9], [0.2, 0.7]]
    assert times["members"].tolist() == ["small step 10 length 40: 0.9", "maj step 10 length 197: 0.7"]
    with pytest.raises(NotMeasured):
        figures.phase_diagram.data(frame, configs, length=100, **given)
    with pytest.raises(NotMeasured):
        figures.phase_diagram.data(frame, configs, times=8.0, **given)
    with pytest.raises(ValueError, match="not both"):
        figures.phase_diagram.data(frame, configs, times=4.0, length=40, **given)


def test_every_run_of_a_cell_is_a_dot_on_one_scale_and_open_where_it_is_not_fitted() -> None:
    """By hand: from .5 at the left end (-.42) to .9 at the right (+.42) of cells 0 and 1; b is not fitted at its step."""
    verdicts = {"a": {10: "scale-robust"}, "b": {7: "not fitted", 10: "not fitted"}, "c": {7: "not fitted", 11: ""}}
    given = {"x": "model.d_model", "y": "task.name", "length": 10, "step": 10, "low": 0.5, "high": 0.9}
    figure = figures.phase_diagram(SEEDS, CONFIGS, **given, verdicts=verdicts)
    dots = next(trace for trace in figure.data if trace.name == "runs")
    assert list(dots.customdata) == ["b", "a", "c"]
    assert list(dots.x) == pytest.approx([-0.42 + 0.84 * 0.25, -0.42 + 0.84 * 0.75, 1 - 0.42 + 0.84 * 0.5])
    assert list(dots.marker.symbol) == ["circle-open", "circle", "circle-open"]
    assert dots.hovertext[0] == "<b>b</b><br>0.60 \u00b7 step 10 \u00b7 not fitted"
    assert "a dot per run, 0.50 to 0.90; open: not fitted" in figure.layout.meta["slice"]
    assert figure.layout.meta["slice"].endswith("\u2014\u2022 scale-robust runs at their step, of those with a verdict")
    assert [a.text for a in figure.layout.annotations if a.name == "count"] == ["\u2014\u2022 1/2", "\u2014\u2022 0/1"]
    cell = next(trace for trace in figure.data if trace.name == "cells")
    assert cell.z[0][0] == pytest.approx(0.7), "the colour is still the median"
    same = rows([accuracy(run, 10, 10, 0.6) for run in ("a", "b")])
    apart = next(t for t in figures.phase_diagram(same, CONFIGS, **given).data if t.name == "runs")
    assert apart.x[0] == apart.x[1]
    assert apart.y[0] < apart.y[1], "one does not hide the other"
    many = {f"r{k}": {"task": {"name": "t"}, "model": {"d_model": k}} for k in range(30)}
    wide = figures.phase_diagram(
        rows([accuracy(run, 10, 10, 0.6) for run in many]), many, x="model.d_model", y="task.name", length=10
    )
    assert [t.name for t in wide.data if t.name == "runs"] == [], "no room"


def test_a_cell_counts_its_scale_robust_runs_of_those_with_a_verdict() -> None:
    """b has no verdict at its step; the count is in the rows and in the tooltip too."""
    verdicts = {"a": {10: "scale-robust"}, "b": {7: "scale-robust"}, "c": {7: "length-coupled"}}
    given: dict[str, Any] = {"x": "model.d_model", "y": "task.name", "length": 10, "step": 10, "verdicts": verdicts}
    cells = figures.phase_diagram.data(SEEDS, CONFIGS, **given)
    assert cells[["runs", "robust", "decided"]].to_numpy().tolist() == [[2, 1, 1], [1, 0, 1]]
    figure = figures.phase_diagram(SEEDS, CONFIGS, **given)
    (heat,) = [trace for trace in figure.data if trace.name == "cells"]
    assert "scale-robust at their step: 1 of 1; 1 without a verdict" in heat.hovertext[0][0]
    assert "robust" not in figures.phase_diagram.data(SEEDS, CONFIGS, **{**given, "verdicts": None})


@pytest.mark.parametrize("low", [0.2, 0.49])
def test_colours_begin_at_the_chance_of_each_cells_task(low: float) -> None:
    """By hand: of chance .2, .9 is .875 of the way to 1; where chance is the same, the bar names it."""
    frame, configs, chances = two_tasks(low)
    given: dict[str, Any] = {"x": "model.d_model", "y": "training.rate", "times": 4.0, "low": 0.0, "high": 1.0}
    figure = figures.phase_diagram(frame, configs, chances=chances, from_chance=True, **given)
    (heat,) = [trace for trace in figure.data if trace.name == "cells"]
    values = [line[0] for line in np.array(heat.z, dtype=float)]
    said = figure.layout.meta["slice"]
    if low == 0.2:
        assert values == pytest.approx([(0.9 - 0.2) / 0.8, (0.7 - 0.5) / 0.5])
        assert (heat.zmin, heat.zmax, list(heat.colorbar.ticktext)) == (0.0, 1.0, ["chance", "", "1.00"])
        assert "a dot per run, chance to 1.00" in said
    else:
        assert values == pytest.approx([0.9, 0.7])
        assert (heat.zmin, heat.zmax) == (0.49, 1.0)
        assert "a dot per run, 0.49 to 1.00" in said
    dots = next(trace for trace in figure.data if trace.name == "runs")
    by_run = dict(zip(dots.customdata, dots.x, strict=True))
    assert by_run["small"] == pytest.approx(-0.42 + 0.84 * (0.9 - low) / (1 - low))
    texts = sorted(a.text for a in figure.layout.annotations if a.name == "value")
    assert texts == ["0.70", "0.90"], "numbers stay accuracies"


def test_120_runs_have_120_dots() -> None:
    many = {f"r{k}": {"task": {"name": "t"}, "model": {"d_model": k % 4}, "seeds": {"init": k}} for k in range(120)}
    made = rows([accuracy(run, 10, 10, 0.5 + k / 300) for k, run in enumerate(many)])
    figure = figures.phase_diagram(made, many, x="model.d_model", y="task.name", length=10, low=0.5, high=1.0)
    dots = next(trace for trace in figure.data if trace.name == "runs")
    assert sorted(dots.customdata) == sorted(many)
    assert len(set(zip(dots.x, dots.y, strict=True))) == 120, "none hides another"


def test_the_margins_are_as_wide_as_the_names_beside_the_cells() -> None:
    """At 390 pixels a fixed margin for long names leaves too little room for the cells."""
    made = rows([accuracy(run, 10, 10, 0.5) for run in "ab"])
    many = {run: {"task": {"name": f"a long name {run}"}, "model": {"d": 1}, "seeds": {"init": 1}} for run in "ab"}
    given = {"x": "model.d", "length": 10, "low": 0.0, "high": 1.0}
    short, long = (figures.phase_diagram(made, many, y=axis, **given) for axis in ("seeds.init", "task.name"))
    assert short.layout.margin.l < 50 < 70 < long.layout.margin.l < 132
    assert short.layout.margin.r < 60


def test_a_share_of_training_is_each_runs_own() -> None:
    """Of 100 and of 1,000 steps a quarter is 25 and 260; c has nothing within a quarter of it, and does not count."""
    steps = {"a": (0, 25, 50, 100), "b": (0, 260, 500, 1000), "c": (0, 10, 100)}
    frame = rows([accuracy(run, step, 10, step / 1000) for run, every in steps.items() for step in every])
    given = {"x": "task.name", "y": "training.rate", "length": 10, "share": 0.25}
    (cell,) = figures.phase_diagram.data(frame, CONFIGS, **given).to_dict("records")
    assert cell["members"] == "a step 25 length 10: 0.025; b step 260 length 10: 0.26"
    # rows of that step alone, as a page hands them in, with what the whole of each training is
    picked = frame[frame["step"].isin([25, 260])]
    (same,) = figures.phase_diagram.data(picked, CONFIGS, **given, lasts={"a": 100, "b": 1000}).to_dict("records")
    assert same["members"] == cell["members"]
    assert figures.phase_diagram(frame, CONFIGS, **given).layout.meta["slice"].startswith("1/4 of training")
    with pytest.raises(ValueError, match="share"):
        figures.phase_diagram(frame, CONFIGS, **given, step=10)


def test_what_is_pooled_is_named_and_listed() -> None:
    frame, configs, chances = two_tasks(0.5)
    figure = figures.phase_diagram(
        frame, configs, x="model.d_model", y="model.d_model", times=4.0, chances=chances, low=0.0, high=1.0
    )
    said = figure.layout.meta["slice"]
    assert (
        said
        == "last step · 4 × N · median of 2 runs a cell · pooled over task (2), init (seeds) (2), rate (training) (2) "
        "and 1 more \u00b7 a dot per run, 0.00 to 1.00"
    )
    (cells,) = [trace for trace in figure.data if trace.name == "cells"]
    assert float(cells.z[0][0]) == pytest.approx(0.8)
    assert cells.hovertext[0][0].endswith("2 runs<br>maj step 10 length 197: 0.7<br>small step 10 length 40: 0.9")
    alone = figures.phase_diagram(
        frame, configs, x="model.d_model", y="model.d_model", times=4.0, fixed={"task.name": "majority"}
    )
    assert alone.layout.meta["slice"].startswith(
        "last step · 4 × N · task majority of two symbols (majority) · median of 1 run a cell"
    )


@pytest.mark.parametrize("known", [True, False])
def test_tasks_of_different_or_unknown_chance_are_not_pooled(known: bool) -> None:
    frame, configs, chances = two_tasks(0.2)
    given: dict[str, Any] = {"x": "model.d_model", "y": "model.d_model", "times": 4.0}
    chances = chances if known else {"maj": 0.5}
    (cell,) = figures.phase_diagram.data(frame, configs, chances=chances, **given).to_dict("records")
    assert np.isnan(cell["value"])
    why = "chance is 0.20 to 0.50 (kgram, majority)" if known else "different tasks (kgram, majority) whose chance"
    assert why in cell["note"]
    figure = figures.phase_diagram(frame, configs, chances=chances, low=0.0, high=1.0, **given)
    (mark,) = [a for a in figure.layout.annotations if a.name == "refused"]
    assert (mark.text, why in mark.hovertext) == ("not pooled", True)
    assert np.isnan(np.array(next(trace.z for trace in figure.data if trace.name == "cells"), dtype=float)).all()


def test_compiled_and_adopted_runs_are_told_from_trained_ones() -> None:
    configs = {
        "a": {"training": {"compiled": {"program": "p"}}},
        "b": {"training": {"adopted": {"x": "1"}}},
        "c": {"training": {}},
    }
    assert axes_of(configs)["origin"] == ["adopted", "compiled", "trained"]
    assert axis_title("origin") == "origin"


def test_a_multiple_of_n_is_the_next_length_that_the_task_has() -> None:
    lengths = [13, 25, 49, 75, 99, 147, 197, 295, 393]
    found = {times: length_at(lengths, 49, times) for times in (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)}
    assert list(found.values()) == lengths
    assert length_at(lengths, 49, 0.125) is None
    assert length_at([400], 49, 8.0) is None
    assert (length_at([5, 10, 20], 5, 1.5), length_at([5, 10, 20], 5, 2.0)) == (None, 10)


def test_heads_and_layers_become_one_value_as_asked() -> None:
    given = {"measurement": "m", "quantity": "q", "run": "a", "step": 1, "length": 4}
    frame = rows([{**given, "layer": 0, "head": h, "value": v} for h, v in enumerate((1.0, 2.0, 6.0))])
    for over, value in (("mean", 3.0), ("max", 6.0), ("min", 1.0)):
        assert figures.phase_diagram.data(frame, CONFIGS, **AXES, length=4, over=over)["value"].tolist() == [value]
    with pytest.raises(ValueError, match="unknown reduction"):
        figures.phase_diagram.data(frame, CONFIGS, **AXES, over="sum")
    with pytest.raises(KeyError, match="configuration"):
        figures.phase_diagram.data(frame, CONFIGS, x="model.wings", y="model.d_model", length=4)
    with pytest.raises(NotMeasured, match="value"):
        figures.phase_diagram.data(frame, CONFIGS, **AXES, length=3)


def test_any_quantity_is_named_by_what_tells_its_lines_apart() -> None:
    given = {"measurement": "m", "quantity": "q", "run": "a", "length": 4, "law": "matched"}
    frame = rows(
        [
            {**given, "step": step, "layer": layer, "head": head, "value": 0.1 * head, "target": "t"}
            for step in (0, 1)
            for layer in (0, 1)
            for head in (0, 1)
        ]
    )
    data = figures.quantity_over_training.data(frame, measurement="m", quantity="q", length=4)
    assert sorted(set(data["series"])) == ["L0H0", "L0H1", "L1H0", "L1H1"]
    figure = figures.quantity_over_training(
        frame, measurement="m", quantity="q", trained=4, length=4, layer=1, head=0, look=Look("light")
    )
    inked = [trace.name for trace in figure.data if trace.line.width and trace.line.width > 1]
    assert inked == ["L1H0"]
    with pytest.raises(NotMeasured, match="length 9"):
        figures.quantity_over_training.data(frame, measurement="m", quantity="q", length=9)


def test_any_quantity_has_a_line_for_itself_and_for_each_control() -> None:
    given = {"measurement": "m", "quantity": "q", "run": "a", "law": "matched", "step": 1}
    frame = rows(
        [{**given, "length": n, "control": c, "value": 0.5} for n in (4, 8) for c in ("untrained", "", "random")]
    )
    data = figures.quantity_over_length.data(frame, measurement="m", quantity="q", step=1)
    assert list(dict.fromkeys(data["series"])) == ["value", "random", "untrained"]


def test_a_quantity_of_the_whole_model_has_no_prefix_length() -> None:
    frame = rows([{"measurement": "m", "quantity": "q", "run": "a", "step": s, "value": s} for s in (0, 10)])
    data = figures.quantity_over_training.data(frame, measurement="m", quantity="q", length=77)
    assert data["value"].tolist() == [0, 10]
    with pytest.raises(NotMeasured, match="whole model"):
        figures.quantity_over_length.data(frame, measurement="m", quantity="q", step=10)


def test_parts_of_a_bound_lie_on_a_logarithmic_axis() -> None:
    given = {"measurement": "bound", "quantity": "bound_part", "run": "a"}
    frame = rows([{**given, "step": s, "target": "mlp_1", "value": 10.0**s} for s in (0, 1, 2)])
    figure = figures.bound_parts(frame, step=2)
    line = next(trace for trace in figure.data if trace.name == "mlp_1")
    assert list(line.y) == pytest.approx([0.0, 1.0, 2.0])
    assert "mlp_1 100" in figure.layout.meta["alt"]
    # From a decade below the least part to one above the greatest; parts of 0 have no place and no say.
    assert list(figure.layout.yaxis.tickvals) == [-1, 0, 1, 2, 3]
    assert list(figure.layout.yaxis.range) == pytest.approx([-1.32, 3.32])
    more = rows([{**given, "step": s, "target": "mlp_1", "value": v} for s, v in enumerate((0.0, 2.0, 5e6))])
    axis = figures.bound_parts(more, step=2).layout.yaxis
    assert list(axis.tickvals) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [axis.ticktext[0], axis.ticktext[1]] == ["1", "10"]


def test_a_difference_of_runs_at_different_steps_says_so(story_frame: pd.DataFrame) -> None:
    a, b = (story_frame[story_frame["run"] == name] for name in ("robust", "coupled"))
    same = figures.decodability_difference.data(a, b, trained=50, step=3000)
    apart = figures.decodability_difference.data(a, b, trained=50, step=3000, step_b=100)
    assert same["value"].tolist() != apart["value"].tolist()
    figure = figures.decodability_difference(a, b, trained=50, step=3000, step_b=100)
    assert figure.layout.meta["slice"].startswith("A step 3,000, B step 100 \u00b7 same length \u00b7 95 % CI")
    grid = figures.head_grid_difference_figure(a, b, step=3000, length=100, step_b=100)
    values = figures.head_grid_difference_figure.data(a, b, step=3000, length=100, step_b=100)
    first = figures.head_grid(a, step=3000, length=100)["value"].to_numpy()
    second = figures.head_grid(b, step=100, length=100)["value"].to_numpy()
    assert values["value"].to_numpy() == pytest.approx(first - second)
    assert grid.layout.meta["slice"] == "same layer and head \u00b7 A step 3,000, B step 100 \u00b7 length 100"
    apart = figures.head_grid_difference_figure(a, b, step=3000, length=100, length_b=200)
    assert apart.layout.meta["slice"].endswith("step 3,000 \u00b7 same multiple of N: A 100, B 200")


def test_runs_of_another_n_are_compared_at_equal_multiples_of_it() -> None:
    """Lengths 10 and 11 lie nearest, but 10 is 2 N of A and 22 is 2 N of B: their values are .8 and .3."""
    a = rows([accuracy("a", 1, n, v) for n, v in ((5, 1.0), (10, 0.8), (20, 0.6))])
    b = rows([accuracy("b", 1, n, v) for n, v in ((11, 0.9), (22, 0.3), (44, 0.5), (33, 0.0))])
    data = figures.accuracy_difference.data(a, b, trained=5, trained_b=11)
    assert data[["length", "value"]].to_numpy().tolist() == [
        [5.0, pytest.approx(0.1)], [10.0, pytest.approx(0.5)], [20.0, pytest.approx(0.1)],
    ]  # fmt: skip
    figure = figures.accuracy_difference(a, b, trained=5, trained_b=11)
    assert figure.layout.meta["slice"] == "same step \u00b7 same multiple of N \u00b7 n 10 \u00b7 95 % CI"


def test_checkpoints_are_paired_by_shares_of_each_runs_own_training() -> None:
    """A ends at 100, B at 200: half of either is .8 against .7; at equal steps B at 100 stands against A's last."""
    a = rows([accuracy("a", step, 10, v) for step, v in ((0, 0.5), (20, 0.6), (50, 0.8), (100, 1.0))])
    b = rows([accuracy("b", step, 10, v) for step, v in ((0, 0.4), (10, 0.0), (90, 0.3), (100, 0.7), (200, 0.9))])
    assert step_partners([0, 20, 50, 100], [0, 10, 90, 100, 200]) == {0: 0, 50: 100, 100: 200}
    assert step_partners([0, 50, 100], [0, 45, 105, 200]) == {0: 0, 50: 105, 100: 200}
    assert step_partners([0], [0, 7]) == {0: 7}, "last against last, though it is the first too"
    assert step_partners([5], []) == {}
    shares = figures.accuracy_difference.data(a, b, trained=5, pairing="share")
    assert shares[["step", "value"]].to_numpy().tolist() == [
        [0.0, pytest.approx(0.1)], [50.0, pytest.approx(0.1)], [100.0, pytest.approx(0.1)],
    ]  # fmt: skip
    steps = figures.accuracy_difference.data(a, b, trained=5)
    assert steps[["step", "value"]].to_numpy().tolist() == [[0.0, pytest.approx(0.1)], [100.0, pytest.approx(0.3)]]
    figure = figures.accuracy_difference(a, b, trained=5, pairing="share")
    assert figure.layout.meta["slice"].startswith("same share of training \u00b7 same length")


def test_lengths_are_paired_by_one_rule() -> None:
    assert partners([31, 63, 125, 249], 31, [32, 64, 96, 128, 256], 32) == {31: 32, 63: 64, 125: 128, 249: 256}
    # one shared length beyond both trainings, and only equal ones are paired: 96 has no partner
    assert partners([32, 64, 96], 32, [32, 64, 128], 32) == {32: 32, 64: 64}
    # a shared length that one of them was trained on says nothing of lengths beyond
    assert partners([8, 16, 32, 64], 32, [4, 8, 16, 32], 16) == {8: 4, 16: 8, 32: 16, 64: 32}
