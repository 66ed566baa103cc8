"""The only error of this package."""

from __future__ import annotations

from workbench.core.errors import LensError


class TheoryError(LensError, ValueError):
    """Raised for a question that theory cannot answer in this form; the message gives the reason and what to do."""
