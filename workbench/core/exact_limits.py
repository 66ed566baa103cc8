"""Exact one-sided limits of a share (Clopper and Pearson 1934). scipy is loaded at the first call."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(1 << 16)
def lower_limit(k: int, n: int, error: float) -> float:
    """Return the exact one-sided lower limit of a share, which exceeds the true share with probability at most
    ``error``.

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    check_counts(k, n)
    if k == 0:
        return 0.0
    from scipy.special import betaincinv

    return float(betaincinv(k, n - k + 1, error))


@lru_cache(1 << 16)
def upper_limit(k: int, n: int, error: float) -> float:
    """Return the exact one-sided upper limit of a share, which is below the true share with probability at most
    ``error``.

    Raises:
        ValueError: unless 0 <= k <= n and n >= 1.
    """
    check_counts(k, n)
    if k == n:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(k + 1, n - k, 1 - error))


def check_counts(k: int, n: int) -> None:
    """Raise ValueError unless 0 <= k <= n and n >= 1."""
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"a share needs 0 <= k <= n and n >= 1; got k = {k}, n = {n}")
