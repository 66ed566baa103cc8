"""What runs refuse. Needs no torch."""

from __future__ import annotations

from workbench.core.errors import LensError

__all__ = ["BeingWritten", "RunError"]


class RunError(LensError, ValueError):
    """A folder that is no run, a missing step, or a damaged checkpoint; the message says which."""


class BeingWritten(RunError):
    """A run that another process is writing now."""
