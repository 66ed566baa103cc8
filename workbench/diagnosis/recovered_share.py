"""The accuracy drop past N, and the share of it that an intervention recovers, with intervals; no model runs here.

All accuracies are class-balanced: the mean over the classes of answers of the share that is right in each. Without
balancing, an edit that makes a model always give one answer would seem to recover accuracy where that answer is
frequent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from workbench.core.thresholds import NAMED_DROP, SMALLEST_DROP
from workbench.measure.intervals import interval, tango

LEARNED = 0.9
"""Balanced accuracy at N below which nothing is diagnosed, because the model has not learned the task."""
WRONG = 100
"""Wrong sequences that a diagnosis needs."""
MOST = 2048
"""Maximum number of sequences drawn to find them."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """Sequences of one test set and length, with a mask of those that are answered correctly.

    Attributes:
        right: ``[string]``, 0/1.
        classes: ``[string]``, the class of the right answer; all equal where answers are not classes.
    """

    right: Array
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.right)

    def part(self, which: NDArray[np.int64]) -> Judged:
        """Return the sequences with these indices."""
        return Judged(self.right[which], self.classes[which])


@dataclass(frozen=True)
class Estimate95:
    """A value with its 95 % interval.

    Attributes:
        value, low, high: the value and the ends of its interval.
    """

    value: float
    low: float
    high: float


def balanced_accuracy(right: ArrayLike, classes: ArrayLike) -> float:
    """Return the mean over the occurring classes of the share that is right.

    >>> balanced_accuracy([1, 1, 1, 0], [0, 0, 0, 1])
    0.5

    Raises:
        ValueError: for no sequences.
    """
    x, y = np.asarray(right, dtype=np.float64), np.asarray(classes)
    if not len(x):
        raise ValueError("an accuracy needs at least one sequence")
    return float(np.mean([x[y == c].mean() for c in np.unique(y)]))


def balanced_weights(classes: ArrayLike) -> Array:
    """Return weights ``[string]`` that add up to 1 and give each occurring class the same weight."""
    y = np.asarray(classes)
    _, place, count = np.unique(y, return_inverse=True, return_counts=True)
    weights: Array = 1.0 / (len(count) * count[place])
    return weights


def chance(classes: ArrayLike) -> float:
    """Return the balanced accuracy of a guess: one over the number of classes."""
    return 1.0 / len(np.unique(np.asarray(classes)))


class Bootstrap:
    """Bootstrap samples of the sequences at N and at n. All interventions share them, so that their recovered shares
    can be compared.

    Accuracies at n with and without an intervention use the same sequences, and are resampled together. Those at N use
    other sequences, and are resampled separately.

    Args:
        reference: the sequences at N, with the model's answers.
        at: the sequences at n, with the model's answers.
        rng: the only source of randomness.
        resamples: number of resamples.

    Raises:
        ValueError: for no sequences.
    """

    def __init__(self, reference: Judged, at: Judged, rng: np.random.Generator, resamples: int = 1000) -> None:
        if not len(reference) or not len(at):
            raise ValueError("an accuracy drop needs sequences at the trained length N and at the longer length n")
        self.at, self.n = at, len(at)
        self.weights = rng.multinomial(self.n, np.full(self.n, 1 / self.n), size=resamples).astype(np.float64)
        others = rng.multinomial(len(reference), np.full(len(reference), 1 / len(reference)), size=resamples)
        self.a_reference = balanced_accuracy(reference.right, reference.classes)
        self.a_at = balanced_accuracy(at.right, at.classes)
        self._reference = _resampled(others.astype(np.float64), reference.right, reference.classes)
        self.accuracies = self._accuracies(at.right)

    @property
    def loss(self) -> Estimate95:
        """A_ref - A_n, the accuracy drop."""
        low, high = interval(self._reference - self.accuracies)
        return Estimate95(self.a_reference - self.a_at, float(low), float(high))

    def share(self, repaired: ArrayLike) -> Estimate95:
        """Return (A_n^r - A_n) / (A_ref - A_n), clipped neither at 0 nor at 1.

        Args:
            repaired: ``[string]``, 0/1 under the intervention, for the sequences at n.

        Raises:
            ValueError: if accuracy does not drop.
        """
        gained, samples = self._gained(repaired)
        return self._over_loss(gained, samples)

    def gained_share(self, repaired: ArrayLike) -> float:
        """Return only the value of :meth:`share`; NaN if accuracy does not drop."""
        gained = balanced_accuracy(repaired, self.at.classes) - self.a_at
        loss = self.a_reference - self.a_at
        return gained / loss if loss > 0 else float("nan")

    def share_difference(self, first: ArrayLike, second: ArrayLike) -> Estimate95:
        """Return the share of one intervention minus that of another."""
        gained, samples = self._gained(first)
        other, others = self._gained(second)
        return self._over_loss(gained - other, samples - others)

    def _gained(self, repaired: ArrayLike) -> tuple[float, Array]:
        right = np.asarray(repaired, dtype=np.float64)
        gained = balanced_accuracy(right, self.at.classes) - self.a_at
        return gained, self._accuracies(right) - self.accuracies

    def _over_loss(self, gained: float, samples: Array) -> Estimate95:
        loss = self.a_reference - self.a_at
        if loss <= 0:
            raise ValueError("accuracy does not drop, so that no share of a drop can be recovered")
        losses = self._reference - self.accuracies
        shares = np.full(len(losses), np.nan)
        np.divide(samples, losses, out=shares, where=losses > 0)
        value = gained / loss
        low, high = (float(end) for end in interval(shares))
        # If all sequences are right under the intervention and at N, every resample has the share 1. The interval is
        # then as wide as that of a paired difference without discordant pairs, divided by the accuracy drop.
        half = tango(0, 0, self.n)[1] / loss
        return Estimate95(value, min(low, value - half), max(high, value + half))

    def _accuracies(self, right: Array) -> Array:
        return _resampled(self.weights, right, self.at.classes)


def _resampled(weights: Float[np.ndarray, "resample string"], right: Array, classes: NDArray[np.int64]) -> Array:
    """Return balanced accuracies ``[resample]``; a class that a resample lacks is left out of its mean."""
    each = (classes[:, None] == np.unique(classes)).astype(np.float64)
    found, count = weights @ (right[:, None] * each), weights @ each
    shares = np.full_like(found, np.nan)
    np.divide(found, count, out=shares, where=count > 0)
    means: Array = np.nanmean(shares, 1)
    return means


def halves(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the even indices, on which members are chosen, and the odd ones, on which they are reported."""
    every = np.arange(n)
    return every[::2], every[1::2]


