"""The rows of one series of all runs, in a few bytes each: what a sweep's diagram is drawn from.

A series is a measurement's quantity under one test set, target and mode, without its controls. The Sweep page's first
series is cached for every run when the run is read. A separate thread reads any other series and reports its progress,
so that nobody waits for thousands of files.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.failures import isolate_errors
from workbench.core.reach import REACH
from workbench.dashboard.state.request_gate import let_others_run
from workbench.dashboard.state.run_brief import READ, SERIES, BriefRows
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.multiples import NEAR_SHARE, nearest_above
from workbench.figures.rows.select_rows import DRAWN
from workbench.table.reading import READERS, read_run
from workbench.table.stored_reach import WHERE, reach_by_step

_FIRST = {"measurement": "behaviour", "quantity": "accuracy", "law": "matched", "mode": "teacher_forced"}
FIRST = tuple(_FIRST.get(name, "") for name in SERIES)
"""The series that the Sweep page opens with."""
_REACH = {**WHERE, "quantity": REACH}
REACH_SERIES = tuple(_REACH.get(name, "") for name in SERIES)
"""The series of reach, which no row stores. It is computed from the rows of accuracy, skill and chance."""
SKILL_SERIES = tuple({**WHERE, "quantity": "skill"}.get(name, "") for name in SERIES)
"""The series that a run with reach has."""
AT_ONCE = 1.0
"""Seconds to wait for the reading of a series before its progress is reported."""
MOST_SERIES = 4
"""Series that are cached for all runs; one series of 5,000 runs with 30 checkpoints takes 70 MB."""


class RunRows(NamedTuple):
    """The rows of one line (*series*) of one run that have a value to be drawn.

    Attributes:
        steps: int64.
        lengths: int32, -1 where the quantity has none.
        values: float64.
        statuses: int8, indices into :data:`workbench.figures.rows.select_rows.DRAWN`.
    """

    steps: NDArray[np.int64]
    lengths: NDArray[np.int32]
    values: NDArray[np.float64]
    statuses: NDArray[np.int8]


def rows_of(rows: BriefRows, series: Sequence[str]) -> RunRows:
    """The rows of a series among all rows of a run."""
    keep = rows.where(**dict(zip(SERIES, series, strict=True)), control="")
    values = rows.table["value"].to_numpy()
    codes, known = rows.codes_of("status")
    places = np.full(max(known.values(), default=0) + 1, -1, dtype=np.int8)
    for place, status in enumerate(DRAWN):
        if status in known:
            places[known[status]] = place
    keep &= ~np.isnan(values)
    chosen = np.flatnonzero(keep)
    chosen = chosen[places[codes[chosen]] >= 0]
    lengths = rows.table["length"].to_numpy()[chosen]
    return RunRows(
        rows.table["step"].to_numpy()[chosen].astype(np.int64),
        np.where(np.isnan(lengths.astype(float)), -1, lengths).astype(np.int32),
        values[chosen],
        places[codes[chosen]],
    )


def reach_of_run(rows: BriefRows, trained: int) -> RunRows:
    """Reach at each step of a run that has a value, as rows without a length."""
    reach = {step: one.value for step, one in reach_by_step(rows.reach_rows(), trained).items()}
    values = {step: value for step, value in reach.items() if value is not None}
    count = len(values)
    return RunRows(
        np.array(list(values), dtype=np.int64),
        np.full(count, -1, dtype=np.int32),
        np.array(list(values.values()), dtype=np.float64),
        np.full(count, DRAWN.index("ok"), dtype=np.int8),
    )


class SeriesRows:
    """The rows of one line (*series*) of many runs.

    Args:
        series: measurement, quantity, test set, target, mode.
        parts: run -> its rows.
    """

    def __init__(self, series: Sequence[str], parts: Mapping[str, RunRows]) -> None:
        self.series = tuple(series)
        self.runs = list(parts)
        held = list(parts.values())
        self._run = np.repeat(np.arange(len(held), dtype=np.int32), [len(one.steps) for one in held])
        empty = [np.empty(0, dtype=kind) for kind in (np.int64, np.int32, np.float64, np.int8)]
        joined = [np.concatenate(columns) for columns in zip(empty, *held, strict=True)]
        self._steps, self._lengths, self._values, self._statuses = joined

    def frame(
        self,
        *,
        step: int | None = None,
        length: int | None = None,
        times: float | None = None,
        trained: Mapping[str, int] | None = None,
        share: float | None = None,
    ) -> Frame:
        """Return the rows of each run at its last step, or at its last step that is at most ``step``.

        Args:
            step: None for each run's last.
            share: in place of a step, a share of its own last step; a run without a step near it
                (:func:`workbench.figures.rows.multiples.nearest_share`) has no rows.
            length: only at this length; None for all.
            times: only at lengths that may stand for this multiple of the run's N
                (:func:`workbench.figures.rows.multiples.length_at` chooses among them).
            trained: run -> N, for ``times``.
        """
        if share is not None:
            keep = self._near(share)
        else:
            counted = np.ones(len(self._run), dtype=bool) if step is None else self._steps <= step
            keep = counted & (self._steps == self._last(counted)[self._run])
        if length is not None:
            keep &= self._lengths == length
        if times is not None:
            wanted = np.array([(trained or {})[run] for run in self.runs], dtype=float)[self._run]
            keep &= nearest_above(self._lengths, wanted, times)
        return self._of(np.flatnonzero(keep))

    @cached_property
    def lasts(self) -> dict[str, int]:
        """Run -> its last step."""
        return dict(zip(self.runs, self._last(np.ones(len(self._run), dtype=bool)).tolist(), strict=True))

    def _last(self, counted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The last step of each run among some rows; -1 where it has none of them."""
        last = np.full(len(self.runs), -1, dtype=np.int64)
        np.maximum.at(last, self._run[counted], self._steps[counted])
        return last

    def _near(self, share: float) -> NDArray[np.bool_]:
        """The rows at the step of each run whose share of training is nearest as a ratio, the earlier of two."""
        ends = self._last(np.ones(len(self._run), dtype=bool))[self._run]
        begun = self._steps > 0
        shares = np.where(begun, self._steps / np.maximum(ends, 1), 1.0)
        apart = np.where(begun, np.maximum(shares, share) / np.minimum(shares, share), np.inf)
        least = np.full(len(self.runs), np.inf)
        np.minimum.at(least, self._run, apart)
        nearest = (apart == least[self._run]) & (apart <= NEAR_SHARE)
        first = np.full(len(self.runs), np.iinfo(np.int64).max)
        np.minimum.at(first, self._run[nearest], self._steps[nearest])
        return np.asarray(nearest & (self._steps == first[self._run]))

    def _of(self, chosen: NDArray[np.intp]) -> Frame:
        count = len(chosen)
        lengths = self._lengths[chosen].astype(float)
        columns: dict[str, Any] = {
            "run": pd.Categorical.from_codes(self._run[chosen], categories=pd.Index(self.runs, dtype=object)),
            "step": self._steps[chosen],
            "length": np.where(lengths < 0, np.nan, lengths),
            "value": self._values[chosen],
            "status": pd.Categorical.from_codes(self._statuses[chosen], categories=list(DRAWN)),
        }
        same = np.zeros(count, dtype=np.int8)
        columns |= {
            name: pd.Categorical.from_codes(same, categories=[text])
            for name, text in zip(SERIES, self.series, strict=True)
        }
        return Frame.of(pd.DataFrame(columns))


