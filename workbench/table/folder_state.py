"""States of a run folder: short texts that change when its files change. They need neither Arrow nor pandas."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from workbench.storage import bounded
from workbench.storage.bounded import names_in, read_bytes
from workbench.table.layout import table_path


def folder_state(run_path: Path) -> str:
    """A hash of the names, sizes and times of a run's configuration, checkpoints' ``meta.json`` and shards."""
    lines = [*_states(run_path, ("run.json",))]
    for step in names_in(run_path / "steps"):
        lines += _states(run_path / "steps" / step, ("meta.json",))
    for measurement in names_in(run_path / "measurements"):
        lines += _states(run_path / "measurements" / measurement, None)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def copied_state(run_path: Path) -> str:
    """A hash that a copy of a run folder shares, unlike :func:`folder_state`.

    It covers the content of ``run.json`` and of each checkpoint's ``meta.json``, and the names and sizes of shards. The
    name of a shard contains the hash of all inputs that its numbers depend on.

    Raises:
        OSError: if a file cannot be read.
    """
    digest = hashlib.sha256(read_bytes(run_path / "run.json", bounded.RUN_JSON))
    for step in names_in(run_path / "steps"):
        path = f"{run_path}/steps/{step}/meta.json"
        if os.path.lexists(path):
            digest.update(f"\n{step} ".encode() + hashlib.sha256(read_bytes(path, bounded.META_JSON)).digest())
    for measurement in names_in(run_path / "measurements"):
        for line in _states(run_path / "measurements" / measurement, None):
            digest.update(f"\n{line.rpartition(' ')[0]}".encode())
    return digest.hexdigest()


def run_state(path: Path) -> str:
    """The part of :meth:`workbench.table.query.Table.signature` for one run folder."""
    below = f"{path}/measurements"
    folders = [f"{path}/steps", *(f"{below}/{name}" for name in names_in(below))]
    return "\n".join(_state(entry) for entry in (f"{path}/run.json", str(table_path(path)), *folders))


def _states(folder: Path, names: tuple[str, ...] | None) -> Iterator[str]:
    """``path size time`` of the named files of a folder, or of all. There are thousands of files, so no Path objects
    are made.
    """
    path, name_here = str(folder), folder.name
    for name in names_in(folder) if names is None else names:
        try:
            state = os.stat(f"{path}/{name}")
        except OSError:
            continue
        yield f"{name_here}/{name} {state.st_size} {state.st_ctime_ns}"


def _state(path: str) -> str:
    """Size and time of a file or folder; a folder's time moves when something in it is replaced."""
    name = path.rpartition("/")[2]
    try:
        state = os.stat(path)
    except OSError:
        return f"{name} -"
    # Times tick in milliseconds; the number of entries tells two changes within one tick apart.
    size = len(names_in(path)) if stat.S_ISDIR(state.st_mode) else state.st_size
    return f"{name} {size} {state.st_mtime_ns}"
