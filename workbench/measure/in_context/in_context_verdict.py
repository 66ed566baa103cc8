"""The verdict on a model that is given a task in its prompt: not capable, holds, decays, or undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.core.thresholds import ERROR, FITTED, ROBUST
from workbench.measure.intervals import all_equal, lower_limit, resampled_means, upper_limit

RESAMPLES = 4000
"""Of a bootstrap whose tails are thinner than those of an interval of 95 %."""


@dataclass(frozen=True)
class Point:
    """Skill at one length.

    Attributes:
        length: items of the question.
        tokens: its tokens.
        skill: the estimate.
        low: lower limit, wrong with probability 0.025 at most.
        high: upper limit, alike.
        high_of_all: upper limit that is wrong with probability 0.025 at most at any of all lengths.
        unseen: whether it reaches beyond the window.
    """

    length: int
    tokens: int
    skill: float
    low: float
    high: float
    high_of_all: float
    unseen: bool = False


@dataclass(frozen=True)
class InContextVerdict:
    """What is shown of a model that is given a task in its prompt.

    Attributes:
        label: ``not capable``, ``holds``, ``decays`` or ``undecided``.
        length: the items that the label is about: H up to which it holds, n* from which it decays, the shortest length,
            or the longest judged.
        capable_to: longest length up to which skill is shown to be at least FITTED at every judged one; None = at none.
        decay: n*, or None.
        kept: longest length up to which skill is shown to be at least ROBUST at every judged one; None = at none.
        judged: the longest judged length.
        note: one clause.
        reason: why it is undecided, else "".
    """

    label: str
    length: int
    capable_to: int | None
    decay: int | None
    kept: int | None
    judged: int
    note: str
    reason: str = ""


def limits(values: NDArray[np.float64], error: float, rng: np.random.Generator) -> tuple[float, float]:
    """One-sided limits of the mean over strings, each wrong with probability ``error``.

    Clopper-Pearson for one 0/1 value per string; of shares of several answers, those of a bootstrap over strings, and
    where all are equal what follows from their lying between 0 and 1.
    """
    n = len(values)
    if np.isin(values, (0.0, 1.0)).all():
        right = int(values.sum())
        return lower_limit(right, n, error), upper_limit(right, n, error)
    if values.min() == values.max():
        return all_equal(float(values[0]), n, (0.0, 1.0), 1 - 2 * error)
    means = resampled_means(values, rng, RESAMPLES)
    low, high = np.quantile(means, (error, 1 - error))
    return float(low), float(high)


def point(
    values: NDArray[np.float64], length: int, tokens: int, chance: float, lengths: int, rng: np.random.Generator,
    unseen: bool = False,
) -> Point:  # fmt: skip
    """Skill at one length, from the share of right answers of each string.

    Args:
        values: ``[string]``.
        length, tokens: of the question.
        chance: accuracy of a guess.
        lengths: how many lengths could be shown to fail.
        rng: of the bootstrap.
        unseen: whether it reaches beyond the window.
    """

    def skill(accuracy: float) -> float:
        return (accuracy - chance) / (1 - chance)

    low, high = limits(values, ERROR, rng)
    _, high_of_all = limits(values, ERROR / max(1, lengths), rng)
    mean = float(values.mean())
    return Point(length, tokens, skill(mean), skill(low), skill(high), skill(high_of_all), unseen)


def decide_in_context(points: Sequence[Point], window: int) -> InContextVerdict:
    """The verdict on the points of a curve, of ascending length; those beyond the window are not judged.

    *Not capable*: skill is shown to be below FITTED at the shortest length already. Else, where it is shown to reach
    it: *decays* from the first of two judged lengths in a row at which skill is shown to be below ROBUST, or *holds* to
    the longest judged one, if skill is shown to be at least ROBUST at every one. That some length fails is claimed of
    all lengths at once, so its limits are those for all of them.

    Raises:
        ValueError: if no length lies inside the window.
    """
    judged = [one for one in points if not one.unseen]
    if not judged:
        raise ValueError("no length lies inside the window")
    first, last = judged[0], judged[-1]
    capable = _up_to(judged, FITTED)
    kept = _up_to(judged, ROBUST)
    failing = [one.high_of_all < ROBUST for one in judged[1:]]
    decay = next((n for n, pair in enumerate(pairwise(failing), start=1) if all(pair)), None)

    def verdict(label: str, at: Point, note: str, reason: str = "") -> InContextVerdict:
        found = None if decay is None else judged[decay].length
        return InContextVerdict(label, at.length, capable, found, kept, last.length, note, reason)

    if first.high < FITTED:
        return verdict("not capable", first, f"{_said(first, window)}; capable needs {FITTED:g}")
    if first.low < FITTED:
        return verdict("undecided", first, f"{_said(first, window)}; capable needs {FITTED:g}", "at the bar")
    if decay is not None:
        held = f"at least {ROBUST:g} up to {kept} items"
        return verdict("decays", judged[decay], f"{_said(judged[decay], window)}; {held}")
    if kept == last.length and len(judged) > 1:
        return verdict("holds", last, f"skill is at least {ROBUST:g} at every length up to {_place(last, window)}")
    if len(judged) == 1:
        return verdict("undecided", last, f"one length alone was asked, {_place(last, window)}", "horizon")
    alone = [one for one, fails in zip(judged[1:], failing, strict=True) if fails]
    if alone:
        note = f"{_said(alone[0], window)}, alone: the next length asked is not shown to fail"
        return verdict("undecided", last, note, "between the bars")
    lowest = min(judged[1:], key=lambda one: one.low)
    return verdict("undecided", last, f"{_said(lowest, window)}; the bar is {ROBUST:g}", "at the bar")


def _up_to(judged: Sequence[Point], bar: float) -> int | None:
    """The longest length up to which all lower limits reach a bar."""
    reached = None
    for one in judged:
        if one.low < bar:
            break
        reached = one.length
    return reached


def _said(one: Point, window: int) -> str:
    return f"skill {one.skill:.3f} [{one.low:.3f}, {one.high:.3f}] at {_place(one, window)}"


def _place(one: Point, window: int) -> str:
    """Items, tokens, and their share of the window."""
    return f"{one.length:,} items ({one.tokens:,} tokens, {100 * one.tokens / window:.2g} % of the window)"
