"""Optimizers: they do what their formula says, continue to the same bits, and old run files keep their meaning."""

from __future__ import annotations

import pytest
import torch

from tests.support.training.optimizers import PLAIN, SGD, config, older
from workbench.models import HookedTransformer
from workbench.runs import Run
from workbench.runs.checkpoints import write_config
from workbench.training.compare_configs import config_differences
from workbench.training.config import TrainingConfig
from workbench.training.learning_rate_schedules import RATE_SCHEDULES
from workbench.training.optimizer import SGD as SGD_CLASS
from workbench.training.optimizer import AdamW, learning_rate, make_optimizer


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


@pytest.mark.parametrize(
    ("ours", "torchs", "options"),
    [(AdamW, torch.optim.AdamW, {"fused": True}), (SGD_CLASS, torch.optim.SGD, {"momentum": 0.9})],
    ids=["adamw", "sgd"],
)
@pytest.mark.parametrize("used_before", [False, True], ids=["first", "after torch's"])
def test_without_the_compiler_they_are_torchs_own_to_the_bit(
    ours: type[torch.optim.Optimizer], torchs: type[torch.optim.Optimizer], options: dict, used_before: bool
) -> None:
    """Weights, state and what continues from a state; torch alters the class of an optimizer when one is made."""

    def trained(kind: type[torch.optim.Optimizer]) -> tuple[torch.Tensor, dict]:
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3))
        bias = torch.nn.Parameter(torch.linspace(2, 3, 2))
        groups = [{"params": [weight], "weight_decay": 0.1}, {"params": [bias], "weight_decay": 0.0}]
        optimizer = kind(groups, lr=0.01, **options)
        for step in range(4):
            if step == 2:
                state, optimizer = optimizer.state_dict(), kind(groups, lr=0.5, **options)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            assert weight.grad is None
            ((weight.sum(1) + bias) ** (step + 1)).sum().backward()
            optimizer.step()
        return torch.cat([weight.detach().flatten(), bias.detach()]), optimizer.state_dict()

    first, second = (torchs, ours) if used_before else (ours, torchs)
    (weights, state), (others, other_state) = trained(first), trained(second)
    assert torch.equal(weights, others)
    assert state["param_groups"] == other_state["param_groups"]
    assert state["state"].keys() == other_state["state"].keys() == {0, 1}
    for parameter, held in state["state"].items():
        others_held = other_state["state"][parameter]
        assert held.keys() == others_held.keys()
        assert all(torch.equal(held[name], others_held[name]) for name in held)
    assert issubclass(ours, torchs)


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


def test_differences_name_the_part() -> None:
    held = older(config())
    assert config_differences(held, config().as_json()) == []
    assert config_differences(held, config(**PLAIN).as_json()) == ["training"]
    unreadable = {**held, "training": {"law_of_another_version": 1}}
    assert config_differences(unreadable, config().as_json()) == ["training"]
    other = {**held, "task": {"name": "majority", "parameters": {"no_such": 1}}, "seeds": {"init": 7}}
    assert config_differences(other, config().as_json()) == ["task", "seeds"]


def test_a_run_without_checkpoints_is_not_finished(tmp_path) -> None:
    write_config(tmp_path, config().as_json())
    run = Run.open(tmp_path)
    assert not run.finished
    assert run.stop_reason == ""
