"""The recurrent network: against torch's modules and a plain loop, hook by hook, and what its config refuses."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from tests.support.models.hook_edits import assert_every_hook_reaches_the_logits
from workbench.models import HookedRNN, RNNConfig
from workbench.models.architectures import make_config, make_model
from workbench.models.base.protocol import HookedModel
from workbench.models.base.without_attention import NoHeadsError
from workbench.models.positions import PositionError
from workbench.models.rnn.model import Recurrence
from workbench.tasks import make_task

CELLS: dict[str, dict[str, Any]] = {
    "gru": {}, "elman": {"cell": "elman"}, "relu": {"cell": "elman", "nonlinearity": "relu"},
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    f"{cell}, {start}{'' if residual else ', no residual'}": {
        **CELLS[cell], "initial_state": start, "residual": residual,
        **({"d_hidden": 7} if residual else {"normalization_type": None}),
    }
    for cell, start, residual in itertools.product(CELLS, ("zeros", "ones", "trained"), (True, False))
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", OPTIONS)
EVERY_CELL = pytest.mark.parametrize("cell", CELLS)


def build(name: str, **more: Any) -> HookedRNN:
    """A small model whose every parameter is off its initial value, so that a forgotten one would show."""
    sizes = {"d_vocab": 5, "d_vocab_out": 3, "n_layers": 2, "d_model": 12, "n_ctx": 16}
    model, g = HookedRNN(RNNConfig(**{**sizes, **OPTIONS[name], **more})), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=g))
    return model.eval()


def tokens(batch: int = 3, pos: int = 13) -> Tensor:
    return torch.randint(5, (batch, pos), generator=torch.Generator().manual_seed(2))


def in_steps(mixer: Recurrence, x: Tensor) -> Tensor:
    """States ``[batch, pos, d_hidden]``, token by token from the formulas of the docstring."""
    cfg, states = mixer.cfg, []
    start = {"zeros": torch.zeros(cfg.d_hidden), "ones": torch.ones(cfg.d_hidden)}.get(cfg.initial_state)
    h = (mixer.h_start if start is None else start.to(x)).expand(len(x), -1)
    for t in range(x.shape[1]):
        i = x[:, t] @ mixer.W_in + mixer.b_in
        if cfg.cell == "elman":
            f = torch.relu if cfg.nonlinearity == "relu" else torch.tanh
            h = f(i + h @ mixer.W_rec)
        else:
            (i_r, i_z, i_n), (s_r, s_z, s_n) = i.chunk(3, -1), (h @ mixer.W_rec + mixer.b_rec).chunk(3, -1)
            n = torch.tanh(i_n + torch.sigmoid(i_r + s_r) * s_n)
            z = torch.sigmoid(i_z + s_z)
            h = (1 - z) * n + z * h
        states.append(h)
    return torch.stack(states, 1)


@EVERY_CELL
def test_a_plain_network_is_the_module_of_torch(cell: str) -> None:
    """Three layers at once, without residual stream and LayerNorm: the network of the literature."""
    fields = {**CELLS[cell], "residual": False, "normalization_type": None}
    model = HookedRNN(RNNConfig(d_vocab=5, n_layers=3, d_model=6, n_ctx=1, **fields), seed=3).double()
    module: Any = (
        nn.GRU(6, 6, 3, batch_first=True)
        if cell == "gru"
        else nn.RNN(6, 6, 3, nonlinearity="relu" if cell == "relu" else "tanh", batch_first=True)
    ).double()
    with torch.no_grad():
        for layer, block in enumerate(model.blocks):
            block.mixer.b_in.normal_(generator=torch.Generator().manual_seed(layer))
            getattr(module, f"weight_ih_l{layer}").copy_(block.mixer.W_in.T)
            getattr(module, f"weight_hh_l{layer}").copy_(block.mixer.W_rec.T)
            getattr(module, f"bias_ih_l{layer}").copy_(block.mixer.b_in)
            getattr(module, f"bias_hh_l{layer}").copy_(block.mixer.b_rec if cell == "gru" else torch.zeros(6))
        states, _ = module(model.embed(tokens(4, 20)))
        expected = states @ model.unembed.W_U + model.unembed.b_U
        assert torch.allclose(model(tokens(4, 20)), expected, atol=1e-12)


@EVERY
def test_states_are_those_of_the_formulas(name: str) -> None:
    model, x = build(name).double(), tokens()
    logits, cache = model.run_with_cache(x)
    assert set(cache.keys()) == set(model.hook_dict)
    for layer, block in enumerate(model.blocks):
        at = f"blocks.{layer}.mixer.hook_rnn_"
        states = in_steps(block.mixer, cache[f"{at}input"])
        assert cache[f"{at}state"].shape == (3, 13, model.cfg.d_hidden)
        assert torch.allclose(cache[f"{at}state"], states, atol=1e-12)
        out, stream = cache[f"blocks.{layer}.hook_mixer_out"], cache[f"blocks.{layer}.hook_resid_pre"]
        assert torch.allclose(out, states @ block.mixer.W_out if model.cfg.residual else states, atol=1e-12)
        after = stream + out if model.cfg.residual else out
        assert torch.allclose(cache[f"blocks.{layer}.hook_resid_post"], after, atol=1e-12)
    with torch.no_grad():
        assert torch.allclose(model(x), logits, atol=1e-12)


@EVERY
def test_gradients_are_those_of_the_formulas(name: str) -> None:
    mixer = build(name).double().blocks[0].mixer
    x = torch.randn(2, 9, 12, generator=torch.Generator().manual_seed(4)).double()
    grads = []
    for states in (mixer.states(x), in_steps(mixer, x)):
        used = [parameter for key, parameter in mixer.named_parameters() if key != "W_out"]
        grads.append(torch.autograd.grad(states.square().sum(), used))
    for kernel, formula in zip(*grads, strict=True):
        assert formula.abs().max() > 1e-6
        assert torch.allclose(kernel, formula, atol=1e-10)


@EVERY
def test_an_edit_through_any_hook_changes_the_logits(name: str) -> None:
    assert_every_hook_reaches_the_logits(build(name), tokens())


@EVERY_CELL
def test_an_edit_of_an_input_is_carried_on_and_one_of_a_state_is_not(cell: str) -> None:
    model, x = build(f"{cell}, zeros", n_layers=1), tokens()

    def at_five(value: Tensor, hook: Any) -> Tensor:
        return value.index_fill(1, torch.tensor([5]), 3.0)

    with torch.no_grad():
        clean = model(x)
        changed = {
            kind: (model.run_with_hooks(x, fwd_hooks=[(f"blocks.0.mixer.hook_rnn_{kind}", at_five)]) - clean)
            .abs().amax((0, 2)) > 1e-5
            for kind in ("input", "state")
        }  # fmt: skip
    assert not changed["input"][:5].any()
    assert changed["input"][5:8].all()
    assert changed["state"].nonzero()[:, 0].tolist() == [5]


@EVERY
def test_later_tokens_do_not_change_a_prefix_and_other_sequences_do_not_matter(name: str) -> None:
    model, x = build(name).double(), tokens(8, 40)
    with torch.no_grad():
        assert torch.allclose(model(x)[:, :7], model(x[:, :7]), atol=1e-12)
        assert torch.allclose(model(x)[:2], model(x[:2]), atol=1e-12)


@EVERY_CELL
@pytest.mark.parametrize("gain", [0.1, 1.0])
def test_the_gain_scales_the_initial_weights(cell: str, gain: float) -> None:
    fields = {"d_vocab": 3, "n_layers": 1, "d_model": 100, "d_hidden": 300, "n_ctx": 1, **CELLS[cell]}
    mixer = HookedRNN(RNNConfig(**fields, initial_gain=gain)).blocks[0].mixer
    for weight in (mixer.W_in, mixer.W_out):
        assert float(weight.detach().std()) == pytest.approx(gain * math.sqrt(2 / 400), rel=0.03)
    assert float(mixer.W_rec.detach().std()) == pytest.approx(gain * math.sqrt(2 / 600), rel=0.03)
    assert not mixer.b_in.any()


def test_the_initial_state_is_what_the_config_says() -> None:
    """With all weights 0 an Elman network with ReLU forgets its start, and a GRU halves it at each step."""
    for start, first in (("zeros", 0.0), ("ones", 0.5), ("trained", 0.5)):
        fields = {"d_vocab": 3, "n_layers": 1, "d_model": 2, "n_ctx": 1, "initial_state": start}
        model = HookedRNN(RNNConfig(**fields))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
            if start == "trained":
                model.blocks[0].mixer.h_start.fill_(1.0)
        hook = "blocks.0.mixer.hook_rnn_state"
        _, cache = model.run_with_cache(torch.zeros(1, 3, dtype=torch.long), names_filter=hook)
        assert cache[hook][0, :, 0].tolist() == [first, first / 2, first / 4]


def test_the_seed_alone_decides_the_weights() -> None:
    cfg = RNNConfig(d_vocab=3, n_layers=1, d_model=8, n_ctx=8)
    torch.manual_seed(5)
    a, b, c = (HookedRNN(cfg, seed=s).state_dict() for s in (0, 0, 1))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert any(not torch.equal(a[name], c[name]) for name in a)


@EVERY
def test_it_meets_the_protocol_and_survives_its_json(name: str) -> None:
    model = build(name)
    assert isinstance(model, HookedModel)
    assert model.score_hooks(0) == []
    again = make_config(model.cfg.model_dump(mode="json"))
    assert again == model.cfg
    assert isinstance(make_model(again), HookedRNN)
    assert model.cfg.variant == f"rnn-{model.cfg.cell}"
    weights = sum(parameter.numel() for parameter in model.parameters())
    assert weights / 2 < model.cfg.least_numbers <= weights
    with pytest.raises(NoHeadsError, match="a recurrent network has no attention heads"):
        range(model.cfg.n_heads)


@pytest.mark.parametrize(("fields", "message"), [
    ({"positions": "rotary"}, "a recurrent network has no position encoding, so rotary has no effect; leave it out"),
    ({"ids": "pose"}, "has no position encoding"),
    ({"cell": "lstm"}, "'elman' or 'gru'"),
    ({"nonlinearity": "relu"}, "nonlinearity relu is for an Elman network, and cell is gru"),
    ({"residual": False, "d_hidden": 3}, "d_hidden is 3 and d_model is 8"),
    ({"initial_state": "random"}, "'zeros', 'ones' or 'trained'"),
    ({"initial_gain": 0.0}, "greater than 0"),
    ({"n_heads": 2}, "0"),
    ({"d_state": 4}, "d_state"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        RNNConfig(d_vocab=3, n_layers=1, d_model=8, n_ctx=4, **fields)
    assert message in str(refused.value)


def test_ids_that_do_not_fit_the_tokens_are_refused() -> None:
    with pytest.raises(PositionError, match="tokens"):
        build("gru, zeros")(tokens(), torch.zeros(2, 5, dtype=torch.long))


@EVERY_CELL
def test_a_small_network_learns_parity(cell: str) -> None:
    """From random weights, in 400 updates on sequences of 8 bits, with an answer after each bit. Chance is 0.5."""
    task, generator = make_task("parity"), torch.Generator().manual_seed(0)
    sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 1, "d_model": 16, "n_ctx": 16}
    model = HookedRNN(RNNConfig(**sizes, **CELLS[cell], initial_state="ones"), seed=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(400):
        batch = task.sample(64, 8, generator)
        loss = task.loss(model(batch.tokens), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    batch = task.sample(512, 8, generator)
    with torch.no_grad():
        right = task.correct(model(batch.tokens), batch)
    assert right.double().mean() > 0.95
