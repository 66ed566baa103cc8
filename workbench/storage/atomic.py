"""Atomic writing of files and folders, and folders that survive a power cut."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from workbench.storage.below import RelativePath, path_below
from workbench.storage.errors import StorageError, storing
from workbench.storage.locks import hold, is_linked

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.tmp")
LONGEST_NAME = 255
"""The most bytes of a file name that every common file system accepts."""
_ADDED = len("..0123456789ab.tmp")


@contextmanager
def replacing(folder: Path, relative: RelativePath) -> Iterator[BinaryIO]:
    """Open a binary file for writing that replaces ``folder / relative`` when the ``with`` block ends without an error.

    The bytes go to a hidden temporary file in the same folder, are synced, and are renamed. A reader sees the old file
    or the new one, never a part. If the block raises, the old file stays and the temporary one is removed. If the
    process dies, :func:`remove_leftovers` removes the temporary file.

    Raises:
        LinkError: if a part of the path ``relative`` is a link, or the path leads outside the folder.
        StorageError: if the folder cannot be written, its disk is full, or a device, pipe or folder has the name of the
            file. A rename would replace a device such as ``/dev/full`` for good.
    """
    path = path_below(folder, relative)
    if os.path.exists(path) and not os.path.isfile(path):  # False for a name that is too long
        raise StorageError(f"{path} is not a regular file and is not replaced; name another file")
    with storing(path.parent):
        make_folder(folder, Path(relative).parent)
        stream = _temporary(path)
        temporary = Path(stream.name)
        try:
            with stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def write_atomic(folder: Path, relative: RelativePath, data: bytes) -> None:
    """Write bytes to ``folder / relative``, so that a reader sees the old file or the complete new one. Raises the
    errors of :func:`replacing`.
    """
    with replacing(folder, relative) as file:
        file.write(data)


def write_named(path: Path, data: bytes) -> None:
    """Write a file that the user named, so that a reader sees the old file or the complete new one.

    Temporary files that a killed process left while it wrote this file are removed.

    Raises:
        LinkError: if the file itself is a link. Links above it are the user's choice.
        StorageError: if it cannot be written.
    """
    path = Path(path).absolute()
    remove_leftovers(path.parent, path.name)
    write_atomic(path.parent, path.name, data)


@contextmanager
def replacing_folder(folder: Path, relative: RelativePath, *, over: bool = False) -> Iterator[Path]:
    """Make a hidden folder that becomes ``folder / relative`` when the ``with`` block ends without an error.

    If the block raises, the hidden folder is removed. If the process dies, :func:`remove_leftovers` removes it.

    Args:
        folder: the folder to write into; it is made if it is missing.
        relative: the path of the new folder, relative to ``folder``.
        over: whether an existing folder is replaced. Without it, only an empty folder is replaced.

    Raises:
        LinkError, StorageError: as :func:`replacing`.
    """
    path = path_below(folder, relative)
    with storing(path.parent):
        make_folder(folder, Path(relative).parent)
        temporary, descriptor = _temporary_folder(path)
        try:
            yield temporary
            sync_folder(temporary)
            former = temporary_name(path)
            if over and os.path.lexists(path):
                os.replace(path, former)
            try:
                os.replace(temporary, path)
            except BaseException:
                if os.path.lexists(former):
                    os.replace(former, path)
                raise
            sync_folder(path.parent)
            shutil.rmtree(former, ignore_errors=True)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        finally:
            os.close(descriptor)


def temporary_name(path: Path) -> Path:
    """Return an unused hidden path in the folder of ``path``, which :func:`is_temporary` recognizes. A long name is
    cut.
    """
    return path.with_name(f".{_cut(path.name)}.{secrets.token_hex(6)}.tmp")


def _cut(name: str) -> str:
    """A name, cut so that :func:`temporary_name` can extend it."""
    return os.fsencode(name)[: LONGEST_NAME - _ADDED].decode(errors="ignore")


def is_temporary(path: Path) -> bool:
    """Whether a file or folder has a name as :func:`temporary_name` makes it."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _temporary(path: Path) -> BinaryIO:
    """A new hidden file next to ``path``, locked while it is open. The lock marks a writer that is still running."""
    while True:
        # Not tempfile: its files are private to the user, and a run folder is often shared.
        stream = open(temporary_name(path), "xb")  # noqa: SIM115
        with suppress(OSError):  # a file system without locks: nothing will be taken for a leftover there
            hold(stream.fileno(), wait=True)
        if is_linked(stream.fileno()):
            return stream
        stream.close()  # it was taken for a leftover in the moment before it was locked


def _temporary_folder(path: Path) -> tuple[Path, int]:
    """A new hidden folder next to ``path`` and its descriptor, which holds a lock until it is closed."""
    while True:
        temporary = temporary_name(path)
        temporary.mkdir()
        with suppress(FileNotFoundError):  # it was taken for a leftover before it was locked, as above
            descriptor = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            with suppress(OSError):
                hold(descriptor, wait=True)
            if os.path.lexists(temporary):
                return temporary, descriptor
            os.close(descriptor)


def remove_leftovers(folder: Path, of: str = "") -> None:
    """Remove temporary files and folders that killed processes left in a folder. Those of running processes stay.

    Args:
        folder: the folder. Leftovers in folders below it stay.
        of: the name of the file or folder that was being written; "" = any.
    """
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for name in names:
        match = _TEMPORARY.fullmatch(name)
        if match is not None and (not of or match["name"] == _cut(of)):
            with suppress(OSError):
                _remove_leftover(Path(folder) / name)


def _remove_leftover(path: Path) -> None:
    """Remove one temporary file or folder, unless a running writer holds its lock."""
    is_folder = path.is_dir() and not path.is_symlink()
    how = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR | os.O_NONBLOCK
    descriptor = os.open(path, how | os.O_NOFOLLOW)
    try:
        if hold(descriptor):
            shutil.rmtree(path) if is_folder else path.unlink()
    finally:
        os.close(descriptor)


def make_folder(folder: Path, relative: RelativePath = "") -> None:
    """Make a folder and its parents, so that they survive a power cut.

    Args:
        folder: the folder.
        relative: the path of a folder below it, which is made too.

    Raises:
        LinkError: as :func:`replacing`.
    """
    path = path_below(folder, relative) if Path(relative).parts else Path(folder)
    missing = [parent for parent in (path, *path.parents) if not parent.is_dir()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        sync_folder(parent.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that a rename in it survives a power cut. Some file systems cannot sync folders; then
    nothing is done.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what some network file systems say to it
            raise
    finally:
        os.close(handle)


def require_room(folder: Path, need: int) -> None:
    """Raise an error if a folder cannot store results of the expected size. The folder is made if it is missing.

    Args:
        folder: the folder of the results.
        need: the expected size of the results, in bytes.

    Raises:
        StorageError: if the folder cannot be written, or its disk has less free space than ``need``. A quota below the
            free space shows only when it is reached.
    """
    with storing(folder):
        make_folder(folder)
        with _temporary(folder / "probe") as stream:
            Path(stream.name).unlink()
        free = shutil.disk_usage(folder).free
    if free < need:
        raise StorageError(
            f"{folder} has {_size(free)} of free space, but about {_size(need)} are needed: free some, or choose "
            f"another folder"
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
