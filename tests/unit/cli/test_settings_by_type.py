"""Settings of a wrong type are refused before anything is built, in one sentence that names the setting."""

from __future__ import annotations

import codecs
import io
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.limits import HANGS_S
from workbench.cli.commands.adopt import refuse_pattern
from workbench.cli.errors import LONGEST, UsageError, exit_status, say
from workbench.cli.options import assignments, integers, length_range
from workbench.cli.plain_data import refuse_strange
from workbench.cli.run_config import build
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.cli.train_request import TrainRequest
from workbench.core.errors import LensError, quoted_value
from workbench.core.suggest import nearest


def refused(task: str = "majority", options: dict[str, Any] | None = None, **settings: Any) -> str:
    """The sentence with which a run is refused."""
    pairs = [(path.split("."), value) for path, value in settings.items()]
    with pytest.raises(Exception, match=r".") as caught:
        build(TrainRequest(task, {"lengths": "1-9", **(options or {})}, pairs))
    sentence = say(caught.value)
    assert sentence is not None, repr(caught.value)
    return sentence


@pytest.mark.parametrize(("settings", "named"), [
    ({"model.d_model": "x"}, "d_model takes a whole number"),
    ({"model.d_model": [8]}, "d_model takes a whole number"),
    ({"model.n_heads": {}}, "n_heads"),
    ({"model.d_mlp": -3}, "d_mlp: Input should be greater than or equal to 0"),
    ({"model.n_layers": 10**20}, "n_layers: Input should be less than or equal to 4096"),
    ({"model.eps": math.nan}, "eps: Input should be"),
    ({"model.positions": 3}, "position scheme must be a name, or a mapping"),
    ({"model.positions": ["rotary"]}, "position scheme must be a name, or a mapping"),
    ({"model.positions": {"name": ["rotary"]}}, "unknown position scheme ['rotary']"),
    ({"model.ids": {"name": None}}, "unknown id sampler None"),
    ({"model.positions": {"name": "rotary", "base": math.inf}}, "base=inf: input should be a finite number"),
    ({"model.architecture": []}, "unknown architecture []; known: transformer, ssm"),
    ({"training.curriculum": 3}, "a curriculum is a mapping with 'law' and its settings, not 3"),
    ({"training.curriculum": {"law": ["fixed"]}}, "unknown curriculum ['fixed']"),
    ({"training.curriculum": {"law": "mixture", "low": 1, "high": 9, "weights": [1], "components": 3}}, "components"),
    ({"training.curriculum": {"law": "mixture", "low": 1, "high": 9, "weights": [1], "components": [3]}}, "a curriculum is a mapping"),
    ({"training.learning_rate": math.inf}, "learning_rate: Input should be a finite number"),
    ({"training.checkpoints.log": 10**20}, "checkpoints.log: Input should be less than or equal to 1000000"),
    ({"training.threads": 10**20}, "threads"),
    ({"training.regularizers": {1: 2}}, "regularizers"),
    ({"seeds.init": 10**30}, "init"),
    ({"task.name": "parity"}, "majority: unknown parameter 'name'"),
])  # fmt: skip
def test_a_setting_of_a_wrong_type_is_named(settings: dict[str, Any], named: str) -> None:
    assert named in refused(**settings)


def test_a_schedule_of_endless_values_is_refused_before_they_are_listed() -> None:
    schedule = [{"parameter": "p", "values": [10**15], "over": 9, "change": "linear"}]
    assert "visits more than 1,000 values" in refused("mod_p_mean", **{"training.task_schedule": schedule})


@pytest.mark.parametrize("text", ["1-99999999999999999999", "1-1000001", "9" * 5000, "1-" + "9" * 5000])
def test_a_length_of_twenty_digits_is_refused_by_its_bound(text: str) -> None:
    with pytest.raises(UsageError, match=r"\b1,000,000\b"):
        length_range(text)


def test_lengths_up_to_the_bound_are_read() -> None:
    assert length_range("1-1000000") == (1, 1_000_000)
    assert length_range("007") == (7, 7)


@pytest.mark.parametrize("text", ["\u0661-\u0669", "0-5", "00", "", "1-2-3", "-"])
def test_what_is_no_range_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UsageError, match="takes LOW-HIGH"):
        length_range(text)


def test_whole_numbers_beyond_any_count_are_refused() -> None:
    assert integers("3,-1", "--layers") == [3, -1]
    with pytest.raises(UsageError, match="--steps"):
        integers("1,99999999999999999999", "--steps")


@pytest.mark.parametrize(("text", "named"), [
    ("model.x=" + "[" * 5000, "nested more than 32 levels deep"),
    ("model.x=" + "[" * 40 + "]" * 40, "nested more than 32 levels deep"),
    ("model.x=NaN", "contains nan, which is not a finite number"),
    ("model.x=-Infinity", "contains -inf"),
    ("model.x=" + "9" * 100, "whole number beyond 2^64"),
    ("model..x=1", "has an empty part"),
    ("a." * 60 + "b=1", "and a path has at most 32"),
    ("model.x=\udcff", "not valid Unicode"),
    ("model.x=[" + "0," * 100_001 + "0]", "more than 100,000 values"),
])  # fmt: skip
def test_a_setting_that_is_no_plain_data_is_refused(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=r".") as caught:
        assignments([text])
    assert named in str(caught.value)
    assert len(str(caught.value)) < 300


def test_plain_data_pass() -> None:
    refuse_strange({"a": [1, 2.5, "x", None, True, {"b": []}]}, "it")
    assert assignments(['a.b={"c": [1]}', "a.d=text"]) == [(["a", "b"], {"c": [1]}), (["a", "d"], "text")]


