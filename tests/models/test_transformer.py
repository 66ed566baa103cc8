"""The model against plain numpy, its fused against its explicit path, and a canary in every hook."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import PositionError

SCHEMES = ("none", "learned", "rotary")


def build(positions: str = "none", seed: int = 3, **changes: object) -> HookedTransformer:
    fields = {"d_vocab": 5, "n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 24, "d_vocab_out": 3}
    model = HookedTransformer(ModelConfig(**{**fields, "positions": positions, **changes}), seed=seed)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():  # biases and gains start at 0 and 1, where a forgotten one would not show
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def tokens(batch: int = 3, pos: int = 12, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 5, (batch, pos), generator=torch.Generator().manual_seed(seed))


def hook_names(positions: str) -> list[str]:
    return list(build(positions).hook_dict)


CANARIES = [(scheme, name) for scheme in SCHEMES for name in hook_names(scheme)]


@pytest.mark.parametrize(("scheme", "name"), CANARIES)
def test_an_edit_through_any_hook_changes_the_logits(scheme: str, name: str) -> None:
    model, x = build(scheme), tokens()

    def edit(value: torch.Tensor, hook: object) -> torch.Tensor:
        noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
        additive = name.endswith(("pattern", "attn_scores"))  # scores hold -inf, which a factor may flip
        return value + noise.abs() if additive else value * (1 + 0.5 * noise)

    with torch.no_grad():
        clean = model(x)
        edited = model.run_with_hooks(x, fwd_hooks=[(name, edit)])
        again = model(x)
    assert (edited - clean).abs().max() > 1e-4, f"{name} is a silent no-op"
    assert torch.equal(clean, again), "the hook outlived its run"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fused_and_observed_forward_agree(scheme: str) -> None:
    model, x = build(scheme), tokens()
    with torch.no_grad():
        fused = model(x)
    observed, cache = model.run_with_cache(x)
    assert (fused - observed).abs().max() < 1e-5
    assert set(cache.keys()) == set(model.hook_dict)


def numpy_forward(model: HookedTransformer, x: np.ndarray) -> np.ndarray:
    """The same function in plain numpy loops, sharing no code with the model."""
    w = {k: v.detach().double().numpy() for k, v in model.state_dict().items()}
    cfg = model.cfg

    def norm(v: np.ndarray, name: str) -> np.ndarray:
        v = v - v.mean()
        return v / math.sqrt((v**2).mean() + cfg.eps) * w[f"{name}.w"] + w[f"{name}.b"]

    def turned(v: np.ndarray, i: int) -> np.ndarray:
        half = len(v) // 2
        z = v[:half] + 1j * v[half:]
        z = z * np.exp(1j * i * np.array([10_000.0 ** (-2 * p / len(v)) for p in range(half)]))
        return np.concatenate([z.real, z.imag])

    out = np.zeros((*x.shape, cfg.d_vocab_out))
    for b, row in enumerate(x):
        resid = [w["embed.W_E"][t].copy() for t in row]
        if cfg.positions.name == "learned":
            resid = [r + w["pos_embed.W_pos"][i] for i, r in enumerate(resid)]
        for layer in range(cfg.n_layers):
            a = f"blocks.{layer}.attn."
            normed = [norm(r, f"blocks.{layer}.ln1") for r in resid]
            added = [np.array(w[a + "b_O"]) for _ in resid]
            for h in range(cfg.n_heads):
                q, k, v = ([n @ w[f"{a}W_{c}"][h] + w[f"{a}b_{c}"][h] for n in normed] for c in "QKV")
                if cfg.positions.name == "rotary":
                    q, k = ([turned(y, i) for i, y in enumerate(ys)] for ys in (q, k))
                for i in range(len(row)):
                    s = np.array([q[i] @ k[j] for j in range(i + 1)]) / math.sqrt(cfg.d_head)
                    p = np.exp(s - s.max())
                    z = sum(pj * v[j] for j, pj in enumerate(p / p.sum()))
                    added[i] = added[i] + z @ w[a + "W_O"][h]
            resid = [r + d for r, d in zip(resid, added, strict=True)]
            for i, r in enumerate(resid):
                m = f"blocks.{layer}.mlp."
                pre = norm(r, f"blocks.{layer}.ln2") @ w[m + "W_in"] + w[m + "b_in"]
                post = np.array([0.5 * u * (1 + math.erf(u / math.sqrt(2))) for u in pre])
                resid[i] = r + post @ w[m + "W_out"] + w[m + "b_out"]
        out[b] = [norm(r, "ln_final") @ w["unembed.W_U"] + w["unembed.b_U"] for r in resid]
    return out


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_model_is_the_function_it_says_it_is(scheme: str) -> None:
    model, x = build(scheme), tokens(2, 7)
    with torch.no_grad():
        found = model(x).double().numpy()
    np.testing.assert_allclose(found, numpy_forward(model, x.numpy()), atol=2e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_later_tokens_do_not_change_a_prefix(scheme: str) -> None:
    model, x = build(scheme), tokens()
    with torch.no_grad():
        assert torch.allclose(model(x)[:, :7], model(x[:, :7]), atol=1e-5)


def test_what_each_scheme_reads_of_the_ids() -> None:
    x, ids = tokens(), torch.arange(12)[None]
    with torch.no_grad():
        none, learned, rotary = (build(s) for s in SCHEMES)
        assert torch.equal(none(x, ids), none(x, ids + 7)), "no encoding reads no ids"
        assert (learned(x, ids) - learned(x, ids + 7)).abs().max() > 1e-2
        assert torch.allclose(rotary(x, ids), rotary(x, ids + 7), atol=1e-4), "rotary reads differences only"
        assert (rotary(x, ids) - rotary(x, 2 * ids)).abs().max() > 1e-2


def test_rotary_reads_only_differences_at_large_ids_too() -> None:
    model, x, ids = build("rotary"), tokens(), torch.arange(12)[None]
    with torch.no_grad():
        assert torch.allclose(model(x, ids), model(x, ids + 100_000), atol=2e-4)


def test_ids_outside_the_table_are_refused() -> None:
    with pytest.raises(PositionError, match=r"id 24 was asked for; train with n_ctx of at least 25"):
        build("learned")(tokens(1, 25))
    assert build("rotary")(tokens(1, 40)).shape == (1, 40, 3), "rotary has no table, hence no limit"


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"positions": "rotory"}, "did you mean rotary"),
    ({"positions": "zzz"}, "known: none, learned, rotary"),
    ({"ids": "random_ofset"}, "did you mean random_offset"),
])  # fmt: skip
def test_unknown_schemes_name_the_nearest(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(PositionError, match=sentence):
        ModelConfig(**{"d_vocab": 3, "n_layers": 1, "d_model": 4, "n_heads": 1, "n_ctx": 8, **changes})


def test_initial_weights_come_from_their_seed_alone() -> None:
    cfg = build().cfg
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


def test_config_survives_json() -> None:
    cfg = build("rotary", ids="random_offset", d_mlp=(3, 5)).cfg
    assert ModelConfig(**cfg.model_dump(mode="json")) == cfg
    assert ModelConfig.model_validate_json(cfg.model_dump_json()) == cfg


def test_cached_scores_and_pattern_are_masked_causally() -> None:
    _, cache = build().run_with_cache(tokens())
    scores, pattern = cache["blocks.1.attn.hook_attn_scores"], cache["blocks.1.attn.hook_pattern"]
    later = torch.ones(12, 12, dtype=torch.bool).triu(1)
    assert bool((scores[..., later] == float("-inf")).all())
    assert bool((pattern[..., later] == 0).all())
    assert torch.allclose(pattern.sum(-1), torch.ones(3, 2, 12))


def test_gradients_reach_every_weight() -> None:
    model = build("learned")
    model(tokens(4, 24)).pow(2).sum().backward()
    dead = [n for n, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    # A bias on the keys adds a constant to each query's scores: softmax takes it away.
    assert [n for n in dead if not n.endswith("b_K")] == []
