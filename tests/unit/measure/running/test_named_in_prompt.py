"""``--only behaviour`` on a model that was given its task in the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tests.support.models.pretrained_folders import save_folder
from workbench.cli.main import app
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import plan
from workbench.table import Table


def test_behaviour_of_a_run_evaluated_in_a_prompt_is_behaviour_in_context(tmp_path: Path) -> None:
    folder, out = save_folder("llama", tmp_path / "m", tokenizer=True), tmp_path / "copy"
    options: list[Any] = ["--lengths", "4,8", "--set", "task.symbols=12", "--out", str(out)]
    assert CliRunner().invoke(app, ["open", str(folder), *options]).exit_code == 0
    measured = CliRunner().invoke(
        app, ["measure", str(out), "--only", "behaviour", "--sequences", "20", "--executor", "serial"]
    )
    assert measured.exit_code == 0, measured.output
    assert "behaviour.in_context is measured: its task is given in the prompt" in measured.output
    rows = Table.load(out).frame()
    assert {*rows["measurement"]} == {"behaviour.in_context"}
    assert rows[rows["quantity"] == "answer_accuracy"]["n"].unique().tolist() == [20]
    shown = CliRunner().invoke(app, ["show", str(out)])
    assert "Not measured yet" not in shown.output
    assert "Not capable" in shown.output
    assert plan(MeasureRequest([out], only=["behaviour", "behaviour.in_context"], sequences=20)).jobs == [], (
        "one measurement, not two"
    )
