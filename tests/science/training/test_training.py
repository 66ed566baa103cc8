"""Training: schedules, laws of length, and continuation to the same bits."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
import torch

from tests.support.training.training import config, hashes
from workbench.models.transformer import distinct_inputs
from workbench.runs import Run, RunError
from workbench.runs.checkpoints import sha256
from workbench.runs.timing import read_timing
from workbench.storage.errors import StorageError
from workbench.storage.seal import sealed_json
from workbench.training.resume import NAME
from workbench.training.trainer import Stopped, Trainer


def stop_at(trainer: Trainer, step: int):
    def watch(done: int, scores: dict) -> None:
        trainer.stopping |= done >= step

    trainer.watcher = watch
    return trainer


def test_a_run_leaves_what_it_should(tmp_path) -> None:
    run = Trainer(config(), tmp_path / "run").run()
    assert run.steps == [0, 1, 3, 6, 12]
    assert run.meta(0)["trained_ids"] == []
    assert run.meta(12)["trained_ids"] == [[0, 9]]
    assert len(set(hashes(run).values())) == 5, "every checkpoint has weights of its own"
    assert not (run.path / NAME).exists()
    assert not (run.path / "lock").exists()
    log = pq.read_table(run.step_path(6) / "log.parquet").to_pydict()
    assert log["step"] == [3, 4, 5, 6], "each log starts where the last one ended"
    assert all(isinstance(x, float) for x in log["loss"])


def test_its_time_is_kept_beside_it_and_not_in_it(tmp_path) -> None:
    """Also over an end; what was done again counts again. The run's files are those of an untimed one."""
    with pytest.raises(Stopped):
        stop_at(Trainer(config(), tmp_path / "run"), 5).run()
    first = read_timing(tmp_path / "run")
    assert first is not None
    assert first.updates == 5
    run = Trainer(config(), tmp_path / "run").run()
    timing = read_timing(run.path)
    assert timing is not None
    assert timing.updates == 12
    assert first.seconds < timing.seconds < 600
    assert sorted(path.name for path in run.path.iterdir()) == ["run.json", "steps", "timing.json"]
    assert not any("seconds" in run.meta(step) for step in run.steps)


def test_step_0_is_the_initial_model(tmp_path) -> None:
    from workbench.models import HookedTransformer

    run = Trainer(config(), tmp_path / "run").run()
    fresh = HookedTransformer(config().model, seed=1).state_dict()
    assert all(torch.equal(fresh[k], v) for k, v in run.load(0).state_dict().items())


@pytest.mark.parametrize("stops", [[1], [2, 5], [6], [3, 4, 7, 11]])
def test_stopped_anywhere_it_continues_to_the_same_bits(tmp_path, stops) -> None:
    whole = Trainer(config(), tmp_path / "whole").run()
    for step in stops:
        with pytest.raises(Stopped, match=f"{step}"):
            stop_at(Trainer(config(), tmp_path / "cut"), step).run()
        assert (tmp_path / "cut" / NAME).exists()
    cut = Trainer(config(), tmp_path / "cut").run()
    assert hashes(cut) == hashes(whole)
    for step in whole.steps:
        assert whole.meta(step)["trained_ids"] == cut.meta(step)["trained_ids"]
        logs = [pq.read_table(r.step_path(step) / "log.parquet").to_pydict() for r in (whole, cut)]
        assert logs[0] == logs[1], "the scores too, those from before the stop included"


def test_continued_where_pairs_are_computed_once_it_has_the_same_bits(tmp_path, monkeypatch) -> None:
    batches = []
    spread = distinct_inputs.Pairs.spread
    monkeypatch.setattr(distinct_inputs, "FEWEST", 12)  # the shorter batches go the ordinary way
    monkeypatch.setattr(distinct_inputs.Pairs, "spread", lambda self, x: batches.append(x.shape) or spread(self, x))
    whole = Trainer(config(), tmp_path / "whole").run()
    assert 0 < len(batches) < 2 * 12
    for step in (2, 5):
        with pytest.raises(Stopped):
            stop_at(Trainer(config(), tmp_path / "cut"), step).run()
    assert hashes(Trainer(config(), tmp_path / "cut").run()) == hashes(whole)


def test_without_a_resume_file_it_starts_over_and_checks_what_is_there(tmp_path) -> None:
    whole = Trainer(config(), tmp_path / "whole").run()
    with pytest.raises(Stopped):
        stop_at(Trainer(config(), tmp_path / "cut"), 8).run()
    (tmp_path / "cut" / NAME).unlink()
    assert hashes(Trainer(config(), tmp_path / "cut").run()) == hashes(whole)


