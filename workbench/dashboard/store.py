"""What the dashboard knows: run folders and their tables, read as data and re-read when they change.

Nothing here writes. A run's signature (names, sizes and times of its files) decides whether its rows
are read again. All methods may be called from several threads; none but :meth:`Store.refresh` touches the
disk for longer than one run takes.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from workbench.dashboard.brief import READ, Rows, make_brief
from workbench.dashboard.runview import Cache, Kept, RunView
from workbench.dashboard.runview import shown as shown
from workbench.runs.folder import Run, RunError
from workbench.runs.log import log_state
from workbench.table import Table, TableError
from workbench.table.query import to_pandas
from workbench.table.reading import read_run
from workbench.table.schema import SCHEMA

LIVE_SECONDS = 15.0
"""A run whose ``live.jsonl`` is younger than this is shown as training."""
READERS = 4
"""Threads that read runs; more than cores, for half of their time is waiting for one another."""
EASE = 10.0
"""Looks at the disk are at least this many times as far apart as one takes."""
ACROSS = 12
"""Quantities held for all runs at once."""


class Store:
    """All runs under some folders.

    Args:
        roots: data roots; a folder that does not exist yet counts as empty.
        patience: seconds for which one look at the disk serves every request.
    """

    def __init__(self, roots: Sequence[Path], patience: float = 1.0) -> None:
        self.roots = [Path(root) for root in roots]
        self._patience = patience
        self._looking = threading.Lock()
        self._views: dict[str, RunView] = {}
        self._problems: list[str] = []
        self._looked = -1e9
        self._took = 0.0
        self.read_at = 0.0
        self._version = ""
        self._kept = Kept()
        self._across: Cache[pd.DataFrame] = Cache(ACROSS)

    def refresh(self, force: bool = False) -> str:
        """Look at the disk (at most once per ``patience``); returns the version of all that is known.

        While one thread looks, the others go on with what is known.
        """
        if not self._version:
            with self._looking:  # the first look is waited for by all
                if not self._version:
                    self._look()
            return self._version
        ease = max(self._patience, EASE * self._took if self._patience else 0.0)
        if not force and time.monotonic() - self._looked < ease:
            return self._version
        if self._looking.acquire(blocking=force or not self._patience):
            try:
                self._look()
            finally:
                self._looking.release()
        return self._version

    def runs(self) -> dict[str, RunView]:
        """Runs by name, as last seen."""
        if not self._version or not self._patience:
            self.refresh()
        return dict(self._views)

    def run(self, name: str) -> RunView | None:
        """One run, or None where there is none of that name."""
        return self.runs().get(name)

    @property
    def problems(self) -> list[str]:
        """Folders that could not be read, one sentence each."""
        return list(self._problems)

    @property
    def specs(self) -> dict[str, Any]:
        """Measurement -> its spec, of the newest version that any run has."""
        found: dict[str, Any] = {}
        for run in self.runs().values():
            for name, spec in run.specs.items():
                if spec.get("version", 0) >= found.get(name, {}).get("version", 0):
                    found[name] = spec
        return dict(sorted(found.items()))

    def version(self, name: str) -> tuple[str, str]:
        """Signatures of one run and of its log, or empty strings."""
        view = self.run(name)
        return ("", "") if view is None else (view.signature, view.log_signature)

    def across(self, measurement: str, quantity: str, **equals: Any) -> pd.DataFrame:
        """Rows of one quantity of all runs that have it, whose columns equal the given values."""
        runs = [run for run in self.runs().values() if (measurement, quantity) in run.brief.quantities]
        key = (measurement, quantity, *sorted(equals.items()), *((run.name, run.signature) for run in runs))
        return self._across(key, lambda: _read_across(runs, measurement, quantity, equals))

    def _look(self) -> None:
        start = time.monotonic()
        folders = [(folder, root) for root in self.roots for folder in run_folders(root)]
        views: dict[str, RunView] = {}
        problems: list[str] = []
        with ThreadPoolExecutor(READERS) as pool:  # decoding Parquet leaves the interpreter free
            for found in pool.map(lambda pair: self._try(*pair), folders):
                if isinstance(found, str):
                    problems.append(found)
                    continue
                first = views.setdefault(found.name, found)
                if first.path != found.path:
                    problems.append(f"{first.path} and {found.path} are both the run {found.name}; shown: the first")
        text = "\n".join([*(v.name + v.signature + v.log_signature for v in views.values()), *problems])
        self._views, self._problems = dict(sorted(views.items())), problems
        self._version = hashlib.sha256(text.encode()).hexdigest()[:12]
        self._looked, self.read_at = time.monotonic(), time.time()
        self._took = self._looked - start

    def _try(self, folder: Path, root: Path) -> RunView | str:
        """The run in a folder, or what is wrong with it."""
        try:
            return self._view(folder, root)
        except (RunError, TableError, OSError) as error:
            return str(error)

    def _view(self, folder: Path, root: Path) -> RunView:
        live = is_live(folder)
        sign = signature(folder, live)
        log = hashlib.sha256(f"{sign}\n{log_state(folder)}".encode()).hexdigest()[:12]
        known = self._views.get(folder.name if folder == root else folder.relative_to(root).as_posix())
        if known is not None and known.path == folder.absolute() and known.signature == sign:
            return known if known.log_signature == log else replace(known, log_signature=log)
        run = Run.open(folder, root)
        view = RunView(run, root, sign, tuple(run.steps), make_brief(read_run(folder, READ)), live, log, self._kept)
        try:
            _ = (view.trained, view.n_layers, view.n_heads, view.task, view.encoding)
        except (KeyError, TypeError) as error:
            raise RunError(f"{folder / 'run.json'} is not complete: {error} is missing") from None
        return view


def _read_across(runs: Sequence[RunView], measurement: str, quantity: str, equals: Mapping[str, Any]) -> pd.DataFrame:
    def chosen(run: RunView) -> pa.Table:
        try:
            rows = Rows(read_run(run.path).rows).chosen(measurement=measurement, quantity=quantity, **equals)
        except (TableError, OSError):
            return SCHEMA.empty_table()
        names = pa.array([run.name] * rows.num_rows, pa.string())
        return rows.cast(SCHEMA).set_column(0, SCHEMA.field("run"), names)

    with ThreadPoolExecutor(READERS) as pool:
        return to_pandas(pa.concat_tables([SCHEMA.empty_table(), *pool.map(chosen, runs)]))


def run_folders(root: Path) -> Iterator[Path]:
    """Run folders at or below ``root``, without looking inside runs."""
    for folder, below, files in os.walk(root):
        if "run.json" in files:
            below.clear()
            yield Path(folder)
        else:
            below[:] = sorted(name for name in below if not name.startswith("."))


def signature(folder: Path, live: bool) -> str:
    """A short text that changes when the run's configuration, checkpoints or rows do."""
    return hashlib.sha256(f"{Table.signature(folder)}\n{live}".encode()).hexdigest()[:12]


def is_live(folder: Path) -> bool:
    """Whether a training process has written here in the last seconds."""
    try:
        return time.time() - (folder / "live.jsonl").stat().st_mtime < LIVE_SECONDS
    except OSError:
        return False
