"""The one way in which a figure says that it has nothing to draw."""

from __future__ import annotations


class NotMeasured(LookupError):
    """A figure's rows are not in the frame.

    Attributes:
        measurement: name of the measurement whose rows are missing, e.g. ``probes.summary``.
        message: one sentence saying what is missing.
    """

    def __init__(self, measurement: str, message: str) -> None:
        super().__init__(message)
        self.measurement = measurement
        self.message = message


class NotApplicable(NotMeasured):
    """A figure's rows say that the measurement is not about this model; the message is why."""


class NotShared(NotMeasured):
    """Two runs were measured, but nowhere at the same place; the message says at which each was."""
