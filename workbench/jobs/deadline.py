"""Not beginning a job once the time for it is up."""

from __future__ import annotations

import time

from workbench.core.errors import LensError


class TimeIsUp(LensError):
    """A job was not begun, or not finished, because the time for it was up."""


def refuse_late(until: float | None) -> None:
    """Refuse to begin a job.

    Args:
        until: the time from which on none is begun, in seconds since the epoch; None = no limit.

    Raises:
        TimeIsUp: if the time is up.
    """
    if until is not None and time.time() >= until:
        raise TimeIsUp("not begun")
