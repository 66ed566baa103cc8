"""Stopping a command before a time limit, with everything saved."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.cli.errors import Stopping, UsageError
from workbench.core.errors import quoted_value

NOT_FINISHED = 75
"""Exit status of a command that is to be run again (``EX_TEMPFAIL`` of sysexits.h)."""
RESERVE = 60.0
"""Seconds before the limit from which on nothing is begun and training saves; of short limits, a tenth."""
LONGEST = 366 * 86400
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


class NotFinished(Stopping):
    """Leaving because the time is up, with a sentence; the same command continues."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence}; run the same command again to finish the work", NOT_FINISHED)


@dataclass(frozen=True)
class TimeLimit:
    """When a command that began just now is to stop.

    Attributes:
        text: the limit as typed.
        seconds: it.
        begun: the time at which the command began, in seconds since the epoch.
    """

    text: str
    seconds: float
    begun: float

    @property
    def reserve(self) -> float:
        """The seconds before the limit that are reserved for saving."""
        return min(RESERVE, self.seconds / 10)

    @property
    def until(self) -> float:
        """The time after which no new work begins, in seconds since the epoch."""
        return self.begun + self.seconds - self.reserve

    @property
    def up(self) -> bool:
        return time.time() >= self.until


def seconds_of(text: str) -> float:
    """``55m``, ``90s``, ``1h30m``, ``2d`` in seconds.

    Raises:
        UsageError: for anything else.
    """
    found = re.fullmatch(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,9})s)?", text.strip())
    seconds = sum(int(n or 0) * unit for n, unit in zip(found.groups(), UNITS.values(), strict=True)) if found else 0
    if not 0 < seconds <= LONGEST:
        raise UsageError(f"--time-limit takes a time such as 55m, 90s or 1h30m, not {quoted_value(text)}")
    return float(seconds)


@contextmanager
def time_limit(text: str | None) -> Iterator[TimeLimit | None]:
    """The limit that is typed, counted from now; None without one.

    What is begun in time but still runs when half of the reserve is gone is ended as SIGTERM ends it.

    Raises:
        UsageError: for a limit that cannot be read.
        NotFinished: in place of the KeyboardInterrupt that ended it.
    """
    if text is None:
        yield None
        return
    limit = TimeLimit(text, seconds_of(text), time.time())

    def end(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, limit.seconds - limit.reserve / 2)
    try:
        yield limit
    except KeyboardInterrupt:
        if not limit.up:
            raise
        raise NotFinished("The time limit is up") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
