"""Learning-rate schedules by name: the share of the peak rate, as a function of the share of training that is done.

To add a schedule, write a function here with the decorator ``RATE_SCHEDULES``. Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.core.registry import Registry
from workbench.training.errors import TrainingError

RateSchedule = Callable[[float], float]
"""Maps the finished share of the steps after warm-up, in [0, 1), to the share of the peak rate, in (0, 1]."""

RATE_SCHEDULES: Registry[RateSchedule] = Registry(
    "learning-rate schedule",
    TrainingError,
    group="lengthlens.rate_schedules",
    name_of=lambda schedule: schedule.__name__,
)
"""Schedules by the value of the setting ``rate_law``, which is the name of their function."""

DECAY_FROM = 0.8
"""Share of the steps after which ``wsd`` begins to decay."""


@RATE_SCHEDULES.register
def constant(done: float) -> float:
    """Return 1, so that the learning rate stays at its peak."""
    return 1.0


@RATE_SCHEDULES.register
def linear(done: float) -> float:
    """A straight line from the peak rate to 0."""
    return 1 - done


@RATE_SCHEDULES.register
def cosine(done: float) -> float:
    """Half a period of a cosine, from the peak rate to 0."""
    return 0.5 * (1 + math.cos(math.pi * done))


@RATE_SCHEDULES.register
def wsd(done: float) -> float:
    """Warm-up, stable, decay: the peak rate for four fifths, then a straight line to 0 (Hu et al. 2024, 2404.06395)."""
    return min(1.0, (1 - done) / (1 - DECAY_FROM))
