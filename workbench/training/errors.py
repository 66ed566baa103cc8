"""The error class of this package."""

from __future__ import annotations

from workbench.core.errors import LensError


class TrainingError(LensError):
    """A training setting that does not exist or does not fit; the message names it and the way out.

    Not a ValueError: pydantic would wrap it, and the message would be hidden in a validation report.
    """
