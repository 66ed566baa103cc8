"""Errors of a figure that has nothing to draw: not measured, does not apply, undefined."""

from __future__ import annotations

from workbench.core.errors import LensError
from workbench.figures.offered import register_public


@register_public
class NotMeasured(LookupError):
    """Raised when the table lacks the rows that a figure draws.

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


@register_public
class NotApplicable(NotMeasured):
    """Raised when a figure's rows state that the measurement does not apply to this model; the message gives the
    reason.
    """


@register_public
class Undefined(NotMeasured):
    """Raised when a figure's rows were measured but have no value; the message gives the reason."""


@register_public
class NotShared(NotMeasured):
    """Raised when two runs share no measured step and length; the message lists the steps and lengths of each run."""


@register_public
class AmbiguousRows(LensError, ValueError):
    """Raised when more rows match than a figure can draw; the message names the column to filter by."""


class ExportError(LensError, ValueError):
    """Raised when a figure cannot be written to a file; the message gives the reason and what to do."""


@register_public
class NotDrawable(LensError, ValueError):
    """Raised when runs do not have the quantity, step or length to draw; the message names those there are."""
