"""Brackets of several types to a bounded depth: labels, the folded walk, and both laws by enumeration."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest
import torch

from tests.support.tasks.dyck_k import reflected
from workbench.tasks import make_task

MANY = 12_000


def heights(batch_tokens: torch.Tensor) -> list[tuple[int, ...]]:
    return list(map(tuple, torch.where(batch_tokens % 2 == 1, 1, -1).cumsum(1).tolist()))


def number(paths: list[tuple[int, ...]], law: dict[tuple[int, ...], Fraction]) -> tuple[torch.Tensor, list[float]]:
    place = {path: i for i, path in enumerate(law)}
    return torch.tensor([place[path] for path in paths]), [float(share) for share in law.values()]


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_every_sequence_of_depths_has_its_probability(depth, seeded, assert_law):
    task = make_task("dyck_k", k=2, depth=depth)
    batch = task.sample(MANY, 7, seeded(depth), "matched")
    assert_law(*number(heights(batch.tokens[:, 1:]), reflected(7, depth)))
    openings = batch.tokens[:, 1:][batch.tokens[:, 1:] % 2 == 1]
    assert_law(openings // 2, [0.5, 0.5])
    assert batch.mask[:, -1].all()


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_every_sequence_of_depths_of_the_challenge_law_has_its_probability(depth, seeded, assert_law):
    """Length 9, N = 3: the bracket asked about is the 5th symbol, and the process is conditioned around it."""
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    before = {path: p for path, p in reflected(4, depth).items() if path[-1] <= depth - 2}
    for first, p_first in before.items():
        base = first[-1] + 1
        after = {path: p for path, p in reflected(4, depth - base).items() if path[-1] == 0}
        for second, p_second in after.items():
            share = p_first / sum(before.values()) * p_second / sum(after.values())
            law[(*first, base, *(base + h for h in second))] += share
    batch = make_task("dyck_k", k=2, depth=depth).sample(MANY, 9, seeded(depth), "challenge", window=3)
    assert (batch.meta["answer_position"] == 5).all()
    assert_law(*number(heights(batch.tokens[:, 1:]), law))


@pytest.mark.parametrize("ask", ["close", "next"])
def test_the_bracket_asked_about_is_out_of_sight(ask, seeded, assert_law):
    window, length = 20, 121
    task = make_task("dyck_k", k=4, depth=6, ask=ask)
    batch = task.sample(2_000, length, seeded(1), "challenge", window)
    place, tokens = batch.meta["answer_position"], batch.tokens
    assert_law((place - 21) // 2, [1 / 41] * 41)  # 21, 23, .., 101
    assert torch.equal(tokens.gather(1, place[:, None])[:, 0] // 2, batch.targets[:, -1])
    assert [task.reference(row)[-1] for row in tokens[:100, 1:].tolist()] == batch.targets[:100, -1].tolist()
    found = task.shortcuts(batch, window)
    assert found["last_token"].mean() == pytest.approx(1 / 4, abs=0.05)
    assert found["position_only"].mean() == pytest.approx(1 / 4, abs=0.04)
    assert found["last_window"].max() <= 1 / 4
    assert found["first_window"].mean() <= 1 / 4 + 0.03
