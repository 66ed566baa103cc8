"""Errors of writing to a folder, in one sentence each."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.core.errors import LensError


class StorageError(LensError, ValueError):
    """A folder that cannot be written, or a disk without free space. The message names the folder and what to do."""


class LinkError(StorageError):
    """A path below a folder that contains a link, or that leads outside the folder."""


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Turn an error of the operating system inside the ``with`` block into one sentence about the folder that is being
    written.

    Raises:
        StorageError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        message = f"{folder} cannot be written ({error.strerror or error})"
        if error.errno in _FULL:
            message += ": make room there, and the same command goes on from where it stopped"
        elif error.errno in _REFUSED:
            message += ": ask for the right to write there, or choose another folder"
        raise StorageError(message) from error
