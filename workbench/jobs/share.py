"""A share of a plan: what one of several processes does that know nothing of each other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """One of ``of`` shares, counted from 1; each job of a plan is in exactly one, by its key alone.

    Example:

        >>> [Share(k, 3).has("majority-seed0") for k in (1, 2, 3)]
        [False, True, False]
    """

    number: int = 1
    of: int = 1

    def has(self, key: str) -> bool:
        """Whether the job of that key is in this share. Does not depend on which jobs there are beside it."""
        return int.from_bytes(hashlib.sha256(key.encode()).digest(), "big") % self.of == self.number - 1


WHOLE = Share()
"""All of it."""
