"""Which steps get a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def planned_steps(steps: int, log: int, linear: int, at: Iterable[int] = ()) -> list[int]:
    """Return the steps at which checkpoints are saved, ascending: 0, ``log`` log-spaced and ``linear`` evenly spaced
    ones, ``at``, and the last.

    Log-spaced steps cover the early changes, which are the most frequent; evenly spaced steps cover the late ones.
    """
    chosen = {0, steps, *at}
    if log:
        chosen.update(np.unique(np.round(np.geomspace(1, steps, log)).astype(int)).tolist())
    if linear:
        chosen.update(np.round(np.linspace(0, steps, linear + 1)).astype(int).tolist())
    return sorted(int(step) for step in chosen)
