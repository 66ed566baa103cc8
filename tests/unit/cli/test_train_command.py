"""The training command of a run, and the one that its diagnosis prescribes: read back, they make the run that is meant."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.places import GALLERY
from tests.support.table.making import CONFIG, RunMaker
from workbench.cli.commands.prescribe import prescribe
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.train_command import command_line, options_of, settings_of_run
from workbench.cli.train_request import TrainRequest
from workbench.runs.run import Run, run_id
from workbench.table.schema import row


def made(task: str, options: dict[str, Any], *sets: str) -> dict[str, Any]:
    """``run.json`` of a command line."""
    return build(TrainRequest(task, options, assignments(sets))).as_json()


def read_back(command: str) -> dict[str, Any]:
    """``run.json`` of what :func:`command_line` wrote."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["lengthlens", "train"]
    options: dict[str, Any] = {}
    sets = []
    for name, value in zip(words[3::2], words[4::2], strict=True):
        if name == "--set":
            sets.append(value)
        elif name != "--out":
            key = name[2:].replace("-", "_")
            options[key] = float(value) if "." in value else int(value) if value.isdigit() else value
    return made(words[2], options, *sets)


RUNS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("flip_flop", {"positions": "rotary", "lengths": "1-32", "steps": 1200}, ()),
    ("flip_flop", {"positions": "rotary"}, ("model.positions.base=500", "task.write_probability=0.2")),
    ("majority", {"positions": "learned", "ids": "random_offset", "n_ctx": 300, "seed": 3}, ("seeds.data=5",)),
    ("needle", {}, ("model.log_scaling=learned", "training.regularizers.attention_entropy=0.1")),
    ("parity", {"curriculum": "few_long", "lengths": "1-40"}, ("training.curriculum.short=20",)),
    ("parity", {"architecture": "ssm", "gates": "signed"}, ("model.d_state=4",)),
    ("tomita", {"learning_rate": 3e-3}, ("task.n=4", "training.early_stop.accuracy=0.99", "model.d_mlp=17")),
]


@pytest.mark.parametrize(("task", "options", "sets"), RUNS)
def test_a_runs_own_command_makes_the_run(task: str, options: dict[str, Any], sets: tuple[str, ...]) -> None:
    run = made(task, options, *sets)
    own = options_of(run)
    command = command_line(task, own, settings_of_run(run, own), "new folder")
    assert read_back(command)["id"] == run["id"]
    assert command.endswith("--out 'new folder'")


def diagnosed_run(path: Path, config: dict[str, Any], entry: str, site: str, rows: list[Any] | None = None) -> Path:
    """A run whose diagnosis names these, or has these rows."""
    parts = {part: config[part] for part in ("task", "model", "training", "seeds")}
    maker = RunMaker(path, {**config, "id": run_id(parts)})
    maker.checkpoint(100)
    here: dict[str, Any] = {"run": "r", "step": 100, "measurement": "diagnosis", "law": "matched", "length": 64}
    share = {"value": 0.9, "low": 0.8, "high": 1.0, "mode": "alone"}
    rows = rows or [
        row(quantity="entry", label=entry, target="P.int", **here),
        row(quantity="entry_grade", label="strong", target="P.int", **here),
        row(quantity="failure_site", label=site, layer=0, head=1, **here),
        row(quantity="restored_share", target="P.int", **share, **here),
    ]
    maker.shard("diagnosis", 100, rows=rows)
    return path


def test_the_prescribed_command_differs_in_the_prescription_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = made("flip_flop", {"positions": "rotary", "lengths": "1-32", "seed": 2})
    prescribe(diagnosed_run(tmp_path / "run", config, "position", "selection"), None)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(
        "At length 64 (2 N), the model fails because positions beyond 32 make L0H1 attend to wrong keys. Ids "
    )
    assert said[1].startswith("This may fix the failure: position ids drawn with gaps (PoSE), up to 257. Reason: ")
    assert said[2] == "This command trains the changed run in checkpoints/run-prescribed:"
    found = read_back("\n".join(said[3:]))
    assert found["model"].pop("ids") == {"name": "pose", "chunks": 2}
    assert found["model"].pop("n_ctx") == 258
    wanted = {**config["model"]}
    del wanted["ids"], wanted["n_ctx"]
    assert (found["model"], found["training"], found["seeds"]) == (wanted, config["training"], config["seeds"])


def test_settings_of_a_curriculum_that_gives_way_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    growing = ("training.curriculum.start=5", "training.curriculum.over=100")
    config = made("flip_flop", {"curriculum": "growing", "lengths": "1-32"}, *growing)
    prescribe(diagnosed_run(tmp_path / "run", config, "content", "selection"), None)
    found = read_back("\n".join(capsys.readouterr().out.splitlines()[3:]))
    law = {"law": "few_long", "low": 1, "high": 64, "short": 32, "share": 0.05}
    assert found["training"]["curriculum"] == law


