"""A counter with a forgetting gate: up to which length does it count right after a given amount of training?

The state is ``h_t = a h_(t-1) + x_t``, for independent inputs ``x`` with mean 0 and variance 1. The right answer is the
sum of all inputs, so the gate ``a`` should be 1. The *gap* is ``delta = 1 - a``. Training lengths are uniform on
``1..N``. The loss is one half of the mean squared error relative to the variance ``n`` of the answer.

A *sigmoid gate* is ``a = sigmoid(theta)``, with ``theta = 0`` at the start: state-space models with nonnegative
eigenvalues have such gates. A *free gate* trains ``a`` itself.

The formulas of the gap hold while ``delta N`` is small. All are our own derivations; related results on linear
recurrent networks are in Proca et al. (ICML 2025) and Bordelon et al. (arXiv 2503.18754). The claims DX06 to DX10
compare the formulas with training: ``lengthlens reproduce dynamics-exact``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from workbench.core.suggest import nearest
from workbench.theory.errors import TheoryError

Gate = Literal["sigmoid", "free"]
GATES: tuple[Gate, ...] = get_args(Gate)
ADAM_EPSILON = 1e-8
"""What PyTorch's AdamW adds to the root of the mean square."""
START = 0.5
"""Gap at the start: the gate is one half."""
ERROR = 0.01
"""Relative squared error at which a counter is at its horizon."""
LARGEST_ERROR = 0.9
"""Largest relative squared error that is inverted: an answer of 0 has the error 1."""
SERIES_BELOW = 1e-3
"""Gap times length below which leading orders are used: of the error, where it cancels, and of the free gate."""


def relative_error(gap: float, length: int) -> float:
    """Return the squared error at a length, divided by the variance of the answer. This is exact for every gap.

    The error of the input ``k`` steps back is ``1 - a^k``. So the relative error is the mean of ``(1 - a^k)^2`` over
    ``k = 0 .. n-1``, which is ``delta^2 (n-1)(2n-1)/6`` to leading order.

    Args:
        gap: ``delta``, between 0 and 1.
        length: ``n``, at least 1.

    Raises:
        TheoryError: for a gap outside [0, 1], or a length below 1.
    """
    if not 0 <= gap <= 1:
        raise TheoryError(f"a gate between 0 and 1 has a gap between 0 and 1, not {gap}")
    _check_length(length)
    gate = 1 - gap
    return math.fsum((1 - gate**k) ** 2 for k in range(length)) / length


def mean_gap_weight(trained_length: int) -> float:
    """Return ``c_N``, the mean of ``(n-1)(2n-1)/6`` over the trained lengths ``1..N``; about ``N^2 / 9``.

    The loss is ``c_N delta^2 / 2`` to leading order.

    Raises:
        TheoryError: for a trained length below 2, at which the gate has no effect.
    """
    _check_trained(trained_length)
    return math.fsum((n - 1) * (2 * n - 1) / 6 for n in range(1, trained_length + 1)) / trained_length


