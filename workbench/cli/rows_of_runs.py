"""The rows of one quantity of each run of a folder, for ``lengthlens plot``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.compute as pc

from workbench.cli.many_runs import refuse_many_runs
from workbench.core.failures import isolate_errors
from workbench.figures.panels.lines_of_runs import RunRows
from workbench.figures.rows.frame import Frame
from workbench.runs.run import Run
from workbench.table.reading import READERS, read_run


def rows_of_runs(root: Path, folders: Sequence[tuple[str, Path]], quantity: str) -> list[RunRows]:
    """Return the rows of a quantity, without controls, of each run that has some; unreadable runs are left out.

    Raises:
        UsageError: for too many runs, before any is read.
    """
    refuse_many_runs(root, len(folders), "plot")

    def read(folder: tuple[str, Path]) -> RunRows | None:
        name, path = folder
        with isolate_errors(lambda _: None, name):
            run = Run.open(path)
            stored = read_run(path).rows
            # A mask of two columns is faster than an expression, which decodes the dictionaries of all columns.
            mask = pc.and_(pc.equal(stored["quantity"], quantity), pc.equal(stored["control"], ""))
            rows = Frame.of(stored.filter(mask))
            if len(rows):
                return RunRows(name, run.config["task"]["name"], run.trained_length, rows)
        return None

    with ThreadPoolExecutor(max_workers=READERS) as readers:
        return [part for part in readers.map(read, folders) if part is not None]
