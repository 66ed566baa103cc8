"""Average sensitivity of functions with known values, and sharpness against its expansion."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from circuits.sensitivity import function_statistics, model_answers, sensitivity, sharpness
from tests.support.circuits.sensitivity import BITS, MAJORITY, cube
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority


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
