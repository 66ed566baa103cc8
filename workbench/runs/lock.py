"""One writer per run: a lock file that the kernel watches over."""

from __future__ import annotations

import os
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


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Refuse a second writer of a run.

    The lock is the kernel's lock on the file ``lock``, not the file's existence: a writer that was killed,
    even between making the file and writing into it, leaves a file that nobody holds, and of any number
    of processes that find it exactly one gets it. It holds across containers of one machine, whose process
    ids differ, and across machines where their common file system passes locks on, as NFS does by
    default. Where it does not, writers on two machines are not told apart; each file still appears
    whole, and a checkpoint that exists is compared and not replaced. The text in the file only tells who holds it.

    Raises:
        BeingWritten: if another process holds the lock.
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


def _take(folder: Path) -> int:
    """Descriptor of the lock file now in a folder, with its lock held."""
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
