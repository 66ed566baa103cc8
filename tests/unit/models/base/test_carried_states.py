"""A sequence in two parts, with the state carried from one to the other, is the whole sequence."""

from __future__ import annotations

import pytest
import torch

from workbench.models.architectures import make_config, make_model
from workbench.models.base.lens_interface import LensUseError
from workbench.models.base.mixer_stack import MixerStack
from workbench.models.base.other_device import compute_elsewhere
from workbench.models.ssm.scan import recurrence, scan, selective_scan, selective_scan_from

SIZES = {"d_vocab": 5, "d_vocab_out": 3, "n_layers": 2, "d_model": 8, "n_ctx": 1}
MODELS = {
    "ssm": {"architecture": "ssm", "d_state": 3},
    "signed ssm without convolution": {"architecture": "ssm", "d_state": 2, "d_conv": 1, "gates": "signed"},
    "time-invariant ssm": {"architecture": "ssm", "d_state": 2, "time_invariant": True},
    "gru": {"architecture": "rnn"},
    "elman from ones": {"architecture": "rnn", "cell": "elman", "initial_state": "ones"},
    "gru from a weight": {"architecture": "rnn", "initial_state": "trained"},
}


def model_of(name: str) -> MixerStack:
    model = make_model(make_config({**SIZES, **MODELS[name]}), seed=3).double()
    assert isinstance(model, MixerStack)
    if MODELS[name].get("initial_state") == "trained":
        with torch.no_grad():
            for block in model.blocks:
                block.mixer.h_start.fill_(0.3)
    return model


def tokens_of(length: int, batch: int = 3) -> torch.Tensor:
    return torch.randint(0, 5, (batch, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cut", [1, 2, 7, 11])
def test_two_parts_are_the_whole(name: str, cut: int) -> None:
    """Cuts inside the window of the convolution, too."""
    model, tokens = model_of(name), tokens_of(12)
    whole, last = model(tokens, return_states=True)
    first, states = model(tokens[:, :cut], return_states=True)
    second, end = model(tokens[:, cut:], initial_states=states, return_states=True)
    assert torch.allclose(torch.cat([first, second], 1), whole, rtol=0, atol=1e-10)
    for state, expected in zip(end, last, strict=True):
        for part, other in zip(state, expected, strict=True):
            assert torch.allclose(part, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_single_tokens_are_the_whole(name: str) -> None:
    """One token at a time, as in text that a model writes."""
    model, tokens = model_of(name), tokens_of(6)
    states, outputs = model.initial_states(3), []
    for token in tokens.split(1, 1):
        output, states = model(token, initial_states=states, return_states=True)
        outputs.append(output)
    assert torch.allclose(torch.cat(outputs, 1), model(tokens), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_two_parts_are_those_of_the_whole(name: str) -> None:
    model, tokens = model_of(name), tokens_of(10)
    weights = torch.randn(3, 10, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    parameters = list(model.parameters())
    whole = torch.autograd.grad((model(tokens) * weights).sum(), parameters, allow_unused=True)
    first, states = model(tokens[:, :4], return_states=True)
    second = model(tokens[:, 4:], initial_states=states)
    parts = torch.autograd.grad((torch.cat([first, second], 1) * weights).sum(), parameters, allow_unused=True)
    for one, other in zip(whole, parts, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_states_change_outputs_and_none_means_those_of_an_empty_sequence(name: str) -> None:
    model, tokens = model_of(name), tokens_of(5)
    assert torch.equal(model(tokens, initial_states=model.initial_states(3)), model(tokens))
    other = [tuple(part + 1.0 for part in state) for state in model.initial_states(3)]
    assert not torch.allclose(model(tokens, initial_states=other), model(tokens))


def test_hooks_on_states_see_the_carried_state() -> None:
    model, tokens = model_of("ssm"), tokens_of(9)
    name = "blocks.1.mixer.hook_ssm_state"
    _, cache = model.run_with_cache(tokens, names_filter=[name])
    _, states = model(tokens[:, :4], return_states=True)
    (_, last), second = model.run_with_cache(
        tokens[:, 4:], names_filter=[name], initial_states=states, return_states=True
    )
    assert torch.allclose(second[name], cache[name][:, 4:], rtol=0, atol=1e-10)
    assert torch.equal(last[1][0], second[name][:, -1])


def test_states_are_carried_through_a_model_on_another_device() -> None:
    model, tokens = model_of("ssm").float(), tokens_of(9)
    with torch.no_grad():
        expected = model(tokens)
        compute_elsewhere(model, model_of("ssm").float(), "cpu")
        _, states = model(tokens[:, :4], return_states=True)
        second = model(tokens[:, 4:], initial_states=states)
    assert torch.allclose(second, expected[:, 4:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("wrong", ["layers", "batch", "parts"])
def test_states_of_another_model_or_batch_are_refused(wrong: str) -> None:
    model = model_of("ssm")
    states = model.initial_states(2 if wrong == "batch" else 3)
    if wrong == "layers":
        states = states[:1]
    if wrong == "parts":
        states = [state[:1] for state in states]
    with pytest.raises(LensUseError, match=r"one state for each of 2 layers with shapes .* for a batch of 3"):
        model(tokens_of(5), initial_states=states)


@pytest.mark.parametrize("pos", [1, 5, 70])
def test_scans_from_a_state_are_the_recurrence(pos: int) -> None:
    g = torch.Generator().manual_seed(pos)
    gates = (2 * torch.rand(2, pos, 4, 3, generator=g, dtype=torch.float64) - 1).requires_grad_()
    writes = torch.randn(2, pos, 4, 3, generator=g, dtype=torch.float64).requires_grad_()
    start = torch.randn(2, 4, 3, generator=g, dtype=torch.float64).requires_grad_()
    weights = torch.randn(2, pos, 4, 3, generator=g, dtype=torch.float64)
    one, other = scan(gates, writes, start), recurrence(gates, writes, start)
    assert torch.allclose(one, other, rtol=0, atol=1e-12)
    inputs = (gates, writes, start)
    for ours, theirs in zip(
        torch.autograd.grad((one * weights).sum(), inputs),
        torch.autograd.grad((other * weights).sum(), inputs),
        strict=True,
    ):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["nonnegative", "signed"])
def test_gradients_of_the_first_and_of_the_last_state(kind) -> None:
    """Against finite differences, and zero as the initial state is none."""
    g = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=g, dtype=torch.float64).requires_grad_()

    inputs = (draw(1, 2, 2), draw(1, 6, 2), draw(1, 6, 2), draw(2, 2), draw(1, 6, 2), draw(1, 6, 2))
    assert torch.autograd.gradcheck(lambda *given: selective_scan_from(*given, kind), inputs)
    zero = torch.zeros(1, 2, 2, dtype=torch.float64)
    assert torch.equal(selective_scan_from(zero, *inputs[1:], kind)[0], selective_scan(*inputs[1:], kind))
