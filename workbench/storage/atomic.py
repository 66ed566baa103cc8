"""Files and folders written whole or not at all, and folders made to last."""

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

from workbench.storage.below import Place, path_below
from workbench.storage.errors import StorageError, storing
from workbench.storage.locks import hold, is_linked

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.tmp")
LONGEST_NAME = 255
"""Bytes of a file name, on every common file system."""
_ADDED = len("..0123456789ab.tmp")


@contextmanager
def replacing(folder: Path, place: Place) -> Iterator[BinaryIO]:
    """A binary file that replaces ``folder / place`` when the block ends without an error.

    The bytes go to a hidden temporary file in the same folder, are synced, and are renamed. A reader sees the old file
    or the new one, never a part. If the block raises, the old file stays and the temporary one is removed. If the
    process dies, :func:`remove_leftovers` removes the temporary file.

    Raises:
        LinkError: if a part of the place is a link, or the place lies outside the folder.
        StorageError: if the folder cannot be written, its disk is full, or a device, pipe or folder has the name of
            the file. A rename would replace a device such as ``/dev/full`` for good.
    """
    path = path_below(folder, place)
    if os.path.exists(path) and not os.path.isfile(path):  # False for a name that is too long
        raise StorageError(f"{path} is not a regular file and is not replaced; name another file")
    with storing(path.parent):
        make_folder(folder, Path(place).parent)
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


def write_atomic(folder: Path, place: Place, data: bytes) -> None:
    """Write ``folder / place`` whole or not at all. Raises as :func:`replacing`."""
    with replacing(folder, place) as file:
        file.write(data)


def write_named(path: Path, data: bytes) -> None:
    """Write a file that the user named, whole or not at all, and remove what a killed writer of it left.

    Raises:
        LinkError: if the file itself is a link. Links above it are the user's choice.
        StorageError: if it cannot be written.
    """
    path = Path(path).absolute()
    remove_leftovers(path.parent, path.name)
    write_atomic(path.parent, path.name, data)


@contextmanager
def replacing_folder(folder: Path, place: Place, *, over: bool = False) -> Iterator[Path]:
    """A new hidden folder that becomes ``folder / place`` when the block ends without an error.

    If the block raises, the hidden folder is removed. If the process dies, :func:`remove_leftovers` removes it.

    Args:
        folder: the given folder; it is made if it is missing.
        place: the place of the new folder.
        over: whether a folder that is there gives way. Without it, only an empty one does.

    Raises:
        LinkError, StorageError: as :func:`replacing`.
    """
    path = path_below(folder, place)
    with storing(path.parent):
        make_folder(folder, Path(place).parent)
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
    """A name beside ``path`` that no file has yet; :func:`is_temporary` recognizes it. A long name is cut."""
    return path.with_name(f".{_cut(path.name)}.{secrets.token_hex(6)}.tmp")


def _cut(name: str) -> str:
    """A name that is short enough for :func:`temporary_name` to add to it."""
    return os.fsencode(name)[: LONGEST_NAME - _ADDED].decode(errors="ignore")


def is_temporary(path: Path) -> bool:
    """Whether a file or folder has a name as only :func:`temporary_name` makes them."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _temporary(path: Path) -> BinaryIO:
    """A new hidden file beside ``path``, locked while it is open: the mark of a living writer."""
    while True:
        # Not tempfile: its files are private to the user, and a run folder is often shared.
        stream = open(temporary_name(path), "xb")  # noqa: SIM115
        with suppress(OSError):  # a file system without locks: nothing will be taken for a leftover there
            hold(stream.fileno(), wait=True)
        if is_linked(stream.fileno()):
            return stream
        stream.close()  # it was taken for a leftover in the moment before it was locked


def _temporary_folder(path: Path) -> tuple[Path, int]:
    """A new hidden folder beside ``path`` and its descriptor, which holds its lock until it is closed."""
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
    """Remove the temporary files and folders that killed writers left in a folder. Those of living writers stay.

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
    """Remove one temporary file or folder, unless a living writer holds its lock."""
    is_folder = path.is_dir() and not path.is_symlink()
    how = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR | os.O_NONBLOCK
    descriptor = os.open(path, how | os.O_NOFOLLOW)
    try:
        if hold(descriptor):
            shutil.rmtree(path) if is_folder else path.unlink()
    finally:
        os.close(descriptor)


def make_folder(folder: Path, place: Place = "") -> None:
    """Make a folder and those above it, so that they last through a power cut.

    Args:
        folder: the given folder.
        place: a folder below it, which is made too.

    Raises:
        LinkError: as :func:`replacing`.
    """
    path = path_below(folder, place) if Path(place).parts else Path(folder)
    missing = [parent for parent in (path, *path.parents) if not parent.is_dir()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        sync_folder(parent.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the file system can sync a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what some network file systems say to it
            raise
    finally:
        os.close(handle)


def require_room(folder: Path, need: int) -> None:
    """Find out before any work whether its results can be stored; makes the folder if it is missing.

    Args:
        folder: where they go.
        need: bytes they take, as far as one can tell.

    Raises:
        StorageError: if the folder cannot be written, or its disk has less room than that. A quota
            below the free room shows only when it is reached.
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
