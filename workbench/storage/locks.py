"""Advisory locks on open files. The kernel releases a lock when its process ends, even if the process was killed."""

from __future__ import annotations

import fcntl
import os


def hold(descriptor: int, *, wait: bool = False) -> bool:
    """Take the exclusive lock of an open file until the file is closed.

    The lock excludes every other opening of the file: in this process and in other containers on this machine. It also
    excludes other machines if the file system supports this (NFS does by default).

    Args:
        descriptor: descriptor of a file that is open for writing, which NFS requires.
        wait: wait until another process releases the lock, instead of returning.

    Returns:
        False if another process has the lock.

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
