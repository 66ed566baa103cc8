"""Short strings for long ones, one layer: known minimal lengths, tie sets, residues, and real models."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from tests.support.theory.limit_models import limit_model
from tests.support.theory.one_layer_simulation import rare_top_head
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.limit_heads import LimitHead, limit_heads
from workbench.theory.limit_transformers.one_layer_simulation import (
    proportional_counts,
    shorten_counts,
    simulate,
    weight_error,
)

RARE = [1, 10**4, 10**8, 10**12]
"""Types that are each far rarer than the next."""


def tie_sets(*sets: list[int]) -> np.ndarray:
    weights = np.zeros((len(sets), 1 + max(map(max, sets))))
    for row, members in zip(weights, sets, strict=True):
        row[members] = 1.0
    return weights


@pytest.mark.parametrize(
    ("epsilon", "sets", "counts"),
    [
        (0.1, ([0], [0, 1]), [1, 9]),
        (0.1, ([0, 1], [1, 2]), [0, 1, 9]),
        (0.1, ([0], [0, 1], [1, 2]), [1, 9, 81]),
        (0.25, ([0], [0, 1], [1, 2], [2, 3]), [1, 3, 9, 27]),
    ],
)
def test_the_shortest_strings_of_chains_of_tie_sets(
    epsilon: float, sets: tuple[list[int], ...], counts: list[int]
) -> None:
    weights = tie_sets(*sets)
    found, optimal = shorten_counts(RARE[: weights.shape[1]], weights, epsilon)
    assert found.tolist() == counts
    assert optimal


def test_minimal_counts_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        counts = rng.integers(1, 9, 3)
        weights = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
        wanted = weights * counts / (weights * counts).sum(1, keepdims=True)
        best = min(
            sum(n)
            for n in itertools.product(*(range(c + 1) for c in counts))
            if (weights * n).sum(1).min() > 0
            and np.abs(weights * n / (weights * n).sum(1, keepdims=True) - wanted).max() <= 0.15 + 1e-9
        )
        assert shorten_counts(counts, weights, 0.15)[0].sum() == best


def test_global_rounding_is_as_good_as_it_can_be() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        counts = rng.multinomial(100_000, rng.dirichlet(np.ones(5)))
        rounded = proportional_counts(counts, 100)
        assert rounded.sum() == 100
        assert np.abs(rounded / 100 - counts / counts.sum()).sum() <= 5 / 200


def test_the_weights_that_are_matched_are_the_models_own() -> None:
    model = limit_model(2, 1, d_vocab=4, seed=7)
    tokens = np.array([0, 1, 2, 3, 1, 1, 2])
    other = np.array([0, 3, 2, 1, 1, 1, 2])
    patterns = []
    for string in (tokens, other):
        _, cache = model.run_with_cache(torch.as_tensor(string)[None])
        table = np.zeros((2, 4, 2))
        for head in range(2):
            np.add.at(table[head], (string, np.arange(7) % 2), cache["blocks.0.attn.hook_pattern"][0, head, -1].numpy())
        patterns.append(table)
    assert weight_error(limit_heads(model, 0), tokens, other, "softmax") == pytest.approx(
        np.abs(patterns[0] - patterns[1]).max()
    )


def test_what_cannot_be_simulated_is_refused() -> None:
    head = rare_top_head()
    with pytest.raises(TheoryError, match="it must be longer than the"):
        simulate([head], np.array([0, 1]), 0.1)
    with pytest.raises(TheoryError, match="epsilon"):
        simulate([head], np.array([0, 1, 2, 3]), 0.0)
    with pytest.raises(TheoryError, match="the same period"):
        simulate([head, LimitHead(np.zeros((4, 2, 4, 2)), np.zeros(1), bos=0)], np.array([0, 1, 2, 3]), 0.1)
    with pytest.raises(TheoryError, match="log scaling"):
        simulate([LimitHead(head.content, head.phi, 0, "all")], np.array([0, 1, 2, 3]), 0.1, "softmax")


def test_strings_of_one_free_token_are_the_shortest_to_be_simulated() -> None:
    head = LimitHead(np.zeros((3, 1, 3, 1)), np.zeros(2), bos=0)
    x = np.array([0, 1, 2, 1])
    assert len(simulate([head], x, 0.9).tokens) <= 4
    with pytest.raises(TheoryError, match="3 tokens"):
        simulate([head], x[:3], 0.9)
    with pytest.raises(TheoryError, match="epsilon"):
        shorten_counts([3, 4], [[1.0, 1.0]], 0.0)
    assert shorten_counts([4, 4], [[1.0, 1.0]], 1e-6)[0].tolist() == [1, 1]
    assert shorten_counts([3, 6], [[1.0, 1.0]], 0.01)[0].tolist() == [1, 2]
    assert shorten_counts([3, 6], [[1.0, 0.0]], 0.01)[0].tolist() == [1, 0], "what no head weighs may go"