@pytest.mark.parametrize("shipped", ["site-packages/lengthlens/gallery/parity", "data/gallery/parity"])
def test_the_changed_run_goes_into_checkpoints_of_the_working_folder(
    shipped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never beside the run, which may be one that ships, in a folder of installed packages."""
    config = made("flip_flop", {"positions": "rotary", "lengths": "1-32"})
    run = diagnosed_run(tmp_path / shipped, config, "position", "selection")
    working = tmp_path / "work"
    working.mkdir()
    monkeypatch.chdir(working)
    prescribe(run, None)
    said = capsys.readouterr().out
    assert "in checkpoints/parity-prescribed:" in said
    assert said.rstrip().endswith("--out checkpoints/parity-prescribed")
    assert str(tmp_path) not in said
    prescribe(run, Path("elsewhere"))
    assert capsys.readouterr().out.rstrip().endswith("--out elsewhere")
    assert not list(working.iterdir()), "nothing is trained or made"


def test_the_change_is_that_of_the_cause_that_the_sentence_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 64 ids and sharper scores both recover; at 128 sharper scores alone do, so that keys are the cause."""
    config = made("flip_flop", {"positions": "rotary", "lengths": "1-32"})
    here: dict[str, Any] = {"run": "r", "step": 100, "measurement": "diagnosis", "law": "matched"}
    ends = {"low": 0.0, "high": 1.0, "mode": "alone"}
    rows = []
    for length, label, target, note, site, ids in (
        (64, "position", "P.int", "also restored by D.beta2", "lost", 0.9),
        (128, "keys", "D.beta2", "", "dispersion", 0.1),
    ):
        at = {**here, "length": length}
        rows += [
            row(quantity="entry", label=label, target=target, note=note, **at),
            row(quantity="entry_grade", label="strong", target=target, **at),
            row(quantity="failure_site", label=site, layer=0, head=1, **at),
            row(quantity="restored_share", target="P.int", value=ids, **ends, **at),
            row(quantity="restored_share", target="D.beta2", value=0.9, **ends, **at),
        ]
    prescribe(diagnosed_run(tmp_path / "run", config, "", "", rows), None)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(
        "At length 128 (4 N), the model fails because more attended tokens than at length 32 make L0H1 spread "
        "its attention away from the right keys"
    )
    assert said[1].startswith("This may fix the failure: scores scaled by log n")


def test_where_nothing_is_named_nothing_is_prescribed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = made("flip_flop", {"positions": "rotary", "lengths": "1-32"})
    prescribe(diagnosed_run(tmp_path / "run", config, "not explained", "lost"), None)
    assert capsys.readouterr().out.splitlines()[1] == "No change is suggested: no cause is named."


def test_a_run_of_unknown_training_is_told_the_change_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = made("flip_flop", {"positions": "rotary", "lengths": "1-32"})
    config["training"] = {name: config["training"][name] for name in ("steps", "trained_length", "curriculum")}
    prescribe(diagnosed_run(tmp_path / "run", config, "position", "selection"), None)
    assert capsys.readouterr().out.splitlines()[2] == (
        "No command is printed, because it is not known how this run was trained. Make this change in the command that "
        "trained the run: --ids pose --n-ctx 258"
    )


def test_a_run_without_a_diagnosis_says_how_to_make_one(tmp_path: Path) -> None:
    RunMaker(tmp_path / "run", CONFIG).checkpoint(100)
    with pytest.raises(UsageError, match="lengthlens diagnose"):
        prescribe(tmp_path / "run", None)


def test_training_from_a_checkpoint_has_the_lengths_of_its_run(tmp_path: Path) -> None:
    start, out = GALLERY / "majority_learned", tmp_path / "later"
    done = CliRunner().invoke(app, ["train", "majority", "--start", f"{start}@last", "--steps", "1", "--out", str(out)])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
    earlier, later = Run.open(start), Run.open(out)
    assert later.trained_length == earlier.trained_length
    assert later.shortest_trained == earlier.shortest_trained
    assert f"Training lengths 1-{earlier.trained_length}, as in majority_learned" in done.output
    other = ["train", "majority", "--start", f"{start}@last", "--steps", "1", "--lengths", "1-9", "--out"]
    assert CliRunner().invoke(app, [*other, str(tmp_path / "short")]).exit_code == 0
    assert Run.open(tmp_path / "short").trained_length == 9
