"""Regularizers: their values in closed form, and that they reach the gradient."""

from __future__ import annotations

import math

import pytest
import torch

from tests.support.training.regularizers import MAJORITY, config, model_config
from workbench.models import HookedTransformer
from workbench.models.positions import ENCODINGS
from workbench.tasks.random_generator import generator
from workbench.theory.limit_transformers.norm_regularizer import positional_penalty
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.regularizers import REGULARIZERS, mean_entropy, outputs_and_penalty


def penalty_of(matrix: torch.Tensor) -> float:
    """The positional penalty where (p W_Q)(p W_K)^T is the given matrix: p = W_Q = 1, W_K its transpose."""
    eye = torch.eye(len(matrix), dtype=torch.float64)
    return float(positional_penalty(eye, eye[None], matrix.T.double()[None]))


@pytest.mark.parametrize(("n", "previous", "periodic"), [
    (50, 0.98, 8.84), (100, 0.99, 17.17), (200, 0.995, 33.835), (400, 0.9975, 67.1675),
])  # fmt: skip
def test_closed_forms(n: int, previous: float, periodic: float) -> None:
    """Local stays bounded, (n - 1) / n; periodic and constant grow with n, the latter as (n + 1) / 2."""
    i, j = torch.arange(n)[:, None], torch.arange(n)[None]
    assert penalty_of((j == i - 1).float()) == pytest.approx(previous)
    assert penalty_of(((i - j) % 3 == 0).float()) == pytest.approx(periodic)
    assert penalty_of(torch.ones(n, n)) == pytest.approx((n + 1) / 2)
    assert penalty_of((j > i).float()) == 0, "keys after the query are not attended to"
    assert penalty_of(torch.full((n, n), 3.0)) == pytest.approx(9 * (n + 1) / 2), "squares"


@pytest.mark.parametrize("positions", sorted(name for name, kind in ENCODINGS.items() if kind.added))
def test_the_penalty_of_a_model_is_the_sum_over_its_layers_and_heads(positions: str) -> None:
    """Against plain loops over layers, heads, queries and keys, with the rows read off the embedding's hook."""
    model = HookedTransformer(model_config(positions, n_ctx=9), seed=3)
    batch = MAJORITY.sample(2, 7, generator("x"))
    tokens = torch.zeros(1, 9, dtype=torch.long)
    _, cache = model.run_with_cache(tokens, torch.arange(9)[None])
    rows = cache["hook_pos_embed"][0].double()
    expected = 0.0
    for block in model.blocks:
        for head in range(2):
            q, k = rows @ block.attn.W_Q[head].double().detach(), rows @ block.attn.W_K[head].double().detach()
            expected += sum(float(q[i] @ k[j]) ** 2 for i in range(9) for j in range(i + 1)) / 9
    found = REGULARIZERS["positional"].penalty(model, batch, {})
    assert float(found.detach()) == pytest.approx(expected, rel=1e-4)
    assert expected > 0.1


def test_entropy_of_uniform_and_of_pointed_attention() -> None:
    """Uniform over K keys: log K; on one key: 0. Only supervised queries count."""
    uniform = torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]
    pattern = torch.stack([uniform, torch.eye(4)]).expand(3, 2, 4, 4)
    mask = torch.tensor([[False, False, True, True]] * 3)
    assert float(mean_entropy(pattern, mask)) == pytest.approx((math.log(3) + math.log(4)) / 4)


def test_entropy_has_a_finite_gradient_where_keys_are_masked() -> None:
    scores = torch.randn(2, 1, 5, 5, generator=generator("scores"))
    scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).requires_grad_()
    mean_entropy(scores.softmax(-1), torch.ones(2, 5).bool()).backward()
    assert bool(scores.grad.isfinite().all())
    assert float(scores.grad.abs().max()) > 1e-3


@pytest.mark.parametrize("name", REGULARIZERS)
def test_the_gradient_is_that_of_the_loss_plus_coefficient_times_penalty(name: str) -> None:
    """With finite differences as the judge, along a random direction in the space of all weights."""
    model = HookedTransformer(model_config(), seed=1).double()
    batch = MAJORITY.sample(6, 7, generator("batch"))
    ids = torch.arange(8)[None]

    def total(coefficient: float) -> torch.Tensor:
        outputs, penalty = outputs_and_penalty(model, batch, ids, {name: coefficient} if coefficient else {})
        loss = MAJORITY.loss(outputs, batch)
        return loss if penalty is None else loss + penalty

    def slope(coefficient: float) -> float:
        return sum(
            float((g * d).sum())
            for g, d in zip(torch.autograd.grad(total(coefficient), weights, allow_unused=True), way, strict=True)
            if g is not None
        )

    weights = list(model.parameters())
    g = generator("direction")
    way = [torch.randn(w.shape, generator=g, dtype=torch.float64) for w in weights]
    values = {}
    for sign in (1, -1):
        with torch.no_grad():
            for w, d in zip(weights, way, strict=True):
                w += sign * 1e-5 * d
            values[sign] = float(total(0.7))
            for w, d in zip(weights, way, strict=True):
                w -= sign * 1e-5 * d
    assert slope(0.7) == pytest.approx((values[1] - values[-1]) / 2e-5, rel=1e-5)
    assert abs(slope(0.7) - slope(0.0)) > 1e-3, "the penalty changes the gradient"


@pytest.mark.parametrize(("coefficients", "positions", "sentence"), [
    ({"positional": 1e-4}, "none", "positions"),
    ({"positional": 1e-4}, "rotary", "rotary"),
    ({"positional": -1.0}, "learned", r"-1\.0"),
    ({"positinal": 1.0}, "learned", "positional"),
])  # fmt: skip
def test_what_means_nothing_is_refused_in_one_sentence(coefficients, positions, sentence) -> None:
    with pytest.raises(TrainingError, match=sentence):
        config(coefficients, positions)


def test_entropy_needs_softmax() -> None:
    law = TrainingConfig(regularizers={"attention_entropy": 0.1})
    with pytest.raises(TrainingError, match="attention"):
        RunConfig(task=MAJORITY, model=model_config(attention="hardmax", n_ctx=64), training=law)
