"""Attention made hard or kept sharp: nothing changes where it is already so, and dispersion is repaired."""

from __future__ import annotations

import math

import pytest
import torch

from circuits.interventions.attention_swaps import swap_statistics
from circuits.interventions.replaced_attention import (
    adaptive_temperature,
    log_scaled,
    replaced_attention,
    tie_set,
    within,
)
from circuits.passes import clean_pass, evaluation_ids
from tests.support.every_encoding import EXAMPLES, said
from workbench.measure.edits.edit import parse_edits
from workbench.measure.edits.edited_forward import Trained, edited_forward
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

MAJORITY = make_task("majority")


def model_of(positions: object, log_scaling: str = "none") -> HookedTransformer:
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=64, positions=positions,
        log_scaling=log_scaling, initializer_range=0.6,
    )  # fmt: skip
    return HookedTransformer(cfg, seed=0).double().eval()


@pytest.mark.parametrize("log_scaling", ["none", "learned"])
@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_replacing_softmax_by_softmax_changes_nothing(positions: object, log_scaling: str) -> None:
    model, batch = model_of(positions, log_scaling), MAJORITY.sample(4, 21, torch.Generator().manual_seed(0))
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    heads = [(0, 1), (1, 0), (1, 1)]
    made = replaced_attention(model, clean, lambda scores, queries: scores.softmax(-1), heads)
    assert torch.allclose(made, clean.outputs, atol=1e-10)
    same = replaced_attention(model, clean, log_scaled(22.0), heads)
    assert torch.allclose(same, clean.outputs, atol=1e-10)
    other = replaced_attention(model, clean, log_scaled(4.0), heads)
    assert torch.allclose(other[:, :4], clean.outputs[:, :4], atol=1e-10)
    assert not torch.allclose(other[:, 8:], clean.outputs[:, 8:], atol=1e-6)


def test_adaptive_temperature_of_all_heads_is_the_intervention() -> None:
    model, batch = model_of("rotary"), MAJORITY.sample(4, 21, torch.Generator().manual_seed(0))
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    swapped = replaced_attention(model, clean, adaptive_temperature, [(0, 0), (0, 1), (1, 0), (1, 1)])
    edited = edited_forward(model, batch, parse_edits("D.adaptive"), [], trained=Trained(22))["logits"]
    torch.testing.assert_close(swapped, edited)
    assert not torch.allclose(swapped, clean.outputs, atol=1e-3)
    few = replaced_attention(model, clean, adaptive_temperature, [(1, 1)])
    assert not torch.allclose(few, swapped, atol=1e-3)


def test_the_tie_set_is_the_nearest_hardmax_of_every_row() -> None:
    rows = [[3.0, 3.0, -math.inf, -math.inf], [5.0, 0.0, 0.0, -math.inf], [1.0, 1.1, 0.9, 1.0]]
    scores = torch.tensor(rows)[None, None]
    found = tie_set(scores, range(1, 4))[0, 0]
    assert found[0].tolist() == [0.5, 0.5, 0.0, 0.0]
    assert found[1].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert found[2].tolist() == [0.25] * 4
    strict = within(0.0)(scores, range(1, 4))[0, 0]
    assert strict[2].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_an_exact_counter_survives_its_own_hardmax() -> None:
    found = swap_statistics(majority(), MAJORITY, trained=15, lengths=[15, 61], sequences=24)
    for n in (15, 61):
        assert found.value("hardmax_swap", target="all heads", length=n) == 1.0
        assert found.value("hardmax_swap_drop", target="head", layer=0, head=0, length=n) == 0.0
    inside = [r for r in found.rows if r["quantity"] == "logn_swap" and r["length"] == 15]
    assert {r["status"] for r in inside} == {"not_applicable"}
