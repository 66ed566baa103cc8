"""Failure length on critical length: simulated runs whose relation is known."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from circuits.hardmax.failure_relation import concordance, failure_relation, runs_from_table
from tests.support.circuits.failure_relation import simulated


def test_concordance_is_that_of_a_loop_over_certain_pairs() -> None:
    runs = simulated(1.0, 30, seed=2)
    x, low, high = (runs[name].to_numpy() for name in ("critical", "low", "high"))
    right = pairs = 0.0
    for i, j in itertools.permutations(range(30), 2):
        if low[i] >= high[j]:  # i fails after j, for certain
            pairs += 1
            right += 1.0 if x[i] > x[j] else 0.5 if x[i] == x[j] else 0.0
    assert concordance(x, low, high) == pytest.approx(right / pairs)
    assert np.isnan(concordance(x[:1], low[:1], high[:1]))


def test_runs_are_read_from_the_table() -> None:
    def of(run: str, quantity: str, **fields: object) -> dict[str, object]:
        blank = {
            "law": "matched",
            "step": 10,
            "length": 50,
            "layer": None,
            "head": None,
            "value": None,
            "low": None,
            "status": "ok",
        }
        return {**blank, "run": run, "quantity": quantity, **fields}

    rows = [
        of("x", "failure_length", value=200.0, low=100.0),
        of("x", "critical_length", layer=1, head=0, value=40.0),
        of("x", "critical_length", layer=1, head=1, value=60.0),
        of("x", "critical_length", layer=0, head=0, value=9.0),
        of("x", "critical_length", layer=1, head=0, value=1.0, length=12),
        of("x", "failure_length", value=50.0, low=25.0, step=5),
        of("y", "failure_length", low=400.0, status="censored"),
        of("y", "critical_length", layer=0, head=0, value=30.0),
        of("z", "failure_length", value=200.0, low=100.0),
    ]
    found = runs_from_table(
        pd.DataFrame(rows),
        dict.fromkeys("xyz", "t"),
        dict.fromkeys("xyz", 50),
        {"x": [(1, 0), (1, 1)], "y": [(0, 0)], "z": [(0, 0)]},
    )
    assert found.to_dict("records") == [
        {"task": "t", "critical": 50.0, "low": 100.0, "high": 200.0},
        {"task": "t", "critical": 30.0, "low": 400.0, "high": np.inf},
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda runs: runs.drop(columns="low"), "low is missing"),
        (lambda runs: runs.assign(critical=-1.0), "finite"),
        (lambda runs: runs.assign(high=runs["low"]), "high"),
        (lambda runs: runs.head(4), "at least 5 runs, not 4"),
        (lambda runs: runs.assign(critical=20.0), "task"),
    ],
)
def test_runs_that_say_nothing_are_refused(change: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        failure_relation(change(simulated(1.0)), resamples=2)  # type: ignore[operator]
