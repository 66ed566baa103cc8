"""Which shortcut a model follows: agreement of what is right, sequence by sequence."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.core.thresholds import FOLLOWED
from workbench.measure.behaviour.followed_shortcuts import Agreement, agreements, followed_said, shortcut_hits
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator


def test_the_first_window_is_followed_where_it_answers_and_errs_as_the_model() -> None:
    """Sorted strings with a lead of one: the first 31 tokens are one symbol, which leads in half of the strings."""
    task = make_task("majority")
    batch = task.sample_stratum("lead 1", 256, 187, generator("followed"), "challenge", 31)
    hits = shortcut_hits(task, batch, 31)
    answers = batch.tokens[:, 1] - 1  # the first symbol
    right = (answers == batch.targets[:, -1]).numpy()
    found = {one.shortcut: one for one in agreements(hits, right)}
    assert found["first_window"] == Agreement("first_window", 256, 256)
    assert found["last_window"].agree == 0, "where the first symbol leads, the last does not"
    assert found["first_window"].followed
    assert not found["last_window"].followed
    assert followed_said(list(found.values())) == (
        "right exactly where the first N tokens alone would be (256 of 256 sequences)"
    )


@pytest.mark.parametrize("right", [np.ones(200, bool), np.zeros(200, bool), np.arange(200) < 5, np.arange(200) > 4])
def test_a_model_that_is_nearly_always_right_or_wrong_tells_nothing(right: np.ndarray) -> None:
    assert agreements({"first_window": right.astype(float)}, right) == []


def test_a_shortcut_that_is_nearly_always_right_is_left_out_and_guesses_do_not_count() -> None:
    right = np.arange(200) % 2 == 0
    hits = {
        "nearly always": np.where(np.arange(200) < 190, 1.0, 0.0),
        "guesses": np.where(np.arange(200) < 100, 0.5, right.astype(float)),
        "always guesses": np.full(200, 0.5),
    }
    assert agreements(hits, right) == [Agreement("guesses", 100, 100)]


def test_agreement_must_be_shown_not_seen() -> None:
    assert FOLLOWED == 0.95
    assert [Agreement("a", n, n).followed for n in (71, 72)] == [False, True], "0.025 ** (1 / 72) = 0.950"
    assert followed_said([Agreement("last_token", 40, 40)]) == ""
    assert followed_said([Agreement("my_own", 99, 99)]).startswith("right exactly where the shortcut my own would be")
