"""JSON and CSV of every command that prints a table: valid under its schema, equal to the stored rows."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from tests.support.places import GALLERY, ROOT
from workbench.claims.claims_table import read_verdicts
from workbench.claims.suites.registry import SUITES
from workbench.cli.main import COMMANDS, app
from workbench.cli.output.print_tables import OutputTable
from workbench.cli.output.table_kinds import CSV_TABLE, RUNS, TABLES, schema_of
from workbench.runs import find_runs
from workbench.table import Table
from workbench.theory.prediction.predict import Positions, predict

A, B = (str(GALLERY / f"flip_flop_rotary_s{seed}") for seed in (0, 1))
WORDS: Mapping[str, list[str]] = {
    "list": [str(GALLERY)],
    "info": [A],
    "steps": [A],
    "status": [str(GALLERY)],
    "eval": [A, "--lengths", "32,64"],
    "compare": [A, B, str(GALLERY / "majority_nope_s0")],
    "plot": [A, "accuracy"],
    "ablate": [A, "L0H1", "--sequences", "8"],
    "patch": [A, "--sequences", "8"],
    "attention": [A],
    "diagnose": [A],
    "tasks": [],
    "measurements": [],
    "quantities": [],
    "glossary": [],
    "predict": ["parity"],
    "check": [A, B],
    "reproduce": ["crasp-exact", "--list"],
    "sweep": ["gallery", "--plan", "--out", "checkpoints/none_yet"],
    "data": [],
    "challenge": [
        "score",
        str(ROOT / "docs/challenge/answers/random.jsonl"),
        "--challenge",
        str(ROOT / "docs/challenge"),
        "--truth",
        str(ROOT / "docs/challenge/truth.json"),
    ],
}
"""Command -> its arguments on the gallery."""


def output(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
    return done.stdout


def data(*words: str) -> Any:
    return json.loads(output(*words, "--json"))


def test_every_command_with_a_table_is_tried() -> None:
    assert set(WORDS) == set(TABLES)
    assert set(TABLES) <= set(COMMANDS)


@pytest.mark.parametrize("command", TABLES)
def test_json_keeps_to_its_schema(command: str) -> None:
    schema = schema_of(TABLES[command])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data(command, *WORDS[command]), schema)


@pytest.mark.parametrize("command", TABLES)
def test_csv_has_the_rows_of_json(command: str) -> None:
    kind = CSV_TABLE[command]
    rows = list(csv.DictReader(io.StringIO(output(command, *WORDS[command], "--csv"))))
    expected = data(command, *WORDS[command])[kind.name]
    assert [list(row) for row in rows] == [list(kind.keys)] * len(expected)
    assert len(rows) > 1
    for row, full in zip(rows, expected, strict=True):
        assert row == {key: "" if value is None else str(value) for key, value in full.items()}


@pytest.mark.parametrize("command", TABLES)
def test_json_and_csv_exclude_each_other(command: str) -> None:
    done = CliRunner().invoke(app, [command, *WORDS[command], "--json", "--csv"])
    assert "--json and --csv" in str(done.exception)


def test_the_page_of_commands_lists_every_key() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    for command, kinds in TABLES.items():
        for kind in kinds:
            line = next(row for row in page.splitlines() if row.startswith(f"| `{command}` | `{kind.name}` |"))
            assert re.findall(r"`(\w+)`", line) == [command, kind.name, *kind.keys]


def test_missing_values_are_null_or_empty() -> None:
    (row,) = OutputTable(RUNS, [{"run": "a", "trained_length": float("nan"), "verdict_step": None}]).plain_rows()
    assert row["trained_length"] is None
    assert row["verdict_step"] is None
    assert row["note"] == ""


def test_a_prediction_has_the_values_of_its_object() -> None:
    predictions = data("predict", "parity")["predictions"]
    for row, positions in zip(predictions, ("none", "learned"), strict=True):
        expected = predict("parity", Positions.from_name(positions))
        assert row["prediction"] == expected.verdict
        assert (row["theorem"], row["reason"]) == (expected.theorem, expected.reason)
        assert row["assumptions"] == "; ".join(expected.assumptions)
    assert "leave out --json" in str(CliRunner().invoke(app, ["predict", "parity", "--program", "--json"]).exception)


def test_a_damaged_run_is_a_problem_and_the_exit_status_1(tmp_path: Path) -> None:
    shutil.copytree(A, tmp_path / "run")
    (weights,) = sorted((tmp_path / "run").rglob("*.safetensors"))[:1]
    weights.write_bytes(weights.read_bytes()[:-1])
    done = CliRunner().invoke(app, ["check", str(tmp_path), "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    jsonschema.validate(found, schema_of(TABLES["check"]))
    assert [row["problems"] for row in found["runs"]] == [len(found["problems"])]
    assert found["problems"]


def test_claims_have_the_stored_verdicts_and_standard_output_has_the_table_alone() -> None:
    listed = data("reproduce", "crasp-exact", "--list")["claims"]
    suite = SUITES["crasp-exact"]
    stored = read_verdicts(ROOT / "docs" / "claims", suite.claims)
    assert {row["claim"]: row["verdict"] for row in listed} == {id: one.verdict for id, one in stored.items()}
    claim = suite.claims[0].id
    (shown,) = data("reproduce", claim)["claims"]
    assert shown == next(row for row in listed if row["claim"] == claim)


def test_the_cost_of_a_sweep_counts_its_missing_runs(tmp_path: Path) -> None:
    found = data("sweep", "gallery", "--plan", "--out", str(tmp_path))
    missing = [row for row in found["cells"] if row["state"] == "missing"]
    assert found["cost"]["runs"] == len(missing) == len(found["cells"]) > 1
    assert found["cost"]["seconds"] is None, "no run is finished, so nothing is known"
    refused = CliRunner().invoke(app, ["sweep", "gallery", "--json"])
    assert "--plan" in str(refused.exception)


def test_the_list_has_the_last_verdict_of_each_run() -> None:
    rows = {row["run"]: row for row in data("list", str(GALLERY))["runs"]}
    kinds = ["verdict", "in_context_verdict"]
    stored = Table.load(GALLERY).frame(quantity=kinds, status="ok").sort_values("step").groupby("run").tail(1)
    assert {run.name for run in find_runs(GALLERY)} == set(rows)
    assert len(stored) == len(rows)
    for line in stored.itertuples():
        row = rows[line.run]
        assert (row["verdict"], row["verdict_step"], row["note"]) == (line.label, line.step, line.note)
        assert row["tested_to"] == line.length


def test_a_run_has_the_accuracies_of_its_table() -> None:
    found = data("info", A)
    last = found["run"]["verdict_step"]
    stored = Table.load(A).frame(measurement="behaviour", quantity="accuracy", step=last, mode="teacher_forced")
    by_place = {(row.law, row.length): row for row in stored.itertuples()}
    assert len(found["lengths"]) == len(by_place)
    for row in found["lengths"]:
        stored_row = by_place[row["test_set"], row["length"]]
        assert row["accuracy"] == stored_row.value
        assert row["n"] == stored_row.n
    assert [row["step"] for row in found["steps"]] == sorted(Table.load(A).frame(quantity="verdict")["step"])


def test_a_prompted_run_has_the_same_keys() -> None:
    found = data("info", str(GALLERY / "pretrained" / "smollm2_copy"))
    jsonschema.validate(found, schema_of(TABLES["info"]))
    assert found["run"]["verdict"] == "not capable"
    assert len(found["lengths"]) > 2


def test_an_earlier_step_of_a_run_is_shown(tmp_path: Path) -> None:
    steps = [row["step"] for row in data("info", A)["steps"]]
    assert data("info", A, "--step", str(steps[0]))["run"]["verdict_step"] == steps[0]
    refused = CliRunner().invoke(app, ["info", A, "--step", "77", "--json"])
    assert "77" in str(refused.exception)


def test_a_folder_is_plotted_as_one_line_per_run(tmp_path: Path) -> None:
    for folder in (A, B):
        (tmp_path / Path(folder).name).symlink_to(folder)
    points = data("plot", str(tmp_path), "accuracy")["points"]
    for folder in (A, B):
        name = Path(folder).name
        rows = Table.load(folder).frame(measurement="behaviour", quantity="accuracy", law="matched")
        rows = rows[(rows["step"] == rows["step"].max()) & (rows["mode"] == "teacher_forced")]
        expected = dict(zip(rows["length"], rows["value"], strict=True))
        assert {row["length"]: row["value"] for row in points if row["run"] == name == row["line"]} == expected
