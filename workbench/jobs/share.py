"""A share of a plan, for several processes that do not communicate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """One of ``of`` shares, counted from 1. Each job of a plan is in exactly one share, which depends only on its key.

    Example:

        >>> [Share(k, 3).has("majority-seed0") for k in (1, 2, 3)]
        [False, True, False]
    """

    number: int = 1
    of: int = 1

    def has(self, key: str) -> bool:
        """Whether the job with that key is in this share, independently of the other jobs."""
        return int.from_bytes(hashlib.sha256(key.encode()).digest(), "big") % self.of == self.number - 1


WHOLE = Share()
"""The share that contains all jobs."""
