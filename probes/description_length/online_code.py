"""Online codes: labels are sent block by block, each in the code of a probe that was fitted on the blocks before.

Online code (Voita and Titov 2020, 2003.12298, equation 3): the first t_1 labels are sent in a plain code that knows
nothing of x; a probe is fitted on them, and the next block is sent in the code that it gives; and so on with blocks of
twice the size:

    L = t_1 plain + sum_i -log2 p_i(y_(t_i + 1), .., y_(t_(i+1)) | x)

For *classes* the plain code is log2 C bits each and the probe a logistic regression. *Numbers* are sent to a
precision of :data:`PRECISION` of their standard deviation, mean and deviation being known to both sides: the plain code
is that of a normal distribution of this mean and deviation, and the probe a ridge regression, whose prediction is the
mean of a normal distribution and whose error on held-out folds of the rows it was fitted on is its variance; a cell
of the precision has the probability that this distribution gives it. Where noise is normal, what is saved per row
tends to -log2(1 - R^2) / 2 bits. Components of a vector are sent one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from probes.fitting.linear import FOLDS, code, ridge
from probes.fitting.logistic import logistic
from probes.fitting.probe_rows import ProbeError

#: Ends of the blocks, as shares of the sequences.
ENDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
FEWEST = 64
"""Fewest sequences: the first block must hold a few."""
PRECISION = 1 / 64
"""Width of the cells that numbers are sent as, in standard deviations of the number."""
SUREST = PRECISION / 4
"""Smallest standard deviation of a prediction: nobody is surer than the precision is fine."""


@dataclass(frozen=True)
class Code:
    """The online code of one labelling of the rows, in the order they are in.

    Attributes:
        bits: of each row.
        plain: of each row, in the code that knows nothing of x.
        block: which block each row is in; the first is sent as it is.
        predicted: of classes, what the last probe answers on the last block; empty of numbers.
    """

    bits: Float[np.ndarray, "row"]
    plain: Float[np.ndarray, "row"]
    block: Int[np.ndarray, "row"]
    predicted: Int[np.ndarray, "last"]

    def length(self) -> float:
        """Bits altogether."""
        return float(self.bits.sum())

    def compression(self) -> float:
        """How many times shorter than the plain code it is."""
        return float(self.plain.sum() / self.bits.sum())

    def resampled(self, rng: np.random.Generator, resamples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lengths and compressions with the rows of each block resampled: how far they may fall, given the probes."""
        total = np.zeros((resamples, 2))
        for b in range(int(self.block.max()) + 1):
            own = np.stack([self.bits, self.plain], 1)[self.block == b]
            total += rng.multinomial(len(own), np.full(len(own), 1 / len(own)), resamples) @ own
        return total[:, 0], total[:, 1] / total[:, 0]


def class_code(x: Float[Tensor, "row d"], y: Int[Tensor, "row"], classes: int) -> Code:
    """Code classes block by block.

    Args:
        x: activations, one row per sequence, in random order.
        y: classes, 0 to classes - 1.
        classes: number of classes.

    Raises:
        ProbeError: for too few rows, activations that are not finite, or a probe that did not converge.
    """
    plain = np.full(len(y), np.log2(classes))
    bits, block, predicted = plain.copy(), np.zeros(len(y), dtype=np.int64), np.zeros(0, dtype=np.int64)
    for i, start, end in _blocks(x):
        log2 = logistic(x[:start], y[:start], classes).log2_probabilities(x[start:end])
        bits[start:end] = -np.take_along_axis(log2, y[start:end].numpy()[:, None], 1)[:, 0]
        block[start:end] = i
        predicted = log2.argmax(1)
    return Code(bits, plain, block, predicted)


def number_codes(x: Float[Tensor, "row d"], ys: Sequence[Float[Tensor, "row ..."]]) -> list[Code]:
    """Code numbers, or vectors of numbers, block by block; several labellings of the same rows at once.

    Args:
        x: activations, one row per sequence, in random order.
        ys: the numbers of each labelling.

    Raises:
        ProbeError: for too few rows, or activations that are not finite.
    """
    ends = _blocks(x)
    sent = [_cells(code(y, 0)) for y in ys]
    plain = [_bits(y, torch.zeros_like(y), torch.ones(y.shape[1])) for y in sent]
    bits, block = [p.clone() for p in plain], np.zeros(len(x), dtype=np.int64)
    for i, start, end in ends:
        seen, fold = [y[:start] for y in sent], torch.arange(start) % FOLDS
        apart = [torch.empty_like(y) for y in seen]
        for k in range(FOLDS):
            out = fold == k
            for held, y, found in zip(
                apart, seen, ridge(x[None, :start][:, ~out], [y[~out] for y in seen], fold[~out]), strict=True
            ):
                held[out] = found(x[None, :start][:, out])[0] - y[out]
        fitted = ridge(x[None, :start], seen, fold)
        for made, y, held, found in zip(bits, sent, apart, fitted, strict=True):
            deviation = held.pow(2).mean(0).sqrt().clamp(min=SUREST)
            made[start:end] = _bits(y[start:end], found(x[None, start:end])[0], deviation)
        block[start:end] = i
    none = np.zeros(0, dtype=np.int64)
    return [Code(b.numpy(), p.numpy(), block, none) for b, p in zip(bits, plain, strict=True)]


def _blocks(x: Float[Tensor, "row d"]) -> list[tuple[int, int, int]]:
    """Number, start and end of every block but the first.

    Raises:
        ProbeError: for too few rows, or activations that are not finite.
    """
    if len(x) < FEWEST:
        raise ProbeError(f"{len(x)} sequences with a supervised query; at least {FEWEST} are needed")
    if not bool(x.isfinite().all()):
        raise ProbeError("activations are not finite")
    ends = [round(len(x) * share) for share in ENDS]
    return [(i, start, end) for i, (start, end) in enumerate(pairwise(ends), start=1)]


def _cells(y: Float[Tensor, "row value"]) -> Float[Tensor, "row value"]:
    """The components that vary, in standard deviations from their mean, rounded to the precision."""
    y = y - y.mean(0)
    deviation = y.std(0, correction=0)
    varies = deviation > 0
    cells: Tensor = (y[:, varies] / deviation[varies] / PRECISION).round() * PRECISION
    return cells


def _bits(
    y: Float[Tensor, "row value"], mean: Float[Tensor, "row value"], deviation: Float[Tensor, "value"]
) -> Float[Tensor, "row"]:
    """-log2 of the probability of each row's cells, under normal distributions."""
    off = (y - mean).abs()
    near, far = ((-(off + side * PRECISION / 2) / deviation) for side in (-1, 1))
    upper, lower = torch.special.log_ndtr(near), torch.special.log_ndtr(far)
    bits: Tensor = -(upper + torch.log1p(-torch.exp(lower - upper))).sum(1) / log(2)
    return bits
