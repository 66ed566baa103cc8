"""Average sensitivity of functions with known values, and sharpness against its expansion."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from circuits.sensitivity import function_statistics, noisy, sensitivity, task_answers
from tests.support.circuits.sensitivity import BITS, MAJORITY, cube
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task


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