@dataclass(frozen=True)
class Reading:
    """The progress of reading a line (*series*) of many runs."""

    done: int
    of: int


@runtime_checkable
class SeriesOwner(Protocol):
    """The attributes of a run that are needed to read its lines; see
    :class:`workbench.dashboard.state.run_view.RunView`.
    """

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> Path: ...

    @property
    def rows_version(self) -> str: ...

    @property
    def first(self) -> RunRows | None: ...

    @property
    def trained(self) -> int: ...


class SeriesReader:
    """Series of all runs, each read once for a state of the runs; what has not changed is not read again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, ...], _Gathering] = {}

    def rows(
        self, runs: Sequence[SeriesOwner], series: Sequence[str], wait: float | None = AT_ONCE
    ) -> SeriesRows | Reading:
        """Return the rows of a line (*series*) of some runs, or the progress of reading them.

        Args:
            runs: those that have it.
            series: measurement, quantity, test set, target, mode.
            wait: seconds to wait for them; None until they are there.
        """
        series = tuple(series)
        state = tuple((run.name, run.rows_version) for run in runs)
        with self._lock:
            gathering = self._asked.pop(series, None)
            if gathering is None or gathering.state != state:
                known = gathering.parts if gathering is not None else {}
                gathering = _Gathering(runs, series, state, known)
            self._asked[series] = gathering
            while len(self._asked) > MOST_SERIES:
                del self._asked[next(iter(self._asked))]
        with let_others_run():
            gathering.ended.wait(wait)
        return gathering.rows if gathering.rows is not None else Reading(len(gathering.parts), len(runs))


class _Gathering:
    """The reading of one series of runs as they stand."""

    def __init__(
        self,
        runs: Sequence[SeriesOwner],
        series: tuple[str, ...],
        state: tuple[tuple[str, str], ...],
        known: Mapping[tuple[str, str], RunRows],
    ) -> None:
        self.state = state
        self.series = series
        wanted = set(state)
        self.parts = {key: part for key, part in list(known.items()) if key in wanted}
        self.rows: SeriesRows | None = None
        self.ended = threading.Event()
        if series == FIRST:
            self.parts |= {(run.name, run.rows_version): run.first for run in runs if run.first is not None}
        missing = [run for run in runs if (run.name, run.rows_version) not in self.parts]
        if missing:
            threading.Thread(target=self._read, args=(missing,), name="series", daemon=True).start()
        else:
            self._end()

    def _read(self, runs: Sequence[SeriesOwner]) -> None:
        try:
            with ThreadPoolExecutor(READERS) as pool:  # decoding Parquet leaves the interpreter free
                list(pool.map(self._one, runs))
        finally:
            self._end()

    def _one(self, run: SeriesOwner) -> None:
        with isolate_errors(lambda _: None, run.name):  # whoever reads the folder next says what is wrong with it
            rows = BriefRows(read_run(run.path, READ).rows)
            part = reach_of_run(rows, run.trained) if self.series == REACH_SERIES else rows_of(rows, self.series)
            self.parts[run.name, run.rows_version] = part

    def _end(self) -> None:
        self.rows = SeriesRows(self.series, {key[0]: self.parts[key] for key in self.state if key in self.parts})
        self.ended.set()
