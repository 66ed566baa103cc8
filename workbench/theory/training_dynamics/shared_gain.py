"""A reader whose gain is shared by all lengths competes with a code of the length: how much does the code win?

The reader answers ``f(z, n) = (w + kappa <p_n, q>) z``, and the right answer is ``z``. The gain ``w`` is shared by all
lengths. ``p_n`` is a unit vector, the code of length ``n``, and ``q`` reads it. ``kappa`` is the norm of the position
code relative to the content. Training starts at ``w = 0`` and ``q = 0`` and reaches zero error on ``K`` lengths. The
loss is one half of the mean squared error, and ``z`` has variance 1.

The *coupling* ``chi = 1 - w`` is the relative error at a length whose code is orthogonal to the trained codes. 0 means
that the reader does not depend on the length. 1 means that it answers 0 at every new length.

All formulas are our own derivations. Each stands in the function that computes it. The claims DX01 to DX05 compare them
with training: ``lengthlens reproduce dynamics-exact``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from workbench.core.suggest import nearest
from workbench.theory.errors import TheoryError

SharedGainOptimizer = Literal["gradient_descent", "sign_descent", "adam_mixed_batches", "adam_one_length"]
OPTIMIZERS: tuple[SharedGainOptimizer, ...] = get_args(SharedGainOptimizer)
"""The optimizers with a formula. ``adam_mixed_batches``: each batch has every length. ``adam_one_length``: each batch
has one length, drawn at random."""
UNIT_NORM = 1e-9
"""Largest difference of the norm of a code from 1."""


def coupling_of_shared_gain(
    kappa: float,
    lengths: int,
    optimizer: SharedGainOptimizer = "gradient_descent",
    *,
    decay: float = 0.0,
    shares: Sequence[float] | None = None,
    codes: ArrayLike | None = None,
    initial_scale: float | None = None,
) -> float:
    """Return the coupling ``chi`` after training to convergence, between 0 (no dependence on length) and 1.

    Gradient descent from 0 stays in the span of the features ``(1, kappa p_n)`` and so finds the solution of least
    norm. Let ``G`` be the Gram matrix of the codes, ``P`` the diagonal matrix of the shares and ``lambda`` the decay.
    The gradient vanishes where ``w = (1 - w) A`` with ``A = 1' (kappa^2 G + lambda P^-1)^-1 1``, hence ``chi = 1 / (1 +
    A)``. Without decay this is ``kappa^2 / (kappa^2 + S)`` with ``S = 1' G^-1 1``, so the shares do not matter.
    Orthogonal codes have ``S = K``.

    Sign descent, and Adam if each batch has all lengths, move all parameters by equal steps. So ``w = <p_n, q>`` for
    orthogonal codes, hence ``chi = kappa / (1 + kappa)``: more lengths do not help.

    With one length in each batch, the gradient of a code is zero except in one of ``K`` batches. Adam divides its mean
    by the root of its mean square, which makes it smaller by ``sqrt(K)``. Hence ``chi = kappa / (kappa + sqrt(K))``.

    A reader of depth 2 has ``w = u^2 - v^2``, and ``q`` likewise, with ``u = v = a`` at the start. Gradient flow then
    keeps ``asinh(w / 2a^2) / asinh(q_n / 2a^2)`` equal to the ratio ``K / kappa`` of the two gradients, for equal
    shares and orthogonal codes. ``chi`` is the root of this equation with ``q_n = (1 - w) / kappa``.

    Args:
        kappa: norm of the position code relative to the content, above 0.
        lengths: number ``K`` of distinct trained lengths.
        optimizer: one of :data:`OPTIMIZERS`.
        decay: weight decay ``lambda`` of both ``w`` and ``q``, as the penalty ``lambda/2 (w^2 + |q|^2)``. Only for
            gradient descent.
        shares: share of each length among the trained sequences ``[K]``, all above 0 with sum 1; None means equal
        shares.
            Only for gradient descent.
        codes: codes of the trained lengths ``[K, dimension]``, each with norm 1; None means orthogonal codes. Only for
            gradient descent.
        initial_scale: the start ``a`` of a reader of depth 2; None means the reader of depth 1. Only for gradient
        descent
            with equal shares, orthogonal codes and no decay.

    Raises:
        TheoryError: if an assumption of the formula fails; the message names it.
    """
    _check_kappa(kappa)
    _check_lengths(lengths)
    _check_optimizer(optimizer)
    options = {"decay": decay or None, "shares": shares, "codes": codes, "initial_scale": initial_scale}
    stated = [name for name, value in options.items() if value is not None]
    if optimizer != "gradient_descent":
        if stated:
            raise TheoryError(
                f"the formula of {optimizer} assumes equal shares, orthogonal codes, depth 1 and no decay; leave out "
                f"{' and '.join(stated)}, or choose gradient_descent"
            )
        root = math.sqrt(lengths) if optimizer == "adam_one_length" else 1.0
        return kappa / (kappa + root)
    if initial_scale is not None:
        if len(stated) > 1:
            raise TheoryError(
                "the formula of depth 2 assumes equal shares, orthogonal codes and no decay; leave out "
                f"{' and '.join(name for name in stated if name != 'initial_scale')}, or initial_scale"
            )
        return _depth_two(kappa, lengths, initial_scale)
    gram = _gram(codes, lengths)
    weights = _shares(shares, lengths)
    if not (math.isfinite(decay) and decay >= 0):
        raise TheoryError(f"the weight decay must be 0 or more, not {decay}")
    penalty = np.diag(decay / weights)
    return float(1 / (1 + np.linalg.solve(kappa**2 * gram + penalty, np.ones(lengths)).sum()))


def critical_lengths(
    kappa: float, optimizer: SharedGainOptimizer = "gradient_descent", *, initial_scale: float | None = None
) -> float:
    """Return the number of lengths ``K`` at which the coupling is one half, for orthogonal codes and equal shares.

    Below this number the reader depends more on the length than on the content. Gradient descent, and Adam with one
    length in each batch, have ``K = kappa^2``. At depth 2 it is ``kappa asinh(1 / 4a^2) / asinh(1 / (4 kappa a^2))``:
    ``kappa`` as the start ``a`` goes to 0, and ``kappa^2`` as it grows. Sign descent, and Adam if each batch has all
    lengths, have no such number, because their coupling does not depend on ``K``.

    Args:
        kappa: norm of the position code relative to the content, above 0.
        optimizer: one of :data:`OPTIMIZERS`.
        initial_scale: the start ``a`` of a reader of depth 2; None means depth 1. Only for gradient descent.

    Returns:
        The number of lengths, in general not a whole number. For sign descent and Adam with mixed batches it is 0 if
        ``kappa < 1`` and infinite if ``kappa > 1``.

    Raises:
        TheoryError: as in :func:`coupling_of_shared_gain`, and for ``kappa = 1`` with sign descent or mixed batches,
            where the coupling is one half for every number of lengths.
    """
    _check_kappa(kappa)
    _check_optimizer(optimizer)
    if initial_scale is not None:
        if optimizer != "gradient_descent":
            raise TheoryError(f"the formula of {optimizer} assumes depth 1; leave out initial_scale")
        _check_scale(initial_scale)
        content, code = 1 / (4 * initial_scale**2), 1 / (4 * kappa * initial_scale**2)
        return kappa * math.asinh(content) / math.asinh(code)
    if optimizer in ("gradient_descent", "adam_one_length"):
        return kappa**2
    if kappa == 1:
        raise TheoryError(f"with {optimizer} and kappa 1 the coupling is one half for every number of lengths")
    return 0.0 if kappa < 1 else math.inf


def gradient_cosine(kappa: float) -> float:
    """Return the cosine ``1 / (1 + kappa^2)`` of the gradients of two lengths with orthogonal codes.

    The gradient of length ``n`` is a multiple of ``(1, kappa p_n)``.

    Raises:
        TheoryError: unless ``kappa`` is a number above 0.
    """
    _check_kappa(kappa)
    return 1 / (1 + kappa**2)


def coupling_from_gradient_cosine(cosine: float, lengths: int) -> float:
    """Return the coupling after gradient descent, from the cosine ``rho`` of the gradients of two trained lengths.

    For orthogonal codes ``kappa^2 = (1 - rho) / rho``, hence ``chi = (1 - rho) / (1 - rho + rho K)``. So a number that
    is measured on trained lengths gives the error on new ones. This is exact for the reader of this module. It did not
    predict the errors of trained transformers.

    Args:
        cosine: between 0 (excluded) and 1.
        lengths: number ``K`` of distinct trained lengths.

    Raises:
        TheoryError: for a cosine outside (0, 1].
    """
    _check_lengths(lengths)
    if not 0 < cosine <= 1:
        raise TheoryError(f"the cosine of two gradients with orthogonal codes is above 0 and at most 1, not {cosine}")
    return (1 - cosine) / (1 - cosine + cosine * lengths)


def _depth_two(kappa: float, lengths: int, scale: float) -> float:
    _check_scale(scale)
    double = 2 * scale**2

    def difference(coupling: float) -> float:
        content, code = math.asinh((1 - coupling) / double), math.asinh(coupling / (kappa * double))
        return kappa * content - lengths * code

    return float(brentq(difference, 0.0, 1.0, xtol=1e-14))


def _check_kappa(kappa: float) -> None:
    if not (math.isfinite(kappa) and kappa > 0):
        raise TheoryError(f"kappa, the norm of the position code, must be a number above 0, not {kappa}")


def _check_optimizer(optimizer: str) -> None:
    if optimizer not in OPTIMIZERS:
        raise TheoryError(
            f"there is no formula for the optimizer {optimizer!r}; {nearest(str(optimizer), list(OPTIMIZERS))}"
        )


def _check_lengths(lengths: int) -> None:
    if lengths != int(lengths) or lengths < 1:
        raise TheoryError(f"the number of trained lengths must be a whole number from 1 on, not {lengths}")


def _check_scale(scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise TheoryError(f"initial_scale must be a number above 0, not {scale}; from exactly 0 depth 2 never moves")


def _gram(codes: ArrayLike | None, lengths: int) -> NDArray[np.float64]:
    if codes is None:
        return np.eye(lengths)
    matrix = np.asarray(codes, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != lengths:
        raise TheoryError(f"codes must be an array [{lengths}, dimension], a row a trained length, not {matrix.shape}")
    norms = np.linalg.norm(matrix, axis=1)
    if not (np.abs(norms - 1) <= UNIT_NORM).all():
        worst = int(np.nanargmax(np.abs(norms - 1))) if np.isfinite(norms).any() else 0
        raise TheoryError(
            f"the formula assumes codes of norm 1; the code of length number {worst} has norm {norms[worst]:.6g}; "
            "divide each code by its norm and put the norm into kappa"
        )
    gram: NDArray[np.float64] = matrix @ matrix.T
    if np.linalg.matrix_rank(gram) < lengths:
        raise TheoryError("the formula assumes linearly independent codes; one of these is a combination of others")
    return gram


def _shares(shares: Sequence[float] | None, lengths: int) -> NDArray[np.float64]:
    if shares is None:
        return np.full(lengths, 1 / lengths)
    given = np.asarray(shares, dtype=np.float64)
    if given.shape != (lengths,):
        raise TheoryError(f"shares must have one number for each of {lengths} lengths, not shape {given.shape}")
    if not (given > 0).all():
        raise TheoryError("the formula assumes that every trained length has a share above 0; leave out the others")
    if abs(given.sum() - 1) > UNIT_NORM:
        raise TheoryError(f"the shares of the lengths must have sum 1, not {given.sum():.6g}")
    return given
