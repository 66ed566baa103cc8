"""Errors of a figure that has nothing to draw: not measured, does not apply, undefined."""

from __future__ import annotations

from workbench.core.errors import LensError
from workbench.figures.offered import offered


@offered
class NotMeasured(LookupError):
    """A figure's rows are not in the frame.

    Attributes:
        measurement: name of the measurement whose rows are missing, e.g. ``probes.summary``.
        message: one sentence that names what is missing.
        helps: whether measuring would make the rows. Not so where the measurement has been made there, and looks at
            other lengths.
    """

    def __init__(self, measurement: str, message: str, helps: bool = True) -> None:
        super().__init__(message)
        self.measurement = measurement
        self.message = message
        self.helps = helps


@offered
class NotApplicable(NotMeasured):
    """According to a figure's rows the measurement does not apply to this model; the message gives the reason."""


@offered
class Undefined(NotMeasured):
    """A figure's rows were measured, and have no value; the message is why."""


@offered
class NotShared(NotMeasured):
    """Two runs share no measured step and length; the message lists those of each run."""


@offered
class AmbiguousRows(LensError, ValueError):
    """Several rows match what a figure needs; the message names the column by which to keep one."""


class ExportError(LensError, ValueError):
    """A figure that cannot be written to a file; the message gives the reason and what to do."""
