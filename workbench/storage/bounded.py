"""Reading files that somebody else may have written: only regular files, and never more bytes than a limit.

A read from a named pipe may never return, a read from a device may never end, and a compressed or sparse file may be
far larger than it looks. So each file is checked before it is opened, and its open descriptor is checked again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from workbench.core.errors import LensError

MIB = 1 << 20
RUN_JSON = 4 * MIB
META_JSON = 16 * MIB
"""Large, because the position ids seen in training may be many intervals."""
LIVE = 64 * MIB
LOG = 64 * MIB
SHARD = 256 * MIB
TABLE = 512 * MIB
WEIGHTS = 16 << 30
"""For the weights of one checkpoint, and for the file with which a run resumes. These are read in pieces."""
UNPACKED = 256 * MIB
"""For the compressed metadata of a table, after unpacking."""
PIECE = 8 * MIB

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class UnreadableError(LensError, OSError):
    """Raised for a file that LengthLens does not read: it is not a regular file, or larger than files of its kind may
    be.

    The message is a clause.
    """

    def __init__(self, path: str | os.PathLike[str], clause: str) -> None:
        super().__init__(errno.EINVAL, clause, os.fspath(path))

    def __str__(self) -> str:
        return str(self.strerror)


@contextmanager
def open_regular(path: str | os.PathLike[str], limit: int) -> Iterator[BinaryIO]:
    """Open a regular file for reading. Links are followed.

    Raises:
        UnreadableError: if it is not a regular file, or is larger than ``limit`` bytes.
        OSError: if it cannot be opened.
    """
    require_regular(path, limit)  # before it is opened: opening a device may do something
    # Should it have become a pipe meanwhile, opening it does not wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        _require_regular(path, os.fstat(descriptor), limit)
        yield file


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return all bytes of a regular file. Raises the errors of :func:`open_regular`."""
    with open_regular(path, limit) as file:
        data = _read(file, limit + 1, path)
    if len(data) > limit:  # files of the system say that they have no size
        raise UnreadableError(path, _too_large(len(data), limit))
    return data


def sha256_of_file(path: str | os.PathLike[str], limit: int = WEIGHTS) -> str:
    """Return the SHA-256 hash of a regular file, in hex. The file is read in pieces. Raises the errors of
    :func:`open_regular`.
    """
    digest = hashlib.sha256()
    with open_regular(path, limit) as file:
        for piece in pieces(file, limit):
            digest.update(piece)
    return digest.hexdigest()


def pieces(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Yield the bytes of an open file in pieces, from its current position. Raises UnreadableError after ``limit``
    bytes.
    """
    count = 0
    while piece := _read(file, PIECE, str(file.name)):
        count += len(piece)
        if count > limit:
            raise UnreadableError(str(file.name), _too_large(count, limit))
        yield piece


def _read(file: BinaryIO, count: int, path: str | os.PathLike[str]) -> bytes:
    """Up to ``count`` bytes. Raises if no bytes are available without waiting, as for logs of the system."""
    data: bytes | None = file.read(count)
    if data is None:
        raise UnreadableError(path, "it has no data to read yet")
    return data


def unzip(packed: bytes, limit: int = UNPACKED) -> bytes:
    """Return data decompressed by zlib. Raises ValueError if it is not valid or longer than ``limit`` bytes."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, limit)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacking.eof:
        raise ValueError(f"it is cut off, or unpacks to more than {limit:,} bytes")
    return data


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a regular file, or a link to one."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder, or a link to one. The result is False if access is denied or links form a cycle."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """Return the sorted names in a folder, without hidden ones; empty if the folder cannot be read."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []


def require_regular(path: str | os.PathLike[str], limit: int) -> None:
    """Raise an error unless a path is a regular file of at most ``limit`` bytes. Raises the errors of
    :func:`open_regular`.
    """
    _require_regular(path, os.stat(path), limit)


def _require_regular(path: str | os.PathLike[str], state: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(state.st_mode)), "something else")
        raise UnreadableError(Path(path), f"it is {kind}, not a regular file")
    if state.st_size > limit:
        raise UnreadableError(Path(path), _too_large(state.st_size, limit))


def _too_large(size: int, limit: int) -> str:
    return f"it has {size:,} bytes or more, and {limit:,} are the most that is read of such a file"
