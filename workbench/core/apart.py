"""Handling things apart: what one of many raises is said of that one, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workbench.core.errors import LensError

LONGEST = 300
"""Characters of a foreign error's own words that are repeated."""


@contextmanager
def apart(tell: Callable[[str], object], what: str) -> Iterator[None]:
    """Do one of many things; whatever it raises is told in one sentence and goes no further.

    Args:
        tell: is given the sentence: an error's own, where it was written for readers.
        what: names the thing and what is not done with it, as the beginning of a sentence about anything else.
    """
    try:
        yield
    except LensError as error:
        tell(str(error))
    except Exception as error:  # noqa: BLE001 - whatever one of many does, the others go on
        tell(f"{what} ({clause(error)})")


def clause(error: BaseException) -> str:
    """An error as one clause: its type, and the first line of what it says."""
    said = str(error).strip().partition("\n")[0][:LONGEST].rstrip(".")
    name = type(error).__name__
    return said if isinstance(error, LensError) else f"{name}: {said}" if said else name
