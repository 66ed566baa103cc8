"""Held-out scores of probes, with intervals from resampling sequences.

A score is computed from sums over rows. One product with the matrix of draws per sequence gives the score and all its
resamples, for all sites together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from probes.fitting.linear import code
from workbench.core.thresholds import WIDEST
from workbench.measure.intervals import clopper_pearson, interval, tango

ROUNDING = 1e-9
"""An interval narrower than this counts as zero width."""
NO_SPREAD = "no resample differs, so there is no interval"


@dataclass(frozen=True)
class Resamples:
    """The held-out rows (draw 0), and resamples of whole sequences.

    Attributes:
        counts: how often each sequence is drawn, 1 throughout in draw 0.
        member: which of those sequences each row belongs to.
    """

    counts: Float[Tensor, "draw sequence"]
    member: Int[Tensor, "row"]

    @staticmethod
    def of(sequence: Int[Tensor, "row"], rng: np.random.Generator, resamples: int) -> Resamples:
        """Draw resamples of the sequences to which the rows belong."""
        members = sequence.unique()
        n = len(members)
        counts = rng.multinomial(n, np.full(n, 1 / n), size=resamples) if n else np.zeros((resamples, 0))
        drawn = torch.from_numpy(counts).double()
        return Resamples(torch.cat([torch.ones_like(drawn[:1]), drawn]), torch.searchsorted(members, sequence))

    def __len__(self) -> int:
        """Number of sequences."""
        return self.counts.shape[1]

    def by_sequence(self, values: Float[Tensor, "*of row"]) -> Float[Tensor, "*of sequence"]:
        """Return sums over the rows of each sequence."""
        flat = values.double().reshape(-1, values.shape[-1])
        summed = torch.zeros(len(flat), len(self), dtype=torch.float64).index_add_(1, self.member, flat)
        return summed.reshape(*values.shape[:-1], len(self))

    def sums(self, values: Float[Tensor, "*of row"]) -> Float[Tensor, "draw *of"]:
        """Return the sum over the drawn rows, for every series of values."""
        by_sequence = self.by_sequence(values).reshape(-1, len(self))
        return (self.counts @ by_sequence.T).reshape(-1, *values.shape[:-1])


def balanced_accuracy(
    predicted: Int[Tensor, "site row"],
    truth: Int[Tensor, "row"],
    classes: int,
    resamples: Resamples,
) -> Float[Tensor, "draw site"]:
    """Return the mean over classes of the share of their rows that is right, ``[draw, site]``.

    A class that a resample lacks is left out of the mean of that draw.
    """
    member = torch.nn.functional.one_hot(truth, classes).double().T
    hit = (predicted == truth).double()
    right = resamples.sums(hit[:, None] * member)
    return (right / resamples.sums(member)[:, None]).nanmean(-1)


def r2(
    predicted: Float[Tensor, "site row *s"],
    truth: Float[Tensor, "row *s"],
    resamples: Resamples,
) -> Float[Tensor, "draw site"]:
    """Return 1 - squared error / squared deviation from the held-out mean, ``[draw, site]``; unbounded below.

    For vectors, both are summed over the components. This is the mean of the components' R^2, weighted by their
    variances.
    """
    centred = code(truth, 0) - code(truth, 0).mean(0)
    rows = resamples.sums(torch.ones_like(centred[:, 0]))
    deviation = resamples.sums(centred.pow(2).sum(1)) - resamples.sums(centred.T).pow(2).sum(1) / rows
    return 1 - resamples.sums(squared_error(predicted, truth)) / deviation[:, None]


def rmse(
    predicted: Float[Tensor, "site row *s"],
    truth: Float[Tensor, "row *s"],
    resamples: Resamples,
) -> Float[Tensor, "draw site"]:
    """Return the root mean squared error, in the target's units; for vectors, over rows and components."""
    wanted = code(truth, 0)
    values = resamples.sums(torch.ones_like(wanted[:, 0])) * wanted.shape[1]
    return (resamples.sums(squared_error(predicted, truth)) / values[:, None]).sqrt()


