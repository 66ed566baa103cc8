"""Test sets with few strings are listed: every string once, with the probability that draws have."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from workbench.tasks import make_task
from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.counting.majority import Majority
from workbench.tasks.random_generator import generator

DRAWS = 20_000
MAJORITY_OR_PARITY = {"components": ["majority", "parity"], "weights": [3.0, 1.0]}
CASES: list[tuple[str, dict[str, Any], str, int]] = [
    *(("parity", {}, "matched", n) for n in (1, 4, 9)), *(("parity", {}, "challenge", n) for n in (1, 4, 33)),
    *(("majority", {}, law, n) for law in ("matched", "challenge") for n in (1, 5, 9)), ("majority", {}, "challenge", 31),
    *(("even_pairs", {}, law, n) for law in ("matched", "challenge") for n in (1, 2, 5, 9)),
    *(("flip_flop", {}, law, n) for law in ("matched", "challenge") for n in (1, 2, 3, 4)),
    ("flip_flop", {"write_probability": 0.4, "read_probability": 0.6}, "challenge", 4),
    *(("mod_count", {}, law, n) for law in ("matched", "challenge") for n in (1, 4, 8)),
    *(("cycle_navigation", {}, law, n) for law in ("matched", "challenge") for n in (2, 4)),
    *(("symmetric_group", {}, law, n) for law in ("matched", "challenge") for n in (1, 2, 3)),
    ("symmetric_group", {"tokens": "generators"}, "challenge", 8),
    *(("mixture", MAJORITY_OR_PARITY, law, n) for law in ("matched", "challenge") for n in (3, 4, 8)),
    *(("mixture", {"components": ["ur symbols=3", "majority"]}, law, n) for law in ("matched", "challenge") for n in (2, 4)),
    *(("simple", {"prior": prior}, law, 6) for law in ("matched", "challenge") for prior in (1.0, 0.5)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "law", "length"), CASES)
def test_a_listed_test_set_is_the_one_that_is_drawn(
    name: str, parameters: dict[str, Any], law: Any, length: int
) -> None:
    task = make_task(name, **parameters)
    listed = task.support(law, length, 2)
    assert listed is not None
    assert len(listed.batch.tokens.unique(dim=0)) == len(listed.batch) <= MOST_LISTED
    assert float(listed.probabilities.sum()) == pytest.approx(1.0, abs=1e-12)
    assert bool((listed.probabilities > 0).all())
    drawn = task.sample(DRAWS, length, generator("listed", name, law, length), law, window=2)
    place = {tuple(string): i for i, string in enumerate(listed.batch.tokens.tolist())}
    which = np.array([place[tuple(string)] for string in drawn.tokens.tolist()])  # draws nothing else
    expected = listed.probabilities.numpy() * DRAWS
    counts = np.bincount(which, minlength=len(place))
    often = expected >= 5
    if (~often).any():
        counts, expected = (np.append(x[often], x[~often].sum()) for x in (counts, expected))
    if len(counts) > 1 and expected[-1] > 0:
        assert chisquare(counts, expected).pvalue > 1e-4
    for part in ("targets", "mask", "output_summary"):
        assert torch.equal(getattr(listed.batch, part)[torch.from_numpy(which)], getattr(drawn, part)), part


def test_parity_at_four_tokens_has_all_sixteen_strings_as_likely() -> None:
    listed = make_task("parity").support("matched", 4)
    assert listed is not None
    assert sorted(listed.batch.tokens[:, 1:].tolist()) == [list(bits) for bits in product((1, 2), repeat=4)]
    assert listed.probabilities.tolist() == [1 / 16] * 16


@pytest.mark.parametrize(
    ("name", "law", "length", "strings"),
    [
        ("parity", "matched", 9, 512), ("parity", "matched", 10, None), ("parity", "challenge", 256, 512),
        ("parity", "challenge", 257, None), ("majority", "challenge", 249, 498), ("flip_flop", "matched", 4, 250),
        ("flip_flop", "matched", 5, None), ("even_pairs", "challenge", 64, None), ("cycle_navigation", "matched", 6, None),
        ("mixture of majority and parity", "matched", 8, 256), ("mixture of majority and parity", "matched", 11, None),
        ("mixture of ur and majority", "challenge", 4, 6), ("mixture of ur and majority", "challenge", 10, None),
        ("alternating_group", "matched", 1, 60), ("alternating_group", "matched", 2, None),
    ],
)  # fmt: skip
def test_longer_strings_are_too_many(name: str, law: Any, length: int, strings: int | None) -> None:
    mixtures = {
        "mixture of majority and parity": MAJORITY_OR_PARITY,
        "mixture of ur and majority": {"components": ["ur symbols=3", "majority"]},
    }
    task = make_task("mixture", **mixtures[name]) if name in mixtures else make_task(name)
    listed = task.support(law, length, 2)
    assert (None if listed is None else len(listed.batch)) == strings


def test_a_task_that_draws_in_another_way_lists_nothing_it_does_not_state() -> None:
    class Biased(Majority):
        name = "biased"

        def draw_strings(self, *args: Any) -> Any:
            return super().draw_strings(*args)

    assert Biased().support("matched", 5) is None
    assert Majority().support("matched", 5) is not None
