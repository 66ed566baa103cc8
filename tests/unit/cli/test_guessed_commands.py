"""Commands that a reader of the README guesses: what they print is what the files of the gallery contain."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.places import GALLERY
from tests.unit.cli.test_train_command import diagnosed_run, made
from workbench.cli.commands import docs
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.cli.runs_page_filter import runs_page_filter
from workbench.dashboard.state.filters import read_filters
from workbench.runs import Run
from workbench.table import Table

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
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("workbench.dashboard.app.serve", lambda *_, **options: calls.append(options))
    output("app", GALLERY, "--filter", "task=parity")
    output("app", GALLERY)
    assert [call["page"] for call in calls] == ["/?task=parity", "/"]
    assert calls[0]["typed"][-2:] == ["--filter", "task=parity"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("parity", "KEY=VALUE"),
        ("tsk=parity", "did you mean task"),
        ("verdict=coupled", "did you mean length-coupled"),
    ],
)
def test_a_filter_that_the_page_lacks_is_refused(text: str, named: str) -> None:
    assert named in refusal("app", GALLERY, "--filter", text)


def test_open_names_the_command_that_opens_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"lengthlens app {RUN} opens it" in refusal("open", RUN)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "checkpoints" / "study" / "mine")
    assert "lengthlens app checkpoints/study/mine opens it" in refusal("open", "mine")
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


def test_a_renamed_run_has_the_name_of_its_folder(tmp_path: Path) -> None:
    """What the answers to `rm` and `rename` state."""
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "parity_nope")
    verdict = Run.open(tmp_path / "parity_nope").verdict().label
    (tmp_path / "parity_nope").rename(tmp_path / "parity_baseline")
    renamed = Run.open(tmp_path / "parity_baseline")
    assert (renamed.name, renamed.verdict().label) == ("parity_baseline", verdict)
    (row,) = json.loads(output("list", tmp_path, "--json"))["runs"]
    assert (row["run"], row["verdict"]) == ("parity_baseline", verdict)
    assert {*renamed.table().frame()["run"]} == {"parity_baseline"}
