"""Runs in an object store: copies the files that reading needs into a folder, and updates them.

Configurations, logs and measurements are copied; weights are not. The copies are read like any folder of runs, with the
same seals and limits. The stores are those of :mod:`pyarrow.fs`: ``s3://``, ``gs://``, ``abfs://``, ``hdfs://`` and
``file://``.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pydantic import TypeAdapter, ValidationError

from workbench.storage import bounded
from workbench.storage.atomic import remove_leftovers, write_atomic
from workbench.storage.below import path_below, refuse_links, remove_file
from workbench.storage.bounded import is_regular, names_in, read_bytes
from workbench.storage.errors import StorageError
from workbench.table.errors import TableError

CATALOGUE = ".fetched.json"
"""The list of objects from which a fetched folder was made. The file marks a folder as fetched."""
MOST_OBJECTS = 2_000_000
AT_ONCE = 16
"""Objects that are fetched at the same time; most of the time of a fetch is waiting."""
MOST_SHOWN = 200
"""The most characters of an object's path in a sentence."""
_OF_THE_NAME = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EILSEQ, errno.EINVAL}
"""Error numbers that mean that a file system cannot have this name. Other errors are not caused by the object."""
UNKNOWN = (-1, -1)
"""Stands for the size and time of an object whose copy may be missing or old; such an object is fetched again."""
KINDS = (
    (re.compile(r"run\.json"), bounded.RUN_JSON),
    (re.compile(r"live\.jsonl"), bounded.LIVE),
    (re.compile(r"table\.parquet"), bounded.TABLE),
    (re.compile(r"steps/\d{8,16}/meta\.json"), bounded.META_JSON),
    (re.compile(r"steps/\d{8,16}/log\.parquet"), bounded.LOG),
    (re.compile(r"measurements/\w[\w.:-]*/\d{8,16}-\w+\.parquet"), bounded.SHARD),
)
"""The files of a run that are fetched, by their path in the run, and the most bytes of each."""

Seen = dict[str, tuple[int, int]]
_Catalogue: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_Seen: TypeAdapter[Seen] = TypeAdapter(Seen)


@dataclass(frozen=True)
class Fetched:
    """The result of :func:`fetch`.

    Attributes:
        runs: number of runs.
        new: objects that were fetched.
        kept: objects whose copies were up to date.
        gone: files that were removed, because their objects no longer exist.
        size: bytes that were fetched.
        problems: a sentence for each object that could not be fetched.
    """

    runs: int
    new: int
    kept: int
    gone: int
    size: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class StoredObject:
    """An object to be fetched.

    Attributes:
        path: its path in the store.
        relative: its path relative to the root.
        limit: the most bytes that it may have.
        state: its size in bytes, and the time of its last change in ns.
    """

    path: str
    relative: str
    limit: int
    state: tuple[int, int]


def fetch(url: str, folder: Path, progress: Callable[[int, int], None] | None = None) -> Fetched:
    """Copy the files that reading needs of the runs below an address into a folder; unchanged files are not fetched
    again.

    Args:
        url: e.g. ``s3://bucket/study``. Credentials are those of the store's own tools (environment, configuration
            files); another server by ``?endpoint_override=host:port&scheme=http``.
        folder: new, empty, or fetched from the same address before.
        progress: called with the number of finished objects and the number of all.

    Raises:
        TableError: if the address cannot be read, contains no run, or ``folder`` contains something else.
        LinkError: if a file to write or remove is behind a link in ``folder``; nothing is changed then.
        StorageError: if ``folder`` cannot be written.
    """
    folder = Path(folder)
    before = _catalogue(url, folder)
    store, root = _opened(url)
    problems: list[str] = []
    objects = _storable(url, _wanted(url, _listed(url, store, root, problems), root), problems)
    refuse_links(folder, {CATALOGUE, *before, *(stored.relative for stored in objects)})
    current: Seen = {
        stored.relative: before[stored.relative] for stored in objects if before.get(stored.relative) == stored.state
    }
    new = [stored for stored in objects if stored.relative not in current or not is_regular(folder / stored.relative)]
    unchanged, size = len(objects) - len(new), 0
    # Before the first object: a folder whose fetching was interrupted is then known as fetched.
    unknown: Seen = {stored.relative: UNKNOWN for stored in new}
    _remember(url, folder, before | unknown)
    for subfolder in {Path(), *(Path(stored.relative).parent for stored in new)}:
        remove_leftovers(folder / subfolder)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for count, (stored, found) in enumerate(
                zip(new, pool.map(partial(_fetch, url, store, folder), new), strict=True), 1
            ):
                if isinstance(found, str):
                    problems.append(found)
                    current.pop(stored.relative, None)
                else:
                    size += found
                    current[stored.relative] = stored.state
                if progress is not None:
                    progress(count, len(new))
    finally:
        _remember(url, folder, before | unknown | current)
    gone = sorted(before.keys() - {stored.relative for stored in objects})
    for place in gone:
        if os.path.lexists(folder / place):
            remove_file(folder, place)
    failed = {
        stored.relative: UNKNOWN
        for stored in new
        if stored.relative not in current and is_regular(folder / stored.relative)
    }
    _remember(url, folder, current | failed)
    runs = sum(PurePosixPath(place).name == "run.json" for place in current)
    return Fetched(runs, sum(stored.relative in current for stored in new), unchanged, len(gone), size, tuple(problems))


