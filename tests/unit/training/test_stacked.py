"""Stacked training: each run of a stack equals its single training, and a planted error does not."""

from __future__ import annotations

import pytest
import torch

from workbench.models import ModelConfig
from workbench.models.architectures import config_class, make_model
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.optimizer import make_optimizer
from workbench.training.resume import State
from workbench.training.stacked import (
    RunState,
    loop,
    stacked_correct,
    stacked_outputs,
    stacked_right_answers,
    train_stacked,
    why_not_stacked,
)
from workbench.training.stacked import batches as stacked_batches
from workbench.training.trainer import Trainer
from workbench.training.training_batch import drawn_together, training_batch, training_batches

STEPS, MIDDLE = 40, 20
OWN = (
    {"seed": 1, "weight_decay": 0.01, "learning_rate": 3e-3, "initializer_range": 0.2},
    {"seed": 2, "weight_decay": 2.0, "learning_rate": 1e-3, "initializer_range": 0.3},
    {"seed": 3, "weight_decay": 0.3, "learning_rate": 2e-3, "initializer_range": 0.25, "clip": 0.0},
)
"""What three runs of one stack do not share: seeds, decay, peak rate, scale of the initial weights, clipping."""


def config(own: dict, task: str = "bounded_dyck", model: dict | None = None, **training) -> RunConfig:
    """A small run. Its norm of the gradient is clipped at every step unless ``own`` names another ``clip``."""
    own = dict(own)
    seed, scale = own.pop("seed"), own.pop("initializer_range", 0.2)
    made = make_task(task)
    kind = config_class(model or {})
    heads = {"n_heads": 2} if kind is ModelConfig else {}
    fields = {"n_layers": 1, "d_model": 8, **heads, "n_ctx": 16, **(model or {})}
    sizes = {"d_vocab": made.d_vocab, "d_vocab_out": made.d_vocab_out, "initializer_range": scale}
    law = {
        "steps": STEPS, "warmup": 5, "batch_size": 4, "clip": 0.05,
        "curriculum": {"law": "uniform", "low": 1, "high": 9}, **training, **own,
    }  # fmt: skip
    return RunConfig(
        task=made,
        model=kind(**sizes, **fields),
        training=TrainingConfig(**law),
        seeds=Seeds(init=seed, data=10 + seed),
    )


def three(**shared) -> list[RunConfig]:
    return [config(own, **shared) for own in OWN]


def trainer(run: RunConfig, folder, dtype: torch.dtype = torch.float64, start: RunState | None = None) -> Trainer:
    """Single training in ``dtype``, ready for its first update; nothing is written."""
    single = Trainer(run, folder)
    single.model = make_model(run.model, seed=run.seeds.init).to(dtype)
    single._parameters = list(single.model.parameters())
    single.optimizer = make_optimizer(single.model, run.training)
    single.state = State(step=start.step if start else 0)
    if start:
        start.restore(single.model, single.optimizer)
    return single


def trained_alone(run: RunConfig, folder, steps: int, **options) -> RunState:
    single = trainer(run, folder, **options)
    for step in range(single.state.step, steps):
        single._update(step)
    return RunState.of(single.model, single.optimizer, steps)


def difference(first: RunState, second: RunState) -> float:
    """The largest difference of a weight or a moment; names and slots are the same."""
    assert first.step == second.step
    assert list(first.weights) == list(second.weights)
    assert {slot: set(names) for slot, names in first.moments.items()} == {
        slot: set(names) for slot, names in second.moments.items()
    }
    pairs = [(first.weights[name], w) for name, w in second.weights.items()]
    pairs += [(first.moments[slot][name], w) for slot, names in second.moments.items() for name, w in names.items()]
    return max(float((a - b).abs().max()) for a, b in pairs)


def largest(runs: list[RunConfig], folder, steps: int = STEPS) -> float:
    """The largest difference between the runs of a stack and the same runs trained alone."""
    result = train_stacked(runs, to_step=steps, dtype=torch.float64)
    return max(difference(result.last(i), trained_alone(run, folder, steps)) for i, run in enumerate(runs))


@pytest.mark.parametrize("positions", ["none", "rotary", "learned"])
def test_each_run_of_a_stack_equals_its_single_training(positions: str, tmp_path) -> None:
    """After 40 updates, and when training continues from weights and moments at a step between them."""
    runs = three(model={"positions": positions, "n_layers": 1 + (positions == "rotary")})
    result = train_stacked(runs, keep=[0, MIDDLE], dtype=torch.float64)
    for i, run in enumerate(runs):
        assert sorted(result.states[i]) == [0, MIDDLE, STEPS]
        middle = trained_alone(run, tmp_path, MIDDLE)
        assert difference(result.states[i][MIDDLE], middle) < 1e-10
        assert difference(result.last(i), trained_alone(run, tmp_path, STEPS, start=middle)) < 1e-10


