"""Which shortcut a model follows: the share of sequences on which both are right or both are wrong.

Accuracy cannot distinguish a guess from a shortcut that is right half of the time. Agreement can. A model that answers
from the first N tokens is right wherever these tokens give the answer, and wrong elsewhere.
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
"""Minimum number of right sequences, and of wrong ones, for an agreement."""
BALANCED = (0.1, 0.9)
"""Range of a shortcut's accuracy. A shortcut that is nearly always right agrees with every good model."""
SURE = 1e-9
"""Tolerance: a shortcut does not guess where its expected correctness is this close to 0 or 1."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Agreement:
    """Agreement of a model with a shortcut: both right or both wrong on ``agree`` of ``n`` sequences.

    Sequences on which the shortcut guesses are left out.
    """

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
    """Return the expected correctness of every declared shortcut, for each sequence with a query at its end.

    Args:
        task: the task.
        batch: the sequences.
        window: N, what a window shortcut sees.

    Returns:
        by the name of the shortcut, ``[asked]``: one value for each sequence with a query at its end.
    """
    asked = batch.mask[:, batch.index(batch.length)]
    found = task.shortcuts(batch, window)
    return {name: hits[asked].double().numpy(force=True) for name, hits in found.items()}


def agreements(hits: Mapping[str, NDArray[np.float64]], right: Bools) -> list[Agreement]:
    """Return the agreement of a model with every shortcut that differs enough from good and from bad models.

    Args:
        hits: as from :func:`shortcut_hits`.
        right: ``[asked]``, whether the model answers each sequence right.
    """
    if min(int(right.sum()), int((~right).sum())) < FEWEST:
        return []
    results = []
    for name, expected in hits.items():
        sure = (expected < SURE) | (expected > 1 - SURE)
        hit = expected[sure] > 0.5
        if len(hit) >= 2 * FEWEST and BALANCED[0] <= hit.mean() <= BALANCED[1]:
            results.append(Agreement(name, int((hit == right[sure]).sum()), len(hit)))
    return results


def followed_said(found: list[Agreement]) -> str:
    """Return a clause that names the followed shortcut; "" if none is shown to be followed."""
    followed = [one for one in found if one.followed]
    if not followed:
        return ""
    best = max(followed, key=lambda one: (one.share, one.n))
    return f"right exactly where {shortcut_name(best.shortcut)} would be ({best.agree:,} of {best.n:,} sequences)"
