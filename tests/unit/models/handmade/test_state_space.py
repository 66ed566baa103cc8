"""State-space models built by hand: exact at every length, and what signs of gates can and cannot do."""

from __future__ import annotations

import pytest
import torch

from workbench.core.names import GATES
from workbench.models.handmade.state_space import flip_flop, parity
from workbench.models.ssm.model import HookedSSM
from workbench.models.ssm.scan import gates_of, scan, selective_scan
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

MODELS = {"flip_flop": flip_flop, "parity": parity}


def column(*values: float) -> torch.Tensor:
    """A sequence of one channel and one state."""
    return torch.tensor(values, dtype=torch.float32)[None, :, None, None]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize("length", [1, 2, 47, 10_000])
def test_every_prefix_is_answered_exactly(name: str, law: str, length: int) -> None:
    task, model = make_task(name), MODELS[name]()
    batch = task.sample(4, length, generator("handmade", length), law, window=32)
    with torch.no_grad():
        right = task.correct(model(batch.tokens), batch)
    assert bool(right[batch.mask].all())


@pytest.mark.parametrize("name", MODELS)
def test_its_gates_and_states_are_exact(name: str) -> None:
    """No rounding adds up: gates are 0, 1 or -1 and states one number or its negative, at every position."""
    batch = make_task(name).sample(2, 10_000, generator("exact"), "matched")
    at = "blocks.0.mixer.hook_ssm_"
    _, cache = MODELS[name]().run_with_cache(batch.tokens, names_filter=[f"{at}gates", f"{at}state"])
    assert set(cache[f"{at}gates"].unique().tolist()) <= {-1.0, 0.0, 1.0}
    assert set(cache[f"{at}state"].abs().unique().tolist()) <= {0.0, 6400.0}


def test_with_nonnegative_gates_the_same_parity_is_wrong() -> None:
    task, signed = make_task("parity"), parity()
    model = HookedSSM(signed.cfg.model_copy(update={"gates": "nonnegative"}))
    model.load_state_dict(signed.state_dict())
    batch = task.sample(8, 64, generator("sign"), "matched")
    share = task.correct(model(batch.tokens), batch)[batch.mask].double().mean()
    assert 0.35 < share < 0.65


def test_scalar_vectors() -> None:
    """A = 0, B = b writes a bit; A = 1, B = 0 keeps it; A = 1, B = +-1 counts; A = 1 - 2 x is parity."""
    bits = scan(column(0, 1, 1, 0, 1, 0), column(1, 0, 0, -1, 0, 1))
    assert bits.flatten().tolist() == [1, 1, 1, -1, -1, 1]
    counts = scan(torch.ones(1, 6, 1, 1), column(1, 1, -1, 1, -1, -1))
    assert counts.flatten().tolist() == [1, 2, 1, 2, 1, 0]
    x = torch.tensor([0.0, 1, 1, 0, 1, 1, 1])
    signs = scan(column(1, *(1 - 2 * x).tolist()), column(1, *[0.0] * 7))
    assert signs.flatten().tolist() == [1, 1, -1, 1, 1, -1, 1, -1]


def test_a_counter_is_exact_at_ten_thousand() -> None:
    """The rate 0 is the gate 1 at every step size, so what is counted is never forgotten."""
    ones, no_rate = torch.ones(1, 10_000, 1), torch.zeros(1, 1)
    up = (torch.arange(10_000) % 3 != 2).double().float()[None, :, None] * 2 - 1
    found = selective_scan(up, ones, no_rate, ones, ones, "nonnegative")
    assert torch.equal(found, up.cumsum(1))


@pytest.mark.parametrize("gate", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("write", [-1.0, 0.5])
def test_a_nonnegative_gate_cannot_alternate_on_a_constant_input(gate: float, write: float) -> None:
    states = scan(torch.full((1, 200, 1, 1), gate), torch.full((1, 200, 1, 1), write)).flatten()
    steps = states.diff()
    rounding = 1e-6 * states.abs().max()
    assert bool((steps >= -rounding).all()) or bool((steps <= rounding).all())


def test_the_ranges_of_gates() -> None:
    dt = torch.tensor([0.0, 0.1, 1.0, 200.0])[None, :, None]
    nonnegative, signed = (gates_of(dt, torch.ones(1, 1), kind).flatten() for kind in GATES)
    assert nonnegative[[0, 3]].tolist() == [1, 0]
    assert signed[[0, 3]].tolist() == [1, -1]
    assert torch.allclose(signed, 2 * nonnegative - 1)
