"""Few tokens in place of far context, on a model that needs one planted token and nothing else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from circuits.sparsity.few_tokens import expected_overlap, few_tokens, overlaps, random_tokens
from tests.support.circuits.planted_adder import adder
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task
from workbench.tasks.base import Batch

SOURCE = make_task("planted", k=1, modulus=32, fillers=4, span=1)
LENGTH, WINDOW = 60, 10


def one_number(place: int = 20, count: int = 12) -> Batch:
    """Strings of fillers with one number each, 1, 2, .., at a place before the window."""
    tokens = torch.full((count, LENGTH), 33)
    tokens[:, place - 1] = 1 + torch.arange(count) % 31
    return SOURCE.label(tokens)


def without_numbers() -> HookedTransformer:
    """Reads nothing: every token is as good as any other, and the first ones are chosen."""
    cfg = ModelConfig(d_vocab=SOURCE.d_vocab, d_vocab_out=32, n_layers=1, d_model=4, n_heads=1, n_ctx=256)
    model = HookedTransformer(cfg)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    return model.double().eval()


def test_all_that_far_context_gains_is_regained_from_the_planted_token() -> None:
    batch = one_number()
    found = few_tokens(adder(SOURCE), SOURCE, batch, WINDOW)
    gain, regained = found.loss_short - found.loss_long, found.loss_short - found.loss_sparse
    # Seen, the answer c is certain but for its neighbours; unseen, the outputs are -(c - 0)^2 less their maximum.
    assert (gain > 0.4).all()
    assert np.ptp(gain) > 100
    assert np.polyfit(gain, regained, 1) == pytest.approx([1.0, 0.0], abs=1e-9)
    assert np.corrcoef(gain, regained)[0, 1] == pytest.approx(1.0, abs=1e-12)
    assert (found.chosen == 20).any(1).all()


def test_random_tokens_regain_nothing_unless_they_hit_the_planted_one() -> None:
    batch = one_number(count=31)
    found = few_tokens(adder(SOURCE), SOURCE, batch, WINDOW)
    hit = (random_tokens(batch, WINDOW, 5) == 20).any(1)
    assert 0 < hit.sum() < 16
    assert found.loss_random[~hit] == pytest.approx(found.loss_short[~hit], abs=1e-9)
    assert found.loss_random[hit] == pytest.approx(found.loss_long[hit], abs=1e-9)


def test_all_tokens_before_the_window_may_be_chosen_and_then_nothing_is_missing() -> None:
    batch = one_number(count=3)
    every = LENGTH - WINDOW
    found = few_tokens(adder(SOURCE), SOURCE, batch, WINDOW, every)
    assert sorted(found.chosen[0].tolist()) == list(range(1, every + 1))
    assert found.loss_sparse == pytest.approx(found.loss_long, abs=1e-9)
    with pytest.raises(ValueError, match="give a smaller k"):
        few_tokens(adder(SOURCE), SOURCE, batch, WINDOW, every + 1)


def test_tokens_that_a_blind_model_chose_regain_nothing() -> None:
    batch = one_number()
    found = few_tokens(adder(SOURCE), SOURCE, batch, WINDOW, chosen_by=without_numbers())
    assert found.chosen.tolist() == [[1, 2, 3, 4, 5]] * len(batch)
    assert found.loss_sparse == pytest.approx(found.loss_short, abs=1e-9)
    other = few_tokens(without_numbers(), SOURCE, batch, WINDOW, chosen_by=adder(SOURCE))
    assert other.chosen[:, 0].tolist() == [20] * len(batch)
    assert other.loss_sparse == pytest.approx(np.log(32), abs=1e-9)
    again = few_tokens(adder(SOURCE), SOURCE, batch, WINDOW, chosen=other.chosen)
    assert again.loss_sparse == pytest.approx(again.loss_long, abs=1e-9)


def test_random_tokens_are_different_ones_before_the_window_and_the_same_for_every_model() -> None:
    batch = one_number(count=200)
    drawn = random_tokens(batch, WINDOW, 5)
    assert drawn.shape == (200, 5)
    assert all(len(set(row)) == 5 for row in drawn.tolist())
    assert {int(drawn.min()), int(drawn.max())} == {1, LENGTH - WINDOW}
    assert (drawn == random_tokens(batch, WINDOW, 5)).all()


def test_overlaps_and_what_chance_gives() -> None:
    one = np.array([[1, 2, 3], [4, 5, 6]])
    assert overlaps(one, np.array([[3, 1, 9], [7, 8, 9]])).tolist() == [2, 0]
    for k, tokens in ((1, 4), (2, 5), (3, 7)):
        choices = np.array(list(combinations(range(tokens), k)))
        pairs = [overlaps(choices, np.roll(choices, shift, 0)) for shift in range(len(choices))]
        assert np.mean(pairs) == pytest.approx(expected_overlap(k, tokens))


def test_what_cannot_be_chosen_is_told() -> None:
    batch = one_number(count=2)
    with pytest.raises(ValueError, match="60 tokens"):
        few_tokens(adder(SOURCE), SOURCE, batch, WINDOW, 60)
    other = HookedTransformer(ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=4, n_heads=1, n_ctx=64))
    with pytest.raises(ValueError, match="models"):
        few_tokens(adder(SOURCE), SOURCE, batch, WINDOW, chosen_by=other)
    with pytest.raises(ValueError, match="chosen_by"):
        few_tokens(
            adder(SOURCE), SOURCE, batch, WINDOW, chosen_by=adder(SOURCE), chosen=np.zeros((2, 5), dtype=np.int64)
        )
    with pytest.raises(ValueError, match=r"\b60\b"):
        few_tokens(adder(SOURCE), SOURCE, batch, LENGTH)
    with pytest.raises(ValueError, match="number of tokens, 5"):
        expected_overlap(6, 5)
