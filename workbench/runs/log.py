"""A run's log: loss, learning rate and accuracies by step, as the checkpoints and the live tail have it. No torch."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa

from workbench.runs.checkpoints import sha256
from workbench.runs.run import Run
from workbench.storage import bounded
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import SealError, open_json
from workbench.table.parquet import open_parquet

COLUMNS = ("step", "loss", "lr", "accuracy_in", "accuracy_out")
MOST_LINES = 1_000_000
_LOG = pa.schema([("step", pa.int64()), *((name, pa.float64()) for name in COLUMNS[1:])])


def read_log(run_path: Path) -> pd.DataFrame:
    """The log of a run: one line per logged step, ascending, with :data:`COLUMNS`; NaN where nothing was taken.

    Each checkpoint keeps the lines since the one before, ``live.jsonl`` those since the last. What
    cannot be read is left out: ``lengthlens check`` names it.

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
    """A text that changes when the live tail grows."""
    try:
        state = (Path(run_path) / "live.jsonl").stat()
    except OSError:
        return ""
    return f"{state.st_size} {state.st_mtime_ns}"


def _checkpoint_log(run: Run, step: int) -> list[dict[str, object]]:
    try:
        data = read_bytes(run.step_path(step) / "log.parquet", bounded.LOG)
        if run.meta(step).get("log_sha256", sha256(data)) != sha256(data):
            return []  # a changed byte may still read as a log, of losses that never were
        with open_parquet(data, MOST_LINES) as file:
            found: list[dict[str, object]] = file.read(list(COLUMNS)).cast(_LOG).to_pylist()
    except (OSError, ValueError, pa.ArrowException, KeyError):
        return []
    return [line for line in found if line["step"] is not None]


def _live(file: Path) -> list[dict[str, object]]:
    try:
        lines = read_bytes(file, bounded.LIVE).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            content = open_json(line + b"\n")
        except SealError:  # most often the line that is being written now
            continue
        with suppress(pa.ArrowException, OverflowError, TypeError):  # numbers that no training logs
            found += pa.Table.from_pylist([{name: content.get(name) for name in COLUMNS}], _LOG).to_pylist()
    return found
