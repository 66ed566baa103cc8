"""Errors of runs. Needs no torch."""

from __future__ import annotations

from workbench.core.errors import LensError

__all__ = ["BeingWritten", "RunError"]


class RunError(LensError, ValueError):
    """Raised for a folder that is not a run, a missing step, or a damaged checkpoint; the message names it."""


class BeingWritten(RunError):
    """Raised for a run to which another process is writing."""
