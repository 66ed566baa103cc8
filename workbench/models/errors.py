"""What models refuse. Needs no torch, so that names are known before a model is read."""

from __future__ import annotations

from workbench.core.errors import LensError


class PositionError(LensError):
    """A position scheme that does not exist, or a length that the scheme cannot read.

    Not a ValueError: pydantic would wrap it, and the sentence would drown in a validation report.
    """


class DeviceError(LensError, ValueError):
    """A device that is not there, or a kind of number that models do not compute in."""


class ArchitectureError(LensError, ValueError):
    """An architecture that does not exist."""
