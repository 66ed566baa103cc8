"""Rows of circuits where every value is known: uniform attention, functions of one bit, sums of parts."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from circuits.heads.contributions import contribution_statistics
from circuits.heads.head_scores import head_statistics
from circuits.interchange.measurement import interchange_statistics
from circuits.sensitivity import NAME, function_statistics
from circuits.sparsity.measurement import Sparsity
from tests.support.circuits.rows_by_hand import drawn
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

KGRAM = make_task("kgram_retrieval", symbols=5)
MASSES = (
    "previous_token",
    "first_token",
    "duplicate_token",
    "induction",
    "anti_induction",
    "answer_token",
    "key_token",
)


def uniform() -> HookedTransformer:
    cfg = ModelConfig(d_vocab=KGRAM.d_vocab, d_vocab_out=KGRAM.d_vocab_out, n_layers=1, d_model=8, n_heads=1, n_ctx=64)
    model = HookedTransformer(cfg, seed=0).eval()
    with torch.no_grad():
        model.blocks[0].attn.W_Q.zero_()
        model.blocks[0].attn.b_Q.zero_()
    return model


@pytest.mark.asserts(
    "previous_token", "previous_token_mass", "first_token", "first_token_mass", "duplicate_token",
    "duplicate_token_mass", "induction", "induction_mass", "anti_induction", "anti_induction_mass", "answer_token",
    "answer_token_mass", "key_token", "key_token_mass", "sink",
)  # fmt: skip
def test_uniform_attention_has_the_mass_of_its_targets_and_no_score() -> None:
    """At the last query of n tokens and BOS each key has 1 / (n + 1), and the first of equal keys is on top."""
    n = 20
    found = head_statistics(uniform(), KGRAM, trained=n, lengths=[n], sequences=32, window=1)
    tokens = drawn(KGRAM, n, 32).tokens.numpy()
    earlier = [np.flatnonzero(row[:-1] == row[-1]) for row in tokens]
    twins = np.array([len(at) for at in earlier if len(at)])
    behind = np.array([sum(at + 1 < n) for at in earlier if sum(at + 1 < n)])
    counts = {"duplicate_token": twins.mean(), "anti_induction": twins.mean(), "induction": behind.mean()}
    for name in MASSES:
        place: dict[str, Any] = {"mode": "task", "length": n, "head": 0, "layer": 0}
        assert found.value(f"{name}_mass", **place) == pytest.approx(counts.get(name, 1.0) / (n + 1), abs=1e-6), name
        assert found.value(name, **place) == pytest.approx(0.0, abs=1e-6), name
    assert found.value("sink", mode="task") == 1.0


@pytest.mark.asserts("ov_copying")
def test_a_head_that_copies_what_it_reads() -> None:
    found = head_statistics(induction_model(5, 9.0), KGRAM, trained=20, lengths=[20], sequences=4)
    assert found.value("ov_copying", layer=1, head=0) == 1.0


@pytest.mark.asserts("keys_needed", "keys_share")
def test_rows_of_the_keys_that_heads_need() -> None:
    batch = drawn(KGRAM, 19, 4)
    study: Any = SimpleNamespace(batch=lambda law, length: batch, cfg=SimpleNamespace(n_heads=2))
    rows = Sparsity()._head_rows(study, 19, [np.array([5, 0])])
    found = {(r["quantity"], r["head"]): (r["value"], r["status"]) for r in rows}
    assert found["keys_needed", 0] == (5.0, "ok")
    assert found["keys_share", 0] == (5 / 20, "ok")  # 19 tokens and BOS
    assert found["keys_needed", 1] == found["keys_share", 1] == (None, "undefined")


@pytest.mark.asserts("answer_logit_set", "answer_logit_rest", "set_log_odds")
def test_what_a_head_says_of_the_answer_is_the_sum_of_its_parts() -> None:
    """Set and rest add up to the head's whole output, read by hand; odds are those of matching keys at margin m."""
    n, margin = 20, 5.0
    model = induction_model(5, margin)
    found = contribution_statistics(model, KGRAM, trained=n, lengths=[n], sequences=32)
    batch = drawn(KGRAM, n, 32)
    with torch.no_grad():
        _, cache = model.run_with_cache(batch.tokens)
        logits = cache["blocks.1.attn.hook_z"][:, -1, 0] @ model.blocks[1].attn.W_O[0] @ model.unembed.W_U
        weights = cache["blocks.1.attn.hook_pattern"][:, 0, -1].double()
    own = logits.gather(1, batch.targets[:, -1:])[:, 0]
    whole = own - (logits.sum(1) - own) / (logits.shape[1] - 1)
    place: dict[str, Any] = {"layer": 1, "head": 0, "length": n}
    inside, rest = (found.value(f"answer_logit_{part}", **place) for part in ("set", "rest"))
    assert inside + rest == pytest.approx(float(whole.mean()), rel=1e-4)
    assert inside > 5 * abs(rest)
    top = weights > 0.5 * weights.amax(-1, keepdim=True)
    odds = (torch.where(top, weights, 0).sum(-1) / torch.where(top, 0, weights).sum(-1)).log()
    assert found.value("set_log_odds", **place) == pytest.approx(float(odds.mean()), rel=1e-4)


@pytest.mark.asserts("average_sensitivity", "sharpness")
def test_parity_hangs_on_every_token_and_sharpness_is_that_of_the_weights_by_hand() -> None:
    parity, n, eps = make_task("parity"), 9, 0.05
    cfg = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_heads=1, n_ctx=16)
    model = HookedTransformer(cfg, seed=3).eval()
    found = function_statistics(
        model, parity, trained=n, lengths=[n], sequences=8, strings=4, repeats=3, eps=eps, factors=[1]
    )
    assert found.value("average_sensitivity", control="task") == n
    assert 0 <= found.value("average_sensitivity", control="") < n
    batch = drawn(parity, n, 8)

    def losses(of: HookedTransformer) -> torch.Tensor:
        with torch.no_grad():
            return torch.nn.functional.cross_entropy(of(batch.tokens)[:, -1], batch.targets[:, -1], reduction="none")

    rng = np.random.default_rng(generator("probe", 0, NAME, "noise", n).initial_seed())
    rises = []
    for _ in range(3):
        noise = torch.Generator().manual_seed(int(rng.integers(2**31)))
        moved = copy.deepcopy(model)
        with torch.no_grad():
            for weight in moved.parameters():
                weight += (eps * torch.randn(weight.shape, generator=noise, dtype=torch.float64)).to(weight)
        rises.append(losses(moved) - losses(model))
    assert found.value("sharpness") == pytest.approx(float(torch.stack(rises).mean()), abs=1e-6)


@pytest.mark.asserts("interchange_accuracy", "subspace_interchange_accuracy")
def test_a_counters_last_row_carries_its_answer() -> None:
    """Of donors with the other answer: whole, and in the directions that tell summaries apart at N."""
    found = interchange_statistics(
        majority(), make_task("majority"), trained=9, lengths=[9, 41], sequences=64, factors=[4]
    )
    place: dict[str, Any] = {"mode": "from 9", "length": 41}
    last = "blocks.1.hook_resid_post"
    assert found.value("interchange_accuracy", site=last, **place) == 1.0
    assert found.value("subspace_interchange_accuracy", site=last, control="", **place) > 0.9
    random = found.value("subspace_interchange_accuracy", site=last, control="random subspace", **place)
    assert random < 0.3
