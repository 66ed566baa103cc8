"""Short strings that replace long ones: margins by enumeration, chains of tie sets, and slopes over cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.theory.limit_transformers.limit_heads import LimitHead

RESAMPLES = 2_000


def margins_seen(head: LimitHead, strings: list[NDArray[np.int64]]) -> tuple[float, float]:
    """Return ``gamma_top`` and ``gamma_pair`` of a head from the scores that occur on some strings."""
    scores: dict[tuple[int, int], set[float]] = {}
    for string in strings:
        place = (int(string[-1]), (len(string) - 1) % head.period)
        scores.setdefault(place, set()).update(np.round(head.scores(string), 9).tolist())
    top, pair = np.inf, np.inf
    for values in scores.values():
        ordered = np.array(sorted(values))
        if len(ordered) > 1:
            top = min(top, ordered[-1] - ordered[-2])
            pair = min(pair, float(np.diff(ordered).min()))
    return float(top), float(pair)


def chain_length(links: int, epsilon: float) -> int:
    """Return the number of tokens of a chain in which each type is 1/epsilon - 1 times as frequent as the last."""
    return int(sum(round(1 / epsilon - 1) ** link for link in range(links)))


def slope_over_cases(
    x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the slope of the mean of ``y [case, x]`` on x, with its 95 % bootstrap interval over cases."""
    slopes = np.polyfit(x, y.T, 1)[0]
    means = slopes[rng.integers(0, len(slopes), (RESAMPLES, len(slopes)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(slopes.mean()), float(low), float(high)
