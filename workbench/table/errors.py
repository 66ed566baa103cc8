"""The one error of this room, and the hint that goes with a name nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TableError(ValueError):
    """Something about stored rows cannot be done; the message says what, and the way out."""


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean ...?`` where a known name is near, else the list of all known names."""
    names = sorted(set(known))
    near = get_close_matches(name, names, n=3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(names) or 'none'}"
