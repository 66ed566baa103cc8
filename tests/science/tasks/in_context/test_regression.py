"""In-context linear regression: labels in exact fractions and by scikit-learn, moments, laws."""

from __future__ import annotations

import pytest
import torch

from workbench.tasks import make_task


def test_the_law_of_matched_strings(seeded, assert_law):
    """Every level equally likely over strings; y is x . w to half a step; the moments keep their spread."""
    task = make_task("linear_regression", levels=5)
    tokens = task.sample(6_000, 41, seeded(0), "matched").tokens[:, 1:]
    x, y = (tokens[:, 0::2] - 1).double() / 2 - 1, (tokens[:, 1::2] - 6).double() / 2 - 1
    assert_law(tokens[:, 0] - 1, [0.2] * 5)
    # Some w in [-1, 1] is within half a step of all of y: the bounds that the pairs put on it overlap.
    some = x[:, :-1] != 0
    low = torch.where(some, (y - 0.25 * 1.000001) / x[:, :-1], -torch.inf)
    high = torch.where(some, (y + 0.25 * 1.000001) / x[:, :-1], torch.inf)
    low, high = torch.where(x[:, :-1] < 0, high, low), torch.where(x[:, :-1] < 0, low, high)
    low, high = torch.where(some, low, -torch.inf).amax(1), torch.where(some, high, torch.inf).amin(1)
    assert (low <= high).all()
    short = task.sample(6_000, 11, seeded(1), "matched").output_summary[:, -1]
    long = task.sample(6_000, 201, seeded(2), "matched").output_summary[:, -1]
    assert long[:, 0].std() > 0.6 * short[:, 0].std(), "the second moment does not close in on one value"


def test_either_end_shows_one_of_two_w_on_the_challenge_law(seeded):
    task = make_task("linear_regression")
    matched = task.shortcuts(task.sample(3_000, 401, seeded(3), "matched"), 50)
    challenge = task.shortcuts(task.sample(3_000, 401, seeded(4), "challenge"), 50)
    for name in ("first_window", "last_window"):
        assert matched[name].mean() > 0.95
        assert challenge[name].mean() < 0.45
    floor = task.chance("challenge", 401)
    assert challenge["position_only"].mean() == pytest.approx(floor, abs=0.03)
    assert matched["position_only"].mean() == pytest.approx(task.chance("matched", 401), abs=0.03)
