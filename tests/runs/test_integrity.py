"""Everything that is wrong with a run is named, file by file, and nothing else is."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from workbench.models.handmade import majority
from workbench.runs import Run
from workbench.runs.integrity import headless, run_problems
from workbench.runs.load import weights_bytes
from workbench.runs.write import sha256, write_checkpoint
from workbench.table.schema import row
from workbench.table.seal import BLANK, seal, sealed_json
from workbench.table.shards import compact, shard_path, write_shard
from workbench.tasks import make_task


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
    assert "foreign: tensor unembed.W" in said


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
    assert list(headless(tmp_path)) == []
    (run.path / "run.json").unlink()
    assert list(headless(tmp_path)) == [run.path]
    assert list(headless(run.path)) == [run.path]
