"""Attempts to recover an answer with an intervention, written by hand: what the rules of a diagnosis read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.diagnosis.recovered_share import Estimate95
from workbench.diagnosis.tried_interventions import Tried
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.interventions.one_key import ONE_KEY
from workbench.measure.edits.interventions.position import POSITION
from workbench.measure.edits.interventions.recurrence import RECURRENCE
from workbench.measure.edits.interventions.sharpening import SHARPENING

EPS = 1e-6
"""A step across a threshold."""
FIRST = {"P": POSITION[0], "D": SHARPENING[0], "K": ONE_KEY[0], "T": RECURRENCE[0], "C": by_name("C.pool0")}
"""An intervention of each family."""


def attempt(
    family: str | Sequence[str], share: float | None, low: float = 0.7, control: float | None = 0.0, by: float = 0.0
) -> Tried:
    """An intervention, or a pair of them, by what it recovers."""
    recovered = None if share is None else Estimate95(share, low, 1.2)
    control_share = None if control is None else Estimate95(control, control, control)
    right = np.array([share or 0.0])
    return Tried(
        tuple(FIRST[name] for name in family), share=recovered, control=control_share, chosen_by=by, right=right
    )
