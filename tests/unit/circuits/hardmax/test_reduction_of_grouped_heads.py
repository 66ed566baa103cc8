"""Rows of heads that share keys and see a window of them alone: as those of the pattern that the model has."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from circuits.hardmax.reduction import RowReducer
from tests.support.tasks.presenting import put
from workbench.models.transformer.scores import ScoreInputs


@pytest.mark.parametrize("window", [None, 3])
def test_support_and_sink_are_those_of_the_keys_that_a_query_sees(window: int | None) -> None:
    generator = torch.Generator().manual_seed(0)
    task = put("uf", "bare", 9, (5,))
    batch = task.sample(4, 5, generator, "matched")
    q, k = (torch.randn(4, 10, heads, 8, generator=generator) for heads in (4, 2))
    inputs = ScoreInputs(q, k, scale=0.5, window=window)
    queries = np.array([8, 9])
    reducer = RowReducer(0, queries, 1.0, {})
    reducer.add(inputs, batch, {})
    found = reducer.result()
    pattern = inputs.pattern(inputs.scores(queries.tolist())).double()
    assert (pattern > 0).sum(-1).max() == (10 if window is None else 3)
    entropy = -(pattern * pattern.clamp(min=1e-300).log()).sum(-1).mean(-1)
    assert np.allclose(found["entropy"], entropy.numpy(), atol=1e-5)
    if window is not None:
        assert (found["sink"] == 0).all(), "no query sees the first key"
        assert (found["sizes"] <= 3).all()
