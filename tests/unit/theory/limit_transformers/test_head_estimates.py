"""Fitting a limit transformer to measured scores: exact where there is one, and honest where there is none."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.theory.head_estimates import PROBES
from tests.support.theory.limit_models import limit_model, strings
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import key_head
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers import head_estimates as estimates
from workbench.theory.limit_transformers.head_estimates import QUERIES, _locality, estimate_heads, measure_scores


def test_without_positions_there_is_neither_period_nor_local_term() -> None:
    for found in estimate_heads(limit_model(positions="none"), PROBES, 0):
        assert (found.period, found.locality) == (1, 0)
        assert found.residual_share < 1e-9


def test_a_known_margin_is_read_off() -> None:
    tokens = strings(24, 60, 3)
    (found,) = estimate_heads(key_head(2.5), tokens, 0)
    assert found.margins.top == pytest.approx(2.5, abs=1e-5)
    assert found.residual_share < 1e-9


@pytest.mark.parametrize(("size", "tau"), [(0.99, 0), (1.01, 3)])
def test_a_local_term_counts_from_the_negligible_size_on(size: float, tau: int) -> None:
    """One lag just below or above it: the threshold is on squares, so it is its square."""
    for negligible in (1e-3, 0.5, 20.0):
        phi = np.zeros(13)
        phi[3] = size * negligible
        assert _locality(phi, negligible) == tau
        assert _locality(-phi, negligible) == tau


def test_too_little_to_probe_with_is_refused() -> None:
    with pytest.raises(TheoryError, match="2 sequences"):
        estimate_heads(limit_model(), strings(8, 20), 0)
    with pytest.raises(TheoryError, match="linear"):
        estimate_heads(limit_model(positions="none", attention="linear"), PROBES, 0)


def test_scores_are_those_of_the_last_queries_with_every_key_up_to_their_own() -> None:
    """Each against the model's cache: n keys for the query with prefix length n, itself among them."""
    length, many = QUERIES + 3, 2
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 3, (many, length), generator=generator).numpy()
    model = HookedTransformer(
        ModelConfig(n_layers=1, d_model=8, n_heads=2, n_ctx=length, d_vocab=3, d_vocab_out=2), seed=1
    )
    made = measure_scores(model, tokens)
    pairs = [(s, q, k) for s in range(many) for q in range(length - QUERIES, length) for k in range(q + 1)]
    assert list(zip(made.query_id, made.key_id, strict=True)) == [(q, k) for _, q, k in pairs]
    assert made.group.tolist() == [s * QUERIES + q - (length - QUERIES) for s, q, _ in pairs]
    assert made.query.tolist() == [tokens[s, q] for s, q, _ in pairs]
    assert made.key.tolist() == [tokens[s, k] for s, _, k in pairs]
    _, cache = model.run_with_cache(torch.as_tensor(tokens))
    scores = cache["blocks.0.attn.hook_attn_scores"].double()
    assert np.allclose(made.score, [scores[s, :, q, k].tolist() for s, q, k in pairs])
    assert (made.local_factor == 1).all()


@pytest.mark.parametrize(("shares", "period"), [
    ({1: 0.0099, 2: 0.0}, 1), ({1: 0.01, 2: 0.0}, 2), ({1: 1.0, 2: 0.5, 3: 0.01, 6: 0.0}, 3), ({1: 1.0, 2: 0.11, 4: 0.0}, 4), ({1: 0.5, 2: 0.5}, 1),
])  # fmt: skip
def test_the_least_period_that_explains_nearly_as_much(shares: dict[int, float], period: int) -> None:
    assert estimates._least_period(shares) == period


@pytest.mark.parametrize(("phi", "negligible", "locality"), [
    ([1.0, 0.0, 0.0], 0.0, 0), ([1.0, 0.1, 0.0], 0.0, 0), ([1.0, 0.11, 0.0], 0.0, 1), ([0.0, 0.0, 0.0], 0.0, 0), ([1.0, 1.0, 1.0], 0.0, None),
    ([1.0, 1.0, 1.0], 1.01, 1), ([1.0, 1.0, 1.0], 2.0, 0), ([0.0, 3.0, 0.0, 0.0], 0.0, 1), ([0.0, 0.0, 3.0, 0.0], 0.0, 2),
])  # fmt: skip
def test_the_lag_after_which_a_local_term_is_negligible(
    phi: list[float], negligible: float, locality: int | None
) -> None:
    assert estimates._locality(np.array(phi), negligible) == locality


def test_probing_needs_two_strings_and_one_token_more_than_it_reads() -> None:
    from tests.support.theory.limit_models import limit_model, strings

    model = limit_model(1, 0, n_heads=1, d_model=4)
    needed = estimates.LARGEST_LAG + max(estimates.PERIODS) + estimates.QUERIES
    assert needed == 28
    assert len(estimates.estimate_heads(model, strings(2, needed + 1), 0)) == 1
    for count_, length in ((1, needed + 1), (2, needed)):
        with pytest.raises(TheoryError, match="2 sequences"):
            estimates.estimate_heads(model, strings(count_, length), 0)
