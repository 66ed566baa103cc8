"""Sparse parity and planted correlations: every string, the laws, and which tokens decide."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
import torch

from workbench.tasks import make_task


def test_small_numbers_follow_the_published_law(seeded, assert_law):
    task = make_task("sparse_parity", values=6, k=4, least=2)
    for law in ("training", "matched"):
        batch = task.sample(12_000, 13, seeded(1), law)
        numbers, bits = batch.tokens[:, 1:-1:2], batch.tokens[:, 2:-1:2]
        small = numbers <= 3
        count = small.sum(1)
        assert_law(count - 2, [1 / 3] * 3)
        choices = list(combinations(range(6), 3))
        places = Counter(tuple(row.nonzero()[:, 0].tolist()) for row in small[count == 3])
        found = torch.repeat_interleave(torch.arange(len(choices)), torch.tensor([places[c] for c in choices]))
        assert_law(found, [1 / len(choices)] * len(choices))
        assert_law(numbers[small] - 1, [1 / 3] * 3)
        assert_law(numbers[~small] - 4, [1 / 3] * 3)
        assert_law(bits.flatten() - 7, [1 / 2] * 2)
        assert_law(batch.targets[:, -1], [1 / 2] * 2)


def test_challenge_pairs_lie_outside_both_windows(seeded, assert_law):
    """Length 101, N = 20: the pairs at 21, 22 to 79, 80; of length 41 or with room for fewer than 8, all."""
    task = make_task("sparse_parity", k=4, least=4)
    batch = task.sample(4_000, 101, seeded(2), "challenge", window=20)
    assert (batch.meta["planted"] > 0).all()
    assert_law((batch.meta["planted"].flatten() - 21) // 2, [1 / 30] * 30)
    found = task.shortcuts(batch, 20)
    assert set(found) == {"position_only", "last_token", "first_window", "last_window"}
    for oracle, hits in found.items():
        assert hits.mean().item() == pytest.approx(0.5, abs=0.03), oracle
    for length, window in ((41, 25), (41, 15)):
        anywhere = task.sample(2_000, length, seeded(3), "challenge", window)
        assert_law((anywhere.meta["planted"].flatten() - 1) // 2, [1 / 20] * 20)


def test_planted_places_and_tokens_are_uniform(seeded, assert_law):
    """S*: a start, uniform on 0..4, and two of the three places from there on."""
    task = make_task("planted", k=2, modulus=3, fillers=3, span=3)
    exact = Counter()
    for start in range(5):
        for places in combinations(range(start + 1, start + 4), 2):
            exact[places] += 1 / 15
    batch = task.sample(12_000, 7, seeded(5), "matched")
    index = {places: i for i, places in enumerate(exact)}
    assert_law(torch.tensor([index[tuple(p)] for p in batch.meta["planted"].tolist()]), list(exact.values()))
    tokens = batch.tokens[:, 1:]
    assert_law(tokens[tokens < 3] - 1, [1 / 2] * 2)
    assert_law(tokens[tokens >= 3] - 3, [1 / 3] * 3)
    assert_law(batch.targets[:, -1], [1 / 2, 1 / 4, 1 / 4])
    far = task.sample(8_000, 100, seeded(6), "challenge", window=20).meta["planted"]
    assert far.min() == 21
    assert far.max() == 80


def test_planted_shortcuts(seeded):
    task = make_task("planted")
    found = task.shortcuts(task.sample(8_000, 400, seeded(7), "challenge", 50), 50)
    for oracle, hits in found.items():
        assert hits.mean().item() == pytest.approx(task.chance("challenge", 400), abs=0.03), oracle
