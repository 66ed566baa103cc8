"""Accuracy in ranges of lengths (*bins*), as the papers report it, and whether a run solves its trained lengths.

N is the longest trained length. The accuracies b0, b1 and b2 have lengths uniform over [N/2, N], (N, 2N] and (2N, 3N].
A bin has every admissible length, so every residue. The main accuracy is that of the answer at the end of a sequence;
*every* requires that every prefix is answered right. With one sequence per length, the lengths are counted and there is
no sampling error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.measure.behaviour.accuracy_cells import Cell, Rules, trained_state
from workbench.measure.behaviour.baselines import floor_of
from workbench.measure.behaviour.listed_sequences import bands_of
from workbench.measure.grid import make_grid
from workbench.measure.intervals import clopper_pearson
from workbench.tasks.base import TaskError

STRINGS = 512
"""Strings of a bin, all lengths together, at least."""
MOST_LENGTHS = 32
"""The largest number of lengths evaluated in a bin: evenly spaced, and of both parities."""


def bins_of(longest: int, bins: int = 3) -> dict[str, tuple[int, int]]:
    """Return the first and the last length of each bin."""
    inside = {"b0": (math.ceil(longest / 2), longest)}
    return inside | {f"b{i}": (i * longest + 1, (i + 1) * longest) for i in range(1, bins)}


def lengths_in(run: TrainedRun, low: int, high: int) -> list[int]:
    """Return the evaluated lengths of a bin; empty if the task has none there."""
    try:
        every = run.task.lengths(low, high)
    except TaskError:
        return []
    if len(every) <= MOST_LENGTHS:
        return every
    places = np.linspace(0, len(every) - 1, MOST_LENGTHS).round().astype(int)
    return [every[place] for place in places]


@statistic("bins", version=2)
def bin_rows(
    run: TrainedRun, law: str = "matched", task: dict[str, Any] | None = None, told: str = "", bins: int = 3
) -> StatisticRows:
    """Return accuracy in ranges of lengths, such as (N, 2N], where N is the longest trained length.

    Args:
        run: it.
        law: test set of the sequences.
        task: parameters of the task that differ from the run's own.
        told: label of the rows; the test set if it is not the matched one.
        bins: how many.
    """
    variant = run.with_parameters(task or {})
    setting = told or ("" if law == "matched" else law)
    for name, (low, high) in bins_of(run.longest, bins).items():
        lengths = lengths_in(variant, low, high)
        if not lengths:
            continue
        counted = variant.task.one_string_per_length
        each = 1 if counted else math.ceil(STRINGS / len(lengths))
        found = [variant.right(variant.strings(each, n, law, "bins")) for n in lengths]
        end, every = (sum(int(part.sum()) for part in parts) for parts in zip(*found, strict=True))
        n = sum(len(part) for part, _ in found)
        if not n:
            continue
        shared = {"setting": setting, "length": high, "n": n}
        yield {"quantity": name, **share(end, n, counted), **shared}
        yield {"quantity": f"{name} every prefix", **share(every, n, counted), **shared}
        floor = 0.0 if counted else float(np.mean([_floor(variant, law, n) for n in _few(lengths)]))
        if floor < 1:
            above = {key: (value - floor) / (1 - floor) for key, value in share(end, n, counted).items()}
            yield {"quantity": f"{name} skill", **above, **shared}


@statistic("lengths", version=2)
def length_rows(
    run: TrainedRun, factors: Sequence[float], law: str = "matched", task: dict[str, Any] | None = None, told: str = ""
) -> StatisticRows:
    """Return the accuracy at single lengths, in multiples of N.

    Args:
        run: it.
        factors: the multiples.
        law, task, told: as for bins.
    """
    variant = run.with_parameters(task or {})
    setting = told or ("" if law == "matched" else law)
    for factor in factors:
        n = variant.task.next_length(factor * run.longest)
        end, _ = variant.right(variant.strings(STRINGS, n, law, "lengths"))
        shared = {"setting": setting, "length": n, "n": len(end)}
        yield {"quantity": f"accuracy at {factor:g} N", **share(int(end.sum()), len(end)), **shared}
        floor = _floor(variant, law, n)
        above = {key: (value - floor) / (1 - floor) for key, value in share(int(end.sum()), len(end)).items()}
        yield {"quantity": f"skill at {factor:g} N", **above, **shared}


def share(right: int, n: int, counted: bool = False) -> dict[str, float]:
    """Return a share with its exact 95 % interval; without an interval if all sequences were counted."""
    if counted:
        return {"value": right / n}
    low, high = clopper_pearson(right, n)
    return {"value": right / n, "low": low, "high": high}


def _floor(run: TrainedRun, law: str, length: int) -> float:
    if law == "matched":
        return run.task.chance(law, length)
    return floor_of(run.task, law, length, run.longest, 0).value


def _few(lengths: Sequence[int], most: int = 4) -> list[int]:
    """Some of the lengths, the first and the last among them."""
    places = np.linspace(0, len(lengths) - 1, min(len(lengths), most)).round().astype(int)
    return [lengths[place] for place in places]


@statistic("fit", version=1)
def fit_rows(run: TrainedRun) -> StatisticRows:
    """Return whether skill is significantly above the threshold at N/4, N/2 and N; inconclusive lengths get more
    sequences.
    """
    if run.task.one_string_per_length:
        yield from _fit_counted(run)
        return
    grid, rules = make_grid(run.task, run.longest, []), Rules()
    states = []
    for n in grid.inside:
        cell = Cell("matched", n, 0, 0, run.task.chance("matched", n))
        if cell.floor >= 1:
            continue
        state = "open"
        for look, total in enumerate(rules.looks):
            end, _ = run.right(run.strings(total - cell.n, n, "matched", "fit", look))
            cell = Cell("matched", n, cell.right + int(end.sum()), cell.n + len(end), cell.floor)
            state = trained_state(cell, rules, len(grid.inside)) if cell.n else "open"
            if state != "open":
                break
        states.append(state)
        ends = {"low": cell.lower(rules.level), "high": cell.upper(rules.level)}
        yield {"quantity": "skill inside", "length": n, "value": cell.skill, **ends, "n": cell.n, "label": state}
    yield _fitted(states)


def _fit_counted(run: TrainedRun) -> StatisticRows:
    grid = make_grid(run.task, run.longest, [])
    lengths = [n for n in range(1, run.longest + 1) if run.task.admissible(n)]
    _, bands = bands_of(grid, lengths, run.task.period)
    states = []
    for last, band in bands.items():
        if last <= run.longest:
            right = sum(int(run.right(run.strings(1, n, "matched", "fit"))[0].sum()) for n in band)
            states.append("pass" if right / len(band) >= Rules().fitted else "fail")
            yield {"quantity": "skill inside", "length": last, "value": right / len(band), "n": len(band)}
    yield _fitted(states)


def _fitted(states: Sequence[str]) -> dict[str, Any]:
    """Whether all trained lengths pass; open where none fails and some is not shown to pass."""
    label = "fail" if "fail" in states else "open" if "open" in states or not states else "pass"
    return {"quantity": "fitted", "value": float(label == "pass"), "label": label}
