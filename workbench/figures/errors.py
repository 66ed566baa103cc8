"""The ways in which a figure says that it has nothing to draw: not measured, does not apply, undefined."""

from __future__ import annotations

from workbench.core.errors import LensError
from workbench.figures.offered import offered


@offered
class NotMeasured(LookupError):
    """A figure's rows are not in the frame.

    Attributes:
        measurement: name of the measurement whose rows are missing, e.g. ``probes.summary``.
        message: one sentence saying what is missing.
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
    """A figure's rows say that the measurement is not about this model; the message is why."""


@offered
class Undefined(NotMeasured):
    """A figure's rows were measured, and have no value; the message is why."""


@offered
class NotShared(NotMeasured):
    """Two runs were measured, but nowhere at the same place; the message says at which each was."""


@offered
class AmbiguousRows(LensError, ValueError):
    """A figure is given rows of which several could be meant; the message says by which column to keep one."""


class ExportError(LensError, ValueError):
    """A figure that cannot be written to a file; the message says why, and the way out."""