def test_a_checkpoint_with_other_bits_is_noticed(tmp_path) -> None:
    with pytest.raises(Stopped):
        stop_at(Trainer(config(), tmp_path / "run"), 8).run()
    (tmp_path / "run" / NAME).unlink()
    step = tmp_path / "run" / "steps" / "00000003"
    (step / "model.safetensors").write_bytes(b"other weights")
    meta = {**json.loads((step / "meta.json").read_text()), "sha256": sha256(b"other weights")}
    (step / "meta.json").write_bytes(sealed_json(meta))
    with pytest.raises(RunError, match="step 3"):
        Trainer(config(), tmp_path / "run").run()


def test_a_damaged_checkpoint_is_named_before_training_goes_on(tmp_path) -> None:
    with pytest.raises(Stopped):
        stop_at(Trainer(config(), tmp_path / "run"), 8).run()
    file = tmp_path / "run" / "steps" / "00000003" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(RunError, match=r"\b00000003\b"):
        Trainer(config(), tmp_path / "run").run()
    for left in file.parent.iterdir():
        left.unlink()
    file.parent.rmdir()
    assert Trainer(config(), tmp_path / "run").run().steps == [0, 1, 6, 12]


def test_what_has_a_checkpoint_is_never_computed_again(tmp_path) -> None:
    """Killed right after a checkpoint, before anything else: training goes on from there."""
    trainer, done = Trainer(config(), tmp_path / "run"), []
    real = trainer._checkpoint

    def die(run, step, ended) -> None:
        real(run, step, ended)
        if step == 6:
            raise KeyboardInterrupt

    trainer._checkpoint = die
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    again = Trainer(config(), tmp_path / "run", lambda step, _: done.append(step))
    again.run()
    assert done == list(range(7, 13))


def test_weights_that_are_not_finite_get_no_checkpoint(tmp_path) -> None:
    """The loss is looked at before the update, and says nothing about what the last update did."""
    trainer = Trainer(config(), tmp_path / "run")
    real = trainer._update

    def explode(step: int) -> None:
        real(step)
        if trainer.state.step == 6:
            torch.nn.init.constant_(trainer.model.unembed.b_U, float("inf"))

    trainer._update = explode
    with pytest.raises(RunError, match="step 6"):
        trainer.run()
    assert Run.open(tmp_path / "run").steps == [0, 1, 3]


def test_a_disk_without_room_is_said_before_training(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(StorageError, match="MB"):
        Trainer(config(), tmp_path / "run").run()
    assert Run.open(tmp_path / "run").steps == []


def test_a_finished_run_is_not_touched(tmp_path) -> None:
    run = Trainer(config(), tmp_path / "run").run()
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*")}
    Trainer(config(), tmp_path / "run").run()
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()} == {
        p: t for p, t in before.items() if p.is_file()
    }


def test_another_run_in_the_folder_is_refused(tmp_path) -> None:
    Trainer(config(), tmp_path / "run").run()
    with pytest.raises(RunError, match=r"training\.steps"):
        Trainer(config(steps=13), tmp_path / "run").run()


def test_a_foreign_or_damaged_resume_file_is_refused(tmp_path) -> None:
    with pytest.raises(Stopped):
        stop_at(Trainer(config(), tmp_path / "a"), 5).run()
    with pytest.raises(Stopped):
        stop_at(Trainer(config(steps=13), tmp_path / "b"), 5).run()
    saved = (tmp_path / "b" / NAME).read_bytes()
    (tmp_path / "a" / NAME).write_bytes(saved)
    with pytest.raises(RunError, match="belongs to another run"):
        Trainer(config(), tmp_path / "a").run()
    (tmp_path / "a" / NAME).write_bytes(saved[:100])
    with pytest.raises(RunError, match="damaged"):
        Trainer(config(), tmp_path / "a").run()


def test_a_loss_that_is_not_finite_ends_the_run_with_a_sentence(tmp_path) -> None:
    with pytest.raises(RunError, match="finite"):
        Trainer(config(learning_rate=1e30, warmup=0, clip=0), tmp_path / "run").run()


def test_random_offsets_record_all_ids_they_trained(tmp_path) -> None:
    run = Trainer(config(steps=40, positions="learned", ids="random_offset"), tmp_path / "run").run()
    assert run.meta(40)["trained_ids"] == [[0, 15]], "every id of the table, with 160 offsets drawn"


def test_training_learns(tmp_path) -> None:
    run = Trainer(config(steps=150, learning_rate=1e-2, high=5), tmp_path / "run").run()
    last = pq.read_table(run.step_path(150) / "log.parquet").to_pydict()
    first = pq.read_table(run.step_path(1) / "log.parquet").to_pydict()
    assert last["loss"][-1] < 0.5 * first["loss"][-1]
