"""Means over sequences with bootstrap intervals, for all values and heads of one prefix length at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from circuits.hardmax.reduction import LengthRecord
from workbench.measure.intervals import Bounds, all_the_same, equal_ends, interval, resampled_means
from workbench.models.transformer.tie_sets import Floats

At = tuple[int, int]


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of one statistic of one head, with its interval.

    Attributes:
        mean: mean over the sequences on which it is defined.
        low: lower end of the 95 % interval. It is a bootstrap's, or follows from the value's bounds if all are equal;
            None if there are no bounds either.
        high: upper end.
        n: number of those sequences.
        equal: whether all of them have the same value.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    equal: bool


SHARES = frozenset({"distance", "mass", "tie_uniformity"})
"""Values between 0 and 1."""
LOGS_OF_KEYS = frozenset({"log_size", "entropy", "log_support"})
"""Values between 0 and log K."""


class MeanEstimates:
    """Estimates of one length. Values are named as in the record, carried ones ``name@length``.

    Args:
        record: the length.
        rng: the source of the resamples, one set for all values.
        resamples: their number.
    """

    def __init__(self, record: LengthRecord, rng: np.random.Generator, resamples: int) -> None:
        self.record = record
        self._values = dict(record.values)
        for length, carried in record.carried.items():
            self._values |= {f"{name}@{length}": values for name, values in carried.items()}
        stacked = np.stack(list(self._values.values()), axis=1)
        means = resampled_means(stacked, rng, resamples)
        low, high = interval(means)
        self._place = {name: i for i, name in enumerate(self._values)}
        self._means, self._low, self._high = means, low, high

    def values(self, name: str, at: At) -> Floats:
        """Return the defined values, one per sequence."""
        values = self._values[name][:, at[0], at[1]]
        return values[~np.isnan(values)]

    def resampled_means(self, name: str, at: At) -> Floats:
        """Return ``[resample]``, the resampled means."""
        found: Floats = self._means[:, self._place[name], at[0], at[1]]
        return found

    def __call__(self, name: str, at: At) -> MeanEstimate | None:
        """Return the estimate, or None where no sequence defines the value."""
        values = self.values(name, at)
        if not len(values):
            return None
        if all_the_same(values):
            # The exact value: a mean of equal numbers would only add rounding.
            same = float(values[0])
            ends = equal_ends(same, len(values), self._bounds(name))
            return MeanEstimate(same, ends.low, ends.high, len(values), True)
        place = (self._place[name], *at)
        low, high = float(self._low[place]), float(self._high[place])
        return MeanEstimate(float(values.mean()), low, high, len(values), False)

    def _bounds(self, name: str) -> Bounds | None:
        if name in LOGS_OF_KEYS:
            return 0.0, math.log(self.record.keys)
        return (0.0, 1.0) if name in SHARES else None
