"""The token after a trigger: every string, the distances of each distribution, and the shortcut of training."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.testing import check_task

DISTANCES = ("equal", "uniform", "proportional", "inverse")


@pytest.mark.parametrize("distances", DISTANCES)
def test_each_distribution_keeps_the_rules_for_tasks(distances):
    check_task(make_task("trigger_output", distances=distances, letters=5, triggers=2))


@pytest.mark.parametrize("length", [1, 2, 3, 5, 6])
def test_answers_of_every_string(length, every_string):
    """Two letters a and b, two triggers 0 and 1: the text before the last token is split at that trigger."""
    task = make_task("trigger_output", letters=2, triggers=2)
    strings = every_string(4, length)
    batch = task.label(strings)
    assert not batch.mask[:, :-1].any()
    for tokens, mask, target in zip(strings.tolist(), batch.mask[:, -1], batch.targets[:, -1], strict=True):
        text = "".join(" ab01"[token] for token in tokens)
        parts = text[:-1].split(text[-1])
        answer = parts[1][:1] if text[-1] in "01" and len(parts) == 2 else ""
        expected = "ab".index(answer) if answer in ("a", "b") else None
        assert (int(target) if mask else None) == expected == task.reference(tokens)[-1]


def distances_of(task, law, length, seeded, rows=20_000, window=None):
    """How often each number of letters stands between the answer and the second trigger."""
    batch = task.sample(rows, length, seeded(0), law, window)
    triggers = batch.tokens > task.letters
    assert bool((triggers.sum(1) == 2).all())
    assert bool((triggers & batch.mask)[:, -1].all())
    first = triggers.long().argmax(1)
    assert torch.equal(first, batch.meta["key_position"])
    assert torch.equal(batch.tokens.gather(1, first[:, None] + 1)[:, 0] - 1, batch.targets[:, -1])
    assert torch.equal(batch.tokens.gather(1, first[:, None])[:, 0], batch.tokens[:, -1])
    return Counter((length - 2 - first).tolist())


@pytest.mark.parametrize(
    ("distances", "shares"),
    [("uniform", [1 / 4] * 4), ("proportional", [0.1, 0.2, 0.3, 0.4]), ("inverse", [0.48, 0.24, 0.16, 0.12])],
)
@pytest.mark.parametrize("law", ["training", "matched"])
def test_distances_have_the_stated_shares(distances, shares, law, seeded, assert_law):
    """At length 8 the distances are 1 to 4; 1/l has the sum 25/12."""
    counts = distances_of(make_task("trigger_output", distances=distances), law, 8, seeded)
    assert set(counts) == {1, 2, 3, 4}
    assert_law(torch.tensor([distance - 1 for distance in counts.elements()]), shares)


@pytest.mark.parametrize("length", [5, 7, 21, 65])
def test_equal_distances_put_the_answer_after_the_middle(length, seeded):
    task = make_task("trigger_output")
    assert set(distances_of(task, "matched", length, seeded, 200)) == {(length - 3) // 2}
    assert task.lengths(1, 12) == [5, 7, 9, 11]
    assert make_task("trigger_output", distances="uniform").lengths(1, 8) == [5, 6, 7, 8]


def test_challenge_leaves_out_the_distance_of_training(seeded):
    """Length 33, N = 10: trigger and answer have indices 10 to 22, so l1 is 10 to 21 but not 15, and l2 = 30 - l1."""
    task = make_task("trigger_output")
    assert set(distances_of(task, "challenge", 33, seeded, 4_000, 10)) == {30 - l1 for l1 in range(10, 22)} - {15}
    assert set(distances_of(task, "challenge", 9, seeded, 4_000, 10)) == {1, 2, 4, 5}
    assert set(distances_of(task, "challenge", 5, seeded, 100, 10)) == {1}


def test_the_middle_token_is_right_in_training_and_at_chance_in_the_challenge(seeded):
    task = make_task("trigger_output")
    for law, expected in (("training", 1.0), ("matched", 1.0), ("challenge", 1 / 16)):
        hits = task.shortcuts(task.sample(8_000, 64 + 1, seeded(1), law, 16), 16)
        assert float(hits["middle_token"].mean()) == pytest.approx(expected, abs=0.02)
    assert "middle_token" in task.outside_floor
    others = make_task("trigger_output", distances="uniform")
    assert "middle_token" not in others.shortcuts(others.sample(8, 64, seeded(2)), 16)


def test_a_window_sees_the_followers_that_it_contains():
    """Letters a b c, triggers t0 t1. The last two tokens show no answer; the first four show c after t0."""
    task = make_task("trigger_output", letters=3, triggers=2)
    votes = task.answer(torch.tensor([[1, 4, 3, 2, 4], [1, 4, 3, 2, 5], [1, 1, 2, 2, 4], [1, 4, 3, 5, 1]]))
    assert votes.tolist() == [[0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 0, 1]]
