"""How scores depend on position, independent of a constant per query, which softmax ignores.

Scores are defined up to a constant for each query, so nothing here may change when a row is shifted. Rows are not
centred beforehand either. Under ALiBi, rows differ by a constant only, and centring them would itself look like a
dependence on absolute position. The model of a table P, j <= i, is

    P[i, j] ~ row_i + f(i - j, i mod Delta)

It is fitted by least squares. The residual depends on the position and not on the lag.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PERIODS = 8
"""Largest tested period; the tested periods are 1..8."""
ALMOST_NONE = 0.01
"""Translation variance below which there is nothing for a period to explain."""
STRENGTH = 0.5
"""Minimum share of the translation variance that a period must explain."""
EQUAL = 1e-9
"""Scores of one query count as equal if they differ by at most this share of the largest score in the table."""


@dataclass(frozen=True)
class Gauge:
    """The least-squares fit of a table of scores by position.

    Attributes:
        variance: translation variance at periods 1..8: [SS_res(row_i + f(lag, i mod Delta)) / dof] over [SS_res(row_i)
            / dof]. It is 0 where scores depend on only the lag, and about 1 where they do not depend on the lag. It is
            NaN where the scores of each query are equal (0 / 0).
        period: smallest period whose residual is close to the best one; None where there is nothing to explain or no
            period explains half of it.
        strength: 1 - variance at that period over variance at period 1.
        local_bias: phi by lag from the fit at period 1, with mean 0.
        above_noise: whether two estimates of the table agree better than chance. If not, ratios of their products are
            meaningless.
        equal: whether the scores of each query are equal, so that no ratio of their squares is defined.
    """

    variance: Floats
    period: int | None
    strength: float
    local_bias: Floats
    above_noise: bool = True
    equal: bool = False


def gauge(first: Floats, second: Floats | None = None, periods: int = PERIODS) -> Gauge:
    """Fit one table of scores, or two independent estimates of it.

    Args:
        first: ``[n, n]``; entries above the diagonal are ignored.
        second: a second estimate with independent noise. Sums of squares are then products of the residuals of the two,
            which are unbiased under noise.
        periods: largest tested period.

    Raises:
        ValueError: for a table too small for any fit, or one with NaN or infinity below its diagonal.
    """
    size, tables = len(first), _tables(first, second)
    variance = translation_variances(first, second, periods)
    if np.isnan(variance[0]):
        return Gauge(variance, None, 0.0, np.zeros(size), equal=True)
    if _spread(_rows(size), tables) <= 0:  # two estimates with only noise
        return Gauge(variance, None, 0.0, np.zeros(size), above_noise=False)
    period, strength = _period(variance)
    return Gauge(variance, period, strength, _local_bias(size, tables), _agree(size, tables))


def translation_variances(first: Floats, second: Floats | None = None, periods: int = PERIODS) -> Floats:
    """Return only the translation variance at periods 1..8 (see :class:`Gauge`).

    It is 0 where noise leaves nothing of two estimates. It is NaN where the scores of each query are equal in one.

    Raises:
        ValueError: as :func:`gauge`.
    """
    size, tables = len(first), _tables(first, second)
    whole = _spread(_rows(size), tables)
    tried = [p for p in range(1, periods + 1) if _design(size, p).dof > 0]
    if any(_are_equal(table) for table in (first, first if second is None else second)):
        return np.full(max(1, len(tried)), np.nan)
    if whole <= 0 or not tried:
        return np.zeros(max(1, len(tried)))
    return np.array([_spread(_design(size, p), tables) / whole for p in tried])


def _tables(first: Floats, second: Floats | None) -> list[Floats]:
    """Return the entries j <= i of both estimates."""
    if len(first) < 4:
        raise ValueError(f"a table of scores by position needs at least 4 positions, not {len(first)}")
    lower = np.tril_indices(len(first))
    tables = [first[lower], (first if second is None else second)[lower]]
    if not all(np.isfinite(table).all() for table in tables):
        raise ValueError(
            "a table of scores by position contains NaN or infinity on or below its diagonal; only masked keys, "
            "above the diagonal, may be infinite"
        )
    return tables


def _are_equal(table: Floats) -> bool:
    """Return whether the scores of each query are equal up to rounding."""
    visible = np.tril(np.ones(table.shape, dtype=bool))
    highest = np.where(visible, table, -np.inf).max(1)
    lowest = np.where(visible, table, np.inf).min(1)
    return bool((highest - lowest <= EQUAL * np.abs(table[visible]).max()).all())


def positional_share(within: float, positional: float) -> float | None:
    """Return the share of the score variance within queries that position explains.

    It is SS(position terms) / SS_res(row constants). None if the scores of each query are equal (0 / 0).
    """
    return positional / within if within > 0 else None


def locality(local_bias: Floats, eps: float = 0.05) -> int | None:
    """Return the smallest tau with sum_{lag > tau} (phi - phi_inf)^2 <= eps * total; None = unbounded.

    phi_inf is the median over the far half of lags. It is unbounded if the far half still slopes, as under ALiBi.
    """
    size = len(local_bias)
    far = local_bias[size // 2 :]
    beyond = float(np.median(far))
    squares = (local_bias - beyond) ** 2
    total = squares.sum()
    if total <= 1e-12 * max(1.0, float((local_bias**2).sum())):
        return 0
    if _still_slopes(far, float(np.ptp(local_bias))):
        return None
    after = total - np.cumsum(squares)
    return int(np.argmax(after <= eps * total))


def _still_slopes(far: Floats, span: float) -> bool:
    """Return whether the far half of phi is mostly a straight line with a large share of the range of phi."""
    lags = np.arange(len(far))
    slope, start = np.polyfit(lags, far, 1)
    left = ((far - start - slope * lags) ** 2).sum()
    straight = left < 0.5 * ((far - far.mean()) ** 2).sum()
    return bool(straight and abs(slope) * len(far) > 0.1 * span)


def row_residual(table: Floats) -> Floats:
    """Return ``[n, n]``, scores minus the mean of their row over visible keys; 0 above the diagonal."""
    size = len(table)
    mask = np.tril(np.ones((size, size)))
    visible = np.where(mask > 0, table, 0.0)
    found: Floats = (visible - (visible.sum(1) / mask.sum(1))[:, None]) * mask
    return found


@dataclass(frozen=True)
class _Design:
    """An orthonormal basis of a linear model over the entries j <= i, and its residual degrees of freedom."""

    basis: Floats
    dof: int


@lru_cache(maxsize=64)
def _design(size: int, period: int) -> _Design:
    i, j = np.tril_indices(size)
    terms = np.zeros((len(i), size + size * period))
    terms[np.arange(len(i)), i] = 1.0
    terms[np.arange(len(i)), size + (i - j) * period + i % period] = 1.0
    return _orthonormal(terms)


@lru_cache(maxsize=8)
def _rows(size: int) -> _Design:
    i, _ = np.tril_indices(size)
    return _orthonormal(np.eye(size)[i])


def _orthonormal(terms: Floats) -> _Design:
    u, s, _ = np.linalg.svd(terms, full_matrices=False)
    basis = u[:, s > 1e-9 * s[0]]
    return _Design(basis, len(terms) - basis.shape[1])


def _spread(design: _Design, tables: list[Floats]) -> float:
    """Return the residual sum of squares per degree of freedom; for two estimates, the product of their residuals."""
    left = [table - design.basis @ (design.basis.T @ table) for table in tables]
    return float(left[0] @ left[1]) / design.dof


def _agree(size: int, tables: list[Floats]) -> bool:
    """Return whether the correlation of the two residuals of row constants exceeds chance by three standard errors."""
    left = [table - _rows(size).basis @ (_rows(size).basis.T @ table) for table in tables]
    norms = float(np.linalg.norm(left[0]) * np.linalg.norm(left[1]))
    return norms == 0 or float(left[0] @ left[1]) / norms > 3 / math.sqrt(_rows(size).dof)


def _period(variance: Floats) -> tuple[int | None, float]:
    if variance[0] < ALMOST_NONE:
        return None, 0.0
    best = float(variance.min())
    period = int(np.argmax(variance <= best + 0.1 * (variance[0] - best))) + 1
    strength = float(1 - variance[period - 1] / variance[0])
    return (period, strength) if strength >= STRENGTH and period > 1 else (None, strength)


def _local_bias(size: int, tables: list[Floats]) -> Floats:
    """Return phi by lag: the lag terms of row_i + phi(lag), with mean 0 over lags."""
    i, j = np.tril_indices(size)
    mean = (tables[0] + tables[1]) / 2
    terms = np.zeros((len(i), 2 * size))
    terms[np.arange(len(i)), i] = 1.0
    terms[np.arange(len(i)), size + i - j] = 1.0
    found = np.linalg.lstsq(terms, mean, rcond=None)[0][size:]
    # Rows and lags share two directions: a constant, and row 0, whose only lag is 0.
    return np.asarray(found - found.mean())
