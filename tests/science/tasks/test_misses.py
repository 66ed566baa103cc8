"""Misses with right counts: what counting is worth where one symbol is replaced, and where two change places."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.tasks.misses import COUNTABLE, ByHand, words_of
from workbench.tasks import make_task

N = 32
LENGTHS = (8, 16, 32, 64, 96, 256)
OTHERS = [
    ("tomita", {"n": 3}),
    ("tomita", {"n": 4}),
    ("blocks_abcde", {}),
    ("alternating_blocks", {}),
    ("abd_bc", {}),
    ("regular", {"regex": "(a|b)*bb(a|b)*"}),
]
STRINGS = 1_500
WITHIN = 0.05
"""Four standard deviations of a share near 1/2 among so many strings: 4 sqrt(.25 / 1500)."""


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize(("name", "parameters"), COUNTABLE)
def test_counts_told_everything_and_tell_half_of_the_misses_now(name, parameters, law, seeded):
    """An oracle of counts alone: 1.00 before, .75 now, at every length; answers stay a fair coin and right."""
    for misses, low, high in (("replaced", 0.98, 1.0), ("mixed", 0.75 - WITHIN, 0.75 + WITHIN)):
        task = make_task(name, misses=misses, **parameters)
        hand = ByHand(task)
        for n in LENGTHS:
            batch = task.sample(STRINGS, n, seeded(n), law, N)
            words, answers = words_of(task, batch), batch.targets[:, -1].tolist()
            assert [int(hand.accepts(hand.end(word))) for word in words] == answers
            assert np.mean(answers) == pytest.approx(0.5, abs=WITHIN)
            # The counts of a word, without the project's table: as many a as b, and for (abab)*, (10)* the same.
            told = [int(2 * word.count(task.tokens_names[1]) == n) for word in words]
            share = np.mean(np.array(told) == np.array(answers))
            hardly = (name, parameters, law, n, misses) == ("bounded_dyck", {"n": 12}, "challenge", 96, "mixed")
            assert low <= share <= (0.87 if hardly else high), (n, misses)
            assert task.shortcuts(batch, N)["counts"].mean().item() == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize(("name", "parameters"), COUNTABLE + OTHERS[:-1])
def test_windows_are_near_chance_on_challenge_and_hardly_better_than_before_at_twice_n(name, parameters, seeded):
    """Shown the first or the last N symbols, one who knows the language takes a string for a word if it may be one."""
    stated = []
    for misses in ("replaced", "mixed"):
        task = make_task(name, misses=misses, **parameters)
        hand = ByHand(task)
        batch = task.sample(STRINGS, 3 * N, seeded(5), "challenge", N)
        answers = np.array(batch.targets[:, -1].tolist())
        starts = [state for state in range(len(hand.terms)) if not hand.lost(state)]
        for guess in (
            [not hand.lost(hand.end(word[:N])) for word in words_of(task, batch)],
            [any(hand.accepts(hand.end(word[-N:], s)) for s in starts) for word in words_of(task, batch)],
        ):
            assert np.mean(np.array(guess, dtype=int) == answers) == pytest.approx(0.5, abs=WITHIN)
        found = task.shortcuts(task.sample(2 * STRINGS, 2 * N, seeded(6), "matched", N), N)
        stated.append(max(found[key].mean().item() for key in ("first_window", "last_window")))
    before, after = stated
    assert after - before < 0.09 if name == "abd_bc" else abs(after - before) < 0.05


@pytest.mark.parametrize("ask", ["member", "state"])
@pytest.mark.parametrize(("name", "parameters"), OTHERS)
def test_answers_of_other_languages_stay_as_likely_and_right(name, parameters, ask, seeded):
    task, former = (make_task(name, ask=ask, misses=misses, **parameters) for misses in ("mixed", "replaced"))
    for law in ("matched", "challenge"):
        one, other = (t.sample(STRINGS, 96, seeded(1), law, N).targets[:, -1] for t in (task, former))
        one, other = (torch.bincount(found, minlength=task.d_vocab_out) / STRINGS for found in (one, other))
        assert (one - other).abs().max() < WITHIN
        batch = task.sample(60, 40, seeded(2), law, 8)
        assert [task.reference(row)[-1] for row in batch.tokens[:, 1:].tolist()] == batch.targets[:, -1].tolist()