def gate_gap(trained_length: int, time: float, gate: Gate = "sigmoid") -> float:
    """Return the gap ``delta`` after gradient descent for a time, the learning rate times the number of steps.

    A free gate follows ``d delta / dt = -c_N delta`` once ``delta N`` is small, so its gap falls exponentially. Before,
    it takes about one unit of time to leave the plateau of the loss near one half; this time is integrated.

    The gradient of a sigmoid gate has the derivative ``-delta`` of the sigmoid as a factor, twice:
    ``d delta / dt = -c_N delta^3``. So ``1/delta^2`` grows as ``4 + 2 c_N t``: more training helps only as a square
    root.

    The next order of the loss is ``-d_N delta^3 / 2``, where ``d_N`` is the mean over the trained lengths of
    ``1/n sum_k k^2 (k - 1)``. With ``b = 3 d_N / (2 c_N) + 2`` and ``x = 1/delta`` the flow is
    ``x dx + b dx = c_N dt``. Hence ``x = sqrt((2 + b)^2 + 2 c_N t) - b``. This function returns ``1/x`` for
    a sigmoid gate. The leading order gives a gap that is 6 to 9 % too small at ``t = 1000``.

    Args:
        trained_length: ``N``, at least 2.
        time: learning rate times steps, at least 0.
        gate: one of :data:`GATES`.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    weight = mean_gap_weight(trained_length)
    if not (math.isfinite(time) and time >= 0):
        raise TheoryError(f"the time (learning rate times steps) must be 0 or more, not {time}")
    if gate not in GATES:
        raise TheoryError(f"there is no formula for the gate {gate!r}; {nearest(str(gate), GATES)}")
    if gate == "free":
        return _free_gap(trained_length, time)
    # The sum of k^2 (k - 1) over k < n is n(n-1)(n-2)(3n-1)/12.
    cubic = math.fsum((n - 1) * (n - 2) * (3 * n - 1) / 12 for n in range(1, trained_length + 1)) / trained_length
    bend = 1.5 * cubic / weight + 2
    return 1 / (math.sqrt((1 / START + bend) ** 2 + 2 * weight * time) - bend)


def loss_slope(gap: float, trained_length: int) -> float:
    """Return the derivative of the loss with respect to the gap. This is exact, for lengths uniform on ``1..N``.

    Sequences of length ``n`` contribute ``sum_k (1 - a^k)^2 / 2n`` over ``k < n`` to the loss.

    Args:
        gap: ``delta``, between 0 and 1.
        trained_length: ``N``, at least 2.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    _check_trained(trained_length)
    if not 0 <= gap <= 1:
        raise TheoryError(f"a gate between 0 and 1 has a gap between 0 and 1, not {gap}")
    inverse = 1 / np.arange(1, trained_length + 1)
    tails = np.cumsum(inverse[::-1])[::-1][1:] / trained_length
    powers, gate = np.arange(1, trained_length), 1 - gap
    return float(np.sum((1 - gate**powers) * powers * gate ** (powers - 1) * tails))


def time_to_gap(trained_length: int, gap: float) -> float:
    """Return the time at which gradient flow of a free gate has fallen from one half to a gap, by an integral.

    Args:
        trained_length: ``N``, at least 2.
        gap: above 0 and at most one half.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    if not 0 < gap <= START:
        raise TheoryError(f"a free gate falls to a gap above 0 and at most {START}, not {gap}")
    time, _ = quad(
        lambda log_gap: math.exp(log_gap) / loss_slope(math.exp(log_gap), trained_length),
        math.log(gap), math.log(START), epsabs=0, epsrel=1e-9, limit=500,
    )  # fmt: skip
    return float(time)


def decayed_gate_gap(trained_length: int, decay: float) -> float:
    """Return the gap at which a sigmoid gate stops under weight decay, however long it is trained.

    The penalty ``lambda/2 theta^2`` pulls the gate back to one half. The two forces balance where
    ``c_N delta^2 = lambda log(1/delta)``.

    Args:
        trained_length: ``N``, at least 2.
        decay: ``lambda``, above 0.

    Raises:
        TheoryError: for a decay of 0 or less, or a trained length below 2.
    """
    weight = mean_gap_weight(trained_length)
    if not (math.isfinite(decay) and decay > 0):
        raise TheoryError(f"the weight decay must be above 0, not {decay}; without decay the gap falls without end")
    return float(brentq(lambda gap: weight * gap**2 + decay * math.log(gap), 1e-300, 1.0, xtol=1e-15))


def error_of_scaled_gap(scaled: float) -> float:
    """Return the relative squared error where the gap times the length is ``u``, for a gap that is small by itself.

    It is the mean of ``(1 - e^-s)^2`` over ``s`` from 0 to ``u``:
    ``1 - 2 (1 - e^-u)/u + (1 - e^-2u)/(2u)``, or ``u^2/3`` to leading order.

    Args:
        scaled: ``u = delta n``, at least 0.

    Raises:
        TheoryError: for a negative number.
    """
    if not scaled >= 0:
        raise TheoryError(f"the gap times the length must be 0 or more, not {scaled}")
    if scaled < SERIES_BELOW:
        return scaled**2 * (1 / 3 - scaled / 4 + 7 * scaled**2 / 60 - scaled**3 / 24)
    return 1 + 2 * math.expm1(-scaled) / scaled - math.expm1(-2 * scaled) / (2 * scaled)


def scaled_gap_of_error(error: float) -> float:
    """Return the gap times the length at which the relative squared error is ``error``; about ``sqrt(3 error)``.

    Raises:
        TheoryError: for an error outside (0, 0.9].
    """
    if not 0 < error <= LARGEST_ERROR:
        raise TheoryError(f"the relative squared error must be above 0 and at most {LARGEST_ERROR}, not {error}")
    return float(brentq(lambda scaled: error_of_scaled_gap(scaled) - error, 0.0, 100.0, xtol=1e-15))


def error_at_multiple(error: float, multiple: float) -> float:
    """Return the relative squared error at a multiple of a length, from the error at this length.

    To leading order it is ``multiple^2`` times the error. This function uses the whole dependence, so it also holds for
    larger errors.

    Args:
        error: relative squared error at the length, above 0 and at most 0.9.
        multiple: at least 1.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    if not multiple >= 1:
        raise TheoryError(f"the multiple of the length must be 1 or more, not {multiple}")
    return error_of_scaled_gap(multiple * scaled_gap_of_error(error))


