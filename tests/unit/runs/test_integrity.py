"""Everything that is wrong with a run is named, file by file, and nothing else is."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save
from safetensors.torch import save as save_tensors

from tests.support.runs.adopt import own
from workbench.cli.commands.check import check
from workbench.models.architectures import make_config, make_model
from workbench.models.handmade.transformers import majority
from workbench.runs import Run, RunError
from workbench.runs.checkpoints import sha256, write_checkpoint
from workbench.runs.integrity import run_problems
from workbench.runs.run import run_id
from workbench.runs.weights import fill, weights_bytes
from workbench.storage.seal import BLANK, seal, sealed_json
from workbench.table.schema import row
from workbench.table.shards import compact, shard_path, write_shard
from workbench.table.walk import walk
from workbench.tasks import make_task
from workbench.training.compare_configs import settings_problems


@pytest.fixture
def run(make_run) -> Run:
    """A run with three different checkpoints, one log, and one measured step."""
    made = make_run(majority(), make_task("majority"), trained=9, steps=(0,))
    for step in (50, 100):
        model = majority(gain_length=step)
        write_checkpoint(made, step, weights_bytes(model), [[0, 9]], log=b"a log")
    shard(made, 50)
    compact(made.path)
    return made


def shard(made: Run, step: int, **metadata: str) -> Path:
    path = shard_path(made.path, "behaviour", step, f"k{step}")
    rows = [row(run=made.name, measurement="behaviour", step=step, quantity="accuracy", value=0.5)]
    own = {"spec": "{}", "key": f"k{step}", "sha256": made.meta(step)["sha256"], "run": made.id}
    write_shard(path, rows, own | metadata)
    return path


def test_a_sound_run_has_no_problems(run) -> None:
    assert run_problems(run) == []


def resigned(run: Run, step: int, change) -> None:
    """Change weights and make the hashes agree."""
    file = run.step_path(step) / "model.safetensors"
    file.write_bytes(save(change({k: v.copy() for k, v in load(file.read_bytes()).items()})))
    meta = json.loads((run.step_path(step) / "meta.json").read_bytes())
    (run.step_path(step) / "meta.json").write_bytes(sealed_json({**meta, "sha256": sha256(file.read_bytes())}))
    shutil.rmtree(run.path / "measurements", ignore_errors=True)
    (run.path / "table.parquet").unlink(missing_ok=True)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named(run, value: float) -> None:
    def change(tensors):
        tensors["unembed.W_U"].flat[-1] = value
        return tensors

    resigned(run, 50, change)
    (said,) = run_problems(run)
    assert "00000050" in said
    assert "not finite in tensor unembed.W_U" in said


@pytest.mark.parametrize("change", [
    lambda t: {**{k: v for k, v in t.items() if k != "unembed.W_U"}, "unembed.weight": t["unembed.W_U"]},
    lambda t: {**t, "unembed.W_U": t["unembed.W_U"].T.copy()},
], ids=["another name", "another shape"])  # fmt: skip
def test_weights_of_another_model_are_named(run, change) -> None:
    resigned(run, 100, change)
    (said,) = run_problems(run)
    assert "00000100" in said
    assert "first checkpoint, e.g. unembed.W" in said


def test_each_damaged_file_of_a_checkpoint_is_named(run) -> None:
    for name, step in (("model.safetensors", 0), ("log.parquet", 50), ("meta.json", 100)):
        file = run.step_path(step) / name
        file.write_bytes(file.read_bytes()[:-1])
    problems = run_problems(run)
    assert [any(f"{step:08d}" in problem for problem in problems) for step in (0, 50, 100)] == [True] * 3
    (run.step_path(50) / "log.parquet").unlink()
    assert any("log.parquet is damaged" in problem for problem in run_problems(run))


def test_equal_weights_are_named_beside_other_damage(run) -> None:
    shutil.copy(run.step_path(50) / "model.safetensors", run.step_path(100) / "model.safetensors")
    resigned(run, 100, lambda tensors: tensors)
    resigned(run, 50, lambda tensors: tensors)
    (run.step_path(0) / "meta.json").write_bytes(b"")
    problems = run_problems(run)
    assert len(problems) == 2
    assert problems[1] == "handmade: steps 50 and 100 hold equal weights"


def test_a_damaged_shard_is_named_although_the_table_holds_its_rows(run) -> None:
    """Bits that rot leave the file's time as it was, and readers take the table."""
    (path,) = run.path.glob("measurements/behaviour/*")
    times = path.stat().st_mtime_ns
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))
    os.utime(path, ns=(times, times))
    (said,) = run_problems(run)
    assert str(path) in said


def test_shards_of_other_weights_and_runs_are_named(run) -> None:
    old = shard(run, 50, sha256="0" * 64)
    foreign = shard(run, 100, run="another")
    problems = run_problems(run)
    assert any(str(old) in p and "other weights" in p for p in problems)
    assert any(str(foreign) in p and "another run" in p for p in problems)


