"""Carried states: an update by hand, their mean and spread, what resumes and forks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.training.training import config, hashes
from workbench.models.architectures import make_config
from workbench.runs.run import Run
from workbench.training.carried_states import carried_states
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.forks import begin_fork, fork_config
from workbench.training.stacked import why_not_stacked
from workbench.training.trainer import Stopped, Trainer

STEPS = 5
MODELS = {
    "ssm": {"architecture": "ssm", "d_state": 2},
    "rnn": {"architecture": "rnn"},
}
DESCENT = {
    "optimizer": "sgd",
    "momentum": 0.0,
    "weight_decay": 0.0,
    "clip": 0.0,
    "warmup": 0,
    "rate_law": "constant",
    "learning_rate": 0.5,
}
"""Plain gradient descent at one rate."""


def recurrent(carried: str = "passed", model: str = "ssm", **more: Any) -> RunConfig:
    """A run of five updates with a checkpoint after each of them."""
    made = config(STEPS, **more)
    sizes = {"d_vocab": made.task.d_vocab, "d_vocab_out": made.task.d_vocab_out, "n_layers": 2, "d_model": 8}
    steps = {"log": 0, "linear": 0, "at": list(range(STEPS + 1))}
    changed = {"checkpoints": steps, "carried_states": carried}
    training = TrainingConfig(**{**made.training.model_dump(mode="json"), **changed})
    architecture = make_config({**sizes, "n_ctx": 16, **MODELS[model]})
    return RunConfig(task=made.task, model=architecture, training=training, seeds=made.seeds)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_an_update_by_hand(model: str, groups: int, tmp_path: Path) -> None:
    """One step of gradient descent on sequences that begin with the states after those of the batch before."""
    made = recurrent(model=model, lengths_per_batch=groups, **DESCENT)
    trainer = Trainer(made, tmp_path / "run")
    run = trainer.run()
    at, after = run.load(2), run.load(3)
    loss = torch.zeros(())
    for (batch, _), (before, _) in zip(trainer.groups(2), trainer.groups(1), strict=True):
        with torch.no_grad():
            _, states = at(before.tokens, return_states=True)
        outputs = at(batch.tokens, initial_states=states)
        loss = loss + made.task.loss(outputs, batch) / groups
    gradients = torch.autograd.grad(loss, list(at.parameters()), allow_unused=True)
    moved = 0.0
    for gradient, old, new in zip(gradients, at.parameters(), after.parameters(), strict=True):
        step = torch.zeros_like(old) if gradient is None else 0.5 * gradient
        torch.testing.assert_close(new.detach(), (old - step).detach(), rtol=1e-5, atol=1e-6)
        moved = max(moved, float(step.abs().max()))
    assert moved > 1e-3


def test_the_first_update_begins_with_no_states_and_later_ones_with_some(tmp_path: Path) -> None:
    found = {
        carried: hashes(Trainer(recurrent(carried), tmp_path / carried).run())
        for carried in ("none", "passed", "random")
    }
    for step in (0, 1):
        assert len({found[carried][step] for carried in found}) == 1
    for step in range(2, STEPS + 1):
        assert len({found[carried][step] for carried in found}) == 3


def test_random_states_have_the_mean_and_the_spread_of_those_passed(tmp_path: Path) -> None:
    trainer = Trainer(recurrent(), tmp_path / "run")
    model = trainer.run().load(STEPS)
    before = trainer.task.sample(4_000, 9, torch.Generator().manual_seed(0))
    passed = carried_states(model, before, "passed", 1, 7, 0)
    drawn = carried_states(model, before, "random", 1, 7, 0)
    for states, others in zip(passed, drawn, strict=True):
        for part, other in zip(states, others, strict=True):
            spread = part.std(0, correction=0)
            assert float((part.mean(0) - other.mean(0)).abs().max()) < 0.1 * float(spread.max())
            torch.testing.assert_close(other.std(0, correction=0), spread, rtol=0.1, atol=1e-6)
    again = carried_states(model, before, "random", 1, 7, 0)
    assert all(torch.equal(a, b) for one, two in zip(drawn, again, strict=True) for a, b in zip(one, two, strict=True))
    assert not torch.equal(carried_states(model, before, "random", 1, 8, 0)[0][0], drawn[0][0])
    assert not torch.equal(carried_states(model, before, "random", 1, 7, 1)[0][0], drawn[0][0])


@pytest.mark.parametrize("carried", ["passed", "random"])
@pytest.mark.parametrize("model", MODELS)
def test_a_stopped_run_resumes_bit_identically(carried: str, model: str, tmp_path: Path) -> None:
    made = recurrent(carried, model)
    whole = Trainer(made, tmp_path / "whole").run()
    trainer = Trainer(made, tmp_path / "stopped")
    trainer.watcher = lambda step, scores: setattr(trainer, "stopping", step == 3)
    with pytest.raises(Stopped):
        trainer.run()
    assert hashes(Trainer(made, tmp_path / "stopped").run()) == hashes(whole)


def test_a_fork_has_the_states_of_its_own_data(tmp_path: Path) -> None:
    parent = Trainer(recurrent(), tmp_path / "parent").run()
    made = fork_config(parent, 3, 1)
    begin_fork(parent, made, tmp_path / "fork")
    fork = Trainer(made, tmp_path / "fork").run()
    assert hashes(fork)[3] == hashes(parent)[3]
    assert hashes(fork)[5] != hashes(parent)[5]
    assert hashes(Trainer(made, tmp_path / "alone").run()) == hashes(fork)


def test_runs_without_carried_states_keep_their_ids_and_others_state_them(tmp_path: Path) -> None:
    plain, none, passed = config(), config(carried_states="none"), recurrent()
    assert plain.as_json()["id"] == none.as_json()["id"]
    assert "carried_states" not in plain.as_json()["training"]
    assert passed.as_json()["training"]["carried_states"] == "passed"
    assert passed.as_json()["facts"]["lengths"].endswith(
        "; sequences begin with the states after those of the batch before"
    )
    run = Trainer(passed, tmp_path / "run").run()
    assert Run.open(run.path).config["training"]["carried_states"] == "passed"


def test_models_without_a_state_are_refused() -> None:
    with pytest.raises(TrainingError, match="needs a model with a state, and a transformer keeps none; leave it out"):
        config(carried_states="passed")


def test_stacks_refuse_carried_states() -> None:
    assert "states of other sequences" in str(why_not_stacked([recurrent()]))
    assert "states of other sequences" not in str(why_not_stacked([recurrent("none")]))
