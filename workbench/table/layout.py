"""Where things lie in a run folder, as far as the table needs to know, read as plain files and JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from workbench.table.errors import TableError
from workbench.table.seal import SealError, json_object, open_json

_STEP = re.compile(r"\d{8,}", re.ASCII)
_SHARD = re.compile(r"(?P<step>\d{8,})-(?P<key>\w+)\.parquet", re.ASCII)
_MEASUREMENT = re.compile(r"\w[\w.:-]*", re.ASCII)
_KEY = re.compile(r"\w+", re.ASCII)


class Shard(NamedTuple):
    """One shard file, as its path tells: the rows of one measurement at one step, made under one key."""

    measurement: str
    step: int
    key: str
    path: Path


def table_path(run_path: Path) -> Path:
    """The compacted table of a run."""
    return Path(run_path) / "table.parquet"


def shard_path(run_path: Path, measurement: str, step: int, key: str) -> Path:
    """``<run>/measurements/<measurement>/<step, 8 digits>-<key>.parquet``.

    Raises:
        TableError: for a measurement, step or key that cannot be part of a file name.
    """
    if not _MEASUREMENT.fullmatch(measurement):
        raise TableError(f"{measurement!r} cannot name a measurement: use letters, digits, '.', '_' and '-'")
    if not _KEY.fullmatch(key):
        raise TableError(f"{key!r} cannot be a shard's key: use letters and digits")
    if step < 0:
        raise TableError(f"a shard's step is 0 or more, not {step}")
    return Path(run_path) / "measurements" / measurement / f"{step:08d}-{key}.parquet"


def parse_shard(path: Path) -> Shard:
    """What a shard's path says. Raises TableError if it is not a path as :func:`shard_path` makes them."""
    path = Path(path)
    match = _SHARD.fullmatch(path.name)
    if match is None:
        raise TableError(f"{path} is not named like a shard, <step>-<key>.parquet: use shard_path")
    return Shard(path.parent.name, int(match["step"]), match["key"], path)


def shards_of(run_path: Path) -> list[Shard]:
    """All shard files of a run, sorted by measurement, step and key; other files are passed over."""
    root = Path(run_path) / "measurements"
    if not root.is_dir():
        return []
    folders = [folder for folder in root.iterdir() if folder.is_dir()]
    files = (path for folder in folders for path in folder.iterdir())
    return sorted(parse_shard(path) for path in files if _SHARD.fullmatch(path.name))


def checkpoint_steps(run_path: Path) -> list[int]:
    """Steps of the checkpoints a run has, ascending."""
    root = Path(run_path) / "steps"
    if not root.is_dir():
        return []
    return sorted(int(entry.name) for entry in root.iterdir() if _STEP.fullmatch(entry.name))


def checkpoint_sha256(run_path: Path, step: int) -> str | None:
    """sha256 of the weights at a step, or None if the checkpoint is not there.

    Raises:
        TableError: if the checkpoint is there and does not tell.
    """
    path = Path(run_path) / "steps" / f"{step:08d}" / "meta.json"
    try:
        return str(open_json(path.read_bytes())["sha256"])
    except FileNotFoundError:
        return None
    except (SealError, OSError, KeyError) as error:
        reason = "it tells no sha256" if isinstance(error, KeyError) else error
        raise TableError(f"{path} is damaged ({reason}): restore the checkpoint or remove its folder") from None


def read_config(run_path: Path) -> dict[str, Any]:
    """A run's ``run.json``. Raises TableError if it is damaged or of another format."""
    path = Path(run_path) / "run.json"
    try:
        data = path.read_bytes()
        version = json_object(data).get("format")
        if version != 1:
            raise TableError(f"{path} has run format {version}, this version reads 1: restore it or remove it")
        return open_json(data)
    except (SealError, OSError) as error:
        raise TableError(f"{path} is damaged ({error}): restore it, or delete it and train as before") from error


def is_run(path: Path) -> bool:
    """A run folder is a folder with a ``run.json``."""
    return (Path(path) / "run.json").is_file()


def run_folders(root: Path) -> list[tuple[str, Path]]:
    """(name, path) of every run at or below a folder, sorted by name.

    A run's name is its path below ``root``; where ``root`` is itself a run, the folder's name. Hidden
    folders are passed over, and nothing is looked for inside a run.

    Raises:
        TableError: if ``root`` is missing, is no folder, or holds files but no run.
    """
    root = Path(root)
    if root.is_file():
        raise TableError(f"{root} is a file: name a folder, as `lengthlens train ... --out DIR` makes it")
    if not root.is_dir():
        raise TableError(f"there is no folder {root}: `lengthlens train ... --out {root}` makes a run there")
    if is_run(root):
        return [(root.resolve().name, root)]
    found = sorted((path.relative_to(root).as_posix(), path) for path in _runs_below(root))
    if not found and any(_is_foreign(entry) for entry in root.iterdir()):
        raise TableError(f"{root} holds no run: `lengthlens train ... --out {root}` makes one there")
    return found


def _runs_below(root: Path) -> Iterator[Path]:
    seen: set[str] = set()
    # Runs are often linked in from another disk, so links are followed, each folder once.
    for here, folders, _ in os.walk(root, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if is_run(Path(here)):
            yield Path(here)
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _is_foreign(entry: Path) -> bool:
    """A file that a folder still waiting for its first run would not have."""
    return entry.is_file() and not entry.name.startswith(".") and not entry.name.upper().startswith("README")
