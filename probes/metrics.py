"""Held-out scores of probes, with intervals from resampling sequences.

A score is computed from sums over rows, so that it and all its resamples come from one product with the
matrix of how often each sequence was drawn, for all sites together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from probes.linear import code
from workbench.measure.intervals import clopper_pearson, interval


@dataclass(frozen=True)
class Resamples:
    """The held-out rows as they are (draw 0), and resampled by whole sequences.

    Attributes:
        counts: how often each sequence is drawn, 1 throughout in draw 0.
        member: which of those sequences each row belongs to.
    """

    counts: Float[Tensor, "draw sequence"]
    member: Int[Tensor, "row"]

    @staticmethod
    def of(sequence: Int[Tensor, "row"], rng: np.random.Generator, resamples: int) -> Resamples:
        """Resamples of the sequences that the rows belong to."""
        members = sequence.unique()
        n = len(members)
        counts = rng.multinomial(n, np.full(n, 1 / n), size=resamples) if n else np.zeros((resamples, 0))
        drawn = torch.from_numpy(counts).double()
        return Resamples(torch.cat([torch.ones_like(drawn[:1]), drawn]), torch.searchsorted(members, sequence))

    def __len__(self) -> int:
        """Number of sequences."""
        return self.counts.shape[1]

    def sums(self, values: Float[Tensor, "*of row"]) -> Float[Tensor, "draw *of"]:
        """Sum over the drawn rows, of every series of values."""
        flat = values.reshape(-1, values.shape[-1])
        by_sequence = flat.new_zeros(len(flat), len(self)).index_add_(1, self.member, flat)
        return (self.counts @ by_sequence.T).reshape(-1, *values.shape[:-1])


def balanced_accuracy(
    predicted: Int[Tensor, "site row"],
    truth: Int[Tensor, "row"],
    classes: int,
    resamples: Resamples,
) -> Float[Tensor, "draw site"]:
    """Mean over classes of the share of their rows that is answered right.

    A class that a resample happens to miss is left out of the mean of that draw.
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
    """1 - squared error / squared deviation from the held-out mean; unbounded below.

    Of vectors both are summed over the components: the mean of the components' R^2, weighted by their variances.
    """
    centred = code(truth, 0) - code(truth, 0).mean(0)
    rows = resamples.sums(torch.ones_like(centred[:, 0]))
    deviation = resamples.sums(centred.pow(2).sum(1)) - resamples.sums(centred.T).pow(2).sum(1) / rows
    return 1 - resamples.sums(_squared_error(predicted, truth)) / deviation[:, None]


def rmse(
    predicted: Float[Tensor, "site row *s"],
    truth: Float[Tensor, "row *s"],
    resamples: Resamples,
) -> Float[Tensor, "draw site"]:
    """Root mean squared error, in the units of the target; of vectors, the mean over rows and components."""
    wanted = code(truth, 0)
    values = resamples.sums(torch.ones_like(wanted[:, 0])) * wanted.shape[1]
    return (resamples.sums(_squared_error(predicted, truth)) / values[:, None]).sqrt()


def _squared_error(
    predicted: Float[Tensor, "site row *s"], truth: Float[Tensor, "row *s"]
) -> Float[Tensor, "site row"]:
    error = (predicted - truth).pow(2)
    return error if truth.dim() == 1 else error.sum(-1)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def estimates(draws: Float[Tensor, "draw site"]) -> list[Estimate]:
    """Value (first draw) and percentile interval (the others) of every site."""
    low, high = interval(draws[1:].numpy())
    return [Estimate(*(float(v) for v in at)) for at in zip(draws[0], low, high, strict=True)]


def exact_where_perfect(
    found: list[Estimate], predicted: Shaped[Tensor, "site row"], truth: Int[Tensor, "row"], classes: int
) -> list[Estimate]:
    """Replace the interval of sites that answer every row alike: resampling would give width 0.

    There the interval is the mean over classes of the Clopper-Pearson limits of each class.
    """
    sizes = torch.bincount(truth, minlength=classes).tolist()
    replaced = list(found)
    for site, hit in enumerate((predicted == truth).tolist()):
        if len(set(hit)) == 1:
            limits = [clopper_pearson(size if hit[0] else 0, size) for size in sizes]
            low, high = (float(np.mean(side)) for side in zip(*limits, strict=True))
            replaced[site] = Estimate(found[site].value, low, high)
    return replaced
