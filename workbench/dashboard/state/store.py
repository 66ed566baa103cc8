"""What the dashboard knows: run folders and their tables, read as data and re-read when they change.

Nothing here writes. A run's signature (names, sizes and times of its files) decides whether its rows
are read again. All methods may be called from several threads. The disk is looked at by a thread of its own, and
whoever waits for it gives the turn to compute away meanwhile: a slow disk stops nobody.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.core.failures import isolate_errors
from workbench.dashboard.state.request_gate import let_others_run
from workbench.dashboard.state.run_brief import READ, BriefRows, make_brief
from workbench.dashboard.state.run_kinds import kind_of
from workbench.dashboard.state.run_view import Kept, RunView
from workbench.dashboard.state.run_view import display_path as display_path
from workbench.dashboard.state.series_rows import FIRST as FIRST_SERIES
from workbench.dashboard.state.series_rows import REACH_SERIES, SKILL_SERIES, Reading, SeriesReader, SeriesRows, rows_of
from workbench.figures.rows.frame import Frame
from workbench.runs.log import log_state
from workbench.runs.run import Run
from workbench.runs.run_notes import files_state, read_notes
from workbench.table.folder_state import run_state
from workbench.table.reading import READERS, former_of, newest_among, read_run, without_former
from workbench.table.schema import SCHEMA
from workbench.table.walk import walk

LIVE_SECONDS = 15.0
"""A run whose ``live.jsonl`` is younger than this is shown as training."""
FIRST, LATER = 60.0, 0.3
"""Seconds for which the first look at the disk is waited for, and any later one."""
SHOWN_AFTER, DOUBLED = 0.8, 2.0
"""Seconds into the first reading of a folder after which the runs read so far are shown, and the factor to the next
time.

