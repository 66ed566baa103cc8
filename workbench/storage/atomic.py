"""Files written whole or not at all, and folders made to last."""

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

from workbench.storage.errors import StorageError, storing
from workbench.storage.locks import hold, is_linked

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of ``path`` when the block ends well.

    The bytes go to a hidden temporary file in the same folder, are synced, and are renamed over
    ``path``; a reader sees the old file or the new one, never a part. If the block raises, the old
    file stays and the temporary one is removed; if the process dies, :func:`remove_leftovers` does that.

    Raises:
        StorageError: if the folder cannot be written, or its disk is full.
    """
    path = Path(path)
    with storing(path.parent):
        make_folder(path.parent)
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


def temporary_name(path: Path) -> Path:
    """A name beside ``path`` that nothing has yet, by which :func:`is_temporary` knows it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


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


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that writers left in a folder when they were killed; living ones' stay."""
    for path in filter(is_temporary, Path(folder).glob(".*.tmp")):
        with suppress(OSError), open(path, "rb+") as file:
            if hold(file.fileno()):
                path.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they last through a power cut."""
    missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        sync_folder(one.parent)


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
            f"{folder} has room for {_size(free)}, and this takes about {_size(need)}: make room there, or choose "
            f"another folder"
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
