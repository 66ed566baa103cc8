"""Gradient flow of a diagonal state-space model that imitates a teacher, with and without one more sequence.

The student has the impulse response ``sum_i a_i^(k-1)`` at lag k, since its input and output weights are ones. The
teacher's response is 1 at every lag above 1. A sequence with all its mass at one position supervises one lag.

With one lag k + 1 in training, ``a_i' = -2 k r a_i^(k-1)`` with the same residual r for all i. Hence
``a_i^(2-k) - a_j^(2-k)`` is conserved, and the end of the flow is the root of one equation in one unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from workbench.claims.claim import Row

SEEDS = 20
LONGEST_LAG = 20
Array = np.ndarray


@dataclass(frozen=True)
class Student:
    """A setting of the authors' notebook.

    Attributes:
        states: dimension of the student's state.
        length: of the sequences.
        scale: of the start; the entries are uniform below it.
        decay: the gap between the two largest entries is ``0.05 exp(-decay log10(1 / scale))``.
        time: of the flow with the extra sequence.
    """

    states: int
    length: int
    scale: float
    decay: float
    time: float

    @property
    def gap(self) -> float:
        """The gap between the two largest entries at the start."""
        return float(0.05 / np.exp(self.decay * np.log10(1 / self.scale)))

    def start(self, seed: int) -> Array:
        """Return the entries at the start, in falling order; the second is just below the first."""
        entries = np.sort(self.scale * np.random.default_rng(seed).random(self.states))[::-1].copy()
        entries[1] = entries[0] - self.gap
        return entries


SMALL = Student(10, 7, 1e-3, 5.0, 1e4)
LARGE = Student(20, 9, 5e-3, 10.0, 1e7)


def end_of_one_lag(start: Array, power: int) -> Array:
    """Return where gradient flow ends if only the lag ``power + 1`` is supervised, from the conserved differences.

    Args:
        start: positive entries.
        power: the power of the entries that must sum to 1; at least 3.
    """
    inverse = start ** (2.0 - power)
    above = inverse - inverse.min()

    def excess(log_of_least: float) -> float:
        return float(((np.exp(log_of_least) + above) ** (power / (2.0 - power))).sum() - 1.0)

    root = brentq(excess, -1.0, np.log(inverse.min()), xtol=1e-15, rtol=1e-14)
    end: Array = (np.exp(root) + above) ** (1.0 / (2.0 - power))
    return end


def end_of_flow(start: Array, powers: tuple[int, ...], time: float) -> Array:
    """Return where gradient flow of the mean squared residual of the supervised lags is after a time."""

    def toward(_: float, entries: Array) -> Array:
        total = np.zeros(len(entries))
        for power in powers:
            total -= power * entries ** (power - 1) * ((entries**power).sum() - 1.0)
        return 2.0 / len(powers) * total

    entries: Array = solve_ivp(toward, (0.0, time), start, "LSODA", rtol=1e-10, atol=1e-14).y[:, -1]
    return entries


def training_loss(entries: Array, powers: tuple[int, ...]) -> float:
    """Return the mean squared residual of the supervised lags."""
    return float(np.mean([((entries**power).sum() - 1.0) ** 2 for power in powers]))


def largest_error(entries: Array) -> float:
    """Return the largest error of the impulse response at lags 1 to 20; at lag 1 it is always 0."""
    return float(max(abs((entries**power).sum() - 1.0) for power in range(1, LONGEST_LAG)))


def poison_rows(student: Student, seeds: int = SEEDS) -> list[Row]:
    """Return training losses and ratios of errors of all seeds.

    Args:
        student: its setting.
        seeds: their number.
    """
    rows, power = [], student.length - 1
    for seed in range(seeds):
        start = student.start(seed)
        clean = end_of_one_lag(start, power)
        poisoned = end_of_flow(start, (power, 1), student.time)
        rows.append(Row("training loss", f"one sequence, seed {seed}", training_loss(clean, (power,)), seed=seed))
        rows.append(Row("training loss", f"one more, seed {seed}", training_loss(poisoned, (power, 1)), seed=seed))
        ratio = largest_error(poisoned) / largest_error(clean)
        rows.append(Row("ratio of errors", f"seed {seed}", ratio, seed=seed))
    return rows
