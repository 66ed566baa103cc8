"""What keeps a folder from being written, in one sentence."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.core.errors import LensError


class StorageError(LensError, ValueError):
    """A folder that cannot be written, or a disk without room; the message names the folder and the way out."""


class LinkError(StorageError):
    """A place below a folder of which a part is a link, or that lies outside the folder."""


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
