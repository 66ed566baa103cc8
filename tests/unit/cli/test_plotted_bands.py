"""``lengthlens plot`` of more than eight runs: medians and ranges by task, equal to those of the stored rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.support.places import GALLERY
from workbench import figures
from workbench.cli import many_runs, rows_of_runs
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.cli.plotted import plot_runs
from workbench.table import Table

NAMES = ("majority_nope_s0", "majority_nope_s1", "majority_learned", "flip_flop_rotary_s0")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Nine runs: three times majority without positions of both seeds, twice learned positions, once flip-flop."""
    for number, name in enumerate((*NAMES[:2] * 3, NAMES[2], NAMES[2], NAMES[3])):
        shutil.copytree(GALLERY / name, tmp_path / f"run{number}", ignore=shutil.ignore_patterns("steps"))
    return tmp_path


def stored(name: str, **where: Any) -> pd.DataFrame:
    rows = Table.load(GALLERY / name).frame(measurement="behaviour", quantity="accuracy", law="matched", **where)
    return rows[rows["mode"] == "teacher_forced"]


def test_a_line_is_the_median_of_its_runs_with_their_range(many: Path) -> None:
    done = CliRunner().invoke(app, ["plot", str(many), "accuracy", "--json"])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
    points = json.loads(done.stdout)["points"]
    assert {point["line"] for point in points} == {"majority", "flip_flop"}
    assert {point["run"] for point in points} == {""}
    last = {}
    for name in NAMES[:3]:
        rows = stored(name)
        rows = rows[rows["step"] == rows["step"].max()]
        last[name] = dict(zip(rows["length"], rows["value"], strict=True))
    weights = (*NAMES[:2] * 3, NAMES[2], NAMES[2])
    majority = [point for point in points if point["line"] == "majority"]
    assert len(majority) == len(last[NAMES[0]])
    for point in majority:
        values = [last[name][point["length"]] for name in weights]
        assert point["value"] == pytest.approx(np.median(values))
        assert (point["low"], point["high"]) == (min(values), max(values))
        assert point["n"] == len(values)


def test_over_training_a_line_has_the_steps_that_all_its_runs_have(many: Path) -> None:
    drawn = plot_runs(many, "accuracy", None, "step", None, None)
    both = {*stored(NAMES[0])["step"]} & {*stored(NAMES[2])["step"]}
    assert {*drawn.rows[drawn.rows["series"] == "majority"]["step"]} == both
    assert "medians of 9 runs by task" in drawn.figure.layout.meta["slice"]


def test_a_quantity_that_no_run_has_suggests_the_nearest(many: Path) -> None:
    with pytest.raises(UsageError, match="did you mean accuracy"):
        plot_runs(many, "acuracy", None, None, None, None)
    with pytest.raises(UsageError, match="scan_peak_support has no value in the 9 runs"):
        plot_runs(many, "scan_peak_support", None, None, None, None)


def test_too_many_runs_are_refused_before_one_is_read(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_runs, "MOST_RUNS", 8)
    monkeypatch.setattr(rows_of_runs, "read_run", None)
    with pytest.raises(UsageError, match=r"9 runs.*at most 8"):
        plot_runs(many, "accuracy", None, None, None, None)


def test_a_comparison_of_too_many_runs_is_refused_before_one_is_opened(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_runs, "MOST_RUNS", 8)
    monkeypatch.setattr("workbench.cli.compared_folders.compared_folders", None)
    done = CliRunner().invoke(app, ["compare", str(many)])
    assert "one comparison reads at most 8" in str(done.exception)


@pytest.mark.parametrize("over", ["length", "step"])
def test_notebooks_draw_the_figure_of_the_command(many: Path, over: Any) -> None:
    table = Table.load(many)
    figure = figures.quantity_of_runs(table, "accuracy", over=over)
    drawn = plot_runs(many, "accuracy", None, over, None, None).figure
    assert figure.data == drawn.data
    assert "trained lengths up to 31 to 32" in figure.with_titles().layout.title.text
    assert "medians of 9 runs by task" in figure.with_titles().layout.title.text
    with pytest.raises(ValueError, match="did you mean accuracy"):
        figures.quantity_of_runs(table, "acuracy")


def test_up_to_eight_runs_have_a_line_each(many: Path) -> None:
    shutil.rmtree(many / "run8")
    figure = figures.quantity_of_runs(Table.load(many))
    labels = {note.text for note in figure.layout.annotations}
    assert {f"run{number}" for number in range(8)} <= labels
    with pytest.raises(ValueError, match="step 5 is not measured in run0"):
        figures.quantity_of_runs(Table.load(many), step=5)
