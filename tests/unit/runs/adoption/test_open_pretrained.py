"""Runs that name folders of pretrained models: what they hold, how they are measured, and what is refused."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from tests.support.models.pretrained_folders import CONFIGS, save_folder
from workbench.cli.commands.in_context.open import task_for
from workbench.cli.main import app
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.models.interop.hugging_face.families import PretrainedError
from workbench.models.interop.hugging_face.folder_files import files_read
from workbench.models.interop.hugging_face.opening import open_tokenizer
from workbench.runs.adoption.open_pretrained import ONLY_STEP, Opened, open_pretrained, relink, revisions
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
    todo = plan(
        MeasureRequest([run.path], only=[*MEASURED, "behaviour", "probes.summary"], sequences=8, executor="serial")
    )
    assert execute(todo) == []
    assert "run: behaviour.in_context is measured: its task is given in the prompt" in todo.notices
    assert [notice for notice in todo.notices if "probes.summary does not apply: it compares lengths" in notice]
    rows = Table.load(run.path).frame()
    for name in MEASURED:
        assert {*LENGTHS} <= {*rows[(rows["measurement"] == name) & (rows["status"] == "ok")]["length"]}
    assert "behaviour" not in {*rows["measurement"]}, "behaviour.in_context takes its place"
    assert {*rows[rows["measurement"] == "probes.summary"]["status"]} == {"not_applicable"}
    induction = rows[(rows["quantity"] == "induction_mass") & (rows["mode"] == "task")]
    assert len(induction) == 2 * 2 * 4, "a row for each length, layer and head"
    assert run_problems(run) == []


def test_a_moved_folder_is_relinked_and_a_changed_file_is_named(llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(llama, tmp_path / "here")
    run = open_pretrained(asked(folder), tmp_path / "run")
    moved = folder.rename(tmp_path / "there")
    with pytest.raises(RunError, match="--relink"):
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


def sharded(folder: Path, shard: str = "a.safetensors") -> Path:
    """The weights of a folder, put into one file that an index names."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / shard)
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights, shard)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def flip_last_byte(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_check_notices_a_changed_weight_behind_an_index(llama: Path, tmp_path: Path) -> None:
    folder = sharded(shutil.copytree(llama, tmp_path / "m"))
    run = open_pretrained(asked(folder), tmp_path / "run")
    assert {*files_read(folder)} <= {*run.meta(1)["files"]}
    assert "a.safetensors" in run.meta(1)["files"]
    assert run_problems(run) == []
    flip_last_byte(folder / "a.safetensors")
    (problem,) = run_problems(run)
    assert "a.safetensors has changed since run run was opened on it" in problem


@pytest.mark.parametrize("target", ["../b/a.safetensors", "{b}/a.safetensors", "pytorch_model.bin", "b/a.safetensors"])
def test_an_index_names_safetensors_of_its_own_folder_alone(llama: Path, tmp_path: Path, target: str) -> None:
    folder, beside = sharded(shutil.copytree(llama, tmp_path / "a")), tmp_path / "b"
    beside.mkdir()
    target = target.format(b=beside)
    (folder / "b").symlink_to(beside)
    shutil.copyfile(folder / "a.safetensors", beside / "a.safetensors")
    torch.save(load_file(folder / "a.safetensors"), folder / "pytorch_model.bin")
    (folder / "a.safetensors").unlink()
    index = folder / "model.safetensors.index.json"
    index.write_text(index.read_text().replace("a.safetensors", target))
    with pytest.raises(PretrainedError, match=r"index\.json"):
        open_pretrained(asked(folder), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_check_notices_weights_that_were_added_or_lie_outside(llama: Path, tmp_path: Path) -> None:
    folder = sharded(shutil.copytree(llama, tmp_path / "m"))
    run = open_pretrained(asked(folder), tmp_path / "run")
    shutil.copyfile(folder / "a.safetensors", folder / "model.safetensors")  # read before any index
    (problem,) = run_problems(run)
    assert "model.safetensors was added after run run was opened and would change its results" in problem
    with pytest.raises(RunError, match="would change its results"):
        run.load(1)
    (folder / "model.safetensors").unlink()
    (folder / "a.safetensors").rename(tmp_path / "outside.safetensors")
    (folder / "a.safetensors").symlink_to(tmp_path / "outside.safetensors")
    (problem,) = run_problems(run)
    assert "a.safetensors is a link to a file outside the folder" in problem


def test_a_snapshot_in_the_cache_of_hugging_face_is_opened_and_checked(llama: Path, tmp_path: Path) -> None:
    """Its files are links to the blobs of the same model, and to nothing else."""
    snapshot, blobs = tmp_path / "models--x" / "snapshots" / "abc", tmp_path / "models--x" / "blobs"
    snapshot.mkdir(parents=True)
    shutil.copytree(llama, blobs)
    for path in blobs.iterdir():
        (snapshot / path.name).symlink_to(Path("../../blobs") / path.name)
    run = open_pretrained(asked(snapshot), tmp_path / "run")
    assert run_problems(run) == []
    assert run.load(1).cfg.n_layers == 2
    flip_last_byte(blobs / "model.safetensors")
    (problem,) = run_problems(run)
    assert "model.safetensors has changed" in problem
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to(llama / "config.json")
    with pytest.raises(PretrainedError, match=r"config\.json"):
        open_pretrained(asked(snapshot), tmp_path / "another")


def test_a_tokenizer_is_read_from_its_own_files_alone(llama: Path, tmp_path: Path) -> None:
    """A config that names files elsewhere, or code, does not lead there."""
    folder = shutil.copytree(llama, tmp_path / "m")
    own = open_tokenizer(folder).get_vocab()
    config = json.loads((folder / "tokenizer_config.json").read_text())
    elsewhere = shutil.copytree(llama, tmp_path / "other") / "tokenizer.json"
    elsewhere.write_text(elsewhere.read_text().replace("bart", "bark"))
    lead = {"tokenizer_file": str(elsewhere), "fast_tokenizer_files": ["../other/tokenizer.json"]}
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, **lead}))
    assert open_tokenizer(folder).get_vocab() == own


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
    with pytest.raises(RunError, match="name"):
        revisions(tmp_path / "m", "step*")
    with pytest.raises(PretrainedError, match=r"'step\*'"):
        open_pretrained(asked(tmp_path / "m"), tmp_path / "another")
    with pytest.raises(RunError, match="folder"):
        revisions(tmp_path / "m", "x*")


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "qwen3", "gemma2", "olmo3"])
def test_every_kind_of_family_is_measured(name: str, tmp_path: Path) -> None:
    folder = save_folder(name, tmp_path / "m", tokenizer=True)
    run = open_pretrained(asked(folder, "nr_last", "shots", lengths=(4,)), tmp_path / "run")
    assert execute(plan(MeasureRequest([run.path], only=MEASURED, sequences=4, executor="serial"))) == []
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

    refused(asked(without("config.json")), PretrainedError, "contains no config.json")
    refused(asked(without("model.safetensors")), PretrainedError, "holds no weights")
    refused(asked(without("tokenizer.json")), PretrainedError, "contains no tokenizer")
    refused(asked(llama, symbols=37), TaskError, "needs 37 different symbols, and the tokenizer has 36")
    refused(asked(llama, "ur", "pairs", lengths=(5,)), TaskError, "has no sequences of 5 items")
    other = shutil.copytree(llama, tmp_path / "other")
    (other / "config.json").write_text(json.dumps({"model_type": "bloom"}))
    refused(asked(other), PretrainedError, "'bloom' is not opened")
    (other / "tokenizer.json").write_text("{")
    shutil.copy(llama / "config.json", other)
    refused(asked(other), PretrainedError, "the tokenizer of .* cannot be read")


