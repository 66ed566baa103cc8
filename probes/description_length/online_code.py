"""Online codes: labels are sent block by block, each in the code of a probe fitted on the earlier blocks.

Source: Voita and Titov 2020, 2003.12298, equation 3. The first t_1 labels are sent in a plain code that ignores x. A
probe is fitted on them, and the next block is sent in the code that it defines. The following blocks have twice the
size each:

    L = t_1 plain + sum_i -log2 p_i(y_(t_i + 1), .., y_(t_(i+1)) | x)

For *classes*, the plain code takes log2 C bits each, and the probe is a logistic regression.

*Numbers* are sent to a precision of :data:`PRECISION` of their standard deviation. Mean and deviation are known to
sender and receiver. The plain code is that of a normal distribution with this mean and deviation. The probe is a ridge
regression. Its prediction is the mean of a normal distribution, and its error on held-out folds of the fitting rows is
the variance. A cell of the precision has the probability that this distribution gives it. If noise is normal, the
saving per row approaches -log2(1 - R^2) / 2 bits. Components of a vector are sent one after another.
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
"""Minimum number of sequences, so that the first block is not too small."""
PRECISION = 1 / 64
"""Width of the cells in which numbers are sent, in standard deviations of the number."""
SUREST = PRECISION / 4
"""Minimum standard deviation of a prediction: a prediction cannot be more precise than the cells."""


@dataclass(frozen=True)
class Code:
    """The code length of labels that are transmitted one after another, with a probe fitted to the earlier ones (online
    code).

    Attributes:
        bits: bits of each row.
        plain: bits of each row in the code that ignores x.
        block: block of each row; the first block is sent in the plain code.
        predicted: for classes, predictions of the last probe on the last block; empty for numbers.
    """

    bits: Float[np.ndarray, "row"]
    plain: Float[np.ndarray, "row"]
    block: Int[np.ndarray, "row"]
    predicted: Int[np.ndarray, "last"]

    def length(self) -> float:
        """Return the total number of bits."""
        return float(self.bits.sum())

    def compression(self) -> float:
        """Return the length of the plain code divided by that of this code."""
        return float(self.plain.sum() / self.bits.sum())

    def resample(self, rng: np.random.Generator, resamples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lengths and compressions with the rows of each block resampled; the probes stay the same."""
        total = np.zeros((resamples, 2))
        for b in range(int(self.block.max()) + 1):
            own = np.stack([self.bits, self.plain], 1)[self.block == b]
            total += rng.multinomial(len(own), np.full(len(own), 1 / len(own)), resamples) @ own
        return total[:, 0], total[:, 1] / total[:, 0]


def class_code(x: Float[Tensor, "row d"], y: Int[Tensor, "row"], classes: int) -> Code:
    """Return the online code of classes.

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
    """Return the online codes of numbers, or vectors of numbers, for several labellings of the same rows.

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
        fit_labels, fold = [y[:start] for y in sent], torch.arange(start) % FOLDS
        residuals = [torch.empty_like(y) for y in fit_labels]
        for k in range(FOLDS):
            out = fold == k
            for residual, y, probe in zip(
                residuals,
                fit_labels,
                ridge(x[None, :start][:, ~out], [y[~out] for y in fit_labels], fold[~out]),
                strict=True,
            ):
                residual[out] = probe(x[None, :start][:, out])[0] - y[out]
        fitted = ridge(x[None, :start], fit_labels, fold)
        for made, y, residual, probe in zip(bits, sent, residuals, fitted, strict=True):
            deviation = residual.pow(2).mean(0).sqrt().clamp(min=SUREST)
            made[start:end] = _bits(y[start:end], probe(x[None, start:end])[0], deviation)
        block[start:end] = i
    none = np.zeros(0, dtype=np.int64)
    return [Code(b.numpy(), p.numpy(), block, none) for b, p in zip(bits, plain, strict=True)]


def _blocks(x: Float[Tensor, "row d"]) -> list[tuple[int, int, int]]:
    """Return number, start and end of every block except the first.

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
    """Return the components that vary, in standard deviations from their mean, rounded to the precision."""
    y = y - y.mean(0)
    deviation = y.std(0, correction=0)
    varies = deviation > 0
    cells: Tensor = (y[:, varies] / deviation[varies] / PRECISION).round() * PRECISION
    return cells


def _bits(
    y: Float[Tensor, "row value"], mean: Float[Tensor, "row value"], deviation: Float[Tensor, "value"]
) -> Float[Tensor, "row"]:
    """Return -log2 of the probability of each row's cells, under normal distributions."""
    off = (y - mean).abs()
    near, far = ((-(off + side * PRECISION / 2) / deviation) for side in (-1, 1))
    upper, lower = torch.special.log_ndtr(near), torch.special.log_ndtr(far)
    bits: Tensor = -(upper + torch.log1p(-torch.exp(lower - upper))).sum(1) / log(2)
    return bits
