"""Brackets of several types to a bounded depth: labels, the folded walk, and both laws by enumeration."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
import torch

from tests.support.tasks.dyck_k import reflected
from workbench.tasks import TaskError, make_task
from workbench.tasks.counting.dyck_k import fold_walk


def unmatched(string: list[str]) -> list[str]:
    """What is left when neighbours that match are removed until there are none: a second oracle."""
    rest = list(string)
    while True:
        at = next((i for i in range(len(rest) - 1) if rest[i][0] + rest[i + 1][0] == "()" and rest[i][1:] == rest[i + 1][1:]), None)  # fmt: skip
        if at is None:
            return rest
        del rest[at : at + 2]


@pytest.mark.parametrize("ask", ["close", "next"])
@pytest.mark.parametrize(("k", "depth", "length"), [(2, 2, 5), (2, 5, 5), (3, 3, 3)])
def test_labels_agree_with_the_oracle_on_every_string(k, depth, length, ask, every_string):
    """All 4^5 and 6^3 strings, by the stack and by removing what matches."""
    task = make_task("dyck_k", k=k, depth=depth, ask=ask)
    strings = every_string(2 * k, length)
    batch = task.label(strings)
    rows = zip(strings.tolist(), batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    for string, target, mask in rows:
        found = [t if m else None for t, m in zip(target, mask, strict=True)]
        assert found == task.reference(string)
        names = [task.tokens_names[t] for t in string]
        left = [unmatched(names[:n]) for n in range(length + 1)]
        broken = any(len(rest) > depth or any(s[0] == ")" for s in rest) for rest in left)
        if broken:
            assert found[-1] is None
        elif ask == "close":
            assert (found[-1] is None) == (not left[-1])
            assert not left[-1] or task.output_names[found[-1]] == ")" + left[-1][-1][1:]
        else:
            may = set(task.output_names[found[-1]].split())
            assert ("<eos>" in may) == (not left[-1])
            assert ("(1" in may) == (len(left[-1]) < depth)
            assert {s for s in may if s[0] == ")"} == ({")" + left[-1][-1][1:]} if left[-1] else set())


def test_the_stack_by_hand():
    batch = make_task("dyck_k", k=2, depth=3).label(torch.tensor([[1, 3, 4, 2, 2]]))
    assert batch.update_summary[0, 1:].tolist() == [[1, 0], [1 + 3 * 2, 0], [1, 0], [0, 0], [0, 1]]
    assert batch.output_summary[0, 1:].tolist() == [0, 1, 0, 2, 2]
    assert batch.mask[0].tolist() == [False, True, True, True, False, False]


@pytest.mark.parametrize("ask", ["close", "next"])
def test_update_summary_can_be_carried_on_and_determines_the_answer(ask, every_string):
    batch = make_task("dyck_k", k=2, depth=3, ask=ask).label(every_string(4, 5))
    state, tokens = batch.update_summary[:, 1:], batch.tokens[:, 1:, None]

    def kinds(*columns: torch.Tensor) -> int:
        return len(torch.cat([c.reshape(-1, c.shape[-1]) for c in columns], 1).unique(dim=0))

    assert kinds(state[:, :-1], tokens[:, 1:]) == kinds(state[:, :-1], tokens[:, 1:], state[:, 1:])
    asked = torch.stack([batch.targets[:, 1:], batch.mask[:, 1:].long(), batch.output_summary[:, 1:]], -1)
    assert kinds(state) == kinds(state, asked)


@pytest.mark.parametrize("bound", [1, 2, 3, 5])
def test_a_folded_walk_is_the_reflected_walk(bound):
    """Exactly: over all 2^9 walks."""
    walks = torch.tensor(list(product([1, -1], repeat=9))).cumsum(1)
    found = Counter(map(tuple, fold_walk(walks, bound).tolist()))
    assert {path: Fraction(count, 2**9) for path, count in found.items()} == reflected(9, bound)


@pytest.mark.parametrize(("depth", "length"), [(2, 7), (3, 7), (4, 9), (10, 5)])
def test_chance_of_next_is_that_of_the_best_constant(depth, length):
    law = reflected(length, depth)
    full = sum(share for path, share in law.items() if path[-1] == depth)
    task = make_task("dyck_k", k=3, depth=depth, ask="next")
    assert task.chance("matched", length) == pytest.approx(float(max(full, 1 - full)) / 3)
    assert task.chance("challenge", length) == make_task("dyck_k", k=3).chance("matched", length) == 1 / 3


def test_the_last_window_shows_most_brackets_on_the_matched_law(seeded):
    task = make_task("dyck_k", k=4, depth=6)
    found = task.shortcuts(task.sample(2_000, 121, seeded(2), "matched"), 20)
    assert found["last_window"].mean() > 0.9


def test_impossible_depths_are_refused_in_one_sentence():
    with pytest.raises(TaskError) as caught:
        make_task("dyck_k", k=32, depth=30)
    assert str(caught.value) == "dyck_k: depth must be an integer from 2 to 12 where k is 32, not 30"
    assert make_task("dyck_k", k=32, depth=12).depth == 12
    assert make_task("dyck_k").lengths(1, 6) == [1, 3, 5]


@pytest.mark.parametrize(
    ("steps", "allowed"),
    [
        (8, lambda sums: torch.ones_like(sums, dtype=torch.bool)),
        (8, lambda sums: sums >= 2),
        (5, lambda sums: sums.abs() <= 1),
    ],
)
def test_the_end_of_a_walk_is_drawn_by_how_many_walks_end_there(steps, allowed, seeded):
    """Among the walks of even steps whose sum is allowed, u of them up in C(n, u) ways: 40,000 draws, +- .01."""
    many = 40_000
    ends = make_task("dyck_k")._end_of_walk(torch.full((many,), steps), allowed, seeded(2))
    ways = [math.comb(steps, u) * bool(allowed(torch.tensor([[2 * u - steps]]))) for u in range(steps + 1)]
    shares = torch.bincount(ends, minlength=steps + 1) / many
    assert shares.tolist() == pytest.approx([one / sum(ways) for one in ways], abs=0.01)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_floor_of_next_is_the_share_of_full_stacks(depth):
    """Heights are a chain: up from 0, down from the bound, else either way; the guess knows which is likelier."""
    task = make_task("dyck_k", k=3, depth=depth, ask="next")
    at = {0: 1.0}
    for length in range(1, 13):
        later = Counter()
        for height, weight in at.items():
            ways = [1] if height == 0 else [depth - 1] if height == depth else [height - 1, height + 1]
            for way in ways:
                later[way] += weight / len(ways)
        at = later
        full = at.get(depth, 0.0)
        assert task.chance("matched", length) == pytest.approx(max(full, 1 - full) / 3), length