def horizon_of_gap(gap: float, error: float = ERROR) -> float:
    """Return the length at which the relative squared error reaches ``error``; about ``sqrt(3 error) / delta``.

    Args:
        gap: ``delta``, above 0 and at most 1.
        error: relative squared error, above 0 and at most 0.9.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    if not 0 < gap <= 1:
        raise TheoryError(f"a horizon needs a gap above 0 and at most 1, not {gap}")
    return scaled_gap_of_error(error) / gap


def horizon_of_gated_counter(
    trained_length: int,
    time: float = math.inf,
    *,
    gate: Gate = "sigmoid",
    decay: float = 0.0,
    error: float = ERROR,
) -> float:
    """Return the length in tokens up to which a trained counter stays within a relative squared error.

    A sigmoid gate without decay has about the horizon ``N sqrt(2 error time / 3)``: it grows with the square root of
    the number of steps. With decay it ends at a finite horizon, however long the training: the counter is
    length-coupled.

    Args:
        trained_length: ``N``, at least 2; training lengths are uniform on ``1..N``.
        time: learning rate times the number of steps of gradient descent; infinite = until it settles.
        gate: one of :data:`GATES`.
        decay: weight decay of ``theta``; only for a sigmoid gate. The horizon is then the smaller one of those of the
            time and of the decay.
        error: relative squared error at the horizon.

    Returns:
        The horizon in tokens; infinite where the gap falls to 0.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    if decay and gate == "free":
        raise TheoryError("there is no formula for weight decay on a free gate; use the sigmoid gate or no decay")
    if decay < 0:
        raise TheoryError(f"the weight decay must be 0 or more, not {decay}")
    settled = decayed_gate_gap(trained_length, decay) if decay else 0.0
    passing = 0.0 if time == math.inf else gate_gap(trained_length, time, gate)
    gap = max(settled, passing)
    if not gap:
        mean_gap_weight(trained_length)
        horizon_of_gap(1.0, error)
        return math.inf
    return horizon_of_gap(gap, error)


