"""Average sensitivity of functions with known values, and sharpness against its expansion."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from circuits.sensitivity import function_statistics, model_answers, noisy, sensitivity, sharpness, task_answers
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

BITS = torch.tensor([1, 2])
MAJORITY = make_task("majority")


def cube(n: int) -> torch.Tensor:
    return 1 + torch.tensor(list(product([0, 1], repeat=n)))


@pytest.mark.parametrize(
    ("name", "n", "value"),
    [
        ("parity", 5, 5.0),
        ("majority", 3, 1.5),
        ("majority", 5, 1.875),
        ("majority", 7, 2.1875),
        ("majority", 9, 2.4609),
    ],
)
def test_all_strings_give_the_average_sensitivity_of_a_task(name: str, n: int, value: float) -> None:
    task = make_task(name)
    found = sensitivity(lambda x: task_answers(task, x), cube(n), np.arange(n), BITS, np.random.default_rng(0))
    assert found.mean() == pytest.approx(value, abs=1e-4)


@pytest.mark.science
def test_a_model_has_the_sensitivity_of_what_it_computes() -> None:
    model = majority()
    for n, value in ((3, 1.5), (7, 2.1875)):
        found = sensitivity(
            lambda x: model_answers(model, MAJORITY, x), cube(n), np.arange(n), BITS, np.random.default_rng(0)
        )
        assert found.mean() == pytest.approx(value, abs=1e-4)
    measured = function_statistics(
        model, MAJORITY, trained=21, lengths=[5, 21, 83], sequences=8, strings=150, positions=99
    )
    for n in (5, 21, 83):
        own, task = (measured.value("average_sensitivity", length=n, control=c) for c in ("", "task"))
        assert own == pytest.approx(task, abs=1e-9)
        assert own == pytest.approx(np.sqrt(2 * n / np.pi), rel=0.35)


def test_a_sample_of_positions_says_so() -> None:
    measured = function_statistics(
        majority(), MAJORITY, trained=21, lengths=[21, 83], sequences=8, strings=8, positions=30
    )
    statuses = {
        r["length"]: r["status"] for r in measured.rows if r["quantity"] == "average_sensitivity" and not r["control"]
    }
    assert statuses == {21: "ok", 83: "sampled"}


def test_strings_that_are_not_asked_are_left_out() -> None:
    task = make_task("kgram_retrieval", symbols=4)
    strings = 1 + torch.randint(0, 4, (50, 6), generator=torch.Generator().manual_seed(0))
    found = sensitivity(
        lambda x: task_answers(task, x), strings, np.arange(6), torch.arange(1, 5), np.random.default_rng(0)
    )
    asked = task_answers(task, strings) >= 0
    assert np.isnan(found[~asked]).all()
    assert np.isfinite(found[asked]).any()


@pytest.mark.science
def test_sharpness_is_half_the_trace_of_the_curvature() -> None:
    """Of a model of zeros on balanced labels: its gradient is 0, and only the two output biases curve, by 1/4 each."""
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=1, d_model=4, n_heads=1, d_mlp=4, n_ctx=16, normalization_type=None
    )
    model = HookedTransformer(cfg).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    bits = 1 + torch.randint(0, 2, (16, 7), generator=torch.Generator().manual_seed(0))
    batch = MAJORITY.label(torch.cat([bits, 3 - bits]))
    found = sharpness(model, MAJORITY, batch, 0.05, 400, np.random.default_rng(0)).mean()
    assert found == pytest.approx(0.05**2 / 2 * 0.5, rel=0.2)


def test_weights_are_put_back_bit_for_bit() -> None:
    model = majority()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    try:
        with noisy(model, 0.1, 3):
            assert not torch.equal(model.W_E, before["embed.W_E"])
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
