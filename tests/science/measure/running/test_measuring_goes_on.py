"""Whatever is damaged, missing or full: it is named, the rest goes on, and the numbers stay the same."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tests.support.measure.measuring import Counting, measured
from workbench.measure.registry import make_measurement
from workbench.measure.request import MeasureRequest
from workbench.measure.running.engine import (
    Isolation,
    MeasurementJob,
    ObservedMeasurement,
    measure_checkpoint,
    observe_all,
)
from workbench.measure.running.plan import execute, plan
from workbench.measure.study import MATERIALISING, CheckpointStudy, Evaluation
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority
from workbench.runs import RunError
from workbench.runs.checkpoints import write_config
from workbench.storage.errors import StorageError
from workbench.table import Table
from workbench.tasks import make_task

TASK = make_task("majority")


def test_a_damaged_shard_is_named_and_made_again(make_run) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 100))
    before, _ = measured(run, sequences=32)
    (shard,) = run.path.glob("measurements/behaviour/00000100-*")
    shard.write_bytes(shard.read_bytes()[:-5])
    todo = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial"))
    assert [item.step for item in todo.jobs] == [100]
    (said,) = [problem for problem in execute(todo) if str(shard) in problem]
    assert "made again" in said
    after, problems = measured(run, sequences=32)
    assert not any(str(shard) in problem for problem in problems)
    assert after.frame().equals(before.frame())


def test_shards_that_changed_places_are_named_and_made_again(make_run) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 100))
    measured(run, sequences=32)
    one, two = sorted(run.path.glob("measurements/behaviour/*"))
    one_bytes = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(one_bytes)
    todo = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial"))
    assert [item.step for item in todo.jobs] == [0, 100]
    for path in (one, two):
        assert any(str(path) in problem for problem in todo.problems)
    execute(todo)
    assert plan(MeasureRequest([run.path], only=["behaviour"], sequences=32)).jobs == []


def test_a_shard_of_another_run_with_the_same_weights_does_not_count(make_run) -> None:
    """As at step 0 of two runs that differ in their data alone: the weights, and so the key, are the same."""
    run = make_run(majority(), TASK, trained=9)
    other = make_run(majority(), TASK, trained=9, steps=(100, 200), name="other", earlier={100: majority()})
    measured(run, sequences=32)
    measured(other, sequences=32, deepen="all")  # as the last step of a run is
    (own,), (foreign,) = (r.path.glob("measurements/behaviour/00000100-*") for r in (run, other))
    assert own.name == foreign.name
    own.write_bytes(foreign.read_bytes())
    todo = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32))
    assert len(todo.jobs) == 1
    assert "is of another run" in todo.problems[0]
    own.write_bytes(foreign.read_bytes())
    (run.path / "table.parquet").unlink()
    table = Table.load(run.path)
    assert len(table) == 0
    assert "is of another run" in table.problems[0]


def test_a_run_that_cannot_be_opened_or_built_is_named_and_the_rest_goes_on(make_run, tmp_path) -> None:
    run = make_run(majority(), TASK, trained=9)
    for name in ("cut", "unknown"):
        make_run(majority(), TASK, trained=9, name=name)
    (tmp_path / "cut" / "run.json").write_bytes(b"{")
    config = json.loads((tmp_path / "unknown" / "run.json").read_text())
    config["task"]["name"] = "majorty"
    write_config(tmp_path / "unknown", config)
    todo = plan(MeasureRequest([tmp_path], only=["behaviour"], sequences=32))
    assert [item.run_name for item in todo.jobs] == [run.name]
    assert len(todo.problems) == 2
    assert str(tmp_path / "cut" / "run.json") in todo.problems[0]
    assert "unknown is not measured" in todo.problems[1]
    assert "did you mean majority" in todo.problems[1]


def test_a_full_disk_ends_the_work_with_a_sentence(make_run, monkeypatch) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 100))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(StorageError, match=f"{run.path}"):
            execute(plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial")))
    assert not list(run.path.rglob("*.tmp"))
    table, _ = measured(run, sequences=32)
    assert len(table)


def test_a_disk_without_room_is_said_before_any_work(make_run, monkeypatch) -> None:
    run = make_run(majority(), TASK, trained=9)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(StorageError, match=f"{run.path}"):
        execute(plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial")))


def test_what_killed_measuring_left_behind_is_removed(make_run) -> None:
    run = make_run(majority(), TASK, trained=9)
    left = run.path / "measurements" / "behaviour" / ".00000100-k.parquet.0123456789ab.tmp"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    measured(run, sequences=32)
    assert not left.exists()


class Failing(Counting):
    """Fails where it is told to."""

    asked: tuple[str, ...] = ("matched",)
    where: str = "observe"

    def observe(self, law, length, batch, cache) -> None:
        if self.where == "observe":
            raise ValueError("no such head")

    def finish(self, study):
        raise ValueError("no such head")


@pytest.mark.parametrize("where", ["observe", "finish"])
def test_a_measurement_that_fails_leaves_the_others_alone(make_run, monkeypatch, where) -> None:
    run = make_run(majority(), TASK, trained=9)
    item = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32)).jobs[0]
    both = replace(item, measurements=(MeasurementJob("failing", (), 32, "k"), *item.measurements))
    made = {"failing": Failing(where=where), "behaviour": make_measurement("behaviour")}
    monkeypatch.setattr("workbench.measure.running.engine.make_measurement", lambda name, _: made[name])
    done = measure_checkpoint(both)
    (problem,) = done.problems
    assert problem.startswith(f"failing failed: ValueError: no such head (at {__file__}:")
    assert len(Table.load(run.path).frame(quantity="verdict")) == 1


def test_a_damaged_step_0_is_named_and_never_taken_for_a_run_without_one(make_run) -> None:
    run = make_run(majority(), TASK, trained=9, steps=(0, 100))
    weights = run.step_path(0) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    item = plan(MeasureRequest([run.path], only=["behaviour"], sequences=32)).jobs[1]
    study = CheckpointStudy(run, 100, run.load(100), Evaluation(TASK, item.grid, 0, 4), 4)
    with pytest.raises(RunError, match=r"\b00000000\b"):
        study.cache("matched", 9, [], untrained=True)


def test_numbers_do_not_depend_on_what_else_is_measured(make_run, tmp_path) -> None:
    """A measurement that was interrupted is measured in other company when it goes on."""
    frames = []
    for name, others in (("alone", []), ("together", [Counting(strings=200), Looking()])):
        run = make_run(small_model(), TASK, trained=9, name=name)
        item = plan(MeasureRequest([run.path], only=["behaviour"], sequences=100)).jobs[0]
        evaluation = Evaluation(TASK, item.grid, 0, max([100, *(o.spec.sequences for o in others)]))
        model, own = run.load(100), make_measurement("behaviour")
        study = CheckpointStudy(run, 100, model, evaluation, 100)
        company = [
            ObservedMeasurement(o, CheckpointStudy(run, 100, model, evaluation, o.spec.sequences), str(k))
            for k, o in enumerate(others)
        ]
        observe_all(model, evaluation, [*company, ObservedMeasurement(own, study, own.name)], Isolation())
        frames.append(own.finish(study))
    assert frames[0] == frames[1]


class Looking(Counting):
    """Looks at the pattern, which then is computed in the open."""

    asked: tuple[str, ...] = ("matched",)
    strings: int = 300

    def hooks(self, cfg) -> list[str]:
        return ["blocks.0.attn.hook_pattern"]


def small_model() -> HookedTransformer:
    config = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=128, positions="rotary")
    return HookedTransformer(config, seed=3).eval()


def test_only_the_named_hooks_change_the_last_bits() -> None:
    model = small_model()
    batch = TASK.sample(4, 37, torch.Generator().manual_seed(0), "matched")
    plain = model(batch.tokens)
    changing = {
        name.rpartition(".")[2]
        for name in model.hook_dict
        if not torch.equal(plain, model.run_with_cache(batch.tokens, names_filter=[name])[0])
    }
    assert changing <= set(MATERIALISING)
    assert "hook_pattern" in changing, "else there would be nothing to keep apart"
