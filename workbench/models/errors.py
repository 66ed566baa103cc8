"""Errors of models. Needs no torch, so that names can be checked before a model is loaded."""

from __future__ import annotations

from workbench.core.errors import LensError


class PositionError(LensError):
    """Raised for a position encoding that does not exist, or a length that the encoding cannot read.

    Not a ValueError: pydantic would wrap it, and the message would be hidden in a validation report.
    """


class DeviceError(LensError, ValueError):
    """Raised for a device that does not exist, or a dtype in which models do not compute."""


class ArchitectureError(LensError, ValueError):
    """Raised for an architecture that does not exist."""
