"""What is wrong with a run's folder, file by file. Reads every byte; needs no torch, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workbench.runs.folder import Run, RunError, sha256_of
from workbench.runs.tensors import header
from workbench.table.layout import is_run
from workbench.table.seal import SealError, check_seal, open_json
from workbench.table.shards import audit

WIDTHS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def run_problems(run: Run) -> list[str]:
    """Everything that is wrong with a run, a sentence each that names the file or the checkpoint.

    Checkpoints: their files agree with ``meta.json``, which is that of this run and step; weights are
    finite and of the same names and shapes throughout; no two steps hold equal weights. What continues
    a run (``resume.safetensors``, ``live.jsonl``) is whole and this run's. So are all stored rows, which
    are those of the checkpoints there are.
    """
    problems: list[str] = []
    shapes: dict[str, Any] = {}
    checks: list[Callable[[], None]] = [partial(_checkpoint, run, step, shapes) for step in run.steps]
    checks += [partial(_resume, run), partial(_live, run)]
    for check in checks:
        try:
            check()
        except RunError as error:
            problems.append(str(error))
    problems += [f"{run.name}: steps {a} and {b} hold equal weights" for a, b in run.equal_steps()]
    return problems + audit(run.path)


def headless(root: Path) -> Iterator[Path]:
    """Folders at or below ``root`` that hold checkpoints or measurements and have lost their ``run.json``."""
    for here, folders, _ in os.walk(root, followlinks=True):
        folder = Path(here)
        if is_run(folder):
            folders.clear()
        elif "steps" in folders or "measurements" in folders:
            folders.clear()
            yield folder
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _checkpoint(run: Run, step: int, shapes: dict[str, Any]) -> None:
    """Raises RunError for the first thing that is wrong with a checkpoint; ``shapes`` are those of the first."""
    folder, meta = run.step_path(step), run.meta(step)
    run.verify(step)
    if "log_sha256" in meta:
        _log(folder / "log.parquet", meta["log_sha256"])
    file = folder / "model.safetensors"
    data = file.read_bytes()
    try:
        found = header(data)
        _finite(data, found)
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"checkpoint {file} is damaged: {error}") from None
    own = {name: entry["shape"] for name, entry in found.items() if name != "__metadata__"}
    shapes.update({} if shapes else own)
    if own != shapes:
        name = min(n for n in own.keys() | shapes.keys() if own.get(n) != shapes.get(n))
        raise RunError(f"checkpoint {file} is foreign: tensor {name} is not what it is at the run's first step")


def _log(file: Path, sha256: str) -> None:
    try:
        differs = sha256_of(file) != sha256
    except OSError as error:
        raise RunError(f"checkpoint {file} is damaged: {error.strerror}") from None
    if differs:
        raise RunError(f"checkpoint {file} is damaged: its sha256 differs from meta.json")


def _finite(data: bytes, found: dict[str, Any]) -> None:
    """Raises ValueError naming the first tensor with a value that is not finite."""
    start = 8 + int.from_bytes(data[:8], "little")
    for name, entry in found.items():
        if name != "__metadata__" and entry["dtype"] in WIDTHS:
            first, last = entry["data_offsets"]
            values = np.frombuffer(data[start + first : start + last], dtype=WIDTHS[entry["dtype"]])
            if not np.isfinite(values).all():
                raise ValueError(f"it holds values that are not finite in tensor {name}")


def _resume(run: Run) -> None:
    file = run.path / "resume.safetensors"
    try:
        data = file.read_bytes()
        check_seal(data)
        owner = header(data)["__metadata__"]["run"]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file} is damaged ({error}): delete it to train again from step 0") from None
    if owner != run.id:
        raise RunError(f"{file} belongs to another run: delete it to train again from step 0")


def _live(run: Run) -> None:
    file = run.path / "live.jsonl"
    if not file.is_file():
        return
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True), start=1):
        try:
            open_json(line)
        except SealError as error:
            raise RunError(
                f"{file} is damaged at line {number} ({error}): training rewrites it, nothing is lost"
            ) from None
