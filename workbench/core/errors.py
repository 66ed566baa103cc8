"""The base class of all errors that the user can fix."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable


class LensError(Exception):
    """An error that the user can fix. Its message is one sentence that names the problem and the way out.

    Every error class that is written for readers derives from this class, and from the built-in class that callers may
    expect (``class RunError(LensError, ValueError)``). Any other exception is a defect of LengthLens. A class that
    pydantic must not wrap while it validates derives only from this class.
    """


LONGEST_LIST = 1_000
"""The most characters of a list of names in a sentence."""
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 4, 80, 40, 80


def quoted_value(value: object) -> str:
    """Return a value as an error message quotes it: like ``repr``, but at most about two lines long.

    Example:

        >>> quoted_value("positions"), quoted_value([[[[[1]]]]])
        ("'positions'", '[[[[[...]]]]]')
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot even be written is named by its class
        return f"a {type(value).__name__}"


def join_names(names: Iterable[str], separator: str = " ") -> str:
    """Join names for a sentence. A long list is cut, and the number of all names is added.

    Example:

        >>> join_names(["a", "b"], ", "), join_names(["ab"] * 500)[-22:]
        ('a, b', 'ab ab ... (500 in all)')
    """
    every = list(names)
    whole = separator.join(every)
    if len(whole) <= LONGEST_LIST:
        return whole
    begun = whole[: LONGEST_LIST + 1].rpartition(separator)[0] or whole[:LONGEST_LIST]
    return f"{begun} ... ({len(every):,} in all)"
