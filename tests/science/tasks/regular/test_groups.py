"""Counting modulo m, cycles and permutation groups: labels, laws and floors against independent arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
import torch

from workbench.tasks import make_task

MANY = 20_000


def test_compositions_are_equally_likely_and_shuffled(seeded, assert_law):
    """Three symbols, length 3: each of 10 compositions has 1/10, spread over its arrangements."""
    task = make_task("cycle_navigation")
    every = list(product((1, 2, 3), repeat=3))
    arrangements = {w: sum(sorted(v) == sorted(w) for v in every) for w in every}
    strings = task.sample(MANY, 3, seeded(0), "matched").tokens[:, 1:]
    codes = ((strings - 1) * torch.tensor([9, 3, 1])).sum(1)
    assert_law(codes, [1 / (10 * arrangements[w]) for w in every])
    counts = {w: len(set(w)) for w in every}
    ordered = [w for w in every if len([i for i in range(2) if w[i] != w[i + 1]]) == counts[w] - 1]
    law = {1: Fraction(1, 10), 2: Fraction(1, 20), 3: Fraction(1, 60)}  # by the number of different symbols
    strings = task.sample(MANY, 3, seeded(1), "challenge").tokens[:, 1:]
    codes = ((strings - 1) * torch.tensor([9, 3, 1])).sum(1)
    assert_law(codes, [float(law[counts[w]]) if w in ordered else 0 for w in every])


@pytest.mark.parametrize("tokens", ["elements", "generators"])
def test_group_tokens_are_uniform_and_neutral_outside_the_middle(tokens, seeded, assert_law):
    task = make_task("symmetric_group", tokens=tokens)
    letters = len(task.tokens_names) - 1
    matched = task.sample(4_000, 12, seeded(2), "matched").tokens[:, 1:]
    assert_law(matched.flatten() - 1, [1 / letters] * letters)
    batch = task.sample(4_000, 12, seeded(3), "challenge", window=4)
    strings = batch.tokens[:, 1:]
    assert (strings[:, :4] == 1).all()
    assert (strings[:, 8:] == 1).all()
    assert_law(strings[:, 4:8].flatten() - 1, [1 / letters] * letters)
    short = task.sample(4_000, 8, seeded(4), "challenge", window=4).tokens[:, 1:]
    assert_law(short.flatten() - 1, [1 / letters] * letters)
    if tokens == "elements":
        assert_law(batch.targets[:, -1], [1 / 6] * 6)


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize("name", ["mod_count", "cycle_navigation", "symmetric_group", "alternating_group"])
def test_no_shortcut_is_above_chance(name, law, seeded):
    """The best answer to each last token is fitted to the samples, hence the slack for 60 tokens and 60 answers."""
    task = make_task(name)
    batch = task.sample(6_000, 160, seeded(5), law, window=20)
    slack = 0.05 if name == "alternating_group" else 0.03
    for key, hits in task.shortcuts(batch, 20).items():
        assert hits.mean().item() < task.chance(law, 160) + slack, key