def horizon_after_training(
    trained_length: int,
    rates: Iterable[float],
    *,
    optimizer: str = "adamw",
    betas: tuple[float, float] = (0.9, 0.999),
    momentum: float = 0.0,
    start_gap: float = START,
    error: float = ERROR,
) -> float:
    """Return the horizon of a counter with a sigmoid gate after the steps of a run, on the exact gradient.

    The formulas above hold after many steps. This function takes each step, so it also holds for short training and
    for schedules of the learning rate. Weight decay is left out.

    Args:
        trained_length: ``N``, at least 2; training lengths are uniform on ``1..N``.
        rates: the learning rate of each step, at least 0.
        optimizer: ``adamw`` or ``sgd``.
        betas: memories of Adam's two averages.
        momentum: of SGD, from 0 to below 1.
        start_gap: the gap before the first step, above 0 and below 1.
        error: relative squared error at the horizon.

    Returns:
        The horizon in tokens.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    if optimizer not in ("adamw", "sgd"):
        raise TheoryError(f"there is no counter trained by the optimizer {optimizer!r}; choose adamw or sgd")
    if not (0 <= momentum < 1 and 0 <= betas[0] < 1 and 0 <= betas[1] < 1):
        raise TheoryError(
            f"momentum and both betas must be at least 0 and below 1, not {momentum}, {betas[0]} and {betas[1]}"
        )
    if not 0 < start_gap < 1:
        raise TheoryError(f"a gate starts with a gap above 0 and below 1, not {start_gap}")
    theta, mean, square = math.log(1 / start_gap - 1), 0.0, 0.0
    for step, rate in enumerate(rates, start=1):
        if not rate >= 0:
            raise TheoryError(f"a learning rate must be 0 or more, not {rate}")
        gap = 1 / (1 + math.exp(theta))
        slope = loss_slope(gap, trained_length) * gap * (1 - gap)
        if optimizer == "sgd":
            mean = momentum * mean + slope
            theta += rate * mean
        else:
            mean += (1 - betas[0]) * (slope - mean)
            square += (1 - betas[1]) * (slope**2 - square)
            corrected = math.sqrt(square / (1 - betas[1] ** step)) + ADAM_EPSILON
            theta += rate * mean / (1 - betas[0] ** step) / corrected
    return horizon_of_gap(1 / (1 + math.exp(theta)), error)


def adam_gate_rate(rate: float, beta1: float = 0.9, beta2: float = 0.999) -> float:
    """Return how fast the log of the gap of a sigmoid gate falls under Adam, per step.

    Adam divides the gradient by the root of its mean square. So it does not feel that the derivative of the gate
    vanishes: ``theta`` grows by a constant ``s`` a step, and the gap falls as ``exp(-s t)``. The gradient is
    proportional to ``delta^2`` and falls by ``exp(-2s)`` a step. Adam's two averages then settle at
    ``s = rate (1 - beta1) / (1 - beta1 e^(2s)) sqrt((1 - beta2 e^(4s)) / (1 - beta2))``.
    For a small rate ``s`` is the rate. For a large one the memory of the mean square limits it to ``log(1/beta2) / 4``.

    Args:
        rate: learning rate, above 0.
        beta1, beta2: memories of the two averages, each at least 0 and below 1; ``beta2 > beta1^2``.

    Raises:
        TheoryError: if an argument is outside its range.
    """
    if not (math.isfinite(rate) and rate > 0):
        raise TheoryError(f"the learning rate must be above 0, not {rate}")
    if not (0 <= beta1 < 1 and 0 < beta2 < 1 and beta2 > beta1**2):
        raise TheoryError(f"the formula assumes 0 <= beta1 < 1 and beta1^2 < beta2 < 1, not {beta1} and {beta2}")
    limit = -math.log(beta2) / 4

    def difference(step: float) -> float:
        mean = (1 - beta1) / (1 - beta1 * math.exp(2 * step))
        square = max(0.0, 1 - beta2 * math.exp(4 * step)) / (1 - beta2)
        return step - rate * mean * math.sqrt(square)

    return float(brentq(difference, 0.0, limit, xtol=1e-18))


def _free_gap(trained_length: int, time: float) -> float:
    small = SERIES_BELOW / trained_length
    begin = time_to_gap(trained_length, small)
    if time >= begin:
        return small * math.exp(-mean_gap_weight(trained_length) * (time - begin))
    return math.exp(
        brentq(lambda log_gap: time_to_gap(trained_length, math.exp(log_gap)) - time, math.log(small), math.log(START))
    )


def _check_length(length: int) -> None:
    if length != int(length) or length < 1:
        raise TheoryError(f"a length must be a whole number from 1 on, not {length}")


def _check_trained(length: int) -> None:
    if length != int(length) or length < 2:
        raise TheoryError(
            f"the trained length must be a whole number from 2 on, not {length}; at length 1 no gate acts"
        )