def squared_error(predicted: Float[Tensor, "site row *s"], truth: Float[Tensor, "row *s"]) -> Float[Tensor, "site row"]:
    """Return the squared error of every row, summed over the components of a vector."""
    error = (predicted - truth).pow(2)
    return error if truth.dim() == 1 else error.sum(-1)


@dataclass(frozen=True)
class ProbeScore:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def estimates(draws: Float[Tensor, "draw site"]) -> list[ProbeScore]:
    """Return the value (first draw) and percentile interval (other draws) of every site."""
    low, high = interval(draws[1:].numpy())
    return [ProbeScore(*(float(v) for v in at)) for at in zip(draws[0], low, high, strict=True)]


def paired_balanced(
    hit: Bool[Tensor, "row"], other: Bool[Tensor, "row"], truth: Int[Tensor, "row"], classes: int
) -> ProbeScore:
    """Return the difference of two balanced accuracies on the same rows, one row per sequence.

    It is the mean over classes of paired differences of 0/1 values. Each class has Tango's interval. Distances from the
    estimate to the ends combine like errors of independent parts (Zou and Donner 2008).
    """
    parts = []
    for c in range(classes):
        own = truth == c
        b, less = int((hit & ~other & own).sum()), int((other & ~hit & own).sum())
        size = int(own.sum())
        parts.append(((b - less) / size, *tango(b, less, size)))
    middle, low, high = np.array(parts).T
    value = float(middle.mean())
    below, above = (float(np.sqrt(((middle - end) ** 2).sum())) / classes for end in (low, high))
    return ProbeScore(value, value - below, value + above)


def fields_of(at: ProbeScore, n: int, note: str = "") -> dict[str, Any]:
    """Return value, interval and n as columns of a row; no interval if resamples differ only by rounding."""
    if at.high - at.low <= ROUNDING * max(1.0, abs(at.value)):
        return {"value": at.value, "n": n, "note": "; ".join(filter(None, (note, NO_SPREAD)))}
    return {"value": at.value, "low": at.low, "high": at.high, "n": n, "note": note}


def says_nothing(at: ProbeScore, errors: Float[Tensor, "row"], resamples: Resamples) -> str:
    """Return why a share of squared error (1 - errors / something) is not a result, or "".

    Such a share has no lower bound. A probe that is nearly exact on its fitting rows may be far off on an outlying
    sequence. Then only that sequence determines the share, and another draw would give a different value.
    """
    if at.high - at.low <= WIDEST:
        return ""
    whole, worst = float(errors.sum()), float(resamples.by_sequence(errors).max())
    return (
        f"{at.value:.3g} [{at.low:.3g}, {at.high:.3g}]: an interval wider than {WIDEST:g} says nothing; one of "
        f"{len(resamples)} held-out sequences makes up {worst / whole:.0%} of the squared error"
    )


def exact_where_uniform(
    scores: list[ProbeScore], predicted: Shaped[Tensor, "site row"], truth: Int[Tensor, "row"], classes: int
) -> list[ProbeScore]:
    """Replace the interval of sites where each class is all right or all wrong; resampling would give width 0.

    This happens for perfect probes and for constant predictions. The interval is then the mean over classes of the
    Clopper-Pearson limits of each class. A class without rows is left out of the mean, as in :func:`balanced_accuracy`.
    """
    sizes = torch.bincount(truth, minlength=classes).tolist()
    replaced = list(scores)
    for site, hit in enumerate(predicted == truth):
        right = torch.bincount(truth[hit], minlength=classes).tolist()
        if all(k in (0, size) for k, size in zip(right, sizes, strict=True)):
            limits = [clopper_pearson(k, size) for k, size in zip(right, sizes, strict=True) if size]
            low, high = (float(np.mean(side)) for side in zip(*limits, strict=True))
            replaced[site] = ProbeScore(scores[site].value, low, high)
    return replaced
