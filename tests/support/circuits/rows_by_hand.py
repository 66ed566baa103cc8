"""What tests of several tiers share. Rows of the interventions against values known by hand: sign, length, law and interval."""

from __future__ import annotations

from typing import Any


def drawn(task: Any, length: int, count: int) -> Any:
    """The strings that a measurement without a run draws with seed 0 at its one or longest length."""
    from workbench.measure.measurement import Grid
    from workbench.measure.study import Evaluation

    return Evaluation(task, Grid(length, (length,), (length,), ()), 0, count).batch("matched", length).rows(0, count)
