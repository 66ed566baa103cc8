"""Optimizers: they do what their formula says, continue to the same bits, and old run files keep their meaning."""

from __future__ import annotations

import pytest
import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.runs import Run, RunError
from workbench.runs.checkpoints import write_config
from workbench.tasks import make_task
from workbench.training.compare_configs import differences
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.learning_rate_schedules import RATE_SCHEDULES
from workbench.training.optimizer import learning_rate, make_optimizer
from workbench.training.trainer import Stopped, Trainer

ADAMW = {"optimizer": "adamw"}
SGD = {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.1}
PLAIN = {"optimizer": "sgd", "momentum": 0.0, "learning_rate": 0.1}


def config(**training) -> RunConfig:
    task = make_task("majority")
    model = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=16)
    law = TrainingConfig(
        **{"steps": 12, "batch_size": 4, "curriculum": {"law": "uniform", "low": 1, "high": 9},
           "checkpoints": {"log": 3, "linear": 2}, **training}
    )  # fmt: skip
    return RunConfig(task=task, model=model, training=law, seeds=Seeds(init=1, data=2))


@pytest.mark.parametrize("law", [SGD, PLAIN], ids=["momentum", "plain"])
def test_sgd_is_its_formula(law: dict) -> None:
    """v <- momentum v + g + decay w on matrices, without decay elsewhere; w <- w - rate v."""
    made = TrainingConfig(weight_decay=0.2, **law)
    model = HookedTransformer(config().model, seed=0)
    optimizer = make_optimizer(model, made)
    parameters = dict(model.named_parameters())
    expected = {n: p.detach().clone() for n, p in parameters.items()}
    velocity = {n: torch.zeros_like(p) for n, p in parameters.items()}
    for step in range(3):
        for name, p in parameters.items():
            p.grad = torch.full_like(p, 0.1 * (step + 1))
            decay = 0.2 if name.rsplit(".", 1)[-1].startswith("W_") else 0.0
            velocity[name] = made.momentum * velocity[name] + p.grad + decay * expected[name]
            expected[name] = expected[name] - 0.1 * velocity[name]
        optimizer.step()
    assert all(torch.allclose(expected[n], p, atol=1e-6) for n, p in parameters.items())


def test_adamw_decays_matrices_only_and_decoupled() -> None:
    model = HookedTransformer(config().model, seed=0)
    optimizer = make_optimizer(model, TrainingConfig(weight_decay=0.5, learning_rate=0.1))
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    for name, p in model.named_parameters():
        factor = 1 - 0.1 * 0.5 if name.rsplit(".", 1)[-1].startswith("W_") else 1.0
        assert torch.allclose(p, factor * before[name]), name


def test_the_rate_never_leaves_its_law() -> None:
    """Warm-up rises to the peak without reaching it before its end; decays end just above 0."""
    assert list(RATE_SCHEDULES) == ["constant", "linear", "cosine", "wsd"]
    for rate_law in RATE_SCHEDULES:
        law = TrainingConfig(steps=100, warmup=20, learning_rate=2.0, rate_law=rate_law)
        rates = [learning_rate(law, step) for step in range(100)]
        assert rates[:20] == pytest.approx([2.0 * (step + 1) / 21 for step in range(20)])
        assert max(rates) == rates[20] == 2.0
        assert min(rates) > 0
        assert sorted(rates[20:], reverse=True) == rates[20:]
    assert TrainingConfig(steps=10, warmup=10).warmup == 10


@pytest.mark.science
@pytest.mark.parametrize("law", [ADAMW, SGD, PLAIN], ids=["adamw", "momentum", "plain"])
def test_any_optimizer_continues_to_the_same_bits(tmp_path, law: dict) -> None:
    whole = Trainer(config(**law), tmp_path / "whole").run()
    for step in (1, 5, 8):
        trainer = Trainer(config(**law), tmp_path / "cut")

        def watch(done: int, scores: dict, trainer=trainer, step=step) -> None:
            trainer.stopping |= done >= step

        trainer.watcher = watch
        with pytest.raises(Stopped):
            trainer.run()
    cut = Trainer(config(**law), tmp_path / "cut").run()
    assert {s: cut.meta(s)["sha256"] for s in cut.steps} == {s: whole.meta(s)["sha256"] for s in whole.steps}


@pytest.mark.science
def test_optimizers_train_different_models(tmp_path) -> None:
    last = {}
    for name, law in {"adamw": ADAMW, "momentum": SGD, "plain": PLAIN}.items():
        run = Trainer(config(**law), tmp_path / name).run()
        last[name] = run.meta(12)["sha256"]
    assert len(set(last.values())) == 3


def older(run_config: RunConfig) -> dict:
    """The same run as an earlier version would have written it: without the settings that came later."""
    content = run_config.as_json()
    later = ("optimizer", "momentum", "regularizers", "task_schedule", "early_stop")
    training = {k: v for k, v in content["training"].items() if k not in later}
    return {**content, "training": training, "id": "0123456789abcdef"}


@pytest.mark.science
def test_a_run_begun_before_a_setting_existed_goes_on_as_its_default(tmp_path) -> None:
    whole = Trainer(config(), tmp_path / "whole").run()
    folder = tmp_path / "old"
    folder.mkdir()
    write_config(folder, older(config()))
    run = Trainer(config(), folder).run()
    assert run.id == "0123456789abcdef", "it stays the run it was"
    assert run.meta(12)["sha256"] == whole.meta(12)["sha256"]
    with pytest.raises(RunError, match=r"holds another run \(its training differ"):
        Trainer(config(**SGD), folder).run()


def test_differences_name_the_part() -> None:
    held = older(config())
    assert differences(held, config().as_json()) == []
    assert differences(held, config(**PLAIN).as_json()) == ["training"]
    unreadable = {**held, "training": {"law_of_another_version": 1}}
    assert differences(unreadable, config().as_json()) == ["training"]
    other = {**held, "task": {"name": "majority", "parameters": {"no_such": 1}}, "seeds": {"init": 7}}
    assert differences(other, config().as_json()) == ["task", "seeds"]


def test_a_run_without_checkpoints_is_not_finished(tmp_path) -> None:
    write_config(tmp_path, config().as_json())
    run = Run.open(tmp_path)
    assert not run.finished
    assert run.ended == ""
