"""Linear recurrent networks with more units than the task needs, trained by exact gradient descent at one length.

The network ``h_t = A h_(t-1) + B x_t`` answers ``C h_T``. Its impulse response is ``C A^j B`` at lag j. With
independent inputs of variance 1 the expected squared error at length n is the squared distance of the responses at lags
below n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from workbench.claims.claim import Row

SEEDS = 6
MEMORYLESS_UNITS, MEMORYLESS_LENGTH = 20, 8
RADII = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
UNITS, LENGTH = 40, 15
STARTS = (0.003, 0.01, 0.03, 0.1, 0.3)
Array = np.ndarray


@dataclass
class Network:
    """A linear recurrent network.

    Attributes:
        recurrent: ``[unit, unit]``, A.
        read_in: ``[unit]``, B.
        read_out: ``[unit]``, C.
    """

    recurrent: Array
    read_in: Array
    read_out: Array

    def response(self, lags: int) -> Array:
        """Return the impulse response at lags 0, 1, ..."""
        state, values = self.read_in, np.empty(lags)
        for lag in range(lags):
            values[lag] = self.read_out @ state
            state = self.recurrent @ state
        return values

    @property
    def imbalance(self) -> float:
        """Norm of ``B B' - C' C + A A' - A' A``, which gradient flow conserves, over the squared norm of A."""
        a = self.recurrent
        matrix = np.outer(self.read_in, self.read_in) - np.outer(self.read_out, self.read_out) + a @ a.T - a.T @ a
        return float(np.linalg.norm(matrix) / np.linalg.norm(a) ** 2)

    @property
    def effective_rank(self) -> float:
        """Exponential of the entropy of the singular values of A."""
        values = np.linalg.svd(self.recurrent, compute_uv=False)
        shares = values[values > 0] / values.sum()
        return float(np.exp(-(shares * np.log(shares)).sum()))


def descend(network: Network, target: Array, rate: float, steps: int) -> Network:
    """Return the network after gradient descent of half the expected squared error.

    Args:
        network: at the start.
        target: ``[lag]`` the teacher's impulse response at the lags below the trained length.
        rate: of the steps.
        steps: of training.
    """
    a, b, c = network.recurrent.copy(), network.read_in.copy(), network.read_out.copy()
    lags = len(target)
    forward, backward = np.empty((lags, len(b))), np.empty((lags, len(b)))  # A^j B and C A^j
    later = np.add.outer(np.arange(lags), np.arange(lags)) + 1
    inside = later < lags
    later = np.where(inside, later, 0)
    for _ in range(steps):
        forward[0], backward[0] = b, c
        for lag in range(1, lags):
            forward[lag] = a @ forward[lag - 1]
            backward[lag] = backward[lag - 1] @ a
        residual = forward @ c - target
        by_pairs = np.where(inside, residual[later], 0.0)  # [steps before, steps after] a factor A
        slope = backward.T @ by_pairs @ forward
        slope_in, slope_out = residual @ backward, residual @ forward
        a -= rate * slope
        b -= rate * slope_in
        c -= rate * slope_out
    return Network(a, b, c)


def interpolator(units: int, length: int) -> Network:
    """Return a network that answers the last input exactly up to a length and adds an earlier one beyond it: a register
    that is shifted in a circle.
    """
    recurrent = np.zeros((units, units))
    recurrent[np.arange(1, length + 1) % length, np.arange(length)] = 1.0
    first = np.eye(units)[0]
    return Network(recurrent, first, first)


def memoryless_start(radius: float, seed: int) -> Network:
    """Return a normal start whose recurrent matrix has about a given spectral radius."""
    rng = np.random.default_rng(seed)
    units, scale = MEMORYLESS_UNITS, 1 / np.sqrt(MEMORYLESS_UNITS)
    matrix = rng.standard_normal((units, units)) * scale
    read_in, read_out = rng.standard_normal((2, units)) * scale
    return Network(radius * matrix, read_in, read_out)


def memoryless_rows(seeds: int = SEEDS, radii: tuple[float, ...] = RADII, steps: int = 5_000) -> list[Row]:
    """Return the errors of a constructed interpolator, and of trained networks by the scale of their start.

    Args:
        seeds: number of starts for each scale.
        radii: the scales, in rising order.
        steps: of training.
    """
    length = MEMORYLESS_LENGTH
    target = np.eye(10 * length)[0]
    by_hand = interpolator(MEMORYLESS_UNITS, length).response(10 * length)
    rows = [
        Row("squared error at k, by construction", "", float(((by_hand - target)[:length] ** 2).sum())),
        Row("squared error at 10k, by construction", "", float(((by_hand - target) ** 2).sum())),
    ]
    medians = []
    for radius in radii:
        errors = []
        for seed in range(seeds):
            network = descend(memoryless_start(radius, seed), target[:length], 0.05, steps)
            squares = (network.response(10 * length) - target) ** 2
            errors.append(float(squares.sum()))
            item = f"spectral radius {radius:g}, seed {seed}"
            rows.append(Row("squared error at k, trained", item, float(squares[:length].sum()), seed=seed))
            of_smallest = " from the smallest start" if radius == radii[0] else ""
            rows.append(Row(f"squared error at 10k{of_smallest}", item, errors[-1], seed=seed))
        medians.append(float(np.median(errors)))
    return [*rows, Row("rank correlation of error and scale", "", float(spearmanr(radii, medians).statistic))]


def small_start(scale: float, seed: int) -> Network:
    """Return a normal start whose weights all have the same scale."""
    rng = np.random.default_rng(seed)
    size = scale / np.sqrt(UNITS)
    matrix = rng.standard_normal((UNITS, UNITS)) * size
    read_in, read_out = rng.standard_normal((2, UNITS)) * size
    return Network(matrix, read_in, read_out)


def low_dimension_rows(seeds: int = SEEDS, starts: tuple[float, ...] = STARTS, steps: int = 30_000) -> list[Row]:
    """Return balance, effective rank and the error at 5N of trained networks, by the scale of their start.

    Args:
        seeds: number of starts for each scale.
        starts: the scales, in rising order.
        steps: of training.
    """
    target = (1 + 0.5 ** np.arange(5 * LENGTH)) / 2
    rows, medians = [], []
    for scale in starts:
        errors = []
        for seed in range(seeds):
            network = descend(small_start(scale, seed), target[:LENGTH], 1e-3, steps)
            squares = (network.response(5 * LENGTH) - target) ** 2
            errors.append(float(squares.sum() / (target**2).sum()))
            item = f"start {scale:g}, seed {seed}"
            of_smallest = " from the smallest start" if scale == starts[0] else ""
            rows.append(Row("squared error at N", item, float(squares[:LENGTH].sum()), seed=seed))
            rows.append(Row("relative squared error at 5N", item, errors[-1], seed=seed))
            rows.append(Row(f"imbalance{of_smallest}", item, network.imbalance, seed=seed))
            rows.append(Row(f"effective rank{of_smallest}", item, network.effective_rank, seed=seed))
        medians.append(float(np.median(errors)))
    return [*rows, Row("rank correlation of error and scale", "", float(spearmanr(starts, medians).statistic))]
