"""The errors of this room, and the hint that goes with a name nobody knows."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from workbench.core.errors import LensError


class TableError(LensError, ValueError):
    """Something about stored rows cannot be done; the message says what, and the way out."""


class StorageError(TableError):
    """A folder that cannot be written, or a disk without room; the message names the folder and the way out."""


LONGEST_NAME = 100
"""Characters of a name to which near ones are looked for."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Turn what the system says while a folder is written into one sentence.

    Raises:
        StorageError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        said = f"{folder} cannot be written ({error.strerror or error})"
        if error.errno in _FULL:
            said += ": make room there, and the same command goes on from where it stopped"
        elif error.errno in _REFUSED:
            said += ": ask for the right to write there, or choose another folder"
        raise StorageError(said) from error


def nearest(name: object, known: Iterable[str]) -> str:
    """``did you mean ...?`` where a known name is near, else the list of all known names.

    Args:
        name: what was given: a name, or anything that stands where a name should.
        known: the names there are.
    """
    names = sorted(set(known))
    # Comparing takes time in proportion to its length, and nothing long is near.
    near = get_close_matches(name, names, n=3) if isinstance(name, str) and len(name) <= LONGEST_NAME else []
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(names) or 'none'}"
