"""The verdict on a checkpoint, from behaviour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.thresholds import FITTED, HORIZON, ROBUST
from workbench.measure.measurement import Grid


@dataclass(frozen=True)
class Skill:
    """Skill at one length under one law, with limits.

    Attributes:
        value: (accuracy - floor) / (1 - floor).
        low: lower 95 % limit.
        high: upper 95 % limit.
        low_grid: lower limit, Bonferroni over the lengths outside training.
        unseen: whether ids outside the trained set were read by an encoding that reads them absolutely.
    """

    value: float
    low: float
    high: float
    low_grid: float
    unseen: bool = False


@dataclass(frozen=True)
class Failure:
    """Where skill is lost, interval-censored between two grid lengths.

    Attributes:
        length: first grid length that fails together with the next one, or None.
        low: the grid length before it; if none fails, the largest length tested.
    """

    length: int | None
    low: int


@dataclass(frozen=True)
class Verdict:
    """A verdict with its horizon, the failure length per law, and one clause of explanation."""

    label: str
    horizon: int
    failures: Mapping[str, Failure]
    note: str


def failure_length(curve: Mapping[int, Skill], grid: Grid) -> Failure:
    """First length outside training that loses skill, confirmed by the next length.

    A length fails when the upper limit of its skill is below 0.9 times the mean skill inside training
    (same law). Without confirmation by the next grid length a noisy curve would fail too early.
    """
    trained = [curve[n].value for n in grid.inside if n in curve]
    outside = [n for n in grid.outside if n in curve]
    if not trained or not outside:
        return Failure(None, grid.trained)
    bar = ROBUST * sum(trained) / len(trained)
    fails = [curve[n].high < bar for n in outside]
    for i in range(len(outside) - 1):
        if fails[i] and fails[i + 1]:
            return Failure(outside[i], outside[i - 1] if i else grid.trained)
    return Failure(None, outside[-1])


def decide(curves: Mapping[str, Mapping[int, Skill]], grid: Grid) -> Verdict:
    """The verdict: not fitted, unseen position, scale-robust to H, length-coupled, or undecided.

    Args:
        curves: per law ("matched", "challenge") the skill at each measured length.
        grid: the measured lengths; the horizon H is the longest of them.
    """
    horizon = max(grid.lengths)
    seen = {law: {n: s for n, s in curve.items() if not s.unseen} for law, curve in curves.items()}
    failures = {law: failure_length(curve, grid) for law, curve in seen.items()}

    matched = curves["matched"]
    unknown = [n for n in grid.inside if n not in matched]
    if unknown:
        note = f"skill is undefined at trained length {unknown[0]}: a guess answers nearly always"
        return Verdict("undecided", horizon, failures, note)
    worst = min(grid.inside, key=lambda n: matched[n].low)
    if matched[worst].low < FITTED:
        note = f"the lower limit of skill is {matched[worst].low:.2f} at trained length {worst}; fitted needs {FITTED}"
        return Verdict("not fitted", horizon, failures, note)

    failed = {law: f for law, f in failures.items() if f.length is not None}
    if failed:
        law, first = min(failed.items(), key=lambda item: item[1].length or 0)
        note = f"skill falls below {ROBUST} of its trained value at length {first.length} under the {law} law"
        return Verdict("length-coupled", horizon, failures, note)

    unseen = sorted({n for curve in curves.values() for n, s in curve.items() if s.unseen})
    if unseen:
        note = f"positions from length {unseen[0]} on were never seen in training"
        return Verdict("unseen position", horizon, failures, note)

    if not grid.outside:
        return Verdict("undecided", horizon, failures, f"no length beyond the {grid.trained} trained ones was measured")
    # Below 2N no place of a string lies outside both the first and the last N tokens: the challenge law is none there.
    judged = [(law, n) for law in curves for n in grid.outside if law == "matched" or n >= 2 * grid.trained]
    undefined = [(law, n) for law, n in judged if n not in curves[law]]
    if undefined:
        law, n = undefined[0]
        return Verdict("undecided", horizon, failures, f"skill is undefined at length {n} under the {law} law")
    low, law, n = min((curves[law][n].low_grid, law, n) for law, n in judged)
    if low >= ROBUST and horizon >= HORIZON * grid.trained:
        note = f"the lower limit of skill stays at or above {low:.2f} on both laws up to length {horizon}"
        return Verdict("scale-robust", horizon, failures, note)
    if horizon < HORIZON * grid.trained:
        note = f"measured to length {horizon} only; scale-robust needs {HORIZON * grid.trained}"
    else:
        note = f"the lower limit of skill is {low:.2f} at length {n} under the {law} law; robust needs {ROBUST}"
    return Verdict("undecided", horizon, failures, note)
