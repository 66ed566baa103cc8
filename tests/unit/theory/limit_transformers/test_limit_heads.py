"""First-layer heads as tables: against the model's own scores, and margins against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from tests.support.theory.limit_models import limit_model, strings
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.limit_heads import LimitHead, limit_heads, margins

RELATIVE = {"name": "relative", "buckets": 6, "max_distance": 9}
SCHEMES = [
    {},
    {"log_scaling": "all"},
    {"log_scaling": "local"},
    {"log_scaling": "learned"},
    {"positions": "none"},
    {"positions": "none", "normalization_type": "LN"},
    {"normalization_type": "LN", "log_scaling": "all"},
    {"positions": RELATIVE},
    {"positions": RELATIVE, "log_scaling": "all"},
    {"positions": RELATIVE, "log_scaling": "learned", "normalization_type": "LN"},
]


@pytest.mark.parametrize("config", SCHEMES)
def test_tables_give_the_models_own_scores(config: dict[str, object]) -> None:
    model = limit_model(3, 2, **config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("log_gain", "b_Q", "b_K")):
                weight.normal_(1.0, 0.3, generator=torch.Generator().manual_seed(5))
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    heads = limit_heads(model, 0)
    for tokens in strings(3, 20):
        _, cache = model.run_with_cache(torch.as_tensor(tokens)[None])
        for head, limit in enumerate(heads):
            seen = cache["blocks.0.attn.hook_attn_scores"][0, head, -1].numpy()
            assert limit.scores(tokens) == pytest.approx(seen, abs=1e-9)
    # reading a model leaves it as it was
    assert all(torch.equal(before[name], weight) for name, weight in model.named_parameters())


@pytest.mark.parametrize(("period", "locality", "bos"), [(1, 0, 0), (2, 1, 0), (2, 0, None), (1, 2, None)])
def test_margins_are_those_of_all_strings(period: int, locality: int, bos: int | None) -> None:
    """Brute force over every string long enough to show every key at every residue and lag."""
    model = limit_model(period, locality, d_vocab=3, seed=period + locality)
    for head in limit_heads(model, bos):
        top, pair = math.inf, math.inf
        letters = [t for t in range(3) if t != bos]
        seen: dict[tuple[int, int], set[float]] = {}
        for length in range(1, 7):
            for word in itertools.product(letters, repeat=length):
                tokens = np.array(([bos] if bos is not None else []) + list(word))
                values = {round(v, 9) for v in head.scores(tokens)}
                seen.setdefault((int(tokens[-1]), (len(tokens) - 1) % period), set()).update(values)
        for values in seen.values():
            ordered = sorted(values)
            if len(ordered) > 1:
                top = min(top, ordered[-1] - ordered[-2])
                pair = min(pair, min(b - a for a, b in itertools.pairwise(ordered)))
        found = margins(head)
        assert found.top == pytest.approx(top, abs=1e-8)
        assert found.pair == pytest.approx(pair, abs=1e-8)
        assert found.pair <= found.top


def test_the_local_term_of_a_relative_bias_is_what_differs_from_the_last_bucket() -> None:
    """Buckets begin at lags 0, 1, 2, 3, 5, 7: the local term ends at lag 6, and a constant belongs to the content."""
    model = limit_model(positions=RELATIVE, log_scaling="all")
    weights = model.pos_bias["W_bias"].detach().numpy()
    for head, limit in enumerate(limit_heads(model, 0)):
        own = weights[head] - weights[head, -1]
        assert limit.phi == pytest.approx(own[[0, 1, 2, 3, 3, 4, 4]])
        assert (limit.period, limit.locality) == (1, 6)
    shifted = limit_model(positions=RELATIVE, log_scaling="all")
    shifted.pos_bias["W_bias"].data += 3.0
    for a, b in zip(limit_heads(model, 0), limit_heads(shifted, 0), strict=True):
        assert a.phi == pytest.approx(b.phi)
        assert (margins(a).top, margins(a).pair) == pytest.approx((margins(b).top, margins(b).pair))


def test_positions_that_are_no_limit_transformers_are_refused() -> None:
    with pytest.raises(TheoryError, match="relative"):
        limit_heads(limit_model(positions="learned"), 0)


def test_the_top_margin_is_not_enough_where_the_top_token_is_absent() -> None:
    head = LimitHead(np.array([5.0, 1.0, 0.9]).reshape(1, 1, 3, 1).repeat(3, 0), np.zeros(1))
    found = margins(head)
    assert (found.top, found.pair) == (pytest.approx(4.0), pytest.approx(0.1))


def test_ties_are_no_gaps_and_a_uniform_head_has_none() -> None:
    uniform = LimitHead(np.zeros((2, 1, 2, 1)), np.zeros(1))
    assert margins(uniform).top == margins(uniform).pair == math.inf
    nearly = LimitHead(np.array([0.0, 1e-3]).reshape(1, 1, 2, 1).repeat(2, 0), np.zeros(1))
    assert margins(nearly, tie=1e-2).top == math.inf
    assert margins(nearly).top == pytest.approx(1e-3)


def test_the_key_at_lag_zero_is_the_query_itself() -> None:
    content = np.zeros((2, 1, 2, 1))
    content[0, 0, 1, 0] = 1.0  # query 0 likes token 1, which cannot be at lag 0
    head = LimitHead(content, np.array([10.0]))
    assert head.observable(0, 0).max() == 10.0
    assert head.observable(1, 0).max() == 10.0
    assert 11.0 not in head.observable(0, 0)


@pytest.mark.parametrize("positions", ["learned", "rotary", "alibi"])
def test_other_positions_are_no_limit_transformers(positions: str) -> None:
    with pytest.raises(TheoryError, match=positions):
        limit_heads(limit_model(positions=positions), 0)


def test_linear_attention_is_none_either() -> None:
    with pytest.raises(TheoryError, match="linear"):
        limit_heads(limit_model(positions="none", attention="linear"), 0)


def test_gaps_of_exactly_the_tie_are_ties() -> None:
    head = LimitHead(np.array([0.0, 0.5, 2.0]).reshape(1, 1, 3, 1).repeat(3, 0), np.zeros(1))
    assert (margins(head, 0.25).pair, margins(head, 0.25).top) == (0.5, 1.5)
    assert (margins(head, 0.5).pair, margins(head, 0.5).top) == (1.5, 1.5)
    assert (margins(head, 1.5).pair, margins(head, 1.5).top_query) == (math.inf, (0, 0))
    assert margins(head, 2.0).top == math.inf
    assert margins(head, 0.25).top_query == margins(head, 0.25).pair_query == (0, 0)


def test_scores_of_a_string_shorter_than_the_local_term() -> None:
    head = LimitHead(np.zeros((2, 1, 2, 1)), np.array([1.0, 2.0, 3.0]))
    assert head.scores(np.array([1])).tolist() == [1.0]
    assert head.scores(np.array([1, 1])).tolist() == [2.0, 1.0]
    assert head.scores(np.array([1, 1, 0, 1])).tolist() == [0.0, 3.0, 2.0, 1.0]
    scaled = LimitHead(head.content + 1, head.phi, scaling="local")
    assert scaled.scores(np.array([1, 1]), keys=8).tolist() == pytest.approx([1 + 2 * math.log(8), 1 + math.log(8)])
    every = LimitHead(head.content + 1, head.phi, scaling="all")
    assert every.scores(np.array([1, 1])).tolist() == pytest.approx([3 * math.log(2), 2 * math.log(2)])
