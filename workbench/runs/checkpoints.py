"""Writing a run's folder: ``run.json``, and checkpoints that appear whole or not at all. Needs no torch."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.runs.run import Run, write_atomic
from workbench.storage.atomic import is_temporary, make_folder, remove_leftovers, sync_folder, temporary_name
from workbench.storage.errors import storing
from workbench.storage.seal import sealed_json


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``run.json``, sealed."""
    write_atomic(folder / "run.json", sealed_json(config, indent=1))


def write_checkpoint(
    run: Run,
    step: int,
    weights: bytes | None,
    trained_ids: Sequence[Sequence[int]] | None,
    log: bytes | None = None,
    **facts: Any,
) -> None:
    """Write a checkpoint that does not exist yet: a folder under a hidden name, synced, and renamed once.

    Args:
        run: the run; its lock is held by the caller.
        step: the step.
        weights: the content of ``model.safetensors``; None = they lie elsewhere, and ``facts`` say their sha256.
        trained_ids: intervals [first, last] of the position ids trained so far; None = not recorded.
        log: the content of ``log.parquet``, where there is one.
        facts: further entries of ``meta.json``.

    Raises:
        StorageError: if it cannot be written; nothing is left of it then.
    """
    final = run.step_path(step)
    meta = {"run": run.id, "step": step, "trained_ids": trained_ids, **facts}
    files = {}
    if weights is not None:
        meta["sha256"], files["model.safetensors"] = sha256(weights), weights
    if log is not None:
        meta["log_sha256"] = sha256(log)
        files["log.parquet"] = log
    files["meta.json"] = sealed_json(meta)
    temporary = temporary_name(final)
    with storing(final.parent):
        make_folder(final.parent)
        try:
            temporary.mkdir()
            for name, data in files.items():
                _write_synced(temporary / name, data)
            sync_folder(temporary)
            os.replace(temporary, final)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_folder(final.parent)


def sha256(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed writer of a run left unfinished. For the holder of the run's lock only."""
    remove_leftovers(folder)
    # Under the lock nobody else writes checkpoints, so every one that is unfinished was left behind.
    for unfinished in filter(is_temporary, (folder / "steps").glob(".*.tmp")):
        shutil.rmtree(unfinished, ignore_errors=True)
