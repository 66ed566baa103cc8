"""Sparsity of what heads read and of what answers need, on sources whose few important tokens are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from circuits.sparsity.influence import influential_tokens, masked_outputs, recall
from circuits.sparsity.measurement import keys_needed, planted_positions, sparsity_statistics
from tests.support.circuits.planted_adder import adder
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.transformer.scores import ScoreInputs
from workbench.tasks import make_task
from workbench.tasks.base import Batch

K, SPAN = 3, 8
SOURCE = make_task("planted", k=K, modulus=32, fillers=4, span=SPAN)


def strings(length: int, count: int = 12) -> Batch:
    """Planted 1, 3 and 9, none of which is their mean: without any one the mean of the others differs."""
    batch = SOURCE.sample(count, length, torch.Generator().manual_seed(0), "matched")
    tokens = batch.tokens.scatter(1, batch.meta["planted"], torch.tensor([1, 3, 9]).expand(count, 3))
    made = SOURCE.label(tokens[:, 1:])
    return Batch(**{**made.__dict__, "meta": batch.meta})


def test_the_search_returns_the_planted_positions() -> None:
    batch = strings(40)
    planted = planted_positions(batch)
    assert planted is not None
    assert all(len(places) == K for places in planted)
    found = influential_tokens(adder(SOURCE), SOURCE, batch, K)
    assert recall(found.chosen, planted).tolist() == [1.0] * len(batch)
    filler = np.array([[i not in places and i > 0 and i < 40 for i in range(41)] for places in planted])
    assert found.rise[filler] == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(found.rise[:, [0, 40]]).all()
    assert recall(found.chosen[:, :2], planted).mean() == pytest.approx(2 / 3)


def test_few_tokens_close_the_gap_between_short_and_long() -> None:
    batch = strings(60)
    window = 10
    far = (batch.meta["planted"] < 50).all(1).numpy()
    assert far.sum() >= 6
    found = influential_tokens(adder(SOURCE), SOURCE, batch, K, window)
    assert found.loss_long[far] == pytest.approx(0.0, abs=0.8)
    assert found.loss_sparse[far] == pytest.approx(found.loss_long[far], abs=1e-6)
    assert (found.loss_short[far] > found.loss_long[far] + 10).all()
    one = influential_tokens(adder(SOURCE), SOURCE, batch, 1, window)
    assert (one.loss_sparse[far] > one.loss_long[far] + 1).all()


def test_copies_hide_from_leave_one_out_and_not_from_leave_group_out() -> None:
    """Two equal planted pairs: the mean is the same without either copy."""
    tokens = torch.full((1, 20), 33)
    tokens[0, [3, 9]] = 7
    batch = SOURCE.label(tokens)
    single = influential_tokens(adder(SOURCE), SOURCE, batch, 2)
    assert np.nanmax(np.abs(single.rise)) == pytest.approx(0.0, abs=1e-6)
    group = influential_tokens(adder(SOURCE), SOURCE, batch, 2, groups="type")
    assert abs(group.rise[0, 4]) > 10
    assert group.rise[0, 4] == group.rise[0, 10]


def test_a_masked_token_is_as_if_it_were_not_there() -> None:
    """Oracle for a model without positions: the token deleted."""
    task = make_task("majority")
    cfg = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=64, initializer_range=0.6)
    model = HookedTransformer(cfg, seed=1).double().eval()
    batch = task.sample(4, 15, torch.Generator().manual_seed(1), "matched")
    for gone in (1, 5, 14):
        hidden = torch.zeros(4, 16, dtype=torch.bool)
        hidden[:, gone] = True
        kept = [i for i in range(16) if i != gone]
        with torch.no_grad():
            expected = model(batch.tokens[:, kept])[:, -1]
        assert torch.allclose(masked_outputs(model, batch, hidden), expected, atol=1e-10)


@pytest.mark.asserts("planted_recall", "loss_long", "loss_short", "loss_sparse")
def test_a_retrieval_circuit_needs_key_and_answer() -> None:
    task = make_task("kgram_retrieval", symbols=12)
    found = sparsity_statistics(induction_model(12, 9.0), task, trained=24, lengths=[12, 24, 48], sequences=16)
    assert found.value("planted_recall", length=24) > 0.9
    assert found.value("loss_short") > found.value("loss_long") + 0.5
    assert found.value("loss_sparse") == pytest.approx(found.value("loss_long"), abs=0.05)
    with pytest.raises(ValueError, match=r"\b48\b"):
        influential_tokens(induction_model(12, 9.0), task, task.sample(2, 48, torch.Generator(), "matched"), window=48)


# ---- keys needed ----------------------------------------------------------------------------------
def inputs_of(scores: torch.Tensor) -> ScoreInputs:
    """One head whose last query has the given scores ``[batch, key]``."""
    batch, size = scores.shape
    q = torch.zeros(batch, size, 1, 2, dtype=torch.float64)
    q[:, :, 0, 0] = math.sqrt(2)
    k = torch.zeros_like(q)
    k[:, :, 0, 0] = scores
    return ScoreInputs(q, k)


@pytest.mark.parametrize("eps", [0.1, 0.3, 0.5, 0.9])
def test_a_uniform_head_needs_nearly_all_its_keys(eps: float) -> None:
    size = 200
    values = 1 + torch.randn(512, size, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = keys_needed(inputs_of(torch.zeros(512, size)), values, eps)
    assert found is not None
    assert found[0] == pytest.approx(size / (1 + eps**2), rel=0.05)


def test_keys_needed_is_that_of_a_loop() -> None:
    generator = torch.Generator().manual_seed(3)
    scores = 3 * torch.randn(20, 30, generator=generator, dtype=torch.float64)
    values = torch.randn(20, 30, 1, 4, generator=generator, dtype=torch.float64)
    found = keys_needed(inputs_of(scores), values, 0.2)
    weights, v = scores.softmax(-1).numpy(), values[:, :, 0].numpy()
    own = np.einsum("bk,bke->be", weights, v)
    spread = ((own - own.mean(0)) ** 2).sum()
    for k in range(1, 31):
        error = 0.0
        for p, value, o in zip(weights, v, own, strict=True):
            top = np.argsort(-p)[:k]
            error += (((p[top] @ value[top]) / p[top].sum() - o) ** 2).sum()
        if error <= 0.2**2 * spread:
            break
    assert found is not None
    assert found[0] == k


def test_a_point_head_needs_one_key_and_constant_outputs_are_undefined() -> None:
    scores = torch.zeros(16, 50)
    scores[:, 7] = 40.0
    values = torch.randn(16, 50, 1, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = keys_needed(inputs_of(scores), values, 0.05)
    assert found is not None
    assert found[0] == 1
    flat = keys_needed(inputs_of(scores), torch.ones_like(values), 0.05)
    assert flat is not None
    assert flat[0] == 0
    assert keys_needed(inputs_of(scores[:1]), values[:1], 0.05) is None
