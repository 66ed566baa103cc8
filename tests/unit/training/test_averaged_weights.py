"""Averaged weights: the average by hand over a few steps, what is measured, and what resumes and forks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file

from tests.support.training.training import config, hashes
from workbench.runs.checkpoints import STATE
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.forks import begin_fork, fork_config
from workbench.training.resume import NAME, save_state
from workbench.training.stacked import why_not_stacked
from workbench.training.starting_weights import Start, StartingWeights
from workbench.training.trainer import Stopped, Trainer

STEPS = 6
DECAY = 0.7


def every_step(decay: float = DECAY, kept: Sequence[int] = (), **more: Any) -> RunConfig:
    """A run of six updates with a checkpoint after each of them."""
    made = config(STEPS, average_weights=decay, **more)
    steps = {"log": 0, "linear": 0, "at": list(range(STEPS + 1))}
    training = TrainingConfig(**{**made.training.model_dump(mode="json"), "checkpoints": steps, "keep_state_at": kept})
    return RunConfig(task=made.task, model=made.model, training=training, seeds=made.seeds)


def weights(run: Run, step: int) -> dict[str, torch.Tensor]:
    return load_file(run.step_path(step) / "model.safetensors")


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_checkpoints_contain_the_average_by_hand(optimizer: str, tmp_path: Path) -> None:
    """Of the weights of the same run without averages, from the initial weights on."""
    more = {"optimizer": optimizer, "learning_rate": 0.05, "warmup": 0}
    raw = Trainer(every_step(0, **more), tmp_path / "raw").run()
    run = Trainer(every_step(**more), tmp_path / "averaged").run()
    average = {name: value.double() for name, value in weights(raw, 0).items()}
    for step in range(STEPS + 1):
        if step:
            for name, value in weights(raw, step).items():
                average[name] = 0.7 * average[name] + 0.3 * value.double()
        for name, value in weights(run, step).items():
            torch.testing.assert_close(value.double(), average[name], rtol=1e-5, atol=1e-7)
    distance = max(float((weights(raw, STEPS)[name] - average[name]).abs().max()) for name in average)
    assert distance > 1e-3, "the average lags behind the weights"


def test_the_stored_state_has_the_weights_themselves(tmp_path: Path) -> None:
    raw = Trainer(every_step(0), tmp_path / "raw").run()
    run = Trainer(every_step(kept=[4]), tmp_path / "averaged").run()
    state = load_file(run.step_path(4) / STATE)
    for name, value in weights(raw, 4).items():
        assert torch.equal(state[f"model.{name}"], value)
        assert torch.equal(state[f"average.{name}"], weights(run, 4)[name])


def test_logged_accuracies_are_those_of_the_average_and_losses_are_not(tmp_path: Path) -> None:
    hot = {"learning_rate": 0.3, "warmup": 0}
    raw, run = (Trainer(every_step(decay, **hot), tmp_path / str(decay)).run() for decay in (0, 0.9))
    evaluated = Trainer(every_step(0.9, **hot), tmp_path / "other")
    differences = []
    for step in range(1, STEPS + 1):
        logs = [pq.read_table(each.step_path(step) / "log.parquet").to_pylist()[-1] for each in (raw, run)]
        assert logs[0]["loss"] == logs[1]["loss"]
        for each, log in zip((raw, run), logs, strict=True):
            evaluated.model = each.load(step)
            assert log["accuracy_in"] == evaluated._accuracy(9, 128, "watch")
        differences.append(logs[0]["accuracy_in"] - logs[1]["accuracy_in"])
    assert any(differences)


def test_a_stopped_run_resumes_bit_identically(tmp_path: Path) -> None:
    whole = Trainer(every_step(), tmp_path / "whole").run()
    trainer = Trainer(every_step(), tmp_path / "stopped")
    trainer.watcher = lambda step, scores: setattr(trainer, "stopping", step == 3)
    with pytest.raises(Stopped):
        trainer.run()
    assert hashes(Trainer(every_step(), tmp_path / "stopped").run()) == hashes(whole)


def test_a_resume_file_without_the_average_is_refused(tmp_path: Path) -> None:
    trainer = Trainer(every_step(), tmp_path / "run")
    trainer.watcher = lambda step, scores: setattr(trainer, "stopping", step == 3)
    with pytest.raises(Stopped):
        trainer.run()
    trainer.average = None
    save_state(trainer.folder, Run.open(trainer.folder).id, trainer.model, trainer.optimizer, trainer.state)
    with pytest.raises(RunError, match="missing"):
        Trainer(every_step(), tmp_path / "run").run()


@pytest.mark.parametrize("kept", [[], [4]], ids=["repeated", "from the state"])
def test_forks_continue_from_the_same_weights_and_average(kept: list[int], tmp_path: Path) -> None:
    parent = Trainer(every_step(kept=kept), tmp_path / "parent").run()
    made = fork_config(parent, 4, 1)
    begin_fork(parent, made, tmp_path / "fork")
    assert (tmp_path / "fork" / NAME).exists() == bool(kept)
    fork = Trainer(made, tmp_path / "fork").run()
    alone = Trainer(made, tmp_path / "alone").run()
    assert hashes(fork) == hashes(alone)
    assert hashes(fork)[4] == hashes(parent)[4]
    assert hashes(fork)[6] != hashes(parent)[6]


def test_the_average_begins_at_the_weights_of_another_run(tmp_path: Path) -> None:
    other = Trainer(every_step(0), tmp_path / "other").run()
    start = Start(run=other.id, step=STEPS, sha256=hashes(other)[STEPS])
    made = every_step()
    training = TrainingConfig(**{**made.training.model_dump(mode="json"), "start": start})
    named = RunConfig(task=made.task, model=made.model, training=training, seeds=made.seeds)
    run = Trainer(named, tmp_path / "run", start=StartingWeights.of(other, STEPS)).run()
    for name, value in weights(other, STEPS).items():
        assert torch.equal(weights(run, 0)[name], value)


def test_runs_without_an_average_keep_their_ids_and_others_state_it() -> None:
    plain, none, averaged = config(), config(average_weights=0.0), config(average_weights=0.99)
    assert plain.as_json()["id"] == none.as_json()["id"] != averaged.as_json()["id"]
    assert "average_weights" not in plain.as_json()["training"]
    assert averaged.as_json()["training"]["average_weights"] == 0.99


@pytest.mark.parametrize("decay", [1.0, -0.1, 2.0])
def test_a_share_outside_the_range_is_refused(decay: float) -> None:
    with pytest.raises(ValidationError, match="average_weights"):
        config(average_weights=decay)


def test_stacks_refuse_averages() -> None:
    assert "averaged weights" in str(why_not_stacked([config(average_weights=0.9)]))
