"""One row per run of a folder with its last verdict, from a cache for the runs that have not changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.cli.output.table_kinds import RUNS
from workbench.cli.user_folders import cache_folder
from workbench.core.failures import isolate_errors
from workbench.core.reach import NO_REACH
from workbench.core.verdicts import NOT_MEASURED
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.storage.atomic import write_atomic
from workbench.storage.errors import StorageError
from workbench.table.errors import TableError
from workbench.table.folder_state import run_state
from workbench.table.layout import run_folders
from workbench.table.run_verdicts import last_results_of

FORMAT = 2
"""Raised whenever an entry of the cache has other keys."""
READERS = 2
"""Threads that read runs, because half of the time of reading rows is in Arrow, which releases the interpreter."""


def listed_runs(root: Path, problems: list[str]) -> list[dict[str, Any]]:
    """A row of :data:`~workbench.cli.output.table_kinds.RUNS` for each run at or below a folder, by name.

    A verdict of an older version than another run of the folder has counts as not measured: two versions are two
    definitions.

    Args:
        root: the folder.
        problems: receives one sentence for each run that cannot be opened.

    Raises:
        RunError: if the folder does not exist, or contains files but no run.
    """
    try:
        folders = run_folders(root, problems)
    except TableError as error:
        raise RunError(f"{error}") from None
    cache_file = _cache_file(root)
    cached = _read_cache(cache_file)
    with ThreadPoolExecutor(max_workers=READERS) as readers:
        answers = readers.map(lambda folder: _entry(folder[1], cached.get(folder[0])), folders)
        entries: dict[str, dict[str, Any]] = {}
        for (name, _), (entry, own_problems) in zip(folders, answers, strict=True):
            problems += own_problems
            if entry is not None:
                entries[name] = entry
    if entries != cached:
        _write_cache(cache_file, entries)
    newest: dict[str, int] = {}
    for entry in entries.values():
        newest[entry["measurement"]] = max(newest.get(entry["measurement"], 0), entry["version"])
    paths = dict(folders)
    rows = []
    for name, entry in entries.items():
        row = dict(entry["row"])
        if entry["version"] < newest[entry["measurement"]]:
            row |= _without_verdict()
        rows.append({**row, "run": name, "path": str(paths[name])})
    return rows


def _entry(path: Path, cached: dict[str, Any] | None) -> tuple[dict[str, Any] | None, list[str]]:
    """The entry of a run in the cache, from the cache if the run has not changed. None and problems if it cannot be
    opened.
    """
    state = hashlib.sha256(run_state(path).encode()).hexdigest()
    if cached is not None and cached["state"] == state:
        return cached, []
    problems: list[str] = []
    with isolate_errors(problems.append, f"{path} cannot be opened"):
        row, measurement, version = _read_row(path)
        return {"state": state, "row": row, "measurement": measurement, "version": version}, []
    return None, problems


def contains_runs(folder: Path) -> bool:
    """Whether a folder contains runs and is not a run itself."""
    if (folder / "run.json").exists():
        return False
    try:
        return bool(run_folders(folder, []))
    except TableError:
        return False


def _without_verdict() -> dict[str, Any]:
    nothing = {"verdict": NOT_MEASURED, "reason": "", "verdict_step": None, "tested_to": None, "note": ""}
    return nothing | NO_REACH.estimate


def _read_row(path: Path) -> tuple[dict[str, Any], str, int]:
    """The row of one run, the measurement of its last verdict, and the version of that measurement."""
    run = Run.open(path)
    steps = run.steps
    row = {
        "run": run.name,
        "path": str(path),
        "task": str(run.config["task"]["name"]),
        "trained_length": run.trained_length,
        "last_step": steps[-1] if steps else None,
        **_without_verdict(),
    }
    last, reach = last_results_of(path)
    if last is None:
        return row, "", 0
    row |= {
        "verdict": last.label,
        "reason": last.reason,
        "verdict_step": last.step,
        "tested_to": last.length,
        "note": last.note,
        **(reach or NO_REACH).estimate,
    }
    return row, last.measurement, last.version


def _cache_file(root: Path) -> Path:
    """The cache of a folder: in ``$XDG_CACHE_HOME/lengthlens``, or ``~/.cache/lengthlens``."""
    place = f"{FORMAT} {__version__} {os.path.realpath(root)}"
    name = f"runs-{hashlib.sha256(place.encode(errors='backslashreplace')).hexdigest()[:32]}.json"
    return cache_folder() / "lengthlens" / name


def _read_cache(file: Path) -> dict[str, dict[str, Any]]:
    """The entries of the cache that are whole; none where there is no cache."""
    try:
        stored = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    entries = stored if isinstance(stored, dict) else {}
    return {name: entry for name, entry in entries.items() if _is_entry(entry)}


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, Mapping)
        and isinstance(entry.get("state"), str)
        and isinstance(entry.get("measurement"), str)
        and isinstance(entry.get("version"), int)
        and isinstance(entry.get("row"), Mapping)
        and set(entry["row"]) == set(RUNS.keys)
    )


def _write_cache(file: Path, entries: Mapping[str, Any]) -> None:
    """Write the cache; a cache that cannot be written is left out, as it only saves time."""
    try:
        write_atomic(cache_folder(), f"{file.parent.name}/{file.name}", json.dumps(entries).encode())
    except (StorageError, OSError):
        return
