"""Whether features of runs forecast their reach: rank correlations, compared with random labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

PERMUTATIONS = 2000
CHANCE = 0.95
"""The share of permutations below the chance level."""


class Forecast(NamedTuple):
    """The feature that correlates most with reach.

    Attributes:
        feature: its index.
        correlation: its Spearman correlation with reach; with several groups, the mean over groups.
        chance: the 95 % quantile of the largest absolute correlation of all features under random labels.
        p: the share of random labels whose largest absolute correlation is at least as large.
    """

    feature: int
    correlation: float
    chance: float
    p: float


def best_forecast(groups: Sequence[tuple[ArrayLike, ArrayLike]], seed: int = 0) -> Forecast:
    """Return the feature that correlates most with reach, with the chance level of the largest of all features.

    Labels are permuted within each group.

    Args:
        groups: for each group of runs, its features ``[run, feature]`` and its reach ``[run]``.
        seed: of the permutations.
    """
    rng = np.random.default_rng(seed)
    ranked = [(_ranks(np.asarray(features)), _ranks(np.asarray(reach)[:, None])[:, 0]) for features, reach in groups]
    found = _mean_correlations([(features, reach[None]) for features, reach in ranked])[0]
    shuffled = [
        (features, np.stack([rng.permutation(reach) for _ in range(PERMUTATIONS)])) for features, reach in ranked
    ]
    largest = np.abs(_mean_correlations(shuffled)).max(1)
    best = int(np.abs(found).argmax())
    p = (1 + int((largest >= abs(found[best]) - 1e-12).sum())) / (1 + PERMUTATIONS)
    return Forecast(best, float(found[best]), float(np.quantile(largest, CHANCE)), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for several tests by Holm's method.

    Args:
        p_values: one for each test.
    """
    order = np.argsort(p_values)
    adjusted = np.empty(len(order))
    running = 0.0
    for place, index in enumerate(order):
        running = max(running, (len(order) - place) * p_values[index])
        adjusted[index] = min(1.0, running)
    return adjusted.tolist()


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of each column, with ties at their mean rank."""
    from scipy.stats import rankdata

    ranks: NDArray[np.float64] = rankdata(values, axis=0)
    ranks -= ranks.mean(0)
    return ranks


def _mean_correlations(
    ranked: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """The correlation of each feature with reach ``[draw, feature]``, as the mean over groups.

    A constant feature has correlation 0.

    Args:
        ranked: for each group, centred ranks of features ``[run, feature]`` and of reach ``[draw, run]``.
    """
    each = []
    for features, reach in ranked:
        size = np.sqrt((features**2).sum(0) * (reach**2).sum(1, keepdims=True))
        each.append(reach @ features / np.where(size > 0, size, np.inf))
    mean: NDArray[np.float64] = np.mean(each, axis=0)
    return mean
