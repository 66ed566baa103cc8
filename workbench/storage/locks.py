"""Advisory locks on open files. The kernel lets go of them when their holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os


def hold(descriptor: int, *, wait: bool = False) -> bool:
    """Take the exclusive lock of an open file until it is closed.

    It holds against every other opening of the file: in this process, in other containers on this
    machine, and on other machines where the file system passes locks on (NFS does by default).

    Args:
        descriptor: of a file opened for writing (NFS asks for that).
        wait: wait for another holder rather than return.

    Returns:
        False if another holds the lock.

    Raises:
        OSError: if the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def is_linked(descriptor: int) -> bool:
    """Whether an open file still has a name in some folder."""
    return os.fstat(descriptor).st_nlink > 0