def test_lengths_beyond_a_table_of_positions_are_refused(tmp_path: Path) -> None:
    folder = save_folder("gpt2", tmp_path / "m", tokenizer=True, n_positions=14)
    with pytest.raises(RunError, match="14 positions"):
        open_pretrained(asked(folder), tmp_path / "run")


def test_the_command_opens_shows_and_checks(llama: Path, tmp_path: Path) -> None:
    runner, out = CliRunner(), str(tmp_path / "run")
    options = ["--presentation", "bare", "--lengths", "4,8", "--set", "task.symbols=12", "--out", out]
    done = runner.invoke(app, ["open", str(llama), "--task", "copy", *options])
    assert done.exit_code == 0, done.output
    assert "1 checkpoint, copy, unique symbols (uf) presented as bare." in done.output
    assert "12 symbols of one token each; the context window has 64 tokens." in done.output
    assert execute(plan(MeasureRequest([out], only=MEASURED, sequences=40, executor="serial"))) == []
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
    with pytest.raises(TaskError, match=r"'cpy'.*copy"):
        task_for("cpy", [], (8,))
    assert task_for("nf", ["task.symbols=7"], (8,)).symbols == 7


def test_revisions_by_the_last_number_of_their_names(tmp_path: Path) -> None:
    for name in ("step1000", "step20", "v2-step7", "other", "late"):
        (tmp_path / name).mkdir()
    (tmp_path / "step3").touch()
    assert revisions(tmp_path, None) == {ONLY_STEP: tmp_path}
    assert ONLY_STEP == 1
    assert revisions(tmp_path, "*step*") == {
        7: tmp_path / "v2-step7",
        20: tmp_path / "step20",
        1000: tmp_path / "step1000",
    }
    assert list(revisions(tmp_path, "*step*")) == [7, 20, 1000]
    for pattern, says in (
        ("o*", "contains no step"),
        ("zzz*", "contains no folder that matches 'zzz"),
    ):
        with pytest.raises(RunError, match=says):
            revisions(tmp_path, pattern)
    (tmp_path / "again20").mkdir()
    with pytest.raises(RunError, match="step 20"):
        revisions(tmp_path, "*20")
    with pytest.raises(RunError, match="folder"):
        revisions(tmp_path / "step3", None)
