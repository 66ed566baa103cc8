"""The base of all errors that a user can mend."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable


class LensError(Exception):
    """Something that the user can mend: its message is one sentence that names the thing and the way out.

    Every error class of the project that is meant for readers derives from this one, beside the built-in class that
    callers may expect (``class RunError(LensError, ValueError)``). Whatever else is raised is a defect of ours.
    A class that pydantic must not wrap while it validates derives from this one alone.
    """


LONGEST_LIST = 1_000
"""Characters of a list of names in a sentence."""
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 4, 80, 40, 80


def shown(value: object) -> str:
    """What was given, as a sentence quotes it: like ``repr``, but never longer than a line or two.

    Example:

        >>> shown("positions"), shown([[[[[1]]]]])
        ("'positions'", '[[[[[...]]]]]')
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot even be written is named by its class
        return f"a {type(value).__name__}"


def listed(names: Iterable[str], separator: str = " ") -> str:
    """Names in a row, as a sentence lists them: the first ones and how many there are, where there are many.

    Example:

        >>> listed(["a", "b"], ", "), listed(["ab"] * 500)[-22:]
        ('a, b', 'ab ab ... (500 in all)')
    """
    every = list(names)
    whole = separator.join(every)
    if len(whole) <= LONGEST_LIST:
        return whole
    begun = whole[: LONGEST_LIST + 1].rpartition(separator)[0] or whole[:LONGEST_LIST]
    return f"{begun} ... ({len(every):,} in all)"
