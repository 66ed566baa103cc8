"""A run's folder as data: configuration, steps, hashes. Needs neither torch nor any model code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.table.errors import TableError
from workbench.table.files import replacing
from workbench.table.layout import checkpoint_steps, is_run, read_config, run_folders

if TYPE_CHECKING:
    from workbench.models.transformer import HookedTransformer
    from workbench.tasks.base import Task

FORMAT = 1


class RunError(ValueError):
    """A folder that is no run, a missing step, or a damaged checkpoint; the message says which."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def run_id(config: dict[str, Any]) -> str:
    """Hash of what makes a run the run it is: task, model, training and seeds."""
    parts = {k: config[k] for k in ("task", "model", "training", "seeds")}
    return hashlib.sha256(canonical(parts).encode()).hexdigest()[:16]


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old or the new one, never a part."""
    with replacing(path) as file:
        file.write(data)


@dataclass(frozen=True)
class Run:
    """One training run: a folder with ``run.json`` and checkpoints under ``steps/``.

    Attributes:
        path: the folder.
        name: its path below the data root (the folder's own name when opened directly).
        config: the content of ``run.json``.
    """

    path: Path
    name: str
    config: dict[str, Any]

    @classmethod
    def open(cls, path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Run:
        """Open a run folder.

        Args:
            path: the folder that holds ``run.json``.
            root: the data root that its name is relative to; None = its name is the folder's.

        Raises:
            RunError: if the folder is missing, is no run, or was written by a newer format.
        """
        folder = Path(path)
        if not folder.is_dir():
            raise RunError(f"there is no folder {path}")
        if not is_run(folder):
            raise RunError(f"{path} is not a run: it has no run.json (lengthlens train TASK --out {path} makes one)")
        try:
            config = read_config(folder)
        except TableError as error:
            raise RunError(str(error)) from None
        name = folder.resolve().name if root is None else folder.relative_to(root).as_posix()
        return cls(folder.absolute(), name, config)

    @property
    def id(self) -> str:
        return str(self.config["id"])

    @property
    def steps(self) -> list[int]:
        """Steps that have a checkpoint, ascending (complete ones only: a checkpoint is renamed in whole)."""
        return checkpoint_steps(self.path)

    @property
    def trained_length(self) -> int:
        """N: the longest prefix length that was supervised in training."""
        return int(self.config["training"]["trained_length"])

    def step_path(self, step: int) -> Path:
        return self.path / "steps" / f"{step:08d}"

    def meta(self, step: int) -> dict[str, Any]:
        """The checkpoint's ``meta.json``: step, sha256, trained ids, versions.

        Raises:
            RunError: if the step has no checkpoint, or its ``meta.json`` cannot be read.
        """
        folder = self.step_path(step)
        if not folder.is_dir():
            steps = self.steps
            have = f"it has {len(steps)}: {_few(steps)}" if steps else "it has none yet"
            raise RunError(f"run {self.name} has no checkpoint at step {step}; {have}")
        try:
            meta: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            meta["sha256"], meta["step"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"checkpoint {folder} is damaged: meta.json: {error}") from None
        return meta

    def verify(self, step: int) -> str:
        """The checkpoint's sha256 after comparing it with the file.

        Raises:
            RunError: if the weights are missing, differ from ``meta.json``, or sit under another step.
        """
        meta, file = self.meta(step), self.step_path(step) / "model.safetensors"
        if meta["step"] != step:
            raise RunError(f"checkpoint {file.parent} is damaged: meta.json says step {meta['step']}")
        if not file.is_file():
            raise RunError(f"checkpoint {file.parent} is damaged: model.safetensors is missing")
        if sha256_of(file) != meta["sha256"]:
            raise RunError(f"checkpoint {file} is damaged: its sha256 differs from meta.json")
        return str(meta["sha256"])

    def equal_steps(self) -> list[tuple[int, int]]:
        """Pairs of steps whose weights are identical, which a training run should not have."""
        seen: dict[str, int] = {}
        pairs = []
        for step in self.steps:
            sha = str(self.meta(step)["sha256"])
            if sha in seen:
                pairs.append((seen[sha], step))
            seen.setdefault(sha, step)
        return pairs

    @property
    def task(self) -> Task:
        """The task, with its parameters."""
        from workbench.tasks import make_task

        spec = self.config["task"]
        return make_task(spec["name"], **spec["parameters"])

    def load(self, step: int) -> HookedTransformer:
        """The model at ``step``, verified.

        Raises:
            RunError: if the checkpoint is missing or damaged in any way (hash, shapes, NaN).
        """
        from workbench.runs.load import load_model

        return load_model(self, step)


def find_runs(root: str | os.PathLike[str]) -> list[Run]:
    """All runs at or below ``root``, by name.

    Raises:
        RunError: if the folder does not exist, or holds files but no run.
    """
    try:
        found = run_folders(Path(root))
    except TableError as error:
        raise RunError(str(error)) from None
    return [replace(Run.open(path), name=name) for name, path in found]


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Refuse a second writer of a run; a lock left by a dead process is taken over.

    Raises:
        RunError: if a living process holds the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lock"
    while True:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            holder = _holder(path)
            if holder is not None:
                raise RunError(f"{folder} is being written by process {holder}; wait for it or stop it") from None
            path.unlink(missing_ok=True)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{os.getpid()} {_start_of(os.getpid())}\n")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _holder(path: Path) -> int | None:
    """Pid of the living process that holds a lock, or None for a stale one."""
    try:
        pid_text, _, start = path.read_text().strip().partition(" ")
        pid = int(pid_text)
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    # A pid may have been reused since: the start time tells.
    return pid if not start or start == _start_of(pid) else None


def _start_of(pid: int) -> str:
    """Start time of a process in clock ticks since boot, or "" where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _few(steps: list[int]) -> str:
    text = [str(s) for s in steps]
    return ", ".join(text if len(text) <= 8 else [*text[:4], "...", *text[-3:]])
