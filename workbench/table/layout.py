"""The files of a run folder that the table needs, read as plain files and JSON."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from workbench.storage import bounded
from workbench.storage.bounded import is_folder, is_regular, names_in, read_bytes
from workbench.storage.seal import SealError, json_object, open_json
from workbench.table.errors import TableError
from workbench.table.stored_json import FORMAT, StoredError, check_meta, check_run
from workbench.table.walk import near_folders, walk

# A step has one name: eight digits, or as many more as it needs (and no more than integers are stored with).
_STEP = re.compile(r"\d{8}|[1-9]\d{8,15}", re.ASCII)
_SHARD = re.compile(rf"(?P<step>{_STEP.pattern})-(?P<key>\w+)\.parquet", re.ASCII)
_MEASUREMENT = re.compile(r"\w[\w.:-]*", re.ASCII)
_KEY = re.compile(r"\w+", re.ASCII)


TABLE_NAME = "table.parquet"


class Shard(NamedTuple):
    """A file with the rows of one measurement at one step and with one key, as its path describes it."""

    measurement: str
    step: int
    key: str
    path: Path


def table_path(run_path: Path) -> Path:
    """The compacted table of a run."""
    return Path(run_path) / TABLE_NAME


def shard_path(run_path: Path, measurement: str, step: int, key: str) -> Path:
    """Return the path ``<run>/measurements/<measurement>/<step, 8 digits>-<key>.parquet``.

    Raises:
        TableError: for a measurement, step or key that cannot be part of a file name.
    """
    if not _MEASUREMENT.fullmatch(measurement):
        raise TableError(f"{measurement!r} is not a valid name of a measurement: use letters, digits, '.', '_' and '-'")
    if not _KEY.fullmatch(key):
        raise TableError(f"{key!r} is not a valid key of a shard: use letters and digits")
    if step < 0:
        raise TableError(f"a shard's step is 0 or more, not {step}")
    return Path(run_path) / "measurements" / measurement / f"{step:08d}-{key}.parquet"


def run_of(path: Path) -> tuple[Path, Path]:
    """Return the run folder of a file of results, and the path of the file relative to this folder. For any other file,
    return its own folder.
    """
    folder = path.parents[2] if len(path.parents) > 2 and path.parent.parent.name == "measurements" else path.parent
    return folder, path.relative_to(folder)


def parse_shard(path: Path) -> Shard:
    """Measurement, step and key from a shard's path. Raises TableError if :func:`shard_path` makes no such path."""
    path = Path(path)
    match = _SHARD.fullmatch(path.name)
    if match is None:
        raise TableError(f"{path} is not a valid name of a shard, <step>-<key>.parquet: use shard_path")
    return Shard(path.parent.name, int(match["step"]), match["key"], path)


def shards_of(run_path: Path) -> list[Shard]:
    """All shard files of a run, sorted by measurement, step and key; other files are ignored."""
    root = Path(run_path) / "measurements"
    folders = [root / name for name in names_in(root)]
    return sorted(parse_shard(path / name) for path in folders for name in names_in(path) if _SHARD.fullmatch(name))


def checkpoint_steps(run_path: Path) -> list[int]:
    """Steps of a run's checkpoints, ascending."""
    return sorted(int(name) for name in names_in(Path(run_path) / "steps") if _STEP.fullmatch(name))


def read_meta(run_path: Path, step: int) -> dict[str, Any]:
    """The ``meta.json`` of a checkpoint.

    Raises:
        FileNotFoundError: if it does not exist.
        SealError, OSError: if it cannot be read or its seal is broken.
        StoredError: if its content is not that of a ``meta.json``.
    """
    path = Path(run_path) / "steps" / f"{step:08d}" / "meta.json"
    return check_meta(open_json(read_bytes(path, bounded.META_JSON)))


def checkpoint_sha256(run_path: Path, step: int) -> str | None:
    """sha256 of the weights at a step, or None if the checkpoint does not exist.

    Raises:
        TableError: if the checkpoint exists and does not state its hash.
    """
    path = Path(run_path) / "steps" / f"{step:08d}" / "meta.json"
    try:
        return str(read_meta(run_path, step)["sha256"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (SealError, StoredError, OSError) as error:
        raise TableError(f"{path} is damaged ({error}): restore the checkpoint or remove its folder") from None


def read_config(run_path: Path) -> dict[str, Any]:
    """A run's ``run.json``, checked against the types and ranges of :mod:`workbench.table.stored_json`.

    Missing settings are not filled in, because the run's id is a hash of exactly what the file contains.

    Raises:
        TableError: if it is damaged, of another format, or contains values that no run can have.
    """
    path = Path(run_path) / "run.json"
    try:
        data = read_bytes(path, bounded.RUN_JSON)
        version = json_object(data).get("format")
        if version != FORMAT:
            raise TableError(
                f"{path} has run format {version!r:.40}, but this version reads {FORMAT}: restore it or remove it"
            )
        content = open_json(data)
    except (SealError, OSError) as error:
        raise TableError(
            f"{path} is damaged ({error}): restore it, or delete it and train again with the same command"
        ) from error
    try:
        return check_run(content)
    except StoredError as error:
        raise TableError(f"{path} does not describe a run: {error}") from None


def run_folders(root: Path, problems: list[str] | None = None) -> list[tuple[str, Path]]:
    """(name, path) of every run at or below a folder, sorted by name; see :func:`workbench.table.walk.walk`.

    Args:
        root: the folder.
        problems: receives one sentence for each folder that cannot be read.

    Raises:
        TableError: if ``root`` is missing, is not a folder, or contains files but no run.
    """
    root = Path(root)
    require_folder(root)
    tree = walk(root)
    if problems is not None:
        problems += tree.problems
    if not tree.runs and not tree.problems and any(map(_is_foreign, root.iterdir())):
        raise TableError(f"{root} contains no run: `lengthlens train TASK --out {root}` makes one there")
    return tree.runs


def require_folder(root: Path) -> None:
    """Refuse a path that is not a folder; the message suggests a similar name or how to make a run.

    Raises:
        TableError: if it is missing or something else.
    """
    if not is_folder(root):
        if os.path.lexists(root):
            kind = "a file" if is_regular(root) else "no folder"
            raise TableError(f"{root} is {kind}: name a folder of runs, as `lengthlens train TASK --out DIR` makes it")
        store = re.match(r"(\w+):/+(.*)", str(root))
        if store:
            url = f"{store[1]}://{store[2]}"
            raise TableError(
                f"{url} is not a local folder: `lengthlens fetch {url} --out DIR` copies its runs into one"
            )
        way_out = near_folders(root) or f": `lengthlens train ... --out {root}` makes a run there"
        raise TableError(f"there is no folder {root}{way_out}")


def _is_foreign(entry: Path) -> bool:
    """Whether an entry would not be in a folder that is still waiting for its first run."""
    return is_regular(entry) and not entry.name.startswith(".") and not entry.name.upper().startswith("README")
