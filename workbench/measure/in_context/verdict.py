"""The verdict on a model that is evaluated in its prompt: holds, decays, partial, not capable, or undecided.

It is computed from stored limits only. With m tested lengths, each limit of skill is wrong with probability at most
0.025 / m. *Shown to be at least x* means that the lower limit is at least x. *Shown to be below x* means that the upper
limit is below x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.core.thresholds import ERROR, FITTED, PARTIAL, ROBUST
from workbench.core.verdicts import (
    AT_THE_BAR,
    BETWEEN_THE_BARS,
    DECAYS,
    HOLDS,
    NOT_CAPABLE,
    PARTLY,
    TOO_SHORT,
    UNDECIDED,
)
from workbench.measure.intervals import all_equal, all_the_same, lower_limit, upper_limit

DRAWS = 20_000
"""Number of random weightings for the limits of a mean."""


@dataclass(frozen=True)
class Point:
    """The skill of a model at one number of items.

    Attributes:
        length: items of the question.
        tokens: tokens of the prompt.
        skill: the estimate.
        low: lower limit, wrong with probability at most 0.025 / (number of tested lengths).
        high: upper limit, wrong with the same probability.
        unseen: whether the prompt exceeds the window, so that the length is not tested.
    """

    length: int
    tokens: int
    skill: float
    low: float
    high: float
    unseen: bool = False


@dataclass(frozen=True)
class InContextVerdict:
    """The verdict on a model that gets its task in a prompt.

    Attributes:
        label: ``holds``, ``decays``, ``partial``, ``not capable`` or ``undecided``.
        length: number of items that the label is about: H up to which skill holds, K from which it decays or is
            undecided, or the longest tested length.
        capable_from: K0, the smallest tested length at which skill is shown to be at least FITTED; None = at no length.
        decays_from: the first of the two successive lengths that show a decay; None = no decay is shown.
        kept_to: the longest length before that up to which skill is shown to hold; None = there is no reference.
        judged: the longest tested length.
        note: one clause.
        reason: why it is undecided, else "".
    """

    label: str
    length: int
    capable_from: int | None
    decays_from: int | None
    kept_to: int | None
    judged: int
    note: str
    reason: str = ""


def limits(values: NDArray[np.float64], error: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return one-sided limits of the mean over sequences of values in [0, 1].

    The upper limit is a quantile of the mean under random weights, uniform over the simplex, after one sequence with
    the value 1 is added to the sample. For the lower limit, a sequence with the value 0 is added. For 0/1 values these
    are exactly the Clopper-Pearson limits, which are computed without random weights. Where a sample misses rare
    values, a bootstrap interval may shrink to the mean; these limits do not.

    Source: Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
    variable". Learned-Miller and Thomas 2019, "A new confidence interval for the mean of a bounded random variable". It
    is a conjecture that the limits are valid for all distributions; our tests simulate them.

    Args:
        values: ``[sequence]``, at least one.
        error: maximum probability that a limit is wrong.
        rng: draws the weights.

    Returns:
        lower and upper limit.
    """
    n = len(values)
    if np.isin(values, (0.0, 1.0)).all():
        right = int(values.sum())
        return lower_limit(right, n, error), upper_limit(right, n, error)
    if all_the_same(values):
        return all_equal(float(values[0]), n, (0.0, 1.0), 1 - 2 * error)
    weights = rng.standard_exponential((DRAWS, n + 1))
    weights /= weights.sum(1, keepdims=True)
    means = weights[:, :n] @ values
    return float(np.quantile(means, error)), float(np.quantile(means + weights[:, n], 1 - error))


def limits_of_mean(mean: float, n: int, error: float) -> tuple[float, float]:
    """Return one-sided limits of the expectation of values in [0, 1], from only the mean of ``n`` values.

    They are valid for any spread of the values. They are Hoeffding's bound in its sharp form: n KL(mean, limit) = log(1
    / error). They are wider than those of :func:`limits`, which needs the values.

    Source: Hoeffding 1963, "Probability inequalities for sums of bounded random variables", theorem 1.

    Args:
        mean: mean of the values.
        n: number of values.
        error: maximum probability that a limit is wrong.

    Returns:
        lower and upper limit.
    """
    most = -np.log(error) / n

    def divergence(limit: float) -> float:
        parts = [(mean, limit), (1 - mean, 1 - limit)]
        return float(sum(p * np.log(p / q) if q > 0 else np.inf for p, q in parts if p > 0))

    def limit(end: float) -> float:
        inner, outer = mean, end
        for _ in range(60):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if divergence(middle) < most else (inner, middle)
        return outer

    return (0.0 if mean <= 0 else limit(0.0)), (1.0 if mean >= 1 else limit(1.0))


def decide_in_context(points: Sequence[Point], window: int, longer: int | None = None) -> InContextVerdict:
    """Return the verdict on a curve of skill over length, from its limits only. Lengths beyond the window are ignored.

    K0 is the smallest length at which skill is shown to be at least FITTED. The reference of a longer length is the
    largest lower limit from K0 up to the length before. With K0:

    - *decays*: two successive lengths are shown to be below ROBUST of their references. It decays from the first of
      them.
    - *holds*: every length beyond K0 is shown to be at least ROBUST of its reference, up to the longest.
    - *undecided*: anything else, from the first length beyond K0 at which skill is not shown to hold.

    Without K0, let r be the largest lower limit of all:

    - *partial*: r is at least PARTIAL, and two later successive lengths are shown to be below r / 2.
    - *not capable*: otherwise, if every length is shown to be below FITTED.
    - *undecided*: anything else.

    Args:
        points: in the order of lengths.
        window: number of tokens in the training window of the model.
        longer: items of a longer question that fits into the window, for the note; None = there is none.

    Raises:
        ValueError: if no length is inside the window.
    """
    judged = [point for point in points if not point.unseen]
    if not judged:
        raise ValueError("the verdict needs at least one length inside the context window of the model")
    start = next((place for place, point in enumerate(judged) if point.low >= FITTED), None)
    return _partly(judged, window) if start is None else _capable(judged, start, window, longer)


