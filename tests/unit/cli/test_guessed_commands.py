"""Commands that a reader of the README guesses: what they print is what the files of the gallery contain."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from tests.support.places import GALLERY
from tests.unit.cli.test_train_command import diagnosed_run, made, read_back
from workbench.cli.commands import docs
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.cli.runs_page_filter import runs_page_filter
from workbench.dashboard.state.filters import read_filters
from workbench.runs import Run
from workbench.runs.live_log import Live
from workbench.runs.lock import writer_lock
from workbench.table import Table
from workbench.training.compare_configs import config_differences

RUN = GALLERY / "flip_flop_rotary_s0"


def invoked(*words: object, columns: int = 200) -> Any:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [str(word) for word in words])


def output(*words: object, columns: int = 200) -> str:
    done = invoked(*words, columns=columns)
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
    return str(done.stdout)


def refusal(*words: object) -> str:
    done = invoked(*words)
    assert isinstance(done.exception, UsageError), f"{done.output} {done.exception!r}"
    return str(done.exception)


def accuracies(run: Path, step: int, law: str = "matched") -> dict[int, float]:
    found = Table.load(run).frame(
        measurement="behaviour", quantity="accuracy", step=step, law=law, mode="teacher_forced"
    )
    return {int(row.length): row.value for row in found.itertuples()}


@pytest.mark.parametrize("name", ["steps", "checkpoints"])
def test_steps_lists_the_checkpoints_with_what_the_table_contains(name: str) -> None:
    rows = json.loads(output(name, RUN, "--json"))["checkpoints"]
    run, verdicts = Run.open(RUN), Table.load(RUN).frame(quantity="verdict").set_index("step")["label"]
    assert [row["step"] for row in rows] == run.steps
    for row in rows:
        values = accuracies(RUN, row["step"])
        assert (row["accuracy_trained"], row["accuracy_longest"]) == (values[32], values[max(values)])
        assert row["verdict"] == verdicts[row["step"]]
        assert row["bytes"] == (Path(row["path"]) / "model.safetensors").stat().st_size
    *lines, last = output(name, RUN, columns=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert last == f"Next: lengthlens info {RUN} --step 1200"


def test_steps_of_a_run_that_is_not_measured_names_the_command_that_measures_it(tmp_path: Path) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "measurements", ignore_errors=True)
    (tmp_path / "run" / "table.parquet").unlink(missing_ok=True)
    assert "not measured" in output("steps", tmp_path / "run")
    assert f"lengthlens measure {tmp_path / 'run'}" in output("steps", tmp_path / "run")


def test_a_folder_stands_for_its_measured_runs_of_a_task() -> None:
    pair = [GALLERY / f"flip_flop_rotary_s{seed}" for seed in (0, 1)]
    by_folder = json.loads(output("compare", GALLERY, "--task", "flip_flop", "--json"))
    assert by_folder == json.loads(output("compare", *pair, "--json"))
    assert by_folder == json.loads(output("compare", GALLERY, pair[0], "--task", "flip_flop", "--json"))


def test_compare_names_what_a_folder_lacks() -> None:
    assert "1 measured run of task parity is here; name another" in refusal("compare", GALLERY, "--task", "parity")
    assert "did you mean parity" in refusal("compare", GALLERY, "--task", "parit")


def test_docs_names_the_pages_of_the_source_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = dict(line.split("  ", 1) for line in output("docs").splitlines())
    assert Path(lines["pages"].strip()).read_text().startswith("#")
    assert "lengthlens glossary WORD" in output("docs")
    monkeypatch.setattr(docs.workbench, "__file__", str(tmp_path / "workbench" / "__init__.py"))
    monkeypatch.setattr(docs, "_address", lambda: "https://somewhere.example/docs")
    assert docs.where_pages_are() == "https://somewhere.example/docs"
    monkeypatch.setattr(docs, "_address", lambda: "")
    assert "source code" in docs.where_pages_are()


def test_a_filter_is_the_address_that_the_runs_page_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    page = runs_page_filter(["task=parity", "verdict=length-coupled", "name=s0 & s1"])
    filters, notices = read_filters(page.removeprefix("/"))
    assert (filters.task, filters.verdict, filters.text, notices) == ("parity", "length-coupled", "s0 & s1", [])
    assert runs_page_filter([]) == "/"
    assert runs_page_filter(["parity", "length-coupled", "s0"]) == runs_page_filter(
        ["task=parity", "verdict=length-coupled", "name=s0"]
    )
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("workbench.dashboard.app.serve", lambda *_, **options: calls.append(options))
    output("app", GALLERY, "--filter", "task=parity")
    output("app", GALLERY)
    assert [call["page"] for call in calls] == ["/?task=parity", "/"]
    assert calls[0]["typed"][-2:] == ["--filter", "task=parity"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("task=", "KEY=VALUE"),
        ("tsk=parity", "did you mean task"),
        ("verdict=coupled", "did you mean length-coupled"),
    ],
)
def test_a_filter_that_the_page_lacks_is_refused(text: str, named: str) -> None:
    assert named in refusal("app", GALLERY, "--filter", text)


def test_open_starts_the_dashboard_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr("workbench.dashboard.app.serve", lambda folders, **options: calls.append((folders, options)))
    output("open", RUN)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "checkpoints" / "study" / "mine")
    output("open", "mine")
    assert [folders for folders, _ in calls] == [[Path(RUN)], [Path("checkpoints/study/mine")]]
    assert all(options["open_browser"] for _, options in calls)
    assert "no such folder" not in str(invoked("open", "nowhere").exception)
    assert "config.json" in str(invoked("open", "nowhere").exception)


def test_other_names_of_training_options_train_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Any] = []

    def train_one(request: Any, out: Any, chosen: Any) -> Any:
        requests.append(request)
        raise UsageError("stop here; leave it")

    monkeypatch.setattr("workbench.cli.commands.train.train_one", train_one)
    for words in ("--pos rotary --length 32", "--pos rotary --max-length 32", "--positions rotary --lengths 1-32"):
        assert "stop here" in refusal("train", "parity", *words.split())
    assert requests[0] == requests[1] == requests[2]
    assert requests[0].options["lengths"] == "1-32"
    assert "leave one out" in refusal("train", "parity", "--length", "32", "--lengths", "1-32")


def test_prescribe_runs_the_command_that_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("model.d_model=8", "model.n_heads=1", "training.batch_size=2")
    config = made("flip_flop", {"positions": "rotary", "lengths": "1-8", "steps": 2, "layers": 1}, *settings)
    monkeypatch.chdir(tmp_path)
    parent = diagnosed_run(tmp_path / "run", config, "position", "selection")
    assert "lengthlens train" in output("prescribe", parent, "--out", "child")
    assert not (tmp_path / "child").exists()
    text = output("prescribe", parent, "--out", "child", "--run")
    assert f"lengthlens compare {parent} child" in text
    child = Run.open(tmp_path / "child")
    assert child.finished
    assert child.config["model"]["ids"] == {"name": "pose", "chunks": 2}
    assert child.config["seeds"] == config["seeds"]


def test_a_renamed_run_keeps_its_id_and_its_results(tmp_path: Path) -> None:
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "parity_nope")
    verdict = Run.open(tmp_path / "parity_nope").verdict().label
    output("rename", tmp_path / "parity_nope", "parity_baseline")
    assert not (tmp_path / "parity_nope").exists()
    renamed = Run.open(tmp_path / "parity_baseline")
    assert renamed.config["id"] == Run.open(GALLERY / "parity_nope").config["id"]
    assert "exists already" in refusal("rename", tmp_path / "parity_baseline", "parity_baseline")
    assert (renamed.name, renamed.verdict().label) == ("parity_baseline", verdict)
    (row,) = json.loads(output("list", tmp_path, "--json"))["runs"]
    assert (row["run"], row["verdict"]) == ("parity_baseline", verdict)
    assert {*renamed.table().frame()["run"]} == {"parity_baseline"}


def test_a_run_is_deleted_only_with_consent_and_while_nobody_writes_it(tmp_path: Path) -> None:
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "mine")
    (tmp_path / "other").mkdir()
    assert f"lengthlens rm {tmp_path / 'mine'} --yes" in refusal("rm", tmp_path / "mine")
    assert "run.json" in str(invoked("rm", tmp_path / "mine", tmp_path / "other", "--yes").exception)
    with writer_lock(tmp_path / "mine"):
        assert "is being written by" in str(invoked("rm", tmp_path / "mine", "--yes").exception)
    assert Run.open(tmp_path / "mine").steps
    assert "is deleted (9 checkpoints" in output("rm", tmp_path / "mine", "--yes")
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "other").exists()


def test_stop_ends_the_process_that_writes_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "mine")
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr("os.kill", lambda *sent: signals.append(sent))
    assert "lengthlens status" in refusal("stop", tmp_path / "mine")
    (tmp_path / "mine" / "lock").write_text(f"process 1 on {socket.gethostname()}\n")  # left by a killed process
    assert "lengthlens status" in refusal("stop", tmp_path / "mine")
    with writer_lock(tmp_path / "mine"):
        assert f"--resume {tmp_path / 'mine'}" in output("stop", tmp_path / "mine")
    assert signals == [(os.getpid(), signal.SIGTERM)]


def test_a_dry_run_prints_the_settings_and_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = output("train", "parity", "--name", "mine", "--steps", "7", "--dry-run")
    assert yaml.safe_load(text)["training"]["steps"] == 7
    assert "checkpoints/mine" in text
    assert "parity-none-s3, checkpoints/parity-none-s4" in output("train", "parity", "--seeds", "3,4", "--dry-run")
    assert not any(tmp_path.iterdir())
    assert "leave one out" in refusal("train", "parity", "--name", "mine", "--out", "other")
    assert "--out takes a path" in refusal("train", "parity", "--name", "a/b")


@pytest.mark.parametrize("name", ["parity_nope", "majority_learned", "flip_flop_rotary_s1"])
def test_config_prints_the_stored_settings_and_a_command_that_builds_the_same_run(name: str) -> None:
    run = Run.open(GALLERY / name)
    text, _, command = output("config", GALLERY / name).partition("\n# This command trains the same run")
    parts = {part: run.config[part] for part in ("task", "model", "training", "seeds")}
    assert yaml.safe_load(text) == parts
    stored = json.loads(output("config", GALLERY / name, "--json"))
    assert {part: stored[part] for part in parts} == parts
    built = read_back(command.split(":\n", 1)[1].strip())
    assert config_differences(run.config, built) == []


def test_config_says_why_there_is_no_command() -> None:
    text = output("config", GALLERY / "pretrained" / "smollm2_copy")
    assert "# smollm2_copy was not trained by lengthlens train" in text
    assert "# majority was not trained by lengthlens train" in output("config", GALLERY / "compiled" / "majority")


TINY = [
    "--positions",
    "none",
    "--lengths",
    "1-4",
    "--steps",
    "6",
    "--layers",
    "1",
    "--d-model",
    "8",
    "--heads",
    "1",
    "--batch-size",
    "2",
]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    output("train", "parity", *TINY, "--out", tmp_path / "tiny")
    return tmp_path / "tiny"


def test_resume_continues_a_run_to_the_same_bits(tiny: Path) -> None:
    whole = Run.open(tiny).verify(6)
    assert "is finished" in output("train", "--resume", tiny)
    for step in [step for step in Run.open(tiny).steps if step > 1]:
        shutil.rmtree(tiny / "steps" / f"{step:08d}")
    assert not Run.open(tiny).finished
    assert "last at step 6" in output("train", "--resume", tiny, "--steps", "6")
    assert Run.open(tiny).verify(6) == whole


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--steps 900", "--start"),
        ("--steps 3", "leave out --steps"),
        ("--layers 2", "leave out --layers"),
        ("majority", "is a run of task parity"),
    ],
)
def test_resume_keeps_the_settings_of_the_run(words: str, named: str) -> None:
    assert named in refusal("train", "--resume", GALLERY / "parity_nope", *words.split())


def test_a_task_or_a_run_is_needed() -> None:
    assert "lengthlens train parity" in refusal("train")


def test_status_states_what_is_finished_stopped_and_in_training(tiny: Path) -> None:
    def row() -> dict[str, Any]:
        (found,) = json.loads(output("status", tiny.parent, "--json"))["runs"]
        return found

    steps = Run.open(tiny).steps
    assert (row()["state"], row()["step"], row()["planned_steps"]) == ("finished", 6, 6)
    assert (row()["measured"], row()["checkpoints"], row()["seconds_since_result"]) == (0, len(steps), None)
    shutil.rmtree(tiny / "steps" / "00000006")
    assert (row()["state"], row()["step"]) == ("stopped", steps[-2])
    assert f"lengthlens train --resume {tiny}" in output("status", tiny.parent)
    Live(tiny).restart([{"step": 5, "loss": 1.0}])
    assert (row()["state"], row()["step"]) == ("training", 5)
    text = output("status", tiny.parent, columns=80)
    assert "1 training, 0 stopped, 0 finished" in text
    assert "5 of 6" in text


def test_eval_prints_the_accuracies_of_the_table() -> None:
    rows = json.loads(output("eval", RUN, "--lengths", "64,32", "--json"))["lengths"]
    for law in ("matched", "challenge"):
        values = accuracies(RUN, 1200, law)
        assert [row["accuracy"] for row in rows if row["test_set"] == law] == [values[32], values[64]]
    assert rows[0]["n"] > 0
    assert "64  matched" in output("eval", RUN, "--lengths", "64", columns=80)


def test_eval_of_other_lengths_is_what_measure_stores_and_changes_nothing(tiny: Path) -> None:
    before = sorted(tiny.rglob("*"))
    rows = json.loads(output("evaluate", tiny, "--lengths", "5,7", "--json"))["lengths"]
    assert sorted(tiny.rglob("*")) == before
    output("measure", tiny, "--only", "behaviour", "--steps", "last", "--lengths", "5,7", "--workers", "1")
    assert {row["length"] for row in rows} == {5, 7}
    for row in rows:
        assert row["accuracy"] == accuracies(tiny, 6, row["test_set"])[row["length"]]


def test_eval_refuses_a_run_without_weights() -> None:
    assert "cannot be evaluated here" in refusal("eval", GALLERY / "pretrained" / "smollm2_copy", "--lengths", "70")


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_export_writes_the_rows_of_the_table(ending: str, tmp_path: Path) -> None:
    read = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "json": lambda file: pd.DataFrame(json.loads(file.read_text())),
    }[ending]
    file, run = tmp_path / f"results.{ending}", GALLERY / "parity_nope"
    output("export", run, "-o", file, "--quantity", "accuracy")
    found, expected = read(file), Table.load(run).frame(quantity="accuracy")
    assert len(found) == len(expected) > 0
    for name in ("value", "low", "high", "length", "step"):
        assert sorted(found[name].dropna().astype(float)) == sorted(expected[name].dropna().astype(float))
    assert "not overwritten" in refusal("export", run, "-o", file)


def test_export_names_formats_and_quantities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = GALLERY / "parity_nope"
    assert "parity_nope.csv" in output("export", run, "--format", "csv", "--quantity", "verdict")
    assert len(pd.read_csv("parity_nope.csv")) == len(Run.open(run).steps)
    assert "rows.csv" in output("export", run, "rows.csv", "--quantity", "verdict")
    assert Path("rows.csv").read_text() == Path("parity_nope.csv").read_text()
    assert "leave one out" in refusal("export", run, "rows.csv", "-o", "other.csv")
    assert "csv, parquet, json" in refusal("export", run, "--format", "xlsx")
    assert "did you mean accuracy" in refusal("export", run, "-o", "a.csv", "--quantity", "acuracy")
    assert "-o FILE.csv" in refusal("export", run)
