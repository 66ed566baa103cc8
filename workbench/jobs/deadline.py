"""Refuses to start a job after a deadline."""

from __future__ import annotations

import time

from workbench.core.errors import LensError


class TimeIsUp(LensError):
    """A job was not started, or not finished, because the deadline had passed."""


def refuse_late(until: float | None) -> None:
    """Refuse to start a job after the deadline.

    Args:
        until: the deadline, in seconds since the epoch; None = no limit.

    Raises:
        TimeIsUp: if the deadline has passed.
    """
    if until is not None and time.time() >= until:
        raise TimeIsUp("not begun")