def refusal(reference: Judged, at: Judged, length: int) -> str:
    """Return why no cause is named at a length, in one clause; "" if one can be named.

    Args:
        reference: the sequences at N.
        at: the sequences at n.
        length: n.
    """
    a_reference = balanced_accuracy(reference.right, reference.classes)
    loss = a_reference - balanced_accuracy(at.right, at.classes)
    wrong = int((at.right < 0.5).sum())
    if a_reference < LEARNED:
        return f"not learned: class-balanced accuracy at N is {below(a_reference, LEARNED)}, below {LEARNED:g}"
    if loss < SMALLEST_DROP:
        return f"accuracy drops by less than {SMALLEST_DROP:g}: nothing to explain at {length:,}"
    if wrong < WRONG:
        return f"{wrong} sequences of length {length:,} are answered wrong; a diagnosis needs {WRONG}"
    if loss < NAMED_DROP:
        return f"accuracy drops by {below(loss, NAMED_DROP)} at {length:,}, less than {NAMED_DROP:g}: no cause is named"
    return ""


def below(value: float, limit: float) -> str:
    """Return a number below a limit as text, with enough decimals (at least two) to be seen below the limit.

    >>> below(0.8967, 0.9), below(0.5, 0.9)
    ('0.897', '0.50')
    """
    decimals = 2
    while round(value, decimals) >= limit and decimals < 9:
        decimals += 1
    return f"{value:.{decimals}f}"


def best_member(shares: Mapping[str, float], order: Sequence[str]) -> str:
    """Return the name with the largest share; among equal ones, the first in order."""
    return max(order, key=lambda name: (shares[name], -order.index(name)))
