"""Arithmetic modulo a number and even pairs: labels, laws and floors against Python itself."""

from __future__ import annotations

import pytest

from tests.support.tasks.arithmetic import MANY
from workbench.tasks import make_task


def test_digits_and_operators_are_uniform(seeded, assert_law):
    strings = make_task("modular_arithmetic", modulus=3).sample(MANY, 3, seeded(2), "matched").tokens[:, 1:]
    code = (strings[:, 0] - 1) * 9 + (strings[:, 1] - 4) * 3 + strings[:, 2] - 1
    assert_law(code, [1 / 27] * 27)


@pytest.mark.parametrize("law", ["matched", "challenge"])
def test_no_shortcut_gives_the_value(law, seeded):
    task = make_task("modular_arithmetic")
    for length in (161, 400 + 1):
        for window in (20, 21):
            batch = task.sample(4_000, length, seeded(3), law, window)
            for key, hits in task.shortcuts(batch, window).items():
                assert hits.mean().item() < task.chance(law, length) + 0.03, key


def test_changes_are_few_and_outside_both_windows(seeded, assert_law):
    task = make_task("even_pairs")
    strings = task.sample(MANY, 40, seeded(5), "challenge", window=12).tokens[:, 1:]
    changes = strings[:, 1:] != strings[:, :-1]
    assert_law(changes.sum(1), [1 / 4] * 4)
    assert_law(strings[:, 0] - 1, [0.5, 0.5])
    places = changes.nonzero()[:, 1] - 12  # the first change is between tokens 13 and 14
    assert_law(places, [1 / 15] * 15)
    everywhere = task.sample(MANY, 20, seeded(6), "challenge", window=12).tokens[:, 1:]
    assert_law((everywhere[:, 1:] != everywhere[:, :-1]).nonzero()[:, 1], [1 / 19] * 19)


@pytest.mark.parametrize("law", ["matched", "challenge"])
def test_no_shortcut_gives_even_pairs(law, seeded):
    task = make_task("even_pairs")
    for hits in task.shortcuts(task.sample(8_000, 160, seeded(7), law, 20), 20).values():
        assert hits.mean().item() < 0.52
