"""What the dashboard knows: run folders and their tables, read as data and re-read when they change.

Nothing here writes. A run's signature (names, sizes and times of its files) decides whether its rows
are read again; rows are kept per run. All methods may be called from several threads.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from workbench.runs.folder import Run, RunError
from workbench.runs.log import log_state, read_log
from workbench.table import Table, TableError

T = TypeVar("T")

KEPT = 1000
"""Drawings kept per run; the oldest goes first."""

LIVE_SECONDS = 15.0
"""A run whose ``live.jsonl`` is younger than this is shown as training."""


@dataclass(frozen=True)
class RunView:
    """One run at one moment: configuration, checkpoints, rows. Immutable; a change makes a new one."""

    run: Run
    root: Path
    signature: str
    steps: tuple[int, ...]
    frame: pd.DataFrame
    specs: dict[str, Any]
    live: bool
    problems: tuple[str, ...] = ()
    log_signature: str = ""

    _made: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def memo(self, key: Any, make: Callable[[], T]) -> T:
        """Keep what was made of these rows, as long as the rows stay: scrubbing back draws nothing anew."""
        if key not in self._made:
            if len(self._made) >= KEPT:
                self._made.pop(next(iter(self._made)), None)
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def config(self) -> dict[str, Any]:
        return self.run.config

    @cached_property
    def trained(self) -> int:
        """N, the longest prefix length seen in training."""
        return self.run.trained_length

    @property
    def shortest(self) -> int:
        """The shortest prefix length seen in training."""
        return int(self.config["training"].get("curriculum", {}).get("low", 1))

    @property
    def n_layers(self) -> int:
        return int(self.config["model"]["n_layers"])

    @property
    def n_heads(self) -> int:
        return int(self.config["model"]["n_heads"])

    @property
    def gates(self) -> str:
        """The gates of a state-space model; "" for a transformer."""
        model = self.config["model"]
        return str(model["gates"]) if model.get("architecture") == "ssm" else ""

    @property
    def task(self) -> str:
        return str(self.config["task"]["name"])

    @property
    def question(self) -> str:
        """The task as a question, or an empty string where the run does not state it."""
        return str(self.config.get("facts", {}).get("question", ""))

    @property
    def encoding(self) -> str:
        return _name(self.config["model"]["positions"])

    @property
    def positions(self) -> str:
        """How the model is told positions, in words."""
        ids = _name(self.config["model"].get("ids", "arange"))
        how = "" if ids == "arange" else f" + {ids.replace('_', ' ')}"
        return ("no positions" if self.encoding == "none" else self.encoding) + how

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Prefix lengths at which the model's accuracy was measured, ascending."""
        accuracy = self.frame[self.frame["quantity"] == "accuracy"]
        rows = accuracy if len(accuracy) else self.frame
        return tuple(sorted(int(n) for n in rows["length"].dropna().unique()))

    @cached_property
    def measured_steps(self) -> tuple[int, ...]:
        """Steps that have a verdict, or else any rows, ascending."""
        verdicts = self.frame[self.frame["quantity"] == "verdict"]
        rows = verdicts if len(verdicts) else self.frame
        return tuple(sorted(int(step) for step in rows["step"].unique()))

    @cached_property
    def measured(self) -> frozenset[str]:
        """Names of the measurements this run has rows of."""
        return frozenset(self.frame["measurement"].unique())

    def rows(self, **equals: Any) -> pd.DataFrame:
        """Rows whose columns equal the given values (or are among the given lists)."""
        chosen = self.frame
        for column, value in equals.items():
            if isinstance(value, (list, tuple, set, frozenset)):
                chosen = chosen[chosen[column].isin(list(value))]
            else:
                chosen = chosen[chosen[column] == value]
        return chosen

    @property
    def planned(self) -> int:
        """Optimizer steps the run is to have."""
        return int(self.config["training"]["steps"])

    @property
    def log(self) -> pd.DataFrame:
        """Loss and accuracies as training went, see :func:`workbench.runs.log.read_log`."""
        return self.memo(("log", self.log_signature), lambda: read_log(self.path))

    @property
    def shown_path(self) -> str:
        """The run folder as the reader would type it."""
        return shown(self.path)


