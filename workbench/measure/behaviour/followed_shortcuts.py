"""Which shortcut a model follows: on how many sequences it is right exactly where the shortcut is right.

Accuracy alone does not tell a guess from a shortcut that is right half of the time. Agreement does: a model that
answers from the first N tokens is right wherever these give the answer, and wrong wherever they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.core.shortcut_names import shortcut_name
from workbench.core.thresholds import FOLLOWED
from workbench.measure.intervals import clopper_pearson

if TYPE_CHECKING:
    from workbench.tasks.base import Batch, Task

FEWEST = 6
"""Sequences that must be right, and wrong, before agreement says anything."""
BALANCED = (0.1, 0.9)
"""Between which shares a shortcut must be right: one that is nearly always right agrees with every good model."""
SURE = 1e-9
"""A shortcut whose expected correctness is this close to 0 or 1 does not guess."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Agreement:
    """On ``agree`` of ``n`` sequences on which a shortcut does not guess, a model is right exactly where it is."""

    shortcut: str
    agree: int
    n: int

    @property
    def share(self) -> float:
        return self.agree / self.n

    @property
    def limits(self) -> tuple[float, float]:
        """The exact 95 % interval of the share."""
        return clopper_pearson(self.agree, self.n)

    @property
    def followed(self) -> bool:
        """Whether the share is shown to be at least the threshold."""
        return self.limits[0] >= FOLLOWED


def shortcut_hits(task: Task, batch: Batch, window: int) -> Mapping[str, NDArray[np.float64]]:
    """Expected correctness of every stated shortcut on each sequence that asks something at its end.

    Args:
        task: what is asked.
        batch: the sequences.
        window: N, what a window shortcut sees.

    Returns:
        by the name of the shortcut, ``[asked]``.
    """
    asked = batch.mask[:, batch.index(batch.length)]
    found = task.shortcuts(batch, window)
    return {name: hits[asked].double().numpy(force=True) for name, hits in found.items()}


def agreements(hits: Mapping[str, NDArray[np.float64]], right: Bools) -> list[Agreement]:
    """How a model agrees with every shortcut that can be told from a good model and from a bad one.

    Args:
        hits: as from :func:`shortcut_hits`.
        right: ``[asked]`` whether the model answers each sequence right.
    """
    if min(int(right.sum()), int((~right).sum())) < FEWEST:
        return []
    made = []
    for name, expected in hits.items():
        sure = (expected < SURE) | (expected > 1 - SURE)
        hit = expected[sure] > 0.5
        if len(hit) >= 2 * FEWEST and BALANCED[0] <= hit.mean() <= BALANCED[1]:
            made.append(Agreement(name, int((hit == right[sure]).sum()), len(hit)))
    return made


def followed_said(found: list[Agreement]) -> str:
    """Which shortcut a model follows, in a clause; "" where none is shown to be followed."""
    followed = [one for one in found if one.followed]
    if not followed:
        return ""
    best = max(followed, key=lambda one: (one.share, one.n))
    return f"right exactly where {shortcut_name(best.shortcut)} would be ({best.agree:,} of {best.n:,} sequences)"
