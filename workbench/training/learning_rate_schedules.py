"""Learning-rate schedules by name: what is left of the peak rate, as a function of how much of training is done.

A new one is a function here with a line over it. Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.core.registry import Registry
from workbench.training.errors import TrainingError

RateSchedule = Callable[[float], float]
"""From the share of the steps after warm-up that is done, in [0, 1), to the share of the peak rate, in (0, 1]."""

RATE_SCHEDULES: Registry[RateSchedule] = Registry(
    "learning-rate schedule",
    TrainingError,
    group="lengthlens.rate_schedules",
    name_of=lambda schedule: schedule.__name__,
)
"""Schedules by the name that the setting ``rate_law`` says; of a function that is its own."""

DECAY_FROM = 0.8
"""Share of the steps after which ``wsd`` decays."""


@RATE_SCHEDULES.register
def constant(done: float) -> float:
    """The peak rate to the end."""
    return 1.0


@RATE_SCHEDULES.register
def linear(done: float) -> float:
    """A straight line to 0."""
    return 1 - done


@RATE_SCHEDULES.register
def cosine(done: float) -> float:
    """Half a period of a cosine to 0."""
    return 0.5 * (1 + math.cos(math.pi * done))


@RATE_SCHEDULES.register
def wsd(done: float) -> float:
    """Warm-up, stable, decay: the peak rate for four fifths, then a straight line to 0 (Hu et al. 2024, 2404.06395)."""
    return min(1.0, (1 - done) / (1 - DECAY_FROM))
