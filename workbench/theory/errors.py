"""The one error of this room."""

from __future__ import annotations

from workbench.core.errors import LensError


class TheoryError(LensError, ValueError):
    """A question that theory cannot be asked in this form; the message says why, and the way out."""
