"""Suggestions for an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from workbench.core.errors import join_names

LONGEST_NAME = 100
"""The most characters of a name for which similar names are looked up. The comparison takes time in proportion to them.
"""
MOST_NAMED = 3
"""The most similar names in one suggestion."""


def near_names(name: object, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that are similar to a given one, the most similar first; empty if the given value is not a
    text.

    Args:
        name: the given value: a name, or anything else in its place.
        known: the existing names.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        return ()
    return tuple(get_close_matches(name, sorted(set(known)), n=MOST_NAMED))


def nearest(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return ``did you mean ...?`` if a known name is similar; otherwise ``otherwise``, or the list of all known names.

    Args:
        name: the given value: a name, or anything else in its place.
        known: the existing names.
        otherwise: where all names are listed, for names that are too many for a sentence; "" = list them.

    Example:

        >>> nearest("rotery", ("alibi", "rotary")), nearest("x", ("alibi", "rotary"))
        ('did you mean rotary?', 'known: alibi, rotary')
    """
    # A set has no order that a reader could follow.
    names = sorted(known) if isinstance(known, set | frozenset) else list(dict.fromkeys(known))
    if near := near_names(name, names):
        return f"did you mean {' or '.join(near)}?"
    return otherwise or f"known: {join_names(names, ', ') or 'none'}"
