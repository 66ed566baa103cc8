"""A run's log and its accuracies over training as scalars that TensorBoard shows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from workbench.cli.errors import UsageError
from workbench.runs.log import COLUMNS, read_log
from workbench.runs.run import Run
from workbench.storage.atomic import make_folder, remove_leftovers, replacing_folder
from workbench.storage.below import path_below
from workbench.table import Table


def scalars(run: Run) -> Iterator[tuple[str, int, float]]:
    """Tag, step and value: ``train/...`` of the log, ``accuracy/LAW/LENGTH`` of behaviour; none that is undefined."""
    log = read_log(run.path)
    for name in COLUMNS[1:]:
        for step, value in zip(log["step"], log[name], strict=True):
            if math.isfinite(value):
                yield f"train/{name}", int(step), float(value)
    rows = Table.load(run.path).frame(measurement="behaviour", quantity="accuracy", mode="teacher_forced", control="")
    for row in rows.sort_values(["law", "length", "step"]).itertuples():
        if math.isfinite(row.value):
            yield f"accuracy/{row.law}/{int(row.length)}", int(row.step), float(row.value)


def export_to_tensorboard(run: Run, folder: Path) -> int:
    """Write a run's scalars below a folder, under the run's name; return their number. The folder appears complete.

    Raises:
        UsageError: where TensorBoard is not installed, or the run's name has scalars in that folder already.
        StorageError: if the folder cannot be written.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UsageError(
            "--tensorboard needs the package tensorboard, which is not installed: pip install tensorboard"
        ) from None
    there = path_below(folder, run.name)
    if there.exists() and any(there.iterdir()):
        raise UsageError(f"{there} is not empty; name another folder with --tensorboard")
    count = 0
    make_folder(folder)
    remove_leftovers(folder, run.name)
    with replacing_folder(folder, run.name) as temporary, SummaryWriter(str(temporary)) as writer:
        for tag, step, value in scalars(run):
            writer.add_scalar(tag, value, step)
            count += 1
    return count
