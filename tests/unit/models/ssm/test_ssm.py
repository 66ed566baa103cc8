"""The state-space model: against another implementation, hook by hook, and what its config refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from mambapy.mamba import MambaBlock, MambaConfig
from pydantic import ValidationError
from torch.nn import functional as F

from tests.support.models.hook_edits import assert_every_hook_reaches_the_logits
from workbench.models import HookedSSM, SSMConfig
from workbench.models.architectures import make_config, make_model
from workbench.models.base.protocol import HookedModel
from workbench.models.positions import PositionError
from workbench.models.ssm.model import Mixer
from workbench.models.transformer.config import ModelConfig

OPTIONS: dict[str, dict[str, Any]] = {
    "nonnegative": {},
    "signed": {"gates": "signed"},
    "time-invariant": {"time_invariant": True},
    "signed, no convolution, no norm": {"gates": "signed", "d_conv": 1, "normalization_type": None},
}
EVERY = pytest.mark.parametrize("name", OPTIONS)


def build(name: str = "nonnegative", **more: Any) -> HookedSSM:
    """A small model whose every parameter is off its initial value, so that a forgotten one would show."""
    sizes = {"d_vocab": 5, "d_vocab_out": 3, "n_layers": 2, "d_model": 12, "d_state": 4, "n_ctx": 16, "dt_max": 1.0}
    model, g = HookedSSM(SSMConfig(**{**sizes, **OPTIONS[name], **more})), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=g))
    return model.eval()


def tokens(batch: int = 3, pos: int = 13) -> torch.Tensor:
    return torch.randint(5, (batch, pos), generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("signed", [False, True])
def test_a_layer_is_the_layer_that_others_compute(signed: bool) -> None:
    """mambapy's layer, whose gates are nonnegative; for signed ones, its own with the recurrence written out."""
    cfg = SSMConfig(
        d_vocab=2, n_layers=1, d_model=16, d_state=4, dt_rank=2, n_ctx=1, gates="signed" if signed else "nonnegative"
    )
    mixer, peer = Mixer(cfg), MambaBlock(MambaConfig(d_model=16, n_layers=1, d_state=4, dt_rank=2))
    with torch.no_grad():
        mixer.initialize(torch.Generator().manual_seed(0))
        mixer.b_conv.normal_(generator=torch.Generator().manual_seed(1))
        mixer.D.normal_(
            generator=torch.Generator().manual_seed(2)
        )  # it starts at 1, where a forgotten one would not show
        for theirs, ours in (
            (peer.in_proj.weight, mixer.W_in.T), (peer.conv1d.weight, mixer.W_conv[:, None]),
            (peer.conv1d.bias, mixer.b_conv), (peer.dt_proj.weight, mixer.W_dt.T), (peer.dt_proj.bias, mixer.b_dt),
            (peer.x_proj.weight, torch.cat([mixer.W_dt_in, mixer.W_B, mixer.W_C], 1).T),
            (peer.A_log, mixer.A_log), (peer.D, mixer.D), (peer.out_proj.weight, mixer.W_out.T),
        ):  # fmt: skip
            theirs.copy_(ours)
        if signed:
            peer.selective_scan = lambda x, dt, a, b, c, d: in_steps(x, dt, a, b, c) + d * x
        x = torch.randn(2, 37, 16, generator=torch.Generator().manual_seed(3)).double()
        assert torch.allclose(mixer.double()(x), peer.double()(x), atol=1e-10)


