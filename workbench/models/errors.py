"""What is wrong with positions. No torch, so that a name can be refused before anything is read."""

from __future__ import annotations

from workbench.core.errors import LensError


class PositionError(LensError):
    """A position scheme that does not exist, or a length that the scheme cannot read.

    Not a ValueError: pydantic would wrap it, and the sentence would drown in a validation report.
    """
