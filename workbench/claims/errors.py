"""What can go wrong with claims."""

from __future__ import annotations

from workbench.core.errors import LensError


class ClaimError(LensError, ValueError):
    """Raised for a claim or group of claims that does not exist, or a table of claims that cannot be read."""
