"""Gradient flow of a linear recurrent network of one unit that is trained at one length, on sums or on means.

The state is ``h_t = w h_(t-1) + u x_t`` and the answer ``v h_T``. Its impulse response at lag k is ``u v w^k``. The
task's response is 1 for sums and 1/T for means, at each lag below T. With independent inputs of variance 1 the expected
squared error is the squared distance of the two responses.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from workbench.claims.claim import Row

LENGTH = 16
STARTS = (0.1, 0.3)
MULTIPLES = (1, 2, 4, 8)
TIME = 2_000.0
"""Time of the flow. The slowest mode that moves has a rate of about 0.01 for means and more for sums."""
Array = np.ndarray


def task_response(task: str, length: int) -> Array:
    """Return the impulse response ``[lag]`` of sums or means of sequences of a length."""
    return np.full(length, 1.0 if task == "sum" else 1.0 / length)


def negative_gradient(weights: Array, target: Array) -> Array:
    """Return minus the gradient of half the expected squared error at ``(w, u, v)``."""
    w, u, v = weights
    lags = np.arange(len(target))
    powers = w**lags
    residual = u * v * powers - target
    slope = u * v * lags * np.where(lags > 0, w ** np.maximum(lags - 1, 0), 0.0)
    toward: Array = -np.array([residual @ slope, v * (residual @ powers), u * (residual @ powers)])
    return toward


def flow(target: Array, start: Array, time: float = TIME) -> Array:
    """Return the weights ``(w, u, v)`` to which gradient flow comes after a time."""
    solution = solve_ivp(
        lambda _, weights: negative_gradient(weights, target), (0.0, time), start, "LSODA", rtol=1e-11, atol=1e-13
    )
    weights: Array = solution.y[:, -1]
    return weights


def relative_error(weights: Array, target: Array) -> float:
    """Return the root mean square error of the answer over the root mean square of the right answer."""
    w, u, v = weights
    response = u * v * w ** np.arange(len(target))
    return float(np.linalg.norm(response - target) / np.linalg.norm(target))


def integration_rows(starts: tuple[float, ...] = STARTS, time: float = TIME) -> list[Row]:
    """Return the learned weights and the errors at multiples of the trained length, each with its expected value.

    Args:
        starts: the value of all three weights at the start.
        time: of the flow.
    """
    rows = []
    for task in ("sum", "mean"):
        for start in starts:
            weights = flow(task_response(task, LENGTH), np.full(3, start), time)
            item = f"{task}, start {start:g}"
            product = 1.0 if task == "sum" else 1.0 / LENGTH
            rows.append(Row("recurrent weight", item, float(weights[0]), expected=1.0))
            rows.append(Row("input weight times output weight", item, float(weights[1] * weights[2]), expected=product))
            for multiple in MULTIPLES:
                error = relative_error(weights, task_response(task, multiple * LENGTH))
                expected = 0.0 if task == "sum" else multiple - 1.0
                rows.append(Row("relative error", f"{item}, length {multiple} T", error, expected=expected))
    return rows
