"""R(T): its parts on models whose norms are known."""

from __future__ import annotations

import math

import pytest
import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import fixed_lag_model
from workbench.models.handmade.transformers import key_head, majority
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.norm_regularizer import norm_regularizer


def test_the_parts_of_one_head_by_hand() -> None:
    """W_E is ones in one column and one more entry; W_Q, W_V, W_O and W_U hold a single 1, W_K the margin."""
    margin = 3.0
    found = norm_regularizer(key_head(margin), 10, bits=8)
    embedding = math.sqrt(2 + math.sqrt(2))  # the larger singular value of [[1, 0], [1, 0], [1, 1]]
    assert (found.layers, found.heads, found.precision) == (1, 1, 8)
    assert found.weights == pytest.approx(embedding + 4 + margin * math.sqrt(2))
    assert (found.position_vectors, found.position_products) == (0, 0)
    assert found.total == pytest.approx(sum(found.parts.values()))


def test_a_gain_counts_unless_units_are_read_as_steps() -> None:
    plain = [norm_regularizer(majority(gain), 16).weights for gain in (15, 31)]
    steps = [norm_regularizer(majority(gain), 16, steps=True).weights for gain in (15, 31)]
    assert plain[1] - plain[0] > 64  # the gain is 4 (n + 1), in two units
    assert steps[1] == pytest.approx(steps[0], rel=1e-3)
    assert steps[0] < plain[0]


def test_a_local_term_counts_by_the_lags_there_are() -> None:
    model = fixed_lag_model(3, lag=5)  # phi is 60 at lag 5
    assert [norm_regularizer(model, n).position_products for n in (5, 6, 40)] == [0, 3600, 3600]


@pytest.mark.parametrize("n", [4, 12, 30])
def test_position_vectors_that_match_everywhere_grow_with_the_context(n: int) -> None:
    """p_i W_Q W_K^T p_j = 2 for all i, j: 4 for each of n (n + 1) / 2 pairs, averaged over n keys."""
    model = HookedTransformer(
        ModelConfig(d_vocab=2, d_vocab_out=2, n_layers=2, d_model=3, n_heads=1, d_head=2, n_ctx=30, attn_only=True,
                    positions="learned", normalization_type=None)
    )  # fmt: skip
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.pos_embed.W_pos[:, 0] = 1.0
        model.blocks[1].attn.W_Q[0, 0, 0] = 2.0
        model.blocks[1].attn.W_K[0, 0, 0] = 1.0
    found = norm_regularizer(model, n)
    assert found.position_products == pytest.approx(4 * (n + 1) / 2)
    assert found.position_vectors == 1
    assert found.weights == pytest.approx(3)


def test_other_positions_and_lengths_are_refused() -> None:
    model = HookedTransformer(
        ModelConfig(d_vocab=2, d_vocab_out=2, n_layers=1, d_model=4, n_heads=1, n_ctx=8, positions="rotary")
    )
    with pytest.raises(TheoryError, match="rotary"):
        norm_regularizer(model, 8)
    with pytest.raises(TheoryError, match="4096 tokens"):
        norm_regularizer(key_head(1.0), 5000)