class Store:
    """All runs under some folders.

    Args:
        roots: data roots; a folder that does not exist yet counts as empty.
        patience: seconds for which one look at the disk serves every request.
    """

    def __init__(self, roots: Sequence[Path], patience: float = 1.0) -> None:
        self.roots = [Path(root) for root in roots]
        self._patience = patience
        self._lock = threading.RLock()
        self._views: dict[str, RunView] = {}
        self._problems: list[str] = []
        self._looked = -1e9
        self.read_at = 0.0
        self._version = ""

    def refresh(self, force: bool = False) -> str:
        """Look at the disk (at most once per ``patience``); returns the version of all that is known."""
        with self._lock:
            now = time.monotonic()
            if not force and now - self._looked < self._patience:
                return self._version
            views: dict[str, RunView] = {}
            problems: list[str] = []
            for root in self.roots:
                for folder in run_folders(root):
                    try:
                        view = self._view(folder, root)
                    except (RunError, TableError, OSError) as error:
                        problems.append(str(error))
                        continue
                    first = views.setdefault(view.name, view)
                    if first.path != view.path:
                        problems.append(f"{first.path} and {view.path} are both the run {view.name}; shown: the first")
            self._views, self._problems = dict(sorted(views.items())), problems
            text = "\n".join([*(v.name + v.signature + v.log_signature for v in self._views.values()), *problems])
            self._version = hashlib.sha256(text.encode()).hexdigest()[:12]
            self._looked, self.read_at = now, time.time()
            return self._version

    def runs(self) -> dict[str, RunView]:
        """Runs by name."""
        with self._lock:
            self.refresh()
            return dict(self._views)

    def run(self, name: str) -> RunView | None:
        """One run, or None where there is none of that name."""
        return self.runs().get(name)

    @property
    def problems(self) -> list[str]:
        """Folders that could not be read, one sentence each."""
        with self._lock:
            return list(self._problems)

    def version(self, name: str) -> tuple[str, str]:
        """Signatures of one run and of its log, or empty strings."""
        view = self.run(name)
        return ("", "") if view is None else (view.signature, view.log_signature)

    def _view(self, folder: Path, root: Path) -> RunView:
        sign = signature(folder)
        run = Run.open(folder, root)
        live = is_live(folder)
        known = self._views.get(run.name)
        log = hashlib.sha256(f"{sign}\n{log_state(folder)}".encode()).hexdigest()[:12]
        if known is not None and known.path == run.path and known.signature == sign:
            return known if known.log_signature == log else replace(known, log_signature=log)
        table = Table.load(folder)
        frame = table.frame()
        frame["run"] = run.name
        view = RunView(run, root, sign, tuple(run.steps), frame, table.specs, live, tuple(table.problems), log)
        try:
            _ = (view.trained, view.n_layers, view.n_heads, view.task, view.encoding)
        except (KeyError, TypeError) as error:
            raise RunError(f"{folder / 'run.json'} is not complete: {error} is missing") from None
        return view


def run_folders(root: Path) -> Iterator[Path]:
    """Run folders at or below ``root``, without looking inside runs."""
    for folder, below, files in os.walk(root):
        if "run.json" in files:
            below.clear()
            yield Path(folder)
        else:
            below[:] = sorted(name for name in below if not name.startswith("."))


def signature(folder: Path) -> str:
    """A short text that changes when the run's configuration, checkpoints or rows do."""
    text = f"{Table.signature(folder)}\n{is_live(folder)}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def is_live(folder: Path) -> bool:
    """Whether a training process has written here in the last seconds."""
    try:
        return time.time() - (folder / "live.jsonl").stat().st_mtime < LIVE_SECONDS
    except OSError:
        return False


def shown(path: Path) -> str:
    """A path as short as it can be typed from where the dashboard was started."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def _name(part: Any) -> str:
    """The name of a component that is given by name alone, or as an object with settings."""
    return str(part["name"]) if isinstance(part, dict) else str(part)
