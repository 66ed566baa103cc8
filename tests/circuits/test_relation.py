"""Failure length on critical length: simulated runs whose relation is known."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from circuits.hardmax.failure_relation import concordance, failure_relation, runs_from_table


def simulated(slope: float, count: int = 60, seed: int = 0) -> pd.DataFrame:
    """Failure lengths seen on the grid 50, 100, .., 1600 only; longer ones are censored."""
    rng = np.random.default_rng(seed)
    task = np.array(["a", "b"])[np.arange(count) % 2]
    log_critical = rng.uniform(np.log(15), np.log(60), count)
    log_y = np.where(task == "a", 6.0, 6.8) - 3.7 * slope + slope * log_critical + 0.2 * rng.normal(size=count)
    grid = np.array([50, 100, 200, 400, 800, 1600, np.inf])
    place = np.minimum(np.searchsorted(grid[:-1], np.exp(log_y)), len(grid) - 1)
    low = np.where(place > 0, grid[np.maximum(place - 1, 0)], 25.0)
    return pd.DataFrame({"task": task, "critical": np.exp(log_critical), "low": low, "high": grid[place]})


@pytest.mark.science
@pytest.mark.parametrize("slope", [0.0, 1.0, 1.7])
def test_the_slope_is_found_through_intervals_and_censoring(slope: float) -> None:
    runs = simulated(slope)
    found = failure_relation(runs, resamples=20)
    assert found.slope == pytest.approx(slope, abs=0.35)
    assert found.low <= found.slope <= found.high
    assert (found.low > 0) == (slope > 0)
    assert found.runs == 60
    assert found.censored == int(np.isinf(runs["high"]).sum())
    assert found.intercepts["b"] - found.intercepts["a"] == pytest.approx(0.8, abs=0.25)
    assert (found.concordance > 0.7) == (slope > 0)


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
        (lambda runs: runs.assign(critical=-1.0), "positive and finite"),
        (lambda runs: runs.assign(high=runs["low"]), "0 < low < high"),
        (lambda runs: runs.head(4), "at least 5 runs, not 4"),
        (lambda runs: runs.assign(critical=20.0), "do not differ within any task"),
    ],
)
def test_runs_that_say_nothing_are_refused(change: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        failure_relation(change(simulated(1.0)), resamples=2)  # type: ignore[operator]
