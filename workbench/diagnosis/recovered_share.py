"""How much is lost past N, and what share of it an intervention recovers, with intervals; no model is run here.

All accuracies are class-balanced: the mean over the classes of answers of the share that is right in each. Without
that, an edit that makes a model give one answer alone "repairs" a law in which one answer has become frequent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from workbench.core.thresholds import SMALLEST_DROP
from workbench.measure.intervals import interval, tango

LEARNED = 0.9
"""Balanced accuracy at N below which nothing is diagnosed: what was never learned is not lost past N."""
NAMED = 0.2
"""Accuracy drop below which no cause is named: its shares are too uncertain with the sequences that are drawn."""
WRONG = 100
"""Wrong strings that a diagnosis needs."""
MOST = 2048
"""Strings drawn at most to find them."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """Strings of one law and length, and which of them are answered right.

    Attributes:
        right: ``[string]`` 0/1.
        classes: ``[string]`` the class of the right answer; all equal where answers are no classes.
    """

    right: Array
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.right)

    def part(self, which: NDArray[np.int64]) -> Judged:
        """The strings of those indices."""
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
    """Mean over the classes that occur of the share that is right.

    >>> balanced_accuracy([1, 1, 1, 0], [0, 0, 0, 1])
    0.5

    Raises:
        ValueError: for no strings.
    """
    x, y = np.asarray(right, dtype=np.float64), np.asarray(classes)
    if not len(x):
        raise ValueError("an accuracy needs at least one sequence")
    return float(np.mean([x[y == c].mean() for c in np.unique(y)]))


def balanced_weights(classes: ArrayLike) -> Array:
    """``[string]`` weights that add up to 1 and give each class that occurs the same weight."""
    y = np.asarray(classes)
    _, place, count = np.unique(y, return_inverse=True, return_counts=True)
    weights: Array = 1.0 / (len(count) * count[place])
    return weights


def chance(classes: ArrayLike) -> float:
    """Balanced accuracy of a guess: one over the number of classes."""
    return 1.0 / len(np.unique(np.asarray(classes)))


class Bootstrap:
    """Resamples of the strings at N and of those at n, shared by all interventions: their shares can be compared.

    Accuracies at n with and without an intervention are of the same strings, and resampled together; those at N are of
    others, and resampled alone.

    Args:
        reference: the strings at N, as the model answers them.
        at: the strings at n, as the model answers them.
        rng: the only source of randomness.
        resamples: how many.

    Raises:
        ValueError: for no strings.
    """

    def __init__(self, reference: Judged, at: Judged, rng: np.random.Generator, resamples: int = 1000) -> None:
        if not len(reference) or not len(at):
            raise ValueError("an accuracy drop needs sequences at N and at n")
        self.at, self.n = at, len(at)
        self.weights = rng.multinomial(self.n, np.full(self.n, 1 / self.n), size=resamples).astype(np.float64)
        others = rng.multinomial(len(reference), np.full(len(reference), 1 / len(reference)), size=resamples)
        self.a_reference = balanced_accuracy(reference.right, reference.classes)
        self.a_at = balanced_accuracy(at.right, at.classes)
        self._reference = _resampled(others.astype(np.float64), reference.right, reference.classes)
        self.accuracies = self._accuracies(at.right)

    @property
    def loss(self) -> Estimate95:
        """A_ref - A_n."""
        low, high = interval(self._reference - self.accuracies)
        return Estimate95(self.a_reference - self.a_at, float(low), float(high))

    def share(self, repaired: ArrayLike) -> Estimate95:
        """(A_n^r - A_n) / (A_ref - A_n), neither clipped at 0 nor at 1.

        Args:
            repaired: ``[string]`` 0/1 under the intervention, of the strings at n.

        Raises:
            ValueError: where nothing is lost.
        """
        gained, samples = self._gained(repaired)
        return self._over_loss(gained, samples)

    def gained_share(self, repaired: ArrayLike) -> float:
        """The value of :meth:`share` alone; NaN where nothing is lost."""
        gained = balanced_accuracy(repaired, self.at.classes) - self.a_at
        loss = self.a_reference - self.a_at
        return gained / loss if loss > 0 else float("nan")

    def share_difference(self, first: ArrayLike, second: ArrayLike) -> Estimate95:
        """The share of one intervention less that of another."""
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
            raise ValueError("where nothing is lost, nothing has a share in it")
        losses = self._reference - self.accuracies
        shares = np.full(len(losses), np.nan)
        np.divide(samples, losses, out=shares, where=losses > 0)
        value = gained / loss
        low, high = (float(end) for end in interval(shares))
        # If all strings are right under the intervention and at N, every resample has the share 1; the interval is as
        # wide as that of a paired difference of which none was seen, over the loss.
        half = tango(0, 0, self.n)[1] / loss
        return Estimate95(value, min(low, value - half), max(high, value + half))

    def _accuracies(self, right: Array) -> Array:
        return _resampled(self.weights, right, self.at.classes)


def _resampled(weights: Float[np.ndarray, "resample string"], right: Array, classes: NDArray[np.int64]) -> Array:
    """``[resample]`` balanced accuracies; a class that a resample lacks does not count there."""
    each = (classes[:, None] == np.unique(classes)).astype(np.float64)
    found, count = weights @ (right[:, None] * each), weights @ each
    shares = np.full_like(found, np.nan)
    np.divide(found, count, out=shares, where=count > 0)
    means: Array = np.nanmean(shares, 1)
    return means


def halves(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the strings on which members are chosen, and of those on which they are reported: every other one."""
    every = np.arange(n)
    return every[::2], every[1::2]


def refusal(reference: Judged, at: Judged, length: int) -> str:
    """Why no cause is named at a length, in one clause; "" where one can be.

    Args:
        reference: the strings at N.
        at: the strings at n.
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
    if loss < NAMED:
        return f"accuracy drops by {below(loss, NAMED)} at {length:,}, less than {NAMED:g}: no cause is named"
    return ""


def below(value: float, limit: float) -> str:
    """A number below a limit, with as many decimals as it takes to read below it, two at least.

    >>> below(0.8967, 0.9), below(0.5, 0.9)
    ('0.897', '0.50')
    """
    decimals = 2
    while round(value, decimals) >= limit and decimals < 9:
        decimals += 1
    return f"{value:.{decimals}f}"


def best_member(shares: Mapping[str, float], order: Sequence[str]) -> str:
    """The name with the largest share; of equal ones the first in order."""
    return max(order, key=lambda name: (shares[name], -order.index(name)))
