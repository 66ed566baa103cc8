"""Checks a run's folder, file by file. Reads every byte, needs no torch, and changes nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from workbench.core.failures import isolate_errors
from workbench.runs.checkpoints import STATE
from workbench.runs.errors import RunError
from workbench.runs.run import Run, run_id, sha256_of
from workbench.runs.tensors import Tensor, read_header
from workbench.runs.timing import read_timing
from workbench.storage import bounded
from workbench.storage.bounded import open_regular, read_bytes
from workbench.storage.seal import SealError, check_file_seal, open_json
from workbench.table.shards import audit

WIDTHS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def run_problems(run: Run) -> list[str]:
    """Return every problem of a run: one sentence each, which names the file or the checkpoint.

    - The run's id must be the hash of its ``run.json``.
    - Checkpoint files must agree with their ``meta.json``, which must be of this run and step. Weights must be finite
      and have the same names and shapes at all steps, and no two steps may have equal weights.
    - The files for resuming (``resume.safetensors``, ``live.jsonl``) must be intact and of this run.
    - All stored rows must be intact and measured on the existing checkpoints.

    An error in one check is reported as a problem and does not stop the other checks.
    """
    problems: list[str] = []
    shapes: dict[str, list[int]] = {}
    checks = [(run.path / "run.json", partial(_own_id, run))]
    checks += [(run.step_path(step), partial(_checkpoint, run, step, shapes)) for step in run.steps]
    checks += [(run.path / "resume.safetensors", partial(_resume, run)), (run.path / "live.jsonl", partial(_live, run))]
    checks.append((run.path / "timing.json", partial(_timing, run)))
    for path, check in checks:
        with isolate_errors(problems.append, f"{path} could not be checked"):
            check()
    with isolate_errors(problems.append, f"{run.path} could not be checked for equal weights"):
        problems += [f"{run.name}: steps {a} and {b} hold equal weights" for a, b in run.equal_steps()]
    with isolate_errors(problems.append, f"the rows of {run.path} could not be checked"):
        problems += audit(run.path)
    return problems


def _timing(run: Run) -> None:
    """Raise RunError for a damaged ``timing.json``."""
    path = run.path / "timing.json"
    try:
        read_timing(run.path)
    except (SealError, OSError) as error:
        raise RunError(f"{path} is damaged ({error}): delete it; nothing depends on it") from None


def _own_id(run: Run) -> None:
    """Raise RunError if the id is not the hash of the file's content; missing settings are not part of the hash."""
    made = run_id(run.config)
    if made != run.id:
        raise RunError(
            f"{run.path / 'run.json'} has the id {run.id}, but the task, model, training and seeds in it give the id "
            f"{made}: the file was edited; restore it"
        )


def _checkpoint(run: Run, step: int, shapes: dict[str, list[int]]) -> None:
    """Raise RunError for the first problem of a checkpoint; ``shapes`` are those of the first checkpoint."""
    folder, meta = run.step_path(step), run.meta(step)
    run.verify(step)
    if "log_sha256" in meta:
        _same_hash(folder / "log.parquet", meta["log_sha256"])
    if "state_sha256" in meta and (folder / STATE).exists():  # copies of a run leave it out
        _same_hash(folder / STATE, meta["state_sha256"])
    if run.referenced or run.answered or run.rows_only:
        return
    file = folder / "model.safetensors"
    try:
        tensors = _finite(file)
    except (ValueError, OSError) as error:
        raise RunError(f"checkpoint {file} is damaged: {error}") from None
    own = {name: tensor.shape for name, tensor in tensors.items()}
    shapes.update({} if shapes else own)
    if own != shapes:
        name = min(n for n in own.keys() | shapes.keys() if own.get(n) != shapes.get(n))
        raise RunError(
            f"checkpoint {file} is of another run: names or shapes of its tensors differ from those in the run's "
            f"first checkpoint, e.g. {name}"
        )


def _same_hash(file: Path, sha256: str) -> None:
    """Raise RunError if a file of a checkpoint differs from its hash in ``meta.json``."""
    try:
        differs = sha256_of(file) != sha256
    except OSError as error:
        raise RunError(f"checkpoint {file} is damaged: {error.strerror}") from None
    if differs:
        raise RunError(f"checkpoint {file} is damaged: its sha256 differs from meta.json")


def _finite(path: Path) -> dict[str, Tensor]:
    """The tensors of a file. Raises ValueError naming the first tensor with a value that is not finite."""
    with open_regular(path, bounded.WEIGHTS) as file:
        tensors, _, start = read_header(file)
        for name, tensor in tensors.items():
            if tensor.dtype in WIDTHS:
                first, last = tensor.data_offsets
                if last - first != tensor.numbers * np.dtype(WIDTHS[tensor.dtype]).itemsize:
                    raise ValueError(f"tensor {name} has another size in bytes than its shape needs")
                file.seek(start + first)
                if not np.isfinite(np.frombuffer(file.read(last - first), dtype=WIDTHS[tensor.dtype])).all():
                    raise ValueError(f"it contains values that are not finite in tensor {name}")
    return tensors


def _resume(run: Run) -> None:
    path = run.path / "resume.safetensors"
    try:
        with open_regular(path, bounded.WEIGHTS) as file:
            check_file_seal(file, bounded.WEIGHTS)
            file.seek(0)
            _, metadata, _ = read_header(file)
            owner = metadata["run"]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{path} is damaged ({error}): delete it to train again from step 0") from None
    if owner != run.id:
        raise RunError(f"{path} belongs to another run: delete it to train again from step 0")


def _live(run: Run) -> None:
    path = run.path / "live.jsonl"
    try:
        lines = read_bytes(path, bounded.LIVE).splitlines(keepends=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path} is damaged ({error}): delete it; training writes it again") from None
    for number, line in enumerate(lines, start=1):
        try:
            open_json(line)
        except SealError as error:
            raise RunError(
                f"{path} is damaged at line {number} ({error}): training writes it again; nothing is lost"
            ) from None
