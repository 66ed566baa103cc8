"""Writing and removing below a given folder: never through a link, and never outside the folder.

The folder itself is the user's choice and may be reached through links. Its content may come from somebody else: a
folder that was fetched, unpacked or shared. :func:`path_below` therefore refuses a path if any part of it is a link.
Every function that writes or removes a file calls it. The check does not help if another process replaces a folder with
a link between the check and the write.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from workbench.storage.bounded import open_regular, pieces
from workbench.storage.errors import LinkError, storing

RelativePath = str | PurePath
"""A path relative to a folder, such as ``steps/00000000/meta.json``."""


def path_below(folder: Path, relative: RelativePath) -> Path:
    """Return the absolute path of ``relative`` below a folder. The file need not exist.

    Raises:
        LinkError: if a part of ``relative`` below the folder is a link, or ``relative`` leads outside the folder.
    """
    path = Path(folder)
    for part in _parts(folder, relative):
        path = path / part
        _refuse_link(path)
    return path


def refuse_links(folder: Path, paths: Iterable[RelativePath]) -> None:
    """Check many paths at once, each part of them once, before anything is written.

    Raises:
        LinkError: as :func:`path_below`.
    """
    checked: set[tuple[str, ...]] = {()}
    for relative in paths:
        parts = _parts(folder, relative)
        for count in range(1, len(parts) + 1):
            if parts[:count] not in checked:
                _refuse_link(Path(folder, *parts[:count]))
                checked.add(parts[:count])


def _parts(folder: Path, relative: RelativePath) -> tuple[str, ...]:
    """The parts of a relative path; there is at least one, and none leads out of the folder."""
    parts = PurePath(relative).parts
    if not parts or PurePath(relative).is_absolute() or ".." in parts or "\0" in str(relative):
        raise LinkError(f"{str(relative)[:200]!r} is outside {folder}: name a path in that folder")
    return parts


def _refuse_link(path: Path) -> None:
    if os.path.islink(path):
        raise LinkError(
            f"{path} is a link, and links in a given folder are not followed: replace the link by the file or folder"
        )


@contextmanager
def _changing(folder: Path, relative: RelativePath) -> Iterator[Path]:
    """The checked path of a file or folder that is about to be changed. Errors of the system become StorageErrors."""
    path = path_below(folder, relative)
    with storing(path.parent):
        yield path


def write_new(folder: Path, relative: RelativePath, data: bytes) -> None:
    """Write a file that does not exist yet, and sync it.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if the file exists or cannot be written.
    """
    with _changing(folder, relative) as path, open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_in_place(folder: Path, relative: RelativePath, data: bytes, *, append: bool = False) -> None:
    """Write a file that readers may see in part, or append to it; for files that nothing depends on.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if the file cannot be written.
    """
    with _changing(folder, relative) as path, open(path, "ab" if append else "wb") as file:
        file.write(data)


def open_to_lock(folder: Path, relative: RelativePath) -> int:
    """Open a file for reading and writing, and make it if it is missing.

    Returns:
        the descriptor, which the caller closes.

    Raises:
        LinkError: as :func:`path_below`.
        OSError: if the file cannot be opened.
    """
    return os.open(path_below(folder, relative), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)


def remove_file(folder: Path, relative: RelativePath) -> None:
    """Remove a file, if it exists.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if the file cannot be removed.
    """
    with _changing(folder, relative) as path:
        path.unlink(missing_ok=True)


def remove_folder(folder: Path, relative: RelativePath) -> None:
    """Remove a folder with everything in it, if it exists. Links in it are removed and not followed.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if the folder cannot be removed.
    """
    with _changing(folder, relative) as path:
        if os.path.lexists(path):
            shutil.rmtree(path)


def remove_empty_folder(folder: Path, relative: RelativePath) -> None:
    """Remove a folder, if it exists and nothing is in it.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if the folder cannot be removed.
    """
    with _changing(folder, relative) as path:
        try:
            path.rmdir()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise


def copy_file(source: Path, folder: Path, relative: RelativePath, limit: int) -> None:
    """Copy ``source / relative`` to ``folder / relative``, whose folder exists. Links are not followed.

    Args:
        source: the folder to copy from.
        folder: the folder to copy to.
        relative: the file, relative to both.
        limit: the most bytes that the file may have.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if the copy cannot be written.
        UnreadableError: if the source is not a regular file, or is larger than ``limit``.
        FileNotFoundError: if there is no such file.
    """
    original, path = path_below(source, relative), path_below(folder, relative)
    with open_regular(original, limit) as file, storing(path.parent), open(path, "xb") as copy:
        for piece in pieces(file, limit):
            copy.write(piece)


def move_folder(folder: Path, relative: RelativePath, to: Path, to_relative: RelativePath) -> None:
    """Move a folder to another path, which may be on another disk.

    Raises:
        LinkError: as :func:`path_below`.
        StorageError: if it cannot be moved.
    """
    path = path_below(folder, relative)
    with _changing(to, to_relative) as target:
        shutil.move(path, target)
