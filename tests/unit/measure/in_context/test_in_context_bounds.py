"""The verdict in context at its bars, limits of every kind of values, and what is read of answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.held import Held
from tests.support.measure.held_rows import FLOAT, short
from workbench.core.thresholds import FITTED, ROBUST
from workbench.measure.in_context.behind_an_api import _first_word
from workbench.measure.in_context.in_context_verdict import Point, decide_in_context, limits, point

EPS = 1e-9


def curve(*points: tuple[float, float, float], unseen: int = 0) -> list[Point]:
    """Points of (low, high, high of all), lengths doubling from 4."""
    made = [Point(4 << i, 10 << i, (low + high) / 2, low, high, all_of) for i, (low, high, all_of) in enumerate(points)]
    return [Point(**{**vars(one), "unseen": i >= len(made) - unseen}) for i, one in enumerate(made)]


SURE, LOST, BLURRED = (0.96, 0.99, 0.995), (0.1, 0.3, 0.4), (0.85, 0.95, 0.97)
CASES: dict[str, list[Point]] = {
    "holds": curve(SURE, SURE, SURE),
    "at the bars": curve((FITTED, 1.0, 1.0), (ROBUST, 1.0, 1.0)),
    "capable, then just below": curve((FITTED, 1.0, 1.0), (ROBUST - EPS, 1.0, 1.0)),
    "just not capable": curve((0.5, FITTED - EPS, 1.0), SURE),
    "open at the shortest": curve((FITTED - EPS, FITTED, 1.0), SURE),
    "decays": curve(SURE, SURE, LOST, LOST),
    "decays at the second": curve(SURE, LOST, LOST, SURE),
    "of all lengths not shown": curve(SURE, (0.1, 0.3, ROBUST), (0.1, 0.3, ROBUST)),
    "of all lengths just shown": curve(SURE, (0.1, 0.3, ROBUST - EPS), (0.1, 0.3, ROBUST - EPS)),
    "alone": curve(SURE, LOST, SURE),
    "alone at the end": curve(SURE, SURE, LOST),
    "blurred": curve(SURE, BLURRED, (0.8, 0.95, 0.97)),
    "one length": curve(SURE),
    "the rest beyond the window": curve(SURE, SURE, LOST, LOST, unseen=2),
    "fitted further than robust": curve(SURE, (0.94, 1, 1), SURE),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts_in_context(name: str, held: Held) -> None:
    found = decide_in_context(CASES[name], 1000)
    held({**vars(found), "note": found.note if name != "blurred" else FLOAT.sub("#", found.note)})


def test_without_a_length_in_the_window_there_is_none() -> None:
    with pytest.raises(ValueError, match="inside the window"):
        decide_in_context(curve(SURE, unseen=1), 1000)


def test_limits_and_points_of_all_kinds_of_values(held: Held) -> None:
    rng = np.random.default_rng(0)
    kinds = {
        "0/1": np.array([1.0, 1, 0, 1, 1, 1]), "all right": np.ones(9), "none": np.zeros(4),
        "equal": np.full(7, 0.25), "shares": rng.integers(0, 5, 40) / 4,
    }  # fmt: skip
    held({
        name: [
            short([limits(values, error, np.random.default_rng(1)) for error in (0.025, 0.2)]),
            short([
                [one.skill, one.low, one.high, one.high_of_all, one.length, one.tokens]
                for one in (point(values, 5, 21, chance, lengths, np.random.default_rng(2))
                            for chance in (0.0, 0.25) for lengths in (0, 1, 6))
            ]),
        ]
        for name, values in kinds.items()
    })  # fmt: skip


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Word", "word"),
        ("  two words", "two"),
        ("", ""),
        (" \n ", ""),
        ('"Apple".', "apple"),
        ("(x)!", "x"),
        ("...", ""),
    ],
)
def test_the_first_word_of_an_answer(text: str, word: str) -> Any:
    assert _first_word(text) == word