def test_a_damaged_time_is_named(run) -> None:
    path = run.path / "timing.json"
    path.write_bytes(sealed_json({"updates": 4, "seconds": 1.5, "peak_bytes": 10}))
    assert run_problems(run) == []
    path.write_bytes(path.read_bytes().replace(b"1.5", b"9.5"))
    (said,) = run_problems(run)
    assert f"{path} is damaged" in said
    assert "nothing depends on it" in said


def test_what_continues_a_run_is_looked_at(run) -> None:
    resume, live = run.path / "resume.safetensors", run.path / "live.jsonl"
    weights = {"model.x": np.zeros(3, np.float32)}
    whole = seal(save(weights, metadata={"run": run.id, "state": "{}", "seal": BLANK}))
    resume.write_bytes(whole)
    live.write_bytes(sealed_json({"step": 1}) + sealed_json({"step": 2}))
    assert run_problems(run) == []
    resume.write_bytes(whole[:-1] + b"\1")
    live.write_bytes(sealed_json({"step": 1}) + sealed_json({"step": 2}).replace(b'"step": 2', b'"step": 3'))
    problems = run_problems(run)
    assert len(problems) == 2
    assert str(resume) in problems[0]
    assert f"{live} is damaged at line 2" in problems[1]
    live.unlink()
    resume.write_bytes(seal(save(weights, metadata={"run": "another", "state": "{}", "seal": BLANK})))
    assert "belongs to another run" in run_problems(run)[0]


def test_a_folder_that_lost_its_run_json_is_found(run, tmp_path) -> None:
    assert walk(tmp_path).headless == []
    (run.path / "run.json").unlink()
    assert walk(tmp_path).headless == [run.path]
    assert walk(run.path).headless == [run.path]


def restate(run: Run, change) -> None:
    """Change run.json and seal it again, as who meddles with it can."""
    config = json.loads((run.path / "run.json").read_bytes())
    change(config)
    (run.path / "run.json").write_bytes(sealed_json({k: v for k, v in config.items() if k != "seal"}))


def test_a_run_json_that_was_changed_and_sealed_again_shows_by_its_id(run) -> None:
    restate(run, lambda config: config["training"].update(batch_size=63))
    (said,) = run_problems(Run.open(run.path))
    assert f"has the id {run.id}, but the task, model, training and seeds in it give the id" in said


def test_what_a_run_json_does_not_name_is_no_part_of_its_id(run) -> None:
    """As a version before these settings existed wrote it: nothing is filled in before it is hashed."""

    def older(config) -> None:
        for name in ("early_stop", "task_schedule", "optimizer", "momentum"):
            del config["training"][name]
        config["id"] = run_id(config)

    shutil.rmtree(run.path / "measurements")
    (run.path / "table.parquet").unlink()
    restate(run, older)
    again = Run.open(run.path)
    assert again.id != run.id
    assert not any("has the id" in said for said in run_problems(again))
    assert settings_problems(again) == []


@pytest.mark.parametrize(("part", "name", "value", "said"), [
    ("training", "batch_size", -1, "training.batch_size"),
    ("training", "optimizer", "adam", "training: optimizer: input should be 'adamw' or 'sgd', not 'adam'"),
    ("training", "curriculum", {"law": "no_such", "low": 1, "high": 9}, "training: unknown curriculum 'no_such'"),
    ("model", "positions", {"name": "no_such"}, "model: unknown position scheme 'no_such'"),
    ("model", "ids", {"name": "no_such"}, "model: unknown id sampler 'no_such'"),
    ("seeds", "no_such", 1, "seeds: no_such: extra inputs are not permitted"),
])  # fmt: skip
def test_settings_that_cannot_be_are_named_whatever_their_seal_and_id(run, capsys, part, name, value, said) -> None:
    def change(config) -> None:
        config[part][name] = value
        config["id"] = run_id(config)

    restate(run, change)
    with pytest.raises(SystemExit):
        check([run.path.parent])
    printed = capsys.readouterr().out
    assert f"problem: {run.path / 'run.json'}" in printed
    assert said in printed


def test_odd_files_are_named_each_and_the_rest_is_checked(run, make_run, tmp_path, capsys) -> None:
    """A dangling link among the shards, pipes, devices, circles, folders where files should be."""
    other = make_run(majority(), make_task("majority"), trained=7, steps=(0, 10), name="other")
    shards = run.path / "measurements" / "behaviour"
    (shards / "00000050-dangling.parquet").symlink_to("none")
    (shards / "00000050-zero.parquet").symlink_to("/dev/zero")
    (shards / "00000050-circle.parquet").symlink_to("00000050-circle.parquet")
    (shards / "00000050-folder.parquet").mkdir()
    os.mkfifo(shards / "00000050-pipe.parquet")
    odd = [path.name for path in shards.iterdir() if "-k50" not in path.name]
    assert len(odd) == 5
    (run.step_path(0) / "meta.json").unlink()
    os.mkfifo(run.step_path(0) / "meta.json")
    (run.step_path(100) / "model.safetensors").unlink()
    (run.step_path(100) / "model.safetensors").symlink_to("/dev/zero")
    os.mkfifo(run.path / "live.jsonl")
    (run.path / "resume.safetensors").symlink_to("/dev/zero")
    (other.step_path(10) / "model.safetensors").write_bytes(b"")
    with pytest.raises(SystemExit):
        check([tmp_path])
    printed = capsys.readouterr().out
    for name in [*odd, "00000000", "00000100", "live.jsonl", "resume.safetensors"]:
        assert name in printed, name
    assert f"{other.step_path(10) / 'model.safetensors'} is damaged" in printed
    assert "Traceback" not in printed


