"""The model against plain numpy, its fused against its explicit path, and a canary in every hook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.models.hook_edits import assert_every_hook_reaches_the_logits
from tests.support.models.reference import ENCODINGS, LIMIT, OPTIONS, build, numpy_forward, tokens
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import ENCODINGS as REGISTERED
from workbench.models.positions import PositionError, make_encoding
from workbench.models.transformer import kernels

EVERY = pytest.mark.parametrize("name", OPTIONS)
IDS = torch.tensor([[0, 1, 2, 5, 6, 7, 9, 10, 13, 17, 20, 23]])


def exact(name: str) -> tuple[HookedTransformer, float]:
    """A model in float64, and how near two orders of its sums come: in float32 that is the processor's affair.

    Hardmax stays in float32, to which it rounds its scores so that equal keys tie.
    """
    model = build(name)
    return (model, 1e-4) if model.cfg.attention == "hardmax" else (model.double(), 1e-10)


@pytest.mark.parametrize("name", [*(n for n in OPTIONS if n.endswith("/none")), "limit/local", "limit/all/hardmax",
                                  "none/learned", "rotary/all", "none/linear", "bare"])  # fmt: skip
def test_an_edit_through_any_hook_changes_the_logits(name: str) -> None:
    assert_every_hook_reaches_the_logits(build(name), tokens())


def test_every_hook_is_edited_somewhere() -> None:
    kinds = {hook.rpartition(".")[2] for name in OPTIONS for hook in build(name).hook_dict}
    assert {"hook_rot_q", "hook_local_bias", "hook_score_factor", "hook_position_ids", "hook_pos_embed"} <= kinds


@EVERY
def test_fused_and_observed_forward_agree(name: str) -> None:
    (model, near), x = exact(name), tokens()
    with torch.no_grad():
        fused = model(x, IDS)
    observed, cache = model.run_with_cache(x, IDS)
    assert (fused - observed).abs().max() < near
    assert set(cache.keys()) == set(model.hook_dict)


@EVERY
def test_blocks_of_queries_agree_with_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (model, near), x = exact(name), tokens()
    with torch.no_grad():
        whole = model(x, IDS)
        monkeypatch.setattr(kernels, "SCORES_AT_ONCE", 3 * 2 * 12 * 5)  # five queries at a time: 5, 5, 2
        monkeypatch.setattr(kernels, "LINEAR_BLOCK", 5)
        assert (model(x, IDS) - whole).abs().max() < near


@EVERY
def test_the_model_is_the_function_it_says_it_is(name: str) -> None:
    model, x, ids = build(name), tokens(2, 7), torch.stack([IDS[0, :7], torch.arange(7)])
    with torch.no_grad():
        found, exact = model(x, ids).double().numpy(), model.double()(x, ids).numpy()
    expected = numpy_forward(model, x.numpy(), ids.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)  # float32: how near, is the processor's
    np.testing.assert_allclose(exact, expected, atol=1e-10, err_msg="in float64")


@EVERY
def test_later_tokens_do_not_change_a_prefix(name: str) -> None:
    (model, near), x = exact(name), tokens()
    with torch.no_grad():
        assert (model(x)[:, :7] - model(x[:, :7])).abs().max() < near


@EVERY
def test_gradients_reach_every_weight(name: str) -> None:
    model = build(name)
    ids = torch.arange(24)[None]
    model(tokens(4, 24), ids).pow(2).sum().backward()
    dead = [n for n, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    # A bias on the keys adds a constant to each query's scores: softmax takes it away.
    assert [n for n in dead if not n.endswith("b_K")] == []
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())


@pytest.mark.parametrize("name", ["alibi/learned", "limit/local", "limit/learned", "none/linear", "alibi/hardmax"])
def test_gradients_are_the_same_however_attention_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (model, near), x = exact(name), tokens()

    def gradients(*hooks: Any) -> list[torch.Tensor]:
        model.zero_grad(set_to_none=True)
        model.run_with_hooks(x, fwd_hooks=list(hooks)).pow(2).sum().backward()
        return [p.grad.clone() for p in model.parameters()]

    fused = gradients()
    explicit = gradients(*((f"blocks.{b}.attn.hook_pattern", lambda value, hook: None) for b in range(2)))
    monkeypatch.setattr(kernels, "SCORES_AT_ONCE", 3 * 2 * 12 * 5)
    monkeypatch.setattr(kernels, "LINEAR_BLOCK", 5)
    for found in (explicit, gradients()):
        assert all(torch.allclose(a, b, atol=near, rtol=near) for a, b in zip(fused, found, strict=True))


@pytest.mark.parametrize("name", ["limit/learned", "alibi/all", "limit/local"])
def test_looking_at_what_scores_are_made_of_changes_no_bit(name: str) -> None:
    model, x = build(name), tokens()
    with torch.no_grad():
        plain = model(x)
    looked, _ = model.run_with_cache(x, names_filter=model.cfg.score_hooks(0))
    assert torch.equal(plain, looked)


@pytest.mark.parametrize("name", ENCODINGS)
def test_what_each_scheme_reads_of_the_ids(name: str) -> None:
    model, x, ids = build(f"{name}/none"), tokens(), torch.arange(12)[None]
    scheme = make_encoding(ENCODINGS[name])

    def change(other: torch.Tensor) -> float:
        with torch.no_grad():
            return float((model(x, ids) - model(x, other)).abs().max())

    if not scheme.reads_ids:
        assert change(ids + 7) == change(2 * ids) == 0
        return
    assert change(2 * ids) > 1e-2
    if scheme.shift is None:
        assert scheme.absolute
        assert change(ids + 6) > 1e-2
    elif scheme.shift > 1:
        assert change(ids + 2 * scheme.shift) == 0, "lags and residues are the same"
        assert change(ids + 2 * scheme.shift + 1) > 1e-2
    else:
        assert change(ids + 7) < 1e-4, "differences only"


@pytest.mark.parametrize("positions", ["rotary", "alibi", LIMIT, "relative"], ids=str)
def test_differences_are_exact_at_large_ids_too(positions: Any) -> None:
    model, x, ids = build({"positions": positions}), tokens(), torch.arange(12)[None]
    with torch.no_grad():
        assert torch.allclose(model(x, ids), model(x, ids + 99_999), atol=2e-4)


def test_ids_outside_the_table_are_refused() -> None:
    with pytest.raises(PositionError, match="id 24"):
        build("learned")(tokens(1, 25))
    for positions in (name for name, kind in REGISTERED.items() if not kind.table):
        assert build(positions)(tokens(1, 40)).shape == (1, 40, 3), "no table, hence no limit"
    ids = torch.arange(4)[None] - 2
    for positions in REGISTERED:
        with pytest.raises(PositionError, match="start at 0"):
            build(positions)(tokens(1, 4), ids)
        assert build(positions)(tokens(1, 4), ids + 2).shape == (1, 4, 3)
    with pytest.raises(PositionError, match="shape"):
        build("none")(tokens(1, 4), torch.arange(3)[None])


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal", "rotary", "alibi", "limit"])
def test_negative_ids_are_refused(positions: str) -> None:
    """A table would be read from its end, in silence."""
    ids = torch.arange(4)[None]
    build(positions)(tokens(1, 4), ids)
    with pytest.raises(PositionError, match="ids"):
        build(positions)(tokens(1, 4), ids - 2)


def test_initial_weights_come_from_their_seed_alone() -> None:
    cfg = build("limit", log_scaling="learned").cfg
    before = torch.get_rng_state()
    first = HookedTransformer(cfg, seed=5)
    torch.manual_seed(99)
    second, other = HookedTransformer(cfg, seed=5), HookedTransformer(cfg, seed=6)
    torch.set_rng_state(before)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.W_E, other.W_E)
    third = HookedTransformer(cfg, seed=5)
    assert torch.equal(torch.get_rng_state(), before), "building a model must not touch the global generator"
    assert torch.equal(third.W_Q, first.W_Q)
    assert first.W_pos.shape == (2, 16)
    assert not first.blocks[0].attn.phi.any()
    assert bool((first.blocks[0].attn.log_gain == 1).all())


@EVERY
def test_config_survives_json(name: str) -> None:
    cfg = build(name, ids={"name": "pose", "chunks": 3}).cfg
    assert ModelConfig(**cfg.model_dump(mode="json")) == cfg
    assert ModelConfig.model_validate_json(cfg.model_dump_json()) == cfg


@pytest.mark.parametrize("name", ["none/none", "alibi/all", "limit/all/hardmax", "none/linear"])
def test_cached_scores_and_pattern_are_masked_causally(name: str) -> None:
    _, cache = build(name).run_with_cache(tokens())
    scores, pattern = cache["blocks.1.attn.hook_attn_scores"], cache["blocks.1.attn.hook_pattern"]
    later = torch.ones(12, 12, dtype=torch.bool).triu(1)
    assert bool((scores[..., later] == float("-inf")).all())
    assert bool(scores[..., ~later].isfinite().all())
    assert bool((pattern[..., later] == 0).all())
    assert torch.allclose(pattern.sum(-1), torch.ones(3, 2, 12))
