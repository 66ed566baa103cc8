"""Run folders: what is found, what is refused, and that damage is always named."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from circuits import hardmax_statistics
from probes import probe
from tests.support.held import Held
from tests.support.table.making import CONFIG
from workbench.models.handmade.transformers import majority
from workbench.runs import Run, RunError, find_runs
from workbench.runs.checkpoints import write_config
from workbench.runs.run import run_id, sha256_of
from workbench.storage.seal import sealed_json
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator


@pytest.fixture
def run(make_run):
    return make_run(majority(), make_task("majority"), trained=9, steps=(0, 100))


def weights(run: Run, step: int):
    return run.step_path(step) / "model.safetensors"


def resign(run: Run, step: int) -> None:
    """Make meta.json agree with the weights, so that only what is inside them can give them away."""
    meta = run.meta(step)
    meta["sha256"] = sha256_of(weights(run, step))
    (run.step_path(step) / "meta.json").write_bytes(sealed_json(meta))


def test_a_run_opens_with_its_task_steps_and_weights(run) -> None:
    assert (run.name, run.steps, run.trained_length) == ("handmade", [0, 100], 9)
    assert run.task == make_task("majority")
    loaded = run.load(100)
    assert "forward" not in vars(loaded), "in memory here it is held once, and computes itself"
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), majority().parameters(), strict=True))
    assert not loaded.training


def test_runs_are_named_by_their_path_below_the_root(run, tmp_path) -> None:
    inner = tmp_path / "sweep" / "a"
    inner.mkdir(parents=True)
    (inner / "run.json").write_text((run.path / "run.json").read_text())
    assert [r.name for r in find_runs(tmp_path)] == ["handmade", "sweep/a"]
    assert [r.name for r in find_runs(run.path)] == ["handmade"]


def test_the_id_covers_what_makes_a_run_and_nothing_else(run) -> None:
    config = json.loads((run.path / "run.json").read_text())
    assert run_id(config) == run.id == run_id({**config, "created": "later", "versions": {}})
    changed = {**config, "seeds": {**config["seeds"], "data": 1}}
    assert run_id(changed) != run.id


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda p: p / "none", "folder"),
    (lambda p: p, r"run\.json"),
])  # fmt: skip
def test_what_is_no_run_is_said(make, sentence, tmp_path) -> None:
    with pytest.raises(RunError, match=sentence):
        Run.open(make(tmp_path))


def test_a_foreign_format_is_refused(run) -> None:
    config = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_bytes(sealed_json({**config, "format": 2}))
    with pytest.raises(RunError, match="format 2"):
        Run.open(run.path)


def test_a_missing_step_names_those_there_are(run) -> None:
    with pytest.raises(RunError, match="step 7"):
        run.load(7)


@pytest.mark.parametrize("step", [None, 3.5, "first", [100], True, b"last"])
def test_a_step_of_a_wrong_type_is_refused_in_a_sentence(run, step) -> None:
    sentence = re.escape(f'step must be a whole number, or "last" for load, not {step!r}; run {run.name} has 2: 0, 100')
    for read in (run.load, run.meta, run.verify):
        with pytest.raises(RunError, match=sentence):
            read(step)


def test_the_last_checkpoint_is_loaded_by_name_and_without_one(run) -> None:
    expected = run.load(100).state_dict()
    for model in (run.load("last"), run.load(), run.load(np.int64(100))):
        assert model.loaded_from == (run.name, 100)
        assert all(torch.equal(expected[name], weight) for name, weight in model.state_dict().items())
    shutil.rmtree(run.path / "steps")
    with pytest.raises(RunError, match=f"{run.name}"):
        run.load()


def test_results_name_the_run_and_the_step_that_the_model_was_loaded_from(run) -> None:
    batches = [run.task.sample(32, n, generator("loaded", n), "matched") for n in (5, 7)]
    model = run.load(0)
    for result in (hardmax_statistics(model, batches, trained=7), probe(model, batches, resamples=20)):
        assert {(row["run"], row["step"]) for row in result.rows} == {(run.name, 0)}
        result.figure()
    assert {(row["run"], row["step"]) for row in hardmax_statistics(majority(), batches).rows} == {("", 0)}
    assert {row["step"] for row in hardmax_statistics(run.load(), batches, step=7).rows} == {7}


@pytest.mark.parametrize("offset", [0, 5, 100, -1])
def test_every_flipped_bit_is_found(run, offset) -> None:
    data = bytearray(weights(run, 100).read_bytes())
    data[offset] ^= 1
    weights(run, 100).write_bytes(bytes(data))
    with pytest.raises(RunError, match="sha256 differs"):
        run.load(100)
    assert run.load(0) is not None, "the other checkpoint is untouched"


def test_truncated_missing_and_swapped_checkpoints_are_named(run) -> None:
    whole = weights(run, 100).read_bytes()
    weights(run, 100).write_bytes(whole[:-10])
    resign(run, 100)
    with pytest.raises(RunError, match=r"00000100.*damaged"):
        run.load(100)
    weights(run, 100).unlink()
    with pytest.raises(RunError, match="is missing"):
        run.load(100)
    weights(run, 100).write_bytes(whole)
    (run.step_path(100) / "meta.json").write_text((run.step_path(0) / "meta.json").read_text())
    with pytest.raises(RunError, match="step 0"):
        run.load(100)
    (run.step_path(100) / "meta.json").write_text("{")
    with pytest.raises(RunError, match=r"meta\.json"):
        run.load(100)


def test_every_changed_byte_of_the_two_json_files_is_found(run) -> None:
    """Also where the changed text is JSON again, as with a digit of the trained ids."""
    for file, read in (
        (run.step_path(100) / "meta.json", lambda: run.meta(100)),
        (run.path / "run.json", lambda: Run.open(run.path)),
    ):
        whole = file.read_bytes()
        for place in range(0, len(whole), 7):
            data = bytearray(whole)
            data[place] ^= 1
            file.write_bytes(bytes(data))
            with pytest.raises(RunError, match=str(file.parent)):
                read()
        file.write_bytes(whole)
        read()


def test_a_checkpoint_of_another_run_is_refused(run, make_run) -> None:
    other = make_run(majority(), make_task("majority"), trained=7, steps=(100,), name="other")
    shutil.rmtree(run.step_path(100))
    shutil.copytree(other.step_path(100), run.step_path(100))
    with pytest.raises(RunError, match=f"{other.id}"):
        run.load(100)


def test_a_damaged_run_hides_no_other(run, make_run, tmp_path) -> None:
    other = make_run(majority(), make_task("majority"), trained=7, name="other")
    (other.path / "run.json").write_bytes(b"{")
    problems: list[str] = []
    assert [r.name for r in find_runs(tmp_path, problems)] == ["handmade"]
    assert len(problems) == 1
    assert str(other.path / "run.json") in problems[0]
    with pytest.warns(UserWarning, match="other"):
        assert [r.name for r in find_runs(tmp_path)] == ["handmade"]


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda w: {**w, "embed.W_E": w["embed.W_E"] * float("nan")}, r"embed\.W_E"),
    (lambda w: {**w, "embed.W_E": w["embed.W_E"][:2]}, r"embed\.W_E"),
    (lambda w: {k: v for k, v in w.items() if k != "unembed.b_U"}, r"unembed\.b_U"),
    (lambda w: {**w, "blocks.7.attn.W_Q": w["embed.W_E"]}, r"blocks\.7\.attn\.W_Q"),
])  # fmt: skip
def test_foreign_weights_are_refused_by_name(run, change, sentence) -> None:
    changed = {k: v.contiguous().clone() for k, v in change(load_file(weights(run, 100))).items()}
    save_file(changed, weights(run, 100))
    resign(run, 100)
    with pytest.raises(RunError, match=sentence):
        run.load(100)


def test_equal_weights_at_two_steps_are_reported(make_run) -> None:
    same = dict.fromkeys((0, 50), majority())
    run = make_run(majority(), make_task("majority"), trained=9, steps=(0, 50, 100), earlier=same)
    assert run.equal_steps() == [(0, 50), (0, 100)]
    (run.step_path(0) / "meta.json").write_bytes(b"")
    assert run.equal_steps() == [(50, 100)], "a damaged one does not hide the others"


def test_reading_a_run_as_data_needs_no_torch(run) -> None:
    code = (
        "import sys; from workbench.runs import Run, find_runs; from workbench.runs.integrity import run_problems; "
        f"r = Run.open({str(run.path)!r}); r.steps, r.meta(100), r.verify(100), r.trained_length, run_problems(r); "
        "sys.exit(any(m.split('.')[0] in ('torch', 'transformer_lens') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_runs_below_a_folder_are_named_up_to_twelve(tmp_path: Path) -> None:
    def make(count: int) -> str:
        for k in range(count):
            (tmp_path / f"r{k:02d}").mkdir(exist_ok=True)
            write_config(tmp_path / f"r{k:02d}", {**CONFIG, "id": f"r{k}"})
        with pytest.raises(RunError) as said:
            Run.open(tmp_path)
        return str(said.value)

    assert make(12).endswith("r11")
    assert make(14).endswith(f"r11 and 2 more (lengthlens list {tmp_path})")
    assert [run.name for run in find_runs(tmp_path)] == [f"r{k:02d}" for k in range(14)]
    (tmp_path / "r03" / "run.json").write_bytes(b"{}")
    problems: list[str] = []
    assert len(find_runs(tmp_path, problems)) == 13
    assert len(problems) == 1
    with pytest.warns(UserWarning, match="format"):
        find_runs(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(RunError, match=r"run\.json"):
        Run.open(tmp_path / "none")


def test_the_id_of_a_run_is_of_four_parts(held: Held) -> None:
    config = {name: CONFIG[name] for name in ("task", "model", "training", "seeds")}
    assert run_id({**config, "facts": {"x": 1}}) == run_id(config)
    assert len({run_id({**config, name: {**config[name], "new": 1}}) for name in config}) == 4
    held([run_id(config), run_id({**config, "seeds": {}})])
