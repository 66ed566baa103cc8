"""The error class of this package."""

from __future__ import annotations

from workbench.core.errors import LensError


class TableError(LensError, ValueError):
    """Raised for an operation on stored rows that is not possible; the message states why, and what to do."""
