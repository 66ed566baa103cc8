"""One writer per run, by a lock file with a lock of the kernel."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.runs.errors import BeingWritten, RunError
from workbench.storage.atomic import make_folder
from workbench.storage.below import open_to_lock, remove_file
from workbench.storage.errors import storing
from workbench.storage.locks import hold

NAME = "lock"
_HOLDER = re.compile(r"process (?P<process>\d{1,9}) on (?P<machine>.+)")


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Refuse a second writer of a run.

    What counts is the kernel's lock on the file ``lock``, not the existence of the file. If a writer is killed at any
    moment, its file stays without a lock, and exactly one of the processes that find it gets the lock. The lock works
    across containers of one machine, whose process ids differ. It works across machines if their common file system
    supports locks, as NFS does by default.

    Without that support two machines may write at the same time. Each file is still written atomically, and an existing
    checkpoint is compared and not replaced. The text in the file only names the process that has the lock.

    Raises:
        BeingWritten: if another process has the lock.
        RunError: if the file system has no locks.
        StorageError: if the folder cannot be written.
    """
    with storing(folder):
        make_folder(folder)
        descriptor = _take(folder)
    try:
        with storing(folder):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
    finally:
        # While it is still held: whoever has the file open then finds that it is gone, and makes a new one.
        remove_file(folder, NAME)
        os.close(descriptor)


def holder_of(folder: Path) -> int | None:
    """The process on this machine that writes a run; None if there is none.

    The text of a lock file counts only while a process has the kernel's lock.
    """
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not block
    except OSError:
        return None
    try:
        if hold(descriptor):
            return None
        match = _HOLDER.fullmatch(os.read(descriptor, 300).decode(errors="replace").strip())
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if not match or match["machine"] != socket.gethostname():
        return None
    process = int(match["process"])
    return process if process > 1 else None  # 0 would be this process's whole group


def _take(folder: Path) -> int:
    """Descriptor of the lock file in a folder, after taking its lock."""
    path = folder / NAME
    while True:
        descriptor = open_to_lock(folder, NAME)
        try:
            if not _held(descriptor, path):
                holder = os.read(descriptor, 200).decode(errors="replace").strip() or "another process"
                raise BeingWritten(f"{path.parent} is being written by {holder}; wait for it or stop it")
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _held(descriptor: int, path: Path) -> bool:
    try:
        return hold(descriptor)
    except OSError as error:
        raise RunError(
            f"the file system of {path.parent} has no file locks ({error.strerror}), so a second writer cannot be "
            f"refused; choose a folder on another file system"
        ) from None


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