def _catalogue(url: str, folder: Path) -> Seen:
    """The objects of the last fetch: path relative to the root -> size and time in the store."""
    path = path_below(folder, CATALOGUE)
    if not path.exists():
        if names_in(folder):
            raise TableError(f"{folder} contains files that were not fetched: name a new folder with --out")
        return {}
    try:
        content = _Catalogue.validate_json(read_bytes(path, bounded.LIVE))
        objects = _Seen.validate_python(content.get("objects"))
    except (ValidationError, OSError):
        raise TableError(f"{path} cannot be read: delete {folder} and fetch again") from None
    if content.get("url") != url:
        raise TableError(f"{folder} was fetched from {content.get('url')!r:.200}: name another folder with --out")
    return {place: state for place, state in objects.items() if _kind(place) is not None}


def _remember(url: str, folder: Path, objects: Seen) -> None:
    write_atomic(folder, CATALOGUE, json.dumps({"url": url, "objects": objects}).encode())


def _opened(url: str) -> tuple[fs.FileSystem, str]:
    try:
        store, root = fs.FileSystem.from_uri(url)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{url} cannot be opened ({_said(error)}): an address looks like s3://bucket/folder") from None
    return store, root.rstrip("/")


def _listed(url: str, store: fs.FileSystem, root: str, problems: list[str]) -> dict[str, fs.FileInfo]:
    """The objects by path. One whose name is not UTF-8 is left out and reported in ``problems``."""
    try:
        infos = store.get_file_info(fs.FileSelector(root, recursive=True))
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{url} cannot be listed ({_said(error)}): check the address and your credentials") from None
    if len(infos) > MOST_OBJECTS:
        raise TableError(f"{url} contains more than {MOST_OBJECTS:,} objects: name a folder closer to the runs")
    objects, unnamed = {}, 0
    for info in infos:
        if info.type == fs.FileType.File:
            try:
                objects[info.path] = info
            except UnicodeDecodeError:
                unnamed += 1
    if unnamed:
        problems.append(f"{url} holds {unnamed:,} objects whose names are no UTF-8, which are not fetched: rename them")
    return objects


def _wanted(url: str, infos: Mapping[str, fs.FileInfo], root: str) -> Iterator[StoredObject]:
    """The objects of runs that are fetched. Names that are not a plain path below the root are ignored."""
    places = {path.removeprefix(root).lstrip("/"): info for path, info in infos.items() if _is_plain(path)}
    runs = {str(PurePosixPath(place).parent) for place in places if PurePosixPath(place).name == "run.json"}
    if not runs:
        raise TableError(f"{url} contains no run: name a folder that contains run folders")
    for place, info in sorted(places.items()):
        kind = _kind(place)
        if kind is not None and kind[0] in runs:
            yield StoredObject(info.path, place, kind[1], (info.size, info.mtime_ns or 0))


def _storable(url: str, objects: Iterable[StoredObject], problems: list[str]) -> list[StoredObject]:
    """The objects that a folder can contain at once. If an object ``a`` exists, ``a/b`` is left out and reported."""
    by_place = {one.relative: one for one in objects}
    storable = []
    for place, stored in by_place.items():
        above = next((str(parent) for parent in PurePosixPath(place).parents if str(parent) in by_place), None)
        if above is None:
            storable.append(stored)
        else:
            problems.append(
                f"{_short(place)} at {url} cannot be stored here ({_short(above)} is a file): rename the object"
            )
    return storable


def _is_plain(path: str) -> bool:
    return not any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in path.lstrip("/").split("/"))


def _kind(place: str) -> tuple[str, int] | None:
    """The run that an object belongs to, and the most bytes that the object may have; None if it is not fetched."""
    parts = PurePosixPath(place).parts
    if not parts or PurePosixPath(place).is_absolute() or ".." in parts:
        return None
    for depth in (1, 3):
        run, own = parts[:-depth], "/".join(parts[-depth:])
        for pattern, limit in KINDS:
            if pattern.fullmatch(own):
                return str(PurePosixPath(*run)), limit
    return None


def _fetch(url: str, store: fs.FileSystem, folder: Path, stored: StoredObject) -> int | str:
    """Fetch an object; returns its number of bytes, or a sentence about the problem."""
    try:
        with store.open_input_stream(stored.path) as stream:
            data = stream.read(stored.limit + 1)
    except (pa.ArrowException, OSError) as error:
        return f"{stored.relative} at {url} cannot be read ({_said(error)}): fetch again"
    if len(data) > stored.limit:
        return f"{stored.relative} at {url} has more than {stored.limit:,} bytes: it is no such file"
    try:
        write_atomic(folder, stored.relative, data)
    except StorageError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in _OF_THE_NAME:
            raise
        return (
            f"{_short(stored.relative)} at {url} cannot be stored here ({error.__cause__.strerror}): rename the object"
        )
    return len(data)


def _short(place: str) -> str:
    return place if len(place) <= MOST_SHOWN else f"{place[: MOST_SHOWN // 2]}...{place[-MOST_SHOWN // 2 :]}"


def _said(error: BaseException) -> str:
    """The first sentence of a store's error message; the rest is its code and the request."""
    return str(error).splitlines()[0].partition(". Detail:")[0].rstrip(".")[:300]
