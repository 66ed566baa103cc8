"""Readers that are linear in the task state (summary) and in position, trained by gradient flow, in closed form.

A reader ``f = w z + sum_n b_n 1[length = n]`` reads ``z``, a noisy copy of the task state, and a one-hot code of the
length. Under squared loss over a length distribution, gradient flow is a linear equation, ``u' = c - C u`` with ``C``
the second moments of the features and ``c`` their moments with the answer. The weight of the code of a length beyond N
stays 0.
"""

from __future__ import annotations

import numpy as np

N = 16
FAR = 1e12
"""A time after which every mode has settled."""
NOISE = 0.5
"""Variance of the noise on the task state, whose own variance is 1."""
Array = np.ndarray


def law_of_lengths(curriculum: str, time: float = 1.0) -> Array:
    """Return the probabilities ``[length]`` of the training lengths 1 to N; ``time`` is the elapsed share of
    training.
    """
    odds = np.zeros(N)
    if curriculum == "fixed":
        odds[-1] = 1
    elif curriculum == "few long":
        odds[: N // 4], odds[-1] = 0.95 / (N // 4), 0.05
    else:
        top = N if curriculum == "uniform" else max(1, round(N * min(1.0, 2 * time)))
        odds[:top] = 1 / top
    return odds


def flow(second: Array, moments: Array, start: Array, time: float, decay: float = 0.0) -> Array:
    """Return the solution of ``u' = moments - (second + decay) u`` at a time."""
    values, modes = np.linalg.eigh(second)
    rates = np.clip(values, 0, None) + decay
    still = rates < 1e-12 * values[-1]
    begun, pull = modes.T @ start, modes.T @ moments
    settled = np.divide(pull, rates, out=np.zeros_like(pull), where=~still)
    gone = np.exp(-np.where(still, 0.0, rates) * time)
    weights: Array = modes @ np.where(still, begun, settled + (begun - settled) * gone)
    return weights


def noisy_reader(odds: Array, means: Array) -> tuple[Array, Array]:
    """Return the moments of ``(z, code)``, where the answer has variance 1 around a mean by length and z is a noisy
    copy of it.
    """
    second = np.zeros((N + 1, N + 1))
    second[0, 0] = odds @ (means**2 + 1) + NOISE
    second[0, 1:] = second[1:, 0] = odds * means
    second[1:, 1:] = np.diag(odds)
    return second, np.concatenate([[odds @ (means**2 + 1)], odds * means])


def weights_on_draws(odds: Array, means: Array, seeds: int = 3, draws: int = 400_000) -> list[float]:
    """Return the position weight of least squares on random draws."""
    weights = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        length = rng.choice(N, draws, p=odds)
        answer = means[length] + rng.standard_normal(draws)
        seen = answer + np.sqrt(NOISE) * rng.standard_normal(draws)
        count = np.bincount(length, minlength=N)
        centre = np.maximum(count, 1)
        mean_seen, mean_answer = (np.bincount(length, x, N) / centre for x in (seen, answer))
        within = seen - mean_seen[length]
        slope = float(within @ answer / (within @ within))
        code = np.where(count > 0, mean_answer - slope * mean_seen, 0.0)
        weights.append(float(np.sqrt(odds @ code**2)))
    return weights


def either_reader(odds: Array, summary: float, code: float) -> tuple[Array, Array]:
    """Return the moments of ``(summary, codes)``, where the answer +-1 depends on the length, so that each feature
    suffices.
    """
    sign = np.where(np.arange(N) % 2, 1.0, -1.0)
    second = np.zeros((N + 1, N + 1))
    second[0, 0] = summary**2
    second[0, 1:] = second[1:, 0] = summary * code * odds * sign
    second[1:, 1:] = np.diag(code**2 * odds)
    return second, np.concatenate([[summary], code * odds * sign])


def spread_of_count(length: Array) -> Array:
    """Return the second moment of the count, ones minus zeros, if the number of ones is uniform."""
    spread: Array = length * (length + 2) / 3
    return spread


def weight_of_count(lengths: Array) -> float:
    """Return the weight of the count that best fits the share count / n, with uniform lengths."""
    return float((spread_of_count(lengths) / lengths).sum() / spread_of_count(lengths).sum())


def weights_of_count_on_draws(longest: int, seeds: int = 3, draws: int = 200_000) -> list[float]:
    """Return the weight of the count by least squares on random draws."""
    weights = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        length = rng.integers(1, longest + 1, draws)
        count = 2 * rng.integers(0, length + 1) - length
        weights.append(float((count * count / length).sum() / (count * count).sum()))
    return weights


def slope_of_error(weight: float, longest: int) -> float:
    """Return the slope of the log error on log n from 16N to 128N."""
    n = longest * np.array([16, 32, 64, 128])
    error = spread_of_count(n) / n**2 * (weight * n - 1) ** 2
    return float(np.polyfit(np.log(n), np.log(error), 1)[0])
