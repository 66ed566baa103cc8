"""SimpleTask: a sine of the mean."""

from __future__ import annotations

import pytest

from workbench.tasks import make_task


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
def test_simple_draws_every_number_of_ones_evenly(law, seeded, assert_law):
    task = make_task("simple")
    batch = task.sample(20_000, 12, seeded(0), law)
    assert_law((batch.tokens[:, 1:] == 2).sum(1), [1 / 13] * 13)
    found = task.shortcuts(batch, 12)
    assert found["position_only"].mean() == pytest.approx(task.chance(law, 12), abs=0.015)


def test_simple_is_hidden_from_windows_on_the_challenge_law(seeded):
    task = make_task("simple", tolerance=0.05)
    matched = task.shortcuts(task.sample(6_000, 400, seeded(1), "matched"), 50)
    challenge = task.shortcuts(task.sample(6_000, 400, seeded(2), "challenge"), 50)
    for name in ("first_window", "last_window"):
        assert challenge[name].mean() < task.chance("challenge", 400) + 0.05
        assert matched[name].mean() > challenge[name].mean() + 0.08