@pytest.mark.parametrize(("text", "named"), [
    ("base: {task: majority, seed: 2020-01-01}", "datetime.date(2020, 1, 1), a value of type date; if you mean text, put it in quotes"),
    ("base: {task: majority, seed: 2020-13-45}", "is not valid YAML"),
    ("base: {task: majority, seed: !!timestamp x}", "is not valid YAML"),
    ("base: {task: majority, seed: !!bool x}", "is not valid YAML"),
    ("base: {task: majority, seed: !!python/object/apply:os.getcwd []}", "is not valid YAML"),
    ("base: {task: majority, seed: !!set {a, b}}", "a value of type set"),
    ("base: {task: majority, seed: &a [*a]}", "nested more than 32 levels deep"),
    ("base: {task: majority, seed: " + "[" * 3000, "nested more than 32 levels deep"),
    ("base: {task: majority, seed: .nan}", "contains nan"),
    ("base: {task: [majority]}", "task takes a name, not ['majority']"),
    ("base: {task: majority}\nmeasure: {lengths: last}", "lengths takes a list, not 'last'"),
    ("base: {task: majority}\nmeasure: {sequences: x}", "sequences takes a whole number from 2 to 1,000,000, not 'x'"),
    ("3", "a sweep must be a mapping"),
])  # fmt: skip
def test_a_sweep_that_holds_no_plain_data_is_refused(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r".") as caught:
        read_sweep(file)
    assert named in str(caught.value)


def test_a_file_that_repeats_itself_without_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    file.write_text("\n".join(lines))
    with pytest.raises(UsageError, match="100,000 values"):
        read_sweep(file)


def test_the_cells_of_a_grid_are_counted_before_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.cli.sweeping import sweep_file

    made: list[object] = []
    monkeypatch.setattr(sweep_file, "_points", lambda grid: made.append(grid) or iter(()))
    file = tmp_path / "sweep.yaml"
    axes = ", ".join(f"{key}: [{', '.join(map(str, range(1, 11)))}]" for key in (
        "seed", "layers", "steps", "d_model", "heads", "n_ctx", "batch_size", "training.warmup"))  # fmt: skip
    file.write_text(f"base: {{task: majority}}\ngrid: {{{axes}}}")
    with pytest.raises(UsageError, match="100,000,000 cells"):
        read_sweep(file)
    assert made == []


def test_a_sweep_is_read_from_regular_files_alone(tmp_path: Path) -> None:
    for path, named in ((tmp_path, "a folder"), (Path("/dev/zero"), "a device"), (tmp_path / "none", "No such file")):
        with pytest.raises((LensError, OSError), match=named) as caught:
            read_sweep(path)
        assert say(caught.value) is not None


def test_files_of_adopt_stay_inside_the_folder() -> None:
    refuse_pattern("model_*.pt")
    refuse_pattern(None)
    for pattern in ("/etc/*", "../*.pt", "a/../../b", ""):
        with pytest.raises(UsageError, match="--files"):
            refuse_pattern(pattern)


def test_the_nearest_name_of_what_is_no_name_is_none() -> None:
    assert nearest(["majority"], ["majority"]) == "known: majority"
    assert nearest("majorty", ["majority", "parity"]) == "did you mean majority or parity?"
    assert nearest("m" * 101, ["m" * 102]) == f"known: {'m' * 102}"


def test_what_is_shown_of_a_value_is_short() -> None:
    assert quoted_value("rotary") == "'rotary'"
    for value in ("a" * 10**6, [[0] * 1000] * 1000, 10**4000, {i: [i] * 100 for i in range(1000)}, 10**5000):
        assert len(quoted_value(value)) < 400


def test_a_sentence_that_quotes_something_endless_is_cut() -> None:
    said = say(UsageError("x" * 50_000))
    assert said is not None
    assert said.endswith("(50,000 characters)")
    assert len(said) < LONGEST + 100
    assert say(MemoryError()) is not None
    assert say(RuntimeError("ours")) is None


def test_output_in_ascii_replaces_what_it_cannot_write(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert exit_status(lambda: print("a \u00b7 b 2 \u00d7 N \u2013 \u00fc \u2713 \udcff")) == 0
    assert written.getvalue() == b"a - b 2 x N - \\xfc \\u2713 \\udcff\n"
    assert codecs.lookup_error("lengthlens") is not None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_under_the_output_is_told() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "workbench.cli.main", "tasks", "majority"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANGS_S)
    assert ended.returncode == 2
    assert ended.stderr == "error: No space left on device\n"


@pytest.mark.parametrize("name", ["name", "positions", "subject", "convention"])
def test_a_parameter_that_is_called_like_something_else_is_the_tasks_own(name: str) -> None:
    from workbench.cli.commands.predict import predict

    with pytest.raises(LensError, match=f"{name}"):
        predict("mod_p_mean", set_=[f"task.{name}=3"])


def test_training_says_whose_place_it_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.cli.commands.train import train
    from workbench.runs import Run
    from workbench.runs.checkpoints import write_config

    options = {"layers": 1, "d_model": 8, "heads": 2, "lengths": "1-9", "batch_size": 4}
    small = ["training.checkpoints.log=0", "training.checkpoints.linear=0"]
    begun = build(TrainRequest("majority", {**options, "steps": 7}, assignments(small)))
    write_config(tmp_path / "run", begun.as_json())
    train("majority", tmp_path / "run", **options, steps=1, set_=small)
    assert "contained a run without checkpoints; it is replaced" in capsys.readouterr().out
    assert Run.open(tmp_path / "run").config["training"]["steps"] == 1
    train("majority", tmp_path / "run", **options, steps=1, set_=small)
    assert "takes its place" not in capsys.readouterr().out
