"""A run's log: loss, learning rate and accuracies by step, from the checkpoints and the live log. No torch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from workbench.runs.checkpoints import sha256
from workbench.runs.run import Run
from workbench.storage import bounded
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import SealError, open_json
from workbench.table.parquet import read_columns

COLUMNS = ("step", "loss", "lr", "accuracy_in", "accuracy_out")
MOST_LINES = 1_000_000
_LOG = pa.schema([("step", pa.int64()), *((name, pa.float64()) for name in COLUMNS[1:])])


def read_log(run_path: Path) -> pd.DataFrame:
    """The log of a run: one line per logged step, ascending, with :data:`COLUMNS`; NaN for scores that were not
    computed.

    Each checkpoint has the lines since the one before it, and ``live.jsonl`` those since the last checkpoint.
    Unreadable lines are left out: ``lengthlens check`` names them.

    Raises:
        RunError: if there is no run, or its ``run.json`` is damaged.
    """
    run_path = Path(run_path)
    run = Run.open(run_path)
    parts = [_checkpoint_log(run, step) for step in run.steps]
    parts.append(_live(run_path / "live.jsonl"))
    rows = [row for part in parts for row in part]
    log = pd.DataFrame(rows, columns=list(COLUMNS)).drop_duplicates("step", keep="last").sort_values("step")
    return log.astype({"step": "int64", **dict.fromkeys(COLUMNS[1:], "float64")}).reset_index(drop=True)


def log_state(run_path: Path) -> str:
    """A text that changes when ``live.jsonl`` grows."""
    try:
        state = (Path(run_path) / "live.jsonl").stat()
    except OSError:
        return ""
    return f"{state.st_size} {state.st_mtime_ns}"


@dataclass(frozen=True)
class Pace:
    """The progress of a run in training.

    Attributes:
        step: the last step that is known to be done.
        seconds: seconds per step; None if fewer than two times are known.
    """

    step: int
    seconds: float | None


def pace(run: Run) -> Pace:
    """The progress of training, from ``live.jsonl``. If that file has fewer than two lines, the last two checkpoints
    count.

    The result is meaningful only while the run is being trained, not for a run that was copied or is paused.
    """
    moments = _moments(run.path / "live.jsonl")
    if len(moments) < 2:
        saved = []
        for step in run.steps[-2:]:
            with suppress(OSError):
                saved.append((step, (run.step_path(step) / "meta.json").stat().st_mtime))
        moments = [*saved, *moments]
    if not moments:
        return Pace(0, None)
    (first, began), (last, now) = moments[0], moments[-1]
    return Pace(last, (now - began) / (last - first) if last > first and now > began else None)


def _moments(file: Path) -> list[tuple[int, float]]:
    """Step and time, in seconds since 1970, of each line of a live log that has both."""
    moments = []
    for content in _lines(file):
        step, time = content.get("step"), content.get("time")
        if isinstance(step, int) and isinstance(time, int | float) and math.isfinite(time):
            moments.append((step, float(time)))
    return sorted(moments)


def _checkpoint_log(run: Run, step: int) -> list[dict[str, object]]:
    try:
        data = read_bytes(run.step_path(step) / "log.parquet", bounded.LOG)
        if run.meta(step).get("log_sha256", sha256(data)) != sha256(data):
            return []  # a changed byte may still read as a log, of losses that never were
        found: list[dict[str, object]] = read_columns(data, COLUMNS, MOST_LINES).cast(_LOG).to_pylist()
    except (OSError, ValueError, pa.ArrowException, KeyError):
        return []
    return [line for line in found if line["step"] is not None]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """The intact lines of a live log."""
    try:
        lines = read_bytes(file, bounded.LIVE).splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(SealError):  # most often the line that is being written now
            yield open_json(line + b"\n")


def _live(file: Path) -> list[dict[str, object]]:
    rows = []
    for content in _lines(file):
        if not isinstance(content.get("step"), int):
            continue  # as in checkpoints: a line of no step is none
        with suppress(pa.ArrowException, OverflowError, TypeError):  # numbers that no training logs
            rows += pa.Table.from_pylist([{name: content.get(name) for name in COLUMNS}], _LOG).to_pylist()
    return rows
