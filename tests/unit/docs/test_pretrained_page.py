"""The page of a real model: what it is made of, without the model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.support.models.pretrained_folders import save_folder
from tests.support.places import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import pretrained_page
import restated_verdicts

from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.measure.in_context.measurement import verdict_rows
from workbench.measure.intervals import lower_limit, upper_limit
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.runs.run import Run
from workbench.table import Table
from workbench.tasks.presented.presentation import TEMPLATES


def test_an_experiment_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def measured(model: Path, root: Path, one: pretrained_page.Experiment, log: Any) -> None:
        asked.append(one.name)
        log.write(f"of {one.name}\n")
        if one.name == "long":
            raise subprocess.CalledProcessError(1, ["lengthlens"])

    monkeypatch.setattr(pretrained_page, "measured", measured)
    chosen = [one for one in pretrained_page.EXPERIMENTS if one.name in ("left", "long", "pairs")]
    with pytest.raises(SystemExit, match="stays"):
        pretrained_page.all_measured(tmp_path / "model", tmp_path / "runs", chosen, 1)
    assert asked == ["pairs", "long", "left"], "what takes longest is begun first"
    said = capsys.readouterr().out
    assert "The value of a key: measured (0 min, 2 left)" in said
    assert f"failed: {tmp_path / 'runs' / 'long'}.log says why" in said
    assert (tmp_path / "runs" / "left.log").read_text() == "of left\n"


def test_the_page_tells_what_was_measured_and_names_the_rest(tmp_path: Path) -> None:
    folder, out = save_folder("llama", tmp_path / "m", tokenizer=True), tmp_path / "runs" / "copy"
    options: list[Any] = ["--lengths", "4,8", "--set", "task.symbols=12", "--out", str(out)]
    assert CliRunner().invoke(app, ["open", str(folder), *options]).exit_code == 0
    before = pretrained_page.page(tmp_path / "runs")
    assert "## Copying words" not in before
    assert "measures these too: Copying words; Copying words, up to 1,024 of them; The value of a key;" in before
    only = list(pretrained_page.EXPERIMENTS[0].only)
    assert execute(plan(MeasureRequest([out], only=only, sequences=16, executor="serial"))) == []
    after = pretrained_page.page(tmp_path / "runs")
    assert "**Not capable** (prompt format `bare`). Skill" in after
    assert len(re.findall(r"^\| L\d+H\d+ \| \d", after, re.MULTILINE)) == 6
    assert re.search(r"^\| L\d+H\d+ \| (reader|suppressor) \| [+-]", after, re.MULTILINE)
    rows = Table.load(out).frame(quantity="changed_gain", length=8, mode="held")
    (held,) = rows[rows["target"] == "readers"].itertuples()
    told = f"{held.value:+.2f} [{held.low:+.2f}, {held.high:+.2f}] |"
    (line,) = [
        line for line in after.splitlines() if line.startswith("| all attention on the keys") and "| readers" in line
    ]
    assert line.endswith(told)
    assert after.count("| scores doubled | ") >= 2
    assert "| 8 | 16 |" in after
    assert "measures these too: Copying words, up to 1,024 of them; The value of a key;" in after


@pytest.mark.parametrize("name", pretrained_page.SHIPPED)
def test_the_verdict_on_the_page_is_that_of_the_shipped_rows(name: str) -> None:
    rows = Table.load(ROOT / "checkpoints/gallery/pretrained" / f"smollm2_{name}").frame(step=1)
    text = (ROOT / "docs" / "pretrained.md").read_text()
    assert text.startswith(pretrained_page.HEAD)
    assert f"\n{pretrained_page._verdict(rows)}\n" in text


@pytest.mark.parametrize("name", pretrained_page.SHIPPED)
def test_shipped_verdicts_follow_from_the_shipped_limits(name: str) -> None:
    run = Run.open(ROOT / "checkpoints/gallery/pretrained" / f"smollm2_{name}")
    rows = Table.load(run.path).frame(measurement="behaviour.in_context").to_dict("records")
    again = {r["quantity"]: r for r in verdict_rows(rows, 8192, "bare", 64)}
    for quantity in ("in_context_verdict", "capable_from", "decays_from"):
        (stored,) = (r for r in rows if r["quantity"] == quantity)
        assert (stored["label"], stored["status"]) == (again[quantity]["label"], again[quantity]["status"])
    accuracy = {r["length"]: r["value"] for r in rows if r["quantity"] == "answer_accuracy"}
    for judged in (r for r in rows if r["quantity"] == "judged_skill"):
        assert judged["value"] == pytest.approx((accuracy[judged["length"]] - 1 / 256) / (1 - 1 / 256))


def test_stored_means_give_limits_at_the_level_of_the_verdict() -> None:
    assert restated_verdicts.shown_limits(0.5, 64, 1, 4) == (
        lower_limit(32, 64, 0.025 / 4),
        upper_limit(32, 64, 0.025 / 4),
        "",
    )
    low, high, note = restated_verdicts.shown_limits(0.5, 64, 8, 4)
    assert low < lower_limit(32, 64, 0.025 / 4) < upper_limit(32, 64, 0.025 / 4) < high
    assert note == restated_verdicts.MEAN_ALONE


def test_a_run_with_weights_is_measured_and_not_restated(tmp_path: Path) -> None:
    folder, out = save_folder("llama", tmp_path / "m", tokenizer=True), tmp_path / "copy"
    options: list[Any] = ["--lengths", "4,8", "--set", "task.symbols=12", "--out", str(out)]
    assert CliRunner().invoke(app, ["open", str(folder), *options]).exit_code == 0
    with pytest.raises(SystemExit, match=f"{out}"):
        restated_verdicts.restate(out)


def test_tables_by_layers_are_made_of_their_rows_and_end_in_what_they_are_held_against() -> None:
    where = {"status": "ok", "n": 32.0, "control": "", "target": "", "length": 8.0}

    def row(value: float, **fields: Any) -> dict[str, Any]:
        return {**where, "value": value, "low": value - 0.1, "high": value + 0.1, **fields}

    rows = pd.DataFrame([
        row(0.25, quantity="lens_accuracy", layer=3.0), row(0.75, quantity="lens_accuracy", layer=7.0),
        row(0.5, quantity="item_position_r2", target="items", layer=3.0),
        row(0.25, quantity="item_position_r2", target="items", layer=7.0),
        row(-0.25, quantity="item_position_r2", target="items", layer=None, control="embedding"),
    ])  # fmt: skip
    assert pretrained_page._by_layer(rows, pretrained_page.LAYERS)[2:] == [
        "| layer | answer, 8 items | item number, 8 items |",
        "|--:|--:|--:|",
        "| 3 | 0.25 [0.15, 0.35] | 0.50 [0.40, 0.60] |",
        "| 7 | 0.75 [0.65, 0.85] | 0.25 [0.15, 0.35] |",
        "| embeddings |  | -0.25 [-0.35, -0.15] |",
    ]
    same, short = (target for _, target, _ in pretrained_page.TAKEN[1])
    rows = pd.DataFrame([
        row(0.25, quantity="row_followed", target=same, layer=7.0), row(0.5, quantity="row_ceiling", target=same, layer=None),
        row(0.75, quantity="row_followed", target=short, layer=7.0, length=16.0),
        row(0.9, quantity="row_ceiling", target=short, layer=None, length=16.0),
    ])  # fmt: skip
    assert pretrained_page._by_layer(rows, pretrained_page.TAKEN)[2:] == [
        "| layer | same length, 8 items | shortest, 16 items |",
        "|--:|--:|--:|",
        "| 7 | 0.25 [0.15, 0.35] | 0.75 [0.65, 0.85] |",
        "| other prompts | 0.50 [0.40, 0.60] | 0.90 [0.80, 1.00] |",
    ]


def test_wordings_are_spread_and_told_as_mean_and_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out = save_folder("llama", tmp_path / "m", tokenizer=True), tmp_path / "runs"
    asked = ["open", str(folder), "--task", "ur", "--set", "task.symbols=12", "--lengths", "4", "--shots", "1"]
    asked += ["--presentation", "shots", "--templates", "2", "--out", str(out)]
    monkeypatch.setattr("workbench.tasks.presented.presentation.TEMPLATES", TEMPLATES[:2])
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    runs = sorted(out.iterdir())
    assert [run.name for run in runs] == ["template-00", "template-01"]
    assert execute(plan(MeasureRequest([out], only=["behaviour.in_context"], sequences=16, executor="serial"))) == []
    for run, template in zip(runs, (0, 4), strict=True):
        run.rename(out / f"right-shots-{template}")
    told = pretrained_page._over_templates(out)
    assert told[0] == "## The right neighbour, five worked examples, 2 wordings\n"
    assert told[3] == "| items | T = 0 | T = 4 | mean | lowest to highest |"
    rows = [Table.load(out / f"right-shots-{t}").frame(quantity="answer_accuracy").iloc[0] for t in (0, 4)]
    cells = [f"{row.value:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in rows]
    values = [row.value for row in rows]
    assert told[5] == (f"| 4 | {' | '.join(cells)} | {sum(values) / 2:.2f} | {min(values):.2f} to {max(values):.2f} |")
    for wrong in (
        ["--templates", "3"],
        ["--templates", "2", "--template", "1"],
        ["--templates", "2", "--presentation", "bare"],
    ):
        assert isinstance(CliRunner().invoke(app, [*asked, *wrong]).exception, UsageError)


def test_right_minus_left_is_told_with_its_interval_and_its_p(tmp_path: Path) -> None:
    where = {"measurement": "behaviour.asymmetry", "status": "ok", "length": 8.0, "n": 64.0}
    rows = [
        {**where, "quantity": f"{name}_asymmetry{p}", "value": value, "low": value - 0.1, "high": value + 0.1}
        for name, of in (("neighbour", 0.25), ("candidate", -0.5))
        for p, value in (("", of), ("_p", 0.031))
    ]
    assert pretrained_page._asymmetry(pd.DataFrame(rows))[-1] == (
        "| 8 | +0.25 [+0.15, +0.35] | 0.031 | -0.50 [-0.60, -0.40] | 0.031 | 64 |"
    )
