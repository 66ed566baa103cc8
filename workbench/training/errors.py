"""The one error of this room."""

from __future__ import annotations

from workbench.core.errors import LensError


class TrainingError(LensError):
    """A training setting that does not exist or does not fit; the message names it and the way out.

    Not a ValueError: pydantic would wrap it, and the sentence would drown in a validation report.
    """
