"""The error of the challenge."""

from __future__ import annotations

from workbench.core.errors import LensError


class ChallengeError(LensError, ValueError):
    """Raised for a folder, truth file or answer file that does not fit; the message states what to do."""
