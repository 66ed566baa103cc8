"""The one error of this room."""

from __future__ import annotations

from workbench.core.errors import LensError


class TableError(LensError, ValueError):
    """Something about stored rows cannot be done; the message says what, and the way out."""