def test_children_continue_from_the_weights_and_moments_of_their_parents(tmp_path) -> None:
    """A child with its parent's stream repeats the parent. Others equal single training on their own streams."""
    runs = three()
    parents = train_stacked(runs, keep=[MIDDLE], to_step=MIDDLE + 5, dtype=torch.float64)
    starts = [states[MIDDLE] for states in parents.states]
    streams = [r.seeds.model_copy(update={"data_from": ((MIDDLE, 90 + i),)}) for i, r in enumerate(runs)]
    children = [r.model_copy(update={"seeds": seeds}) for r, seeds in zip(runs, streams, strict=True)]
    options = {"from_step": MIDDLE, "to_step": MIDDLE + 5, "dtype": torch.float64}
    forked = train_stacked([*runs, *children], start_states=[*starts, *starts], **options)
    for i in range(3):
        assert difference(forked.last(i), parents.last(i)) < 1e-10
        alone = trained_alone(children[i], tmp_path, MIDDLE + 5, start=starts[i])
        assert difference(forked.last(3 + i), alone) < 1e-10
        assert difference(forked.last(3 + i), forked.last(i)) > 1e-4
    whole = train_stacked(children, to_step=MIDDLE + 5, dtype=torch.float64)
    for i in range(3):
        assert difference(whole.last(i), forked.last(3 + i)) < 1e-10


@pytest.mark.parametrize(
    "shared",
    [
        {"optimizer": "sgd", "momentum": 0.9},
        {"optimizer": "sgd", "momentum": 0.0},
        {"task": "majority", "model": {"positions": "limit", "log_scaling": "local"}},
        {"task": "uf", "model": {"positions": "relative", "log_scaling": "all"}},
        {"task": "linear_regression", "model": {"positions": "alibi", "log_scaling": "learned"}},
        {"task": "markov_chain", "model": {"positions": "sinusoidal"}},
        {"task": "nr_first", "model": {"positions": "learned", "ids": "random_offset"}},
        {"task": "nr_first", "model": {"positions": "rotary", "ids": "random_subset", "attn_only": True}},
        {"task": "text", "model": {"tied": True, "act_fn": "relu"}},
        {"model": {"attention": "linear", "normalization_type": None}},
        {"model": {"norm_after_attention": True}},
        {"model": {"architecture": "ssm", "n_layers": 2, "gates": "nonnegative"}},
        {"model": {"architecture": "ssm", "gates": "signed", "d_conv": 1, "normalization_type": None}},
        {"task": "nr_first", "model": {"architecture": "ssm", "time_invariant": True}},
        {"model": {"architecture": "rnn", "n_layers": 2, "initial_state": "trained"}},
        {"model": {"architecture": "rnn", "cell": "elman", "residual": False, "normalization_type": None}},
        {"strings": 20},
        {"curriculum": {"law": "few_long", "low": 1, "high": 9, "short": 4, "share": 0.2}, "rate_law": "wsd"},
    ],
    ids=lambda shared: "-".join(map(str, [*shared.get("model", shared).values()]))[:40],
)
def test_settings_that_take_another_path_are_stacked_too(shared: dict, tmp_path) -> None:
    assert largest(three(**shared), tmp_path, 6) < 1e-10


def test_float32_runs_are_equal_to_five_digits(tmp_path) -> None:
    """Outputs do not depend on ``b_K`` without positions: its gradient is a rounding error, which AdamW rescales."""
    runs = three(warmup=50)
    result = train_stacked(runs)
    tokens = runs[0].task.batch(16, 10).tokens
    outputs = stacked_outputs(runs[0].model, [result.last(i).weights for i in range(3)], tokens[None])
    for i, run in enumerate(runs):
        single, losses = trainer(run, tmp_path, torch.float32), []
        for step in range(STEPS):
            single._update(step)
            losses.append(single.state.scores["loss"])
        assert result.losses[:, i].tolist() == pytest.approx(losses, abs=1e-5)
        with torch.no_grad():
            assert torch.allclose(outputs[i], single.model(tokens), atol=1e-5)
        for name, weight in single.model.named_parameters():
            if not name.endswith("b_K"):
                assert torch.allclose(result.last(i).weights[name], weight, atol=1e-5), name


def one_norm(gradients, clips):
    """The planted error: one norm for all runs."""
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    return (clips / (norm + 1e-6)).clamp(max=1.0)


def all_supervised(parts):
    """The planted error: padding counts as supervised."""
    padded = PADDED(parts)
    return torch.ones_like(padded) if padded.dtype == torch.bool else padded


PADDED = stacked_batches.pad_and_stack


@pytest.mark.parametrize(
    ("home", "name", "wrong"),
    [
        (loop, "clip_factors", one_norm),
        (loop, "OPTIMIZATION", ("steps", "learning_rate")),
        (loop, "OPTIMIZATION", ("steps", "weight_decay")),
        (stacked_batches, "pad_and_stack", all_supervised),
    ],
    ids=["one norm", "one decay", "one rate", "padding supervised"],
)
def test_a_planted_error_is_seen(home, name: str, wrong, tmp_path, monkeypatch) -> None:
    decays = [config({"seed": seed, "weight_decay": 0.1 * seed}) for seed in range(3)]
    rates = [config({"seed": seed, "learning_rate": 1e-3 * (seed + 1)}) for seed in range(3)]
    runs = [*decays, *rates]
    assert largest(runs, tmp_path, 3) < 1e-10
    monkeypatch.setattr(home, name, wrong)
    assert largest(runs, tmp_path, 3) > 1e-6


