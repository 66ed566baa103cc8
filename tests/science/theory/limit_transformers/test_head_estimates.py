"""Fitting a limit transformer to measured scores: exact where there is one, and honest where there is none."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.theory.head_estimates import PROBES
from tests.support.theory.limit_models import limit_model, strings
from workbench.theory.limit_transformers.head_estimates import estimate_heads
from workbench.theory.limit_transformers.limit_heads import limit_heads, margins


@pytest.mark.parametrize("config", [{}, {"log_scaling": "local"}, {"log_scaling": "learned"}])
def test_a_limit_transformer_is_recovered(config: dict[str, object]) -> None:
    model = limit_model(3, 2, seed=1, **config)
    model.blocks[0].attn.phi.data[:] = torch.tensor([[1.2, -0.7, 0.8], [-0.4, 0.9, 1.1]])
    for found, true in zip(estimate_heads(model, PROBES, 0), limit_heads(model, 0), strict=True):
        assert (found.period, found.locality) == (3, 2)
        assert found.residual_share < 1e-9
        assert found.limit.phi == pytest.approx(true.phi, abs=1e-5)
        assert found.margins.top == pytest.approx(margins(true).top, abs=1e-5)
        assert found.margins.pair == pytest.approx(margins(true).pair, abs=1e-5)
        for tokens in PROBES[:2]:
            difference = found.limit.scores(tokens) - true.scores(tokens)
            assert np.ptp(difference) < 1e-5  # up to one constant per query, which softmax does not see


def test_alibi_is_not_local() -> None:
    slopes = estimate_heads(limit_model(positions="alibi"), PROBES, 0)
    assert [found.locality for found in slopes] == [None, None]


def test_absolute_positions_leave_a_residual() -> None:
    for found in estimate_heads(limit_model(positions="learned"), PROBES, 0):
        assert found.residual_share > 0.2


def test_noise_is_reported_as_a_residual_and_widens_ties() -> None:
    model = limit_model(positions="learned", initializer_range=0.5)
    model.pos_embed.W_pos.data *= 0.05  # mostly tokens, a little absolute position
    for found in estimate_heads(model, PROBES, 0):
        assert 1e-6 < found.residual_share < 0.2
        assert found.margins.tie >= found.residual_rms
        assert found.margins.top > found.residual_rms


def test_the_residual_is_of_strings_that_were_not_fitted() -> None:
    """With a table of all tokens a handful of strings can be fitted by heart; other strings tell."""
    few = strings(2, 60, d_vocab=40, seed=3)
    found = estimate_heads(limit_model(positions="learned", d_vocab=40), few, 0)
    assert min(f.residual_share for f in found) > 0.5