def in_steps(x: torch.Tensor, dt: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The signed recurrence, token by token."""
    state, read = torch.zeros(len(x), *a.shape, dtype=x.dtype), []
    for t in range(x.shape[1]):
        gate = 2 * torch.exp(dt[:, t, :, None] * a) - 1
        state = gate * state + dt[:, t, :, None] * x[:, t, :, None] * b[:, t, None]
        read.append((state * c[:, t, None]).sum(-1))
    return torch.stack(read, 1)


@EVERY
def test_an_edit_through_any_hook_changes_the_logits(name: str) -> None:
    assert_every_hook_reaches_the_logits(build(name), tokens())


@EVERY
def test_fused_and_observed_forward_agree(name: str) -> None:
    model, x = build(name).double(), tokens()
    with torch.no_grad():
        fused = model(x)
    observed, cache = model.run_with_cache(x)
    assert (fused - observed).abs().max() < 1e-10
    assert set(cache.keys()) == set(model.hook_dict)
    assert cache["blocks.1.mixer.hook_ssm_state"].shape == (3, 13, 24, 4)


@EVERY
def test_gates_lie_where_they_are_said_to(name: str) -> None:
    model = build(name)
    _, cache = model.run_with_cache(tokens(), names_filter=lambda hook: hook.endswith("ssm_gates"))
    low = min(float(gates.min()) for gates in cache.values())
    high = max(float(gates.max()) for gates in cache.values())
    assert high <= 1
    assert (-1 <= low < 0) if model.cfg.gates == "signed" else low >= 0


def test_time_invariant_gates_are_the_same_at_every_token() -> None:
    hook = "blocks.0.mixer.hook_ssm_gates"
    for name, same in (("time-invariant", True), ("nonnegative", False)):
        _, cache = build(name).run_with_cache(tokens(), names_filter=hook)
        assert torch.allclose(cache[hook], cache[hook][:1, :1].expand_as(cache[hook])) == same


@EVERY
def test_later_tokens_do_not_change_a_prefix(name: str) -> None:
    model, x = build(name).double(), tokens()
    with torch.no_grad():
        assert torch.allclose(model(x)[:, :7], model(x[:, :7]), atol=1e-10)


def test_an_edit_of_a_write_is_carried_on_and_one_of_a_state_is_not() -> None:
    model, x = build(n_layers=1, d_conv=1), tokens()

    def at_five(value: torch.Tensor, hook: Any) -> torch.Tensor:
        return value.index_fill(1, torch.tensor([5]), 3.0)

    with torch.no_grad():
        clean = model(x)
        changed = {
            kind: (model.run_with_hooks(x, fwd_hooks=[(f"blocks.0.mixer.hook_ssm_{kind}", at_five)]) - clean)
            .abs().amax((0, 2)) > 1e-5
            for kind in ("write", "state", "gates")
        }  # fmt: skip
    assert not changed["write"][:5].any()
    assert changed["write"][5:9].all()
    assert changed["gates"][5:9].all()
    assert changed["state"].nonzero()[:, 0].tolist() == [5]


def test_initial_step_sizes_and_rates() -> None:
    model = HookedSSM(SSMConfig(d_vocab=3, n_layers=1, d_model=64, n_ctx=8, d_state=3, time_invariant=True))
    _, cache = model.run_with_cache(torch.zeros(1, 2, dtype=torch.long), names_filter=lambda n: "ssm_" in n)
    steps = cache["blocks.0.mixer.hook_ssm_dt"][0, 0]
    assert 1e-3 - 1e-6 <= steps.min() < 2e-3
    assert 0.05 < steps.max() <= 0.1 + 1e-6
    assert torch.allclose(
        cache["blocks.0.mixer.hook_ssm_gates"][0, 0].log(), -steps[:, None] * torch.arange(1, 4), atol=1e-6
    )


def test_the_seed_alone_decides_the_weights() -> None:
    cfg = SSMConfig(d_vocab=3, n_layers=1, d_model=8, n_ctx=8)
    torch.manual_seed(5)
    a, b, c = (HookedSSM(cfg, seed=s).state_dict() for s in (0, 0, 1))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert any(not torch.equal(a[name], c[name]) for name in a)


def test_it_meets_the_protocol_and_survives_its_json() -> None:
    model = build("signed")
    assert isinstance(model, HookedModel)
    assert model.score_hooks(0) == []
    again = make_config(model.cfg.model_dump(mode="json"))
    assert again == model.cfg
    assert isinstance(make_model(again), HookedSSM)


def test_a_config_without_an_architecture_is_a_transformer() -> None:
    """As all were written before there were two; and theirs is not written to this day, so that ids stay."""
    cfg = make_config({"d_vocab": 3, "n_layers": 1, "d_model": 8, "n_heads": 2, "n_ctx": 4})
    assert isinstance(cfg, ModelConfig)
    assert "architecture" not in cfg.model_dump()


@pytest.mark.parametrize(("fields", "said"), [
    ({"positions": "rotary"}, "has no position encoding, so rotary has no effect; leave it out, or choose architecture"),
    ({"ids": "pose"}, "has no position encoding"),
    ({"gates": "complex"}, "nonnegative"),
    ({"n_heads": 2}, "0"),
    ({"dt_min": 1.0}, "dt_min 1 exceeds dt_max 0.1"),
    ({"d_head": 4}, "d_head"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        SSMConfig(d_vocab=3, n_layers=1, d_model=8, n_ctx=4, **fields)
    assert said in str(refused.value)


def test_an_unknown_architecture_is_told() -> None:
    with pytest.raises(ValueError, match="'lstm'"):
        make_config({"architecture": "lstm"})


def test_ids_that_do_not_fit_the_tokens_are_told() -> None:
    with pytest.raises(PositionError, match="tokens"):
        build()(tokens(), torch.zeros(2, 5, dtype=torch.long))


def test_logits_do_not_hang_on_how_many_strings_are_run_together() -> None:
    model, x = build().double(), tokens(8, 40)
    with torch.no_grad():
        assert torch.allclose(model(x)[:2], model(x[:2]), atol=1e-10)
    assert F.cross_entropy(model(x).flatten(0, 1), torch.zeros(320, dtype=torch.long)).isfinite()
