"""Every query's statistics in one sweep, against plain float64 arithmetic on the model's own pattern."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from circuits.attention.all_queries import REDUCERS, block_size, stream_blocks, sweep, sweep_statistics
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import ENCODINGS
from workbench.models.transformer.scores import ScoreInputs
from workbench.tasks.base import Batch

Make = Callable[..., Batch]


def model_of(positions: str, log_scaling: str, double: bool = True) -> HookedTransformer:
    cfg = ModelConfig(
        d_vocab=5, n_layers=2, d_model=16, n_heads=2, n_ctx=64, positions=positions, log_scaling=log_scaling,
        initializer_range=0.6,
    )  # fmt: skip
    model = HookedTransformer(cfg, seed=4).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("phi", "log_gain")):
                parameter.normal_(1.0, 0.5, generator=torch.Generator().manual_seed(7))
    return model.double() if double else model


def naive(p: np.ndarray) -> dict[str, float]:
    """The statistics of one row of weights over the keys it sees."""
    query = len(p) - 1
    return {
        "top_weight": p.max(),
        "entropy": -sum(x * math.log(x) for x in p if x > 0),
        "previous_token": p[query - 1] if query else 0.0,
        "first_token": p[0],
        "own_token": p[query],
        "mean_lag": sum(x * (query - j) for j, x in enumerate(p)),
    }


@pytest.mark.parametrize(
    ("positions", "log_scaling"), [*itertools.product(sorted(ENCODINGS), ["none", "all", "learned"])]
)
def test_every_statistic_equals_a_naive_computation(positions: str, log_scaling: str, asked: Make) -> None:
    model = model_of(positions, log_scaling)
    tokens = torch.randint(0, 5, (2, 23), generator=torch.Generator().manual_seed(1))
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(2)]
    _, cache = model.run_with_cache(tokens, names_filter=names)
    for budget in (1, 4000, 1 << 20):
        found = sweep_statistics(model, asked(tokens), budget=budget)
        for layer, name in enumerate(names):
            for b, h, q in itertools.product(range(2), range(2), (0, 1, 7, 22)):
                expected = naive(cache[name][b, h, q, : q + 1].numpy())
                for statistic, value in expected.items():
                    assert float(found[layer][statistic][b, h, q]) == pytest.approx(value, abs=1e-6), statistic


def test_single_precision_is_good_to_a_millionth(asked: Make) -> None:
    tokens = torch.randint(0, 5, (1, 60), generator=torch.Generator().manual_seed(2))
    exact = sweep_statistics(model_of("rotary", "none"), asked(tokens))
    found = sweep_statistics(model_of("rotary", "none", double=False), asked(tokens))
    for layer in range(2):
        for name in ("top_weight", "previous_token", "first_token", "own_token"):
            assert torch.allclose(found[layer][name].double(), exact[layer][name], atol=5e-6)


def test_blocks_cover_all_queries_within_the_budget() -> None:
    q = torch.randn(2, 50, 3, 4, generator=torch.Generator().manual_seed(0))
    inputs = ScoreInputs(q, q)
    budget = 20_000
    seen: list[int] = []
    for block in stream_blocks(inputs, budget):
        seen += list(block.queries)
        assert 3 * block.weight.numel() * 4 <= budget or len(block.queries) == 1
        assert float(block.weight[..., 0, block.queries.start + 1 :].abs().sum()) == 0.0
        assert block.weight.amax(-1) == pytest.approx(1.0)
    assert seen == list(range(50))
    assert block_size(inputs, budget) == 20_000 // (3 * 4 * 2 * 3 * 50)
    assert block_size(inputs, 1) == 1


def test_scores_far_below_the_top_have_no_weight_and_no_nan() -> None:
    q = torch.full((1, 8, 1, 1), 1e3)
    k = torch.linspace(-1e3, 1e3, 8)[None, :, None, None]
    found = sweep(ScoreInputs(q, k))
    for name in REDUCERS:
        assert found[name].isfinite().all(), name
    assert found["top_weight"] == pytest.approx(1.0)
    assert found["entropy"].numpy() == pytest.approx(np.zeros((1, 1, 8)))


def test_linear_attention_is_refused() -> None:
    q = torch.ones(1, 4, 1, 2)
    with pytest.raises(ValueError, match="linear"):
        next(stream_blocks(ScoreInputs(q, q, attention="linear")))
