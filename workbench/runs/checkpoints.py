"""Writes a run's folder: ``run.json``, and checkpoints, each atomically. Needs no torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.runs.run import Run
from workbench.storage.atomic import is_temporary, remove_leftovers, replacing_folder, write_atomic
from workbench.storage.below import remove_folder, write_new
from workbench.storage.seal import sealed_json

STEPS = "steps"
STATE = "state.safetensors"
"""Name of the file of a checkpoint with the optimizer's state."""


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``run.json``, sealed."""
    write_atomic(folder, "run.json", sealed_json(config, indent=1))


def write_checkpoint(
    run: Run,
    step: int,
    weights: bytes | None,
    trained_ids: Sequence[Sequence[int]] | None,
    log: bytes | None = None,
    state: bytes | None = None,
    **facts: Any,
) -> None:
    """Write a new checkpoint atomically: a folder under a hidden name, synced, and renamed once.

    Args:
        run: the run; the caller has its lock.
        step: the step.
        weights: the content of ``model.safetensors``; None = they are elsewhere, and ``facts`` contain their sha256.
        trained_ids: intervals [first, last] of the position ids trained so far; None = not recorded.
        log: the content of ``log.parquet``, if there is one.
        state: the content of ``state.safetensors``, from which training can continue, if it is kept.
        facts: further entries of ``meta.json``.

    Raises:
        StorageError: if it cannot be written; nothing is left of it then.
    """
    meta = {"run": run.id, "step": step, "trained_ids": trained_ids, **facts}
    files = {}
    if weights is not None:
        meta["sha256"], files["model.safetensors"] = sha256(weights), weights
    if log is not None:
        meta["log_sha256"] = sha256(log)
        files["log.parquet"] = log
    if state is not None:
        meta["state_sha256"] = sha256(state)
        files[STATE] = state
    files["meta.json"] = sealed_json(meta)
    with replacing_folder(run.path, run.step_path(step).relative_to(run.path)) as temporary:
        for name, data in files.items():
            write_new(temporary, name, data)


def sha256(data: bytes) -> str:
    """Return the SHA-256 hash of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def remove_unfinished(folder: Path) -> None:
    """Remove unfinished files that a killed process left in a run folder. Call this only while holding the run's
    lock.
    """
    remove_leftovers(folder)
    # Under the lock nobody else writes checkpoints, so every one that is unfinished was left behind.
    if (folder / STEPS).is_dir() and not (folder / STEPS).is_symlink():
        for unfinished in filter(is_temporary, (folder / STEPS).glob(".*.tmp")):
            if unfinished.is_dir():
                remove_folder(folder, f"{STEPS}/{unfinished.name}")
