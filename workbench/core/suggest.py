"""What was meant by a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from workbench.core.errors import listed

LONGEST_NAME = 100
"""Characters of a name to which near ones are looked for: comparing takes time in proportion to its length."""
MOST_NAMED = 3
"""Near names that are told at most."""


def near_names(name: object, known: Iterable[str]) -> tuple[str, ...]:
    """The known names that are near a given one, the nearest first; none for what is no name.

    Args:
        name: what was given: a name, or anything that stands where a name should.
        known: the names there are.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        return ()
    return tuple(get_close_matches(name, sorted(set(known)), n=MOST_NAMED))


def nearest(name: object, known: Iterable[str]) -> str:
    """``did you mean ...?`` where a known name is near, else the list of all known names.

    Args:
        name: what was given: a name, or anything that stands where a name should.
        known: the names there are.

    Example:

        >>> nearest("rotery", ("alibi", "rotary")), nearest("x", ("alibi", "rotary"))
        ('did you mean rotary?', 'known: alibi, rotary')
    """
    # A set has no order that a reader could follow.
    names = sorted(known) if isinstance(known, set | frozenset) else list(dict.fromkeys(known))
    if near := near_names(name, names):
        return f"did you mean {' or '.join(near)}?"
    return f"known: {listed(names, ', ') or 'none'}"