def test_headers_that_lie_are_named(run) -> None:
    file = run.step_path(0) / "model.safetensors"
    head = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()

    def said(data: bytes) -> str:
        file.write_bytes(data)
        meta = json.loads((run.step_path(0) / "meta.json").read_bytes())
        (run.step_path(0) / "meta.json").write_bytes(sealed_json({**meta, "sha256": sha256(data)}))
        return next(one for one in run_problems(run) if str(file) in one)

    size = len(head).to_bytes(8, "little")
    assert "tensor a is outside the file" in said(size + head + bytes(7))
    assert "tensor a has another size in bytes than its shape needs" in said(
        size + head.replace(b"[2]", b"[3]") + bytes(8)
    )
    assert "its header: a.shape: input should be a valid list" in said(size + head.replace(b"[2]", b'"2"') + bytes(8))
    assert "does not begin as a safetensors file does" in said((1 << 60).to_bytes(8, "little") + head)


def test_a_model_larger_than_its_weights_is_refused_before_it_is_made(run) -> None:
    """A width of 4 million would ask for terabytes."""
    restate(run, lambda config: config["model"].update(d_model=1 << 22, d_head=1 << 22))
    with pytest.raises(RunError, match="numbers"):
        Run.open(run.path).load(0)


@pytest.mark.parametrize("settings", [
    {"positions": "none"}, {"positions": "learned"}, {"attn_only": True}, {"positions": {"name": "limit", "period": 3}},
    {"architecture": "ssm", "n_heads": 0}, {"architecture": "ssm", "n_heads": 0, "time_invariant": True},
], ids=str)  # fmt: skip
def test_the_bound_of_a_models_size_is_below_its_size(settings) -> None:
    cfg = make_config(
        {"d_vocab": 7, "d_vocab_out": 3, "n_layers": 2, "d_model": 8, "n_heads": 2, "n_ctx": 11, **settings}
    )
    held = sum(tensor.numel() for tensor in make_model(cfg).state_dict().values())
    assert held / 2 < cfg.least_numbers <= held


def lines(*steps: tuple[int, float | None]) -> bytes:
    return b"".join(
        sealed_json({"step": step, "loss": 0.5, **({} if time is None else {"time": time})}) for step, time in steps
    )


def test_weights_are_filled_in_whole_or_not_at_all() -> None:
    model, other = own(0), own(1)
    fill(model, {name: value.clone() for name, value in other.state_dict().items()}, "file")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert weights_bytes(model) == save_tensors(dict(other.state_dict()))
    weights = dict(other.state_dict())
    for change, says in (
        ({"embed.W_E": torch.zeros(4, 16)}, r"shape \(4, 16\), but the model has \(3, 16\)"), ({"more": torch.zeros(1)}, "tensor more is not part of this model"), ({"embed.W_E": torch.full((3, 16), math.inf)}, "not finite in tensor embed"),
    ):  # fmt: skip
        with pytest.raises(RunError, match=says):
            fill(model, {**weights, **change}, "file")
    del weights["embed.W_E"]
    with pytest.raises(RunError, match=r"embed\.W_E"):
        fill(model, weights, "file")


def test_weights_that_are_not_finite_or_of_another_size_are_named(make_run: Callable[..., Run]) -> None:
    run = make_run(majority(), make_task("majority"), trained=9, steps=(0, 10))
    assert run_problems(run) == []
    (run.path / "live.jsonl").write_bytes(lines((1, 1.0), (2, 2.0)) + b"x\n")
    (run.path / "timing.json").write_bytes(b"x")
    found = run_problems(run)
    assert len(found) == 2
    assert "live.jsonl is damaged at line 3" in found[0]
    assert "timing.json is damaged" in found[1]
    folder = run.step_path(10)
    weights = {name: value.half() for name, value in run.load(10).state_dict().items()}
    weights["embed.W_E"][0, 0] = math.nan
    data = save_tensors(weights)
    (folder / "model.safetensors").write_bytes(data)
    (folder / "meta.json").write_bytes(sealed_json({**run.meta(10), "sha256": hashlib.sha256(data).hexdigest()}))
    assert any("not finite in tensor embed.W_E" in one for one in run_problems(run))
