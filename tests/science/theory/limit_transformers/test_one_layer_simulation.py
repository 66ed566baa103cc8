"""Short strings for long ones, one layer: known minimal lengths, tie sets, residues, and real models."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.theory.limit_models import limit_model
from tests.support.theory.one_layer_simulation import rare_top_head
from workbench.theory.limit_transformers.limit_heads import limit_heads
from workbench.theory.limit_transformers.one_layer_simulation import (
    proportional_counts,
    simulate,
    weight_error,
)
from workbench.theory.limit_transformers.two_layer_subsequence import last_output


def test_a_rare_token_that_is_alone_at_the_top_must_be_kept() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([[0], rng.integers(2, 4, 1_000_000)])
    x[500_000] = 1
    head = rare_top_head()
    counts = np.bincount(x[1:], minlength=4)
    naive = np.repeat(np.arange(4), proportional_counts(counts, 1000))
    assert (naive == 1).sum() == 0
    assert weight_error([head], x, np.concatenate([[0], naive, x[-1:]])) == pytest.approx(1.0)
    found = simulate([head], x, 0.05)
    assert found.error == 0.0
    assert len(found.tokens) == 3  # BOS, the rare token, the last one


@pytest.mark.parametrize("attention", ["hardmax", "softmax"])
@pytest.mark.parametrize(("period", "locality", "bos"), [(1, 0, 0), (3, 2, 0), (2, 1, None)])
def test_models_answer_alike_on_short_and_long_strings(
    attention: str, period: int, locality: int, bos: int | None
) -> None:
    model = limit_model(period, locality, d_vocab=5, attention=attention, initializer_range=0.4, seed=3)
    if attention == "hardmax":
        for name in ("W_Q", "W_K"):
            getattr(model.blocks[0].attn, name).data.round_()  # ties, so that there is something to count
        model.embed.W_E.data.round_()
        model.pos_embed.W_pos.data.round_()
    heads = limit_heads(model, bos)
    x = np.random.default_rng(0).choice([1, 2, 3, 4], p=[0.001, 0.1, 0.3, 0.599], size=3001)
    if bos is not None:
        x[0] = bos
    answers = last_output(model)
    errors, lengths = [], []
    for epsilon in (0.3, 0.03):
        found = simulate(heads, x, epsilon, attention)  # type: ignore[arg-type]
        assert found.error <= epsilon + 1e-6
        assert (len(found.tokens) - len(x)) % period == 0
        assert np.array_equal(found.tokens[-locality - 1 :], x[-locality - 1 :])
        assert set(zip(found.tokens.tolist(), (np.arange(len(found.tokens)) % period).tolist(), strict=True)) <= set(
            zip(x.tolist(), (np.arange(len(x)) % period).tolist(), strict=True)
        )
        errors.append(float(np.abs(answers(found.tokens) - answers(x)).max()))
        lengths.append(len(found.tokens))
    assert lengths[1] >= lengths[0]
    assert lengths[1] < len(x) / 5
    assert errors[1] < 0.5
