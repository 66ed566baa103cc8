"""Tied embeddings: one parameter with one gradient, stored once, and runs made before as they were."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from tests.support.models.reference import build, tokens
from workbench.cli.run_config import build as configured
from workbench.cli.train_request import TrainRequest
from workbench.models import ModelConfig
from workbench.models.architectures import make_config, make_model
from workbench.runs.integrity import run_problems
from workbench.training.errors import TrainingError
from workbench.training.starting_weights import StartingWeights
from workbench.training.trainer import Stopped, Trainer

FIELDS: dict[str, Any] = {"d_vocab": 5, "n_layers": 1, "d_model": 8, "n_heads": 2, "n_ctx": 16}
TASK = ("text", {"lengths": "4-8", "steps": 6, "batch_size": 4, "d_model": 8, "heads": 2, "layers": 1, "n_ctx": 32})
GENERATED = (["task", "folder"], "generated")
TIED = [GENERATED, (["model", "tied"], True)]


def test_the_read_out_is_the_embedding_itself() -> None:
    for outputs, rows in ((5, slice(0, 5)), (4, slice(1, 5)), (3, slice(1, 4))):
        model = make_model(make_config({**FIELDS, "d_vocab_out": outputs, "tied": True}))
        assert torch.equal(model.W_U, model.W_E[rows].T)
        assert "unembed.W_U" not in model.state_dict()
        untied = make_model(make_config({**FIELDS, "d_vocab_out": outputs}))
        count, more = (sum(p.numel() for p in one.parameters()) for one in (model, untied))
        assert more - count == 8 * outputs == untied.cfg.least_numbers - model.cfg.least_numbers
        with torch.no_grad():
            model.embed.W_E[1] = 7.0
        assert (model.W_U[:, 1 - rows.start] == 7.0).all()


def test_one_gradient_comes_from_both_uses() -> None:
    """The gradient of a tied embedding is that of the embedding plus the transpose of that of the read-out."""
    tied = build("tied").double().train()
    apart = build({"positions": "rotary"}).double().train()
    weights = dict(tied.state_dict())
    apart.load_state_dict({**weights, "unembed.W_U": tied.W_U.detach().clone()})
    x = tokens()
    assert torch.allclose(tied(x), apart(x), atol=1e-12)
    for model in (tied, apart):
        model(x).pow(2).sum().backward()
    read_out = torch.zeros_like(apart.W_E)
    read_out[1:4] = apart.unembed.W_U.grad.T
    assert torch.allclose(tied.embed.W_E.grad, apart.embed.W_E.grad + read_out, atol=1e-10)


def test_a_copy_is_tied_to_its_own_embedding() -> None:
    model = build("tied")
    copied = deepcopy(model)
    with torch.no_grad():
        copied.embed.W_E.zero_()
    assert not copied.W_U.any()
    assert model.W_U.any()


def test_configs_say_it_only_where_it_is_so() -> None:
    plain = ModelConfig(**FIELDS)
    assert "tied" not in plain.model_dump(mode="json")
    assert ModelConfig(**FIELDS, tied=False) == plain
    tied = ModelConfig(**FIELDS, tied=True)
    assert tied.model_dump(mode="json")["tied"] is True
    assert make_config(tied.model_dump(mode="json")) == tied
    with pytest.raises(ValidationError, match="embedding"):
        ModelConfig(**FIELDS, d_vocab_out=6, tied=True)


@pytest.mark.parametrize("task", ["parity", "linear_regression", "simple"])
def test_tasks_whose_answers_are_not_their_tokens_are_refused(task: str) -> None:
    with pytest.raises(TrainingError, match=f"{task}"):
        configured(TrainRequest(task, {"steps": 2}, [(["model", "tied"], True)]))


def test_a_tied_run_is_trained_continued_checked_and_opened(tmp_path) -> None:
    config = configured(TrainRequest(*TASK, TIED))
    run = Trainer(config, tmp_path / "run").run()
    assert run_problems(run) == []
    model = run.load(6)
    assert torch.equal(model.W_U, model.W_E[1:].T)
    first, last = (run.load(step).state_dict()["embed.W_E"] for step in (0, 6))
    assert (first != last).any(1).sum() > 200  # rows of bytes that no string holds are moved by the read-out

    halted = Trainer(config, tmp_path / "again")
    halted.watcher = lambda step, scores: setattr(halted, "stopping", step == 3)
    with pytest.raises(Stopped):
        halted.run()
    again = Trainer(config, tmp_path / "again").run()
    assert again.verify(6) == run.verify(6)


def test_weights_that_are_tied_start_a_run_that_is_tied(tmp_path) -> None:
    run = Trainer(configured(TrainRequest(*TASK, TIED)), tmp_path / "run").run()
    start = StartingWeights.of(run, 6)
    own = configured(TrainRequest(*TASK, TIED))
    assert torch.equal(start.initial_weights(own.task, own.model)["embed.W_E"], run.load(6).W_E)
    with pytest.raises(TrainingError, match=r"model\.tied"):
        start.initial_weights(own.task, configured(TrainRequest(*TASK, [GENERATED])).model)