All pages that list runs are drawn again each time.
"""
EASE = 10.0
"""Looks at the disk are at least this many times as far apart as one takes."""


class Store:
    """All runs under some folders.

    Args:
        roots: data roots; a folder that does not exist yet counts as empty.
        patience: seconds for which one look at the disk serves every request.

    Attributes:
        part: of how many runs all that is known is, where these are not all that there are; else None.
    """

    def __init__(self, roots: Sequence[Path], patience: float = 1.0) -> None:
        self.roots = [Path(root) for root in roots]
        self._patience = patience
        self._looking = threading.Lock()
        self._looked_now = threading.Event()
        self._views: dict[str, RunView] = {}
        self._together: dict[str, RunView] = {}
        self._problems: list[str] = []
        self._looked = -1e9
        self._took = 0.0
        self.read_at = 0.0
        self._version = ""
        self._kept = Kept()
        self._series = SeriesReader()
        self._forks: dict[str, list[str]] = {}
        self._found: dict[str, tuple[Path, Path]] = {}
        self._read = 0
        self._whole = False
        self.part: Reading | None = None

    def refresh(self, force: bool = False) -> str:
        """Read changes from the disk (at most once per ``patience`` seconds); returns the version of all that is known.

        The call waits as long as a healthy disk needs, and longer the first time. It does not wait for thousands of
        runs; those read so far are known (:attr:`progress`). The next call includes what is read later.

        Args:
            force: look now, and wait until that is done.
        """
        if force or not self._patience:
            with let_others_run(), self._looking:
                self._look()
            return self._version
        ease = max(self._patience, EASE * self._took)
        if time.monotonic() - self._looked >= ease:
            if self._looking.acquire(blocking=False):
                self._looked_now.clear()
                threading.Thread(target=self._look_and_release, name="looking", daemon=True).start()
            with let_others_run():
                self._looked_now.wait(LATER if self._version else FIRST)
        return self._version

    def _look_and_release(self) -> None:
        try:
            self._look()
        finally:
            self._looking.release()
            self._looked_now.set()

    def runs(self) -> dict[str, RunView]:
        """Runs by name, as last seen."""
        if not self._version or not self._patience:
            self.refresh()
        return dict(self._views)

    def comparable_runs(self) -> dict[str, RunView]:
        """Runs by name, as they may be compared.

        If another run has a newer version of a measurement, the rows of an older version are left out, and
        :attr:`problems` reports it: two versions are two definitions. The page of a single run shows all its valid
        rows.
        """
        self.runs()
        return dict(self._together)

    def run(self, name: str) -> RunView | None:
        """Return one run, which is read now if it has not been read yet; None if no run has this name."""
        loaded = self.runs().get(name)
        if loaded is None and not self._whole and name in self._found:
            with let_others_run():
                view = self._try(name, *self._found[name])
            return view if isinstance(view, RunView) else None
        return loaded

    @property
    def progress(self) -> Reading | None:
        """Return how many of the runs have been read so far; None once all have been read."""
        return None if self._whole or not self._found else Reading(self._read, len(self._found))

    @property
    def problems(self) -> list[str]:
        """Return one sentence for each run or file that could not be read."""
        if not self._version:
            folders = ", ".join(display_path(root) for root in self.roots)
            return [f"{folders} is still being read: its runs appear when that is finished"]
        return list(self._problems)

    @property
    def specs(self) -> dict[str, Any]:
        """Return the description of each measurement, from its newest version in any run."""
        specs: dict[str, Any] = {}
        for run in self.runs().values():
            for name, spec in run.specs.items():
                if spec.get("version", 0) >= specs.get(name, {}).get("version", 0):
                    specs[name] = spec
        return dict(sorted(specs.items()))

    def version(self, name: str) -> tuple[str, str]:
        """Return texts that change when the files of a run, or its log, change; "" if there are no files."""
        view = self.run(name)
        return ("", "") if view is None else (view.signature, view.log_signature)

    def across(self, measurement: str, quantity: str, runs: Sequence[RunView], **equals: Any) -> Frame:
        """Return all rows of one quantity, in some runs, whose columns equal the given values; without runs, an empty
        frame.
        """
        frames = [run.frame.where(measurement=measurement, quantity=quantity, **equals) for run in runs]
        none = Frame.from_rows([], SCHEMA.names)
        return Frame.concat([frame for frame in frames if len(frame)] or [*frames[:1], none])

    def forks_of(self, run: RunView) -> list[RunView]:
        """Return the forks of a run, as they may be compared with it, sorted by the step of the fork and by name."""
        names = self._forks.get(run.run.id, ())
        views = [self._together[name] for name in names if name in self._together]
        return sorted(views, key=lambda view: (view.fork[1] if view.fork else 0, view.name))

    def parent_of(self, run: RunView) -> RunView | None:
        """Return the run from which a fork was split; None if the run is not a fork, or its parent is not here."""
        parent = None if run.fork is None else run.fork[0]
        return next((view for view in self._views.values() if parent is not None and view.run.id == parent), None)

    def series(self, series: Sequence[str], wait: bool = False) -> SeriesRows | Reading:
        """Return the rows of one line (*series*) of every run, or the progress while they are being read.

        Args:
            series: measurement, quantity, test set, target and mode.
            wait: until they are there.
        """
        wanted = tuple(series)
        source = SKILL_SERIES if wanted == REACH_SERIES else wanted
        runs = [run for run in self.comparable_runs().values() if any(one == source for one, _ in run.brief.series)]
        return self._series.rows(runs, wanted, None) if wait else self._series.rows(runs, wanted)

    def _look(self) -> None:
        start = time.monotonic()
        problems: list[str] = []
        folders: list[tuple[str, Path, Path]] = []
        for root in self.roots:
            with isolate_errors(problems.append, f"{root} could not be read"):
                found = walk(root)
                folders += [(name, path, root) for name, path in found.runs]
                problems += found.problems
        first, self._read = not self._whole, 0
        self._found = {name: (path, root) for name, path, root in reversed(folders)}
        views: dict[str, RunView] = {}
        due = start + SHOWN_AFTER
        with ThreadPoolExecutor(READERS) as pool:  # decoding Parquet leaves the interpreter free
            for read, view in enumerate(pool.map(lambda one: self._try(*one), folders)):
                self._read = read
                if first and read and time.monotonic() > due:
                    self._publish(views, problems, Reading(read, len(folders)))
                    due = start + DOUBLED * (time.monotonic() - start)
                if isinstance(view, str):
                    problems.append(view)
                    continue
                known = views.setdefault(view.name, view)
                if known.path != view.path and not _same_folder(known.path, view.path):
                    problems.append(
                        f"{known.path} and {view.path} are both the run {view.name}; the page shows the first"
                    )
        self._whole = True
        self._publish(views, [*problems, *(said for view in views.values() for said in view.notes.problems)])
        self._looked = time.monotonic()
        self._took = 0.0 if first else self._looked - start  # the first one reads, later ones look

    def _publish(self, views: Mapping[str, RunView], problems: Sequence[str], part: Reading | None = None) -> None:
        """Make known what has been read, and of how many runs that is where it is a part."""
        said = list(problems)
        together = self._alike(views, said)
        text = "\n".join([*(v.name + v.signature + v.log_signature for v in views.values()), *said, str(part)])
        self.part = part
        self._views, self._problems = dict(sorted(views.items())), said
        self._together = dict(sorted(together.items()))
        self._forks = _forks_by_parent(self._views)
        self._version = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.read_at = time.time()
        self._looked_now.set()

    def _alike(self, views: Mapping[str, RunView], problems: list[str]) -> dict[str, RunView]:
        """The runs without rows of a former version, and a sentence for each measurement that left some out."""
        newest = newest_among(view.specs for view in views.values())
        together: dict[str, RunView] = {}
        for name, view in views.items():
            former = former_of(view.specs, newest)
            known = self._together.get(name)
            if not former:
                together[name] = view
            elif known is not None and (known.signature, known.former) == (view.signature, former):
                together[name] = replace(known, log_signature=view.log_signature, notes=view.notes)
            else:
                with isolate_errors(problems.append, f"{view.path} cannot be shown with other runs"):
                    reading = without_former(read_run(view.path, READ), newest, view.path)
                    brief = make_brief(reading, BriefRows(reading.rows), view.kind.behaviour, view.trained)
                    first = None if FIRST_SERIES[0] in former else view.first
                    together[name] = replace(view, brief=brief, former=former, first=first)
        for measurement, version in newest.items():
            older = [name for name, view in together.items() if measurement in view.former]
            if older:
                others = f" and {len(older) - 1:,} more" if len(older) > 1 else ""
                folder = together[older[0]].shown_path
                problems.append(
                    f"{measurement} of {older[0]}{others} was measured by a version older than {version}, which other "
                    f"runs have. Pages that show several runs leave it out: `lengthlens measure {folder}` measures it "
                    "again"
                )
        return together

    def _try(self, name: str, folder: Path, root: Path) -> RunView | str:
        """The run in a folder, or what is wrong with it, whatever that is."""
        said: list[str] = []
        with isolate_errors(said.append, f"{folder} cannot be shown"):
            return self._view(name, folder, root)
        return said[0]

    def _view(self, name: str, folder: Path, root: Path) -> RunView:
        live = is_live(folder)
        sign = signature(folder, live)
        beside = f"{sign}\n{log_state(folder)}\n{files_state(folder)}"
        log = hashlib.sha256(beside.encode()).hexdigest()[:12]
        known = self._views.get(name)
        if known is not None and known.path == folder.absolute() and known.signature == sign:
            if known.log_signature == log:
                return known
            return replace(known, log_signature=log, notes=read_notes(folder))
        run = replace(Run.open(folder), name=name)
        reading = read_run(folder, READ)
        rows = BriefRows(reading.rows)
        brief = make_brief(reading, rows, kind_of(run.config).behaviour, run.trained_length)
        first = rows_of(rows, FIRST_SERIES) if brief.rows else None
        return RunView(
            run, root, sign, tuple(run.steps), brief, live, log, self._kept, first=first, notes=read_notes(folder)
        )


def _forks_by_parent(views: Mapping[str, RunView]) -> dict[str, list[str]]:
    """Id of each run that was forked -> the names of its forks."""
    forks: dict[str, list[str]] = {}
    for name, view in views.items():
        if view.fork is not None:
            forks.setdefault(view.fork[0], []).append(name)
    return forks


def pair(store: Store, run: RunView, extras: Mapping[str, str]) -> tuple[RunView, RunView | None]:
    """Return the run of a page, and the second run if the key ``run2`` of the address names one.

    A pair is as :meth:`Store.comparable_runs` has it; a run on its own shows all its rows.
    """
    together = store.comparable_runs()
    other = together.get(extras.get("run2", ""))
    return (run, None) if other is None else (together.get(run.name, run), other)


def _same_folder(one: Path, other: Path) -> bool:
    """Whether two paths lead to one folder: one run, however often it was found."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def signature(folder: Path, live: bool) -> str:
    """A short text that changes when the run's configuration, checkpoints or rows do."""
    return hashlib.sha256(f"{run_state(folder)}\n{live}".encode()).hexdigest()[:12]


def is_live(folder: Path) -> bool:
    """Whether a training process has written here in the last seconds."""
    try:
        return time.time() - os.stat(f"{folder}/live.jsonl").st_mtime < LIVE_SECONDS
    except OSError:
        return False