def test_batches_drawn_together_are_those_drawn_alone() -> None:
    runs = three(task="nr_first", model={"positions": "rotary", "ids": "random_offset"})
    assert all(map(drawn_together, runs))
    requests = [(run, step) for step in range(5) for run in runs]
    for (run, step), (batch, ids) in zip(requests, training_batches(requests), strict=True):
        alone, own = training_batch(run, step)
        assert torch.equal(ids, own)
        assert all(torch.equal(getattr(batch, name), getattr(alone, name)) for name in ("tokens", "targets", "mask"))


def test_large_stacks_are_computed_in_parts_of_similar_length(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(stacked_batches, "TOKENS_AT_ONCE", 60)
    runs = three()
    drawn = [training_batch(run, 0) for run in runs]
    groups = stacked_batches.groups_of_similar_length(drawn)
    assert sorted(run for group in groups for run in group) == [0, 1, 2]
    assert len(groups) > 1
    assert largest(runs, tmp_path, 4) < 1e-10


def test_a_run_that_diverges_leaves_the_others_as_they_are(tmp_path) -> None:
    runs = three(optimizer="sgd")
    wild = runs[1].training.model_copy(update={"learning_rate": 1e30, "clip": 0.0})
    stack = [runs[0], runs[1].model_copy(update={"training": wild}), runs[2]]
    result = train_stacked(stack, keep=range(6), to_step=6)
    assert list(result.not_finite) == [1]
    assert 0 < result.not_finite[1] < 6
    assert max(result.states[1]) < 6
    assert sorted(result.states[0]) == list(range(7))


def test_what_cannot_be_stacked_is_refused_with_its_reason() -> None:
    first, other = three()[0], config({"seed": 4}, steps=41)
    assert why_not_stacked(three()) is None
    assert why_not_stacked([]) == "there is no run"
    assert "training.steps" in str(why_not_stacked([first, other]))
    assert "task" in str(why_not_stacked([first, config({"seed": 4}, task="majority")]))
    assert "model" in str(why_not_stacked([first, config({"seed": 4}, model={"d_model": 16})]))
    law = first.training
    for change, word in [
        ({"early_stop": {"every": 1, "patience": 1}}, "early"),
        ({"regularizers": {"attention_entropy": 0.1}}, "regularizers"),
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"device": "cuda"}, "cuda"),
    ]:
        changed = TrainingConfig(**{**law.model_dump(), **change})
        assert word in str(why_not_stacked([first.model_copy(update={"training": changed})]))
    assert "hardmax" in str(why_not_stacked(three(model={"attention": "hardmax"})))
    with pytest.raises(TrainingError, match=r"training\.steps"):
        train_stacked([first, other])
    with pytest.raises(TrainingError, match="start_states"):
        train_stacked([first], from_step=3)
    start = train_stacked([first], to_step=2).last(0)
    with pytest.raises(TrainingError, match="step 3"):
        train_stacked([first], start_states=[start], from_step=3)
    with pytest.raises(TrainingError, match="moments"):
        train_stacked([first], start_states=[RunState(2, start.weights)], from_step=2)


@pytest.mark.parametrize("task", ["bounded_dyck", "uf", "markov_chain"])
@pytest.mark.parametrize("model", [{"positions": "rotary"}, {"architecture": "ssm"}], ids=["transformer", "ssm"])
def test_a_stack_answers_as_each_model_alone(task: str, model: dict) -> None:
    """Outputs, and right answers on own sequences and on the same sequences."""
    runs = three(task=task, model=model)
    models = [make_model(run.model, seed=run.seeds.init) for run in runs]
    weights = [dict(model.named_parameters()) for model in models]
    length = runs[0].task.next_length(18)
    own = [runs[0].task.batch(32, length, seed=i) for i in range(3)]
    outputs = stacked_outputs(runs[0].model, weights, torch.stack([batch.tokens for batch in own]))
    right = stacked_correct(runs[0].task, runs[0].model, weights, own)
    for i, model in enumerate(models):
        with torch.no_grad():
            alone = model(own[i].tokens)
        assert torch.allclose(outputs[i], alone, atol=1e-5)
        top = alone.topk(2, -1).values
        clear = ((top[..., 0] - top[..., 1]) > 1e-4).all(1)
        expected = runs[0].task.sequence_correct(runs[0].task.correct(alone, own[i]), own[i])
        assert torch.equal(right[i][clear], expected[clear])
    counts = stacked_right_answers(runs[0].task, runs[0].model, weights, length, 32, [0, 1, 2])
    assert torch.equal(counts, right.sum(1))
    same = stacked_right_answers(runs[0].task, runs[0].model, weights, length, 32, 1)
    assert torch.equal(same, stacked_correct(runs[0].task, runs[0].model, weights, [own[1]]).sum(1))