def _capable(points: Sequence[Point], start: int, window: int, longer: int | None) -> InContextVerdict:
    """Return the verdict where skill is shown to reach FITTED at the tested length with index ``start``."""
    first, last, later = points[start], points[-1], points[start + 1 :]
    references = [max(points[start:place], key=lambda point: point.low) for place in range(start + 1, len(points))]
    holds_at = [point.low >= ROBUST * best.low for point, best in zip(later, references, strict=True)]
    falling = [point.high < ROBUST * best.low for point, best in zip(later, references, strict=True)]
    decay = _pair(falling)
    capable = f"capable from {first.length:,} items"

    def verdict(label: str, place: int, note: str, reason: str = "") -> InContextVerdict:
        """``place`` counts the later lengths, -1 being that of K0."""
        until = next((number for number, holds in enumerate(holds_at) if not holds), len(holds_at))
        until = until if decay is None else min(until, decay)
        at = points[start + 1 + place].length
        found = None if decay is None else later[decay].length
        return InContextVerdict(label, at, first.length, found, points[start + until].length, last.length, note, reason)

    def below(place: int, word: str) -> str:
        best = references[place]
        share = f"{ROBUST:g} of the {best.low:.3f} shown at {best.length:,} items"
        return f"{_said(later[place], window)}, {word} {share} ({ROBUST * best.low:.3f})"

    if decay is not None:
        return verdict(DECAYS, decay, f"{below(decay, 'below')}; {capable}")
    if not later:
        return verdict(UNDECIDED, -1, f"{capable}, the longest judged length; {_add(points, longer)}", TOO_SHORT)
    if all(holds_at):
        share = f"at least {ROBUST:g} of the skill shown before at every length up to {_place(last, window)}"
        return verdict(HOLDS, len(later) - 1, f"{capable}, and {share}")
    place = holds_at.index(False)
    note = f"{capable}, undecided from {later[place].length:,} items"
    fallen = [number for number, falls in enumerate(falling) if falls]
    if fallen == [len(later) - 1]:
        return verdict(UNDECIDED, place, f"{note}: {below(fallen[0], 'below')}; {_add(points, longer)}", TOO_SHORT)
    if fallen:
        return verdict(UNDECIDED, place, f"{note}: {below(fallen[0], 'below')}, but only there", BETWEEN_THE_BARS)
    return verdict(UNDECIDED, place, f"{note}: {below(place, 'not shown to be on one side of')}", AT_THE_BAR)


def _partly(points: Sequence[Point], window: int) -> InContextVerdict:
    """Return the verdict where no length is shown to reach FITTED."""
    best = max(points, key=lambda point: point.low)
    place = points.index(best)
    later = points[place + 1 :]
    decay = _pair([point.high < best.low / 2 for point in later]) if best.low >= PARTIAL else None

    def verdict(label: str, at: int, note: str, reason: str = "") -> InContextVerdict:
        found, kept = (None, None) if decay is None else (later[decay].length, best.length)
        return InContextVerdict(label, at, None, found, kept, points[-1].length, note, reason)

    nowhere = f"no length is shown to reach {FITTED:g}"
    if decay is not None:
        half = f"below half of the {best.low:.3f} shown at {best.length:,} items"
        return verdict(PARTLY, later[decay].length, f"{_said(later[decay], window)}, {half}; {nowhere}")
    highest = max(points, key=lambda point: point.high)
    if highest.high < FITTED:
        every = f"skill is shown to be below {FITTED:g} at every judged length"
        return verdict(NOT_CAPABLE, points[-1].length, f"{every}; the highest is {_said(highest, window)}")
    note = f"{nowhere}, and {_said(highest, window)} is not shown to be below it"
    return verdict(UNDECIDED, points[-1].length, note, AT_THE_BAR)


def _pair(falling: Sequence[bool]) -> int | None:
    """Return the index of the first of two successive values that are true, or None."""
    return next((place for place, both in enumerate(pairwise(falling)) if all(both)), None)


def _add(judged: Sequence[Point], longer: int | None) -> str:
    """Return a clause with the command-line option that adds a longer length."""
    if longer is None:
        return "no longer question fits"
    lengths = ",".join(str(n) for n in (*(point.length for point in judged), longer))
    return f"a longer length would tell: --lengths {lengths}"


def _said(point: Point, window: int) -> str:
    return f"skill {point.skill:.3f} [{point.low:.3f}, {point.high:.3f}] at {_place(point, window)}"


def _place(point: Point, window: int) -> str:
    """Return items, tokens, and their share of the window as text."""
    share = 100 * point.tokens / window
    return f"{point.length:,} items ({point.tokens:,} tokens, {share:.2g} % of the window)"


def level(lengths: int) -> float:
    """Return the maximum probability that each limit is wrong, for a verdict on this many tested lengths."""
    return ERROR / max(1, lengths)
