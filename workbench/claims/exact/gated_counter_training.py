"""Counters with a forgetting gate, trained: by integrating the flow, and on drawn sequences.

The model and the formulas are in :mod:`workbench.theory.training_dynamics.gated_counter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from workbench.theory.training_dynamics import horizon_of_gap, loss_slope
from workbench.theory.training_dynamics.gated_counter import ERROR

Array = NDArray[np.float64]
FIRST_GATE = 0.5
DRAWN = 64
"""Batches drawn at a time."""


def gaps_by_flow(trained_length: int, times: Sequence[float], gate: str, decay: float = 0.0) -> list[float]:
    """Return the gap at each time under gradient flow of the exact loss.

    Args:
        trained_length: ``N``.
        times: rising.
        gate: ``"sigmoid"`` trains ``theta`` of ``a = sigmoid(theta)``, ``"free"`` trains ``a``.
        decay: penalty ``decay/2 theta^2``, for a sigmoid gate.
    """

    def slope(_: float, state: Array) -> Array:
        if gate == "free":
            return np.array([loss_slope(1 - float(state[0]), trained_length)])
        value = float(1 / (1 + np.exp(-state[0])))
        return np.array([loss_slope(1 - value, trained_length) * value * (1 - value) - decay * float(state[0])])

    start = FIRST_GATE if gate == "free" else 0.0
    done = solve_ivp(slope, (0.0, times[-1]), [start], method="LSODA", t_eval=list(times), rtol=1e-10, atol=1e-13)
    state = done.y[0]
    return [float(value) for value in (1 - state if gate == "free" else 1 / (1 + np.exp(state)))]


def gaps_on_draws(
    trained_length: int,
    checkpoints: Sequence[int],
    gate: str,
    *,
    rate: float,
    batch: int,
    decay: float = 0.0,
    seed: int = 0,
) -> list[float]:
    """Return the gap after numbers of steps of stochastic gradient descent on drawn sequences.

    Args:
        trained_length: ``N``.
        checkpoints: numbers of steps, rising.
        gate: ``"sigmoid"`` or ``"free"``.
        rate: learning rate; constant.
        batch: sequences in a batch, of lengths uniform on ``1..N``.
        decay: weight decay of ``theta``, for a sigmoid gate.
        seed: of the draws.
    """
    state = FIRST_GATE if gate == "free" else 0.0
    gaps = {}
    for step, slope_at in enumerate(_drawn_slopes(trained_length, checkpoints[-1], batch, seed), 1):
        if gate == "free":
            state -= rate * slope_at(state)
        else:
            value = 1 / (1 + np.exp(-state))
            state -= rate * (slope_at(value) * value * (1 - value) + decay * state)
        if step in checkpoints:
            gaps[step] = float(1 - state if gate == "free" else 1 / (1 + np.exp(state)))
    return [gaps[step] for step in checkpoints]


def gaps_with_adam(
    trained_length: int,
    checkpoints: Sequence[int],
    *,
    rate: float,
    beta2: float,
    batch: int | None = None,
    seed: int = 0,
) -> list[float]:
    """Return the gap of a sigmoid gate after numbers of steps of AdamW of PyTorch without decay.

    Args:
        trained_length: ``N``.
        checkpoints: numbers of steps, rising.
        rate: learning rate; constant.
        beta2: memory of Adam's mean square.
        batch: sequences in a batch; None means the exact gradient.
        seed: of the draws.
    """
    theta = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.AdamW([theta], lr=rate, betas=(0.9, beta2), eps=1e-30, weight_decay=0.0, foreach=False)
    steps = checkpoints[-1]
    slopes = (
        (lambda value: -loss_slope(1 - value, trained_length) for _ in range(steps))
        if batch is None
        else _drawn_slopes(trained_length, steps, batch, seed)
    )
    gaps = {}
    for step, slope_at in enumerate(slopes, 1):
        value = 1 / (1 + np.exp(-theta.item()))
        theta.grad = torch.tensor([slope_at(value) * value * (1 - value)], dtype=torch.float64)
        optimizer.step()
        if step in checkpoints:
            gaps[step] = float(1 / (1 + np.exp(theta.item())))
    return [gaps[step] for step in checkpoints]


def measured_horizon(gap: float, error: float = ERROR) -> float:
    """Return the length at which the exact relative squared error reaches ``error``, interpolated."""
    longest = int(2 * horizon_of_gap(gap, error)) + 4
    errors = np.cumsum((1 - (1 - gap) ** np.arange(longest)) ** 2) / np.arange(1, longest + 1)
    above = int(np.argmax(errors >= error))
    below_error, above_error = errors[above - 1], errors[above]
    return float(above + (error - below_error) / (above_error - below_error))


def error_on_draws(gap: float, length: int, sequences: int, seed: int = 0) -> float:
    """Return the relative squared error at a length on drawn sequences."""
    rng = np.random.default_rng([seed, length, 46])
    inputs = rng.standard_normal((sequences, length))
    wrong = inputs @ (1 - (1 - gap) ** np.arange(length))[::-1]
    return float(np.mean(wrong**2) / length)


def _drawn_slopes(trained_length: int, steps: int, batch: int, seed: int) -> Iterator[Callable[[float], float]]:
    """For each step a function from the gate to the derivative of the loss on a batch of drawn sequences.

    Lengths are uniform; an input of a sequence of length ``n`` is 0 from its place ``n`` on, counted from the end.
    """
    rng = np.random.default_rng([seed, trained_length, 47])
    powers = np.arange(trained_length)
    for first in range(0, steps, DRAWN):
        n = min(DRAWN, steps - first)
        lengths = rng.integers(1, trained_length + 1, (n, batch))
        inputs = rng.standard_normal((n, batch, trained_length)) * (powers < lengths[..., None])
        inputs /= np.sqrt(lengths * batch)[..., None]
        for each in inputs:
            yield _slope_of(each, powers)


def _slope_of(inputs: Array, powers: NDArray[np.int64]) -> Callable[[float], float]:
    def slope(gate: float) -> float:
        by_power = gate**powers
        falls = np.zeros(len(powers))
        falls[1:] = powers[1:] * by_power[:-1]
        return float(np.dot(inputs @ (by_power - 1), inputs @ falls))

    return slope
