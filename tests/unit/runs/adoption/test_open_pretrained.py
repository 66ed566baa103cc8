"""Runs that name folders of pretrained models: what they hold, how they are measured, and what is refused."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.models.pretrained_folders import CONFIGS, save_folder
from workbench.cli.commands.in_context.open import task_for
from workbench.cli.main import app
from workbench.measure.running.plan import execute, plan
from workbench.models.interop.hugging_face.families import PretrainedError
from workbench.runs.adoption.open_pretrained import Opened, open_pretrained, relink, revisions
from workbench.runs.errors import RunError
from workbench.runs.integrity import run_problems
from workbench.runs.run import Run
from workbench.table import Table
from workbench.tasks import TaskError, make_task
from workbench.tasks.presented.presentation import presentation

LENGTHS = (4, 8)
MEASURED = ["behaviour.in_context", "circuits.heads", "circuits.hardmax"]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder("llama", tmp_path_factory.mktemp("llama") / "m", tokenizer=True)


def asked(folder: Path, task: str = "uf", how: str = "bare", symbols: int = 12, lengths: Any = LENGTHS) -> Opened:
    return Opened({1: folder}, make_task(task, symbols=symbols), presentation(how), lengths)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("a socket was asked for")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


def test_a_run_names_the_folder_and_is_measured_without_a_network(
    llama: Path, tmp_path: Path, no_network: None
) -> None:
    run = open_pretrained(asked(llama), tmp_path / "run")
    assert not list(run.path.rglob("*.safetensors")), "weights are never copied"
    assert run.meta(1)["files"].keys() >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert (run.referenced, run.folder(1), run.steps, run.trained_length) == (True, llama, [1], 32)
    assert open_pretrained(asked(llama), tmp_path / "run").id == run.id, "the same call goes on"
    assert run_problems(run) == []
    todo = plan([run.path], only=[*MEASURED, "behaviour", "probes.summary"], sequences=8)
    assert execute(todo, "serial") == []
    assert [notice for notice in todo.notices if "behaviour does not apply: it compares lengths" in notice]
    rows = Table.load(run.path).frame()
    for name in MEASURED:
        assert {*LENGTHS} <= {*rows[(rows["measurement"] == name) & (rows["status"] == "ok")]["length"]}
    assert {*rows[rows["measurement"] == "behaviour"]["status"]} == {"not_applicable"}
    assert {*rows[rows["measurement"] == "probes.summary"]["status"]} == {"not_applicable"}
    induction = rows[(rows["quantity"] == "induction_mass") & (rows["mode"] == "task")]
    assert len(induction) == 2 * 2 * 4, "a row for each length, layer and head"
    assert run_problems(run) == []


def test_a_moved_folder_is_relinked_and_a_changed_file_is_named(llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(llama, tmp_path / "here")
    run = open_pretrained(asked(folder), tmp_path / "run")
    moved = folder.rename(tmp_path / "there")
    with pytest.raises(RunError, match=r"lay in .*here, and there is no such folder; lengthlens open FOLDER --relink"):
        run.load(1)
    assert relink(run, {1: moved}).load(1).cfg.n_layers == 2
    again = Run.open(run.path)
    assert again.id == run.id
    with open(moved / "config.json", "a") as file:
        file.write(" ")
    (problem,) = run_problems(again)
    assert "config.json has changed since run run was opened on it" in problem
    with pytest.raises(RunError, match="has changed"):
        relink(again, {1: moved})
    (moved / "tokenizer.json").unlink()
    with pytest.raises(RunError, match=r"has changed|cannot be read"):
        again.verify(1)


def test_revisions_are_checkpoints(tmp_path: Path) -> None:
    for step in (1000, 500):
        save_folder("gpt2", tmp_path / "m" / f"step{step}", tokenizer=True, seed=step)
    found = revisions(tmp_path / "m", "step*")
    assert list(found) == [500, 1000]
    opened = Opened(found, make_task("ur", symbols=9), presentation("pairs"), (4, 8))
    run = open_pretrained(opened, tmp_path / "run")
    assert run.steps == [500, 1000]
    assert len({run.meta(step)["sha256"] for step in run.steps}) == 2
    (tmp_path / "m" / "stepping").mkdir()
    with pytest.raises(RunError, match="its name holds no step"):
        revisions(tmp_path / "m", "step*")
    with pytest.raises(
        PretrainedError, match=r"holds no config.json.*m/step1000 holds one: --revisions 'step\*' opens"
    ):
        open_pretrained(asked(tmp_path / "m"), tmp_path / "another")
    with pytest.raises(RunError, match="holds no folder that fits"):
        revisions(tmp_path / "m", "x*")


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "qwen3", "gemma2", "olmo3"])
def test_every_kind_of_family_is_measured(name: str, tmp_path: Path) -> None:
    folder = save_folder(name, tmp_path / "m", tokenizer=True)
    run = open_pretrained(asked(folder, "nr_last", "shots", lengths=(4,)), tmp_path / "run")
    assert execute(plan([run.path], only=MEASURED, sequences=4), "serial") == []
    rows = Table.load(run.path).frame(status="ok")
    assert {*MEASURED} == {*rows["measurement"]}
    assert name in CONFIGS


def test_bad_input_gets_a_sentence_before_any_weights_are_read(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*args: Any, **options: Any) -> Any:
        raise AssertionError("weights were read")

    monkeypatch.setattr("workbench.runs.adoption.open_pretrained.open_where_chosen", never)

    def refused(opened: Opened, error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            open_pretrained(opened, tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def without(name: str) -> Path:
        folder = shutil.copytree(llama, tmp_path / f"no {name}")
        (folder / name).unlink()
        return folder

    refused(asked(without("config.json")), PretrainedError, "holds no config.json")
    refused(asked(without("model.safetensors")), PretrainedError, "holds no weights")
    refused(asked(without("tokenizer.json")), PretrainedError, "holds no tokenizer")
    refused(asked(llama, symbols=37), TaskError, "needs 37 different symbols, and the tokenizer has 36")
    refused(asked(llama, "ur", "pairs", lengths=(5,)), TaskError, "has no strings of 5 items")
    other = shutil.copytree(llama, tmp_path / "other")
    (other / "config.json").write_text(json.dumps({"model_type": "bloom"}))
    refused(asked(other), PretrainedError, "'bloom' is not opened")
    (other / "tokenizer.json").write_text("{")
    shutil.copy(llama / "config.json", other)
    refused(asked(other), PretrainedError, "the tokenizer of .* cannot be read")


def test_lengths_beyond_a_table_of_positions_are_refused(tmp_path: Path) -> None:
    folder = save_folder("gpt2", tmp_path / "m", tokenizer=True, n_positions=14)
    with pytest.raises(RunError, match=r"8 items take 16 tokens, and .* has a table of 14 positions"):
        open_pretrained(asked(folder), tmp_path / "run")


def test_the_command_opens_shows_and_checks(llama: Path, tmp_path: Path) -> None:
    runner, out = CliRunner(), str(tmp_path / "run")
    options = ["--presentation", "bare", "--lengths", "4,8", "--set", "task.symbols=12", "--out", out]
    done = runner.invoke(app, ["open", str(llama), "--task", "copy", *options])
    assert done.exit_code == 0, done.output
    assert "1 checkpoint, copy (uf) presented as bare." in done.output
    assert "12 symbols, each one token; a window of 64 tokens." in done.output
    assert execute(plan([out], only=MEASURED, sequences=40), "serial") == []
    shown = runner.invoke(app, ["show", out])
    assert shown.exit_code == 0, shown.output
    assert "Not capable" in shown.output
    assert "bare" in shown.output
    assert runner.invoke(app, ["check", out]).exit_code == 0
    linked = runner.invoke(app, ["open", str(llama), "--relink", out])
    assert linked.exit_code == 0, linked.output


def test_a_task_has_as_many_symbols_as_its_longest_question_needs() -> None:
    assert task_for("copy", [], (8, 1024)).symbols == 1024
    assert task_for("copy", [], (8,)).symbols == 256
    assert task_for("ur", [], (8, 1024)).symbols == 256
    with pytest.raises(TaskError, match=r"^unknown task 'cpy'; did you mean copy\?$"):
        task_for("cpy", [], (8,))
    assert task_for("nf", ["task.symbols=7"], (8,)).symbols == 7
