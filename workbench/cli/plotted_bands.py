"""What ``lengthlens plot`` draws of many runs: the median over the runs of each task, and their range."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from workbench.cli.errors import UsageError
from workbench.core.failures import isolated
from workbench.figures.panels.many_seeds import median_of_runs
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import NOT_DRAWN, stack, tidy
from workbench.runs.run import Run
from workbench.table.reading import READERS, read_run
from workbench.table.schema import DEFAULTS, SEPARATING

MOST_RUNS = 200
"""Runs that one figure reads at most; reading one takes about 40 ms."""


@dataclass(frozen=True)
class RunRows:
    """The rows of one quantity of a run.

    Attributes:
        name: name of the run below the plotted folder.
        task: name of its task.
        trained: N, its longest trained length.
        rows: its rows.
    """

    name: str
    task: str
    trained: int
    rows: Frame


def rows_of_runs(root: Path, folders: Sequence[tuple[str, Path]], quantity: str) -> list[RunRows]:
    """Return the rows of a quantity, without controls, of each run that has some; unreadable runs are left out.

    Raises:
        UsageError: for more than :data:`MOST_RUNS` runs, before any is read.
    """
    if len(folders) > MOST_RUNS:
        raise UsageError(
            f"{root} has {len(folders):,} runs, and one figure reads at most {MOST_RUNS}; name a folder with fewer, "
            f"or see all in the Sweep page of `lengthlens app {root}`"
        )

    def read(folder: tuple[str, Path]) -> RunRows | None:
        name, path = folder
        with isolated(lambda _: None, name):
            run = Run.open(path)
            stored = read_run(path).rows
            # A mask of the two columns is ten times as fast as an expression, which decodes all dictionaries.
            mask = pc.and_(pc.equal(stored["quantity"], quantity), pc.equal(stored["control"], ""))
            rows = Frame.of(stored.filter(mask))
            if len(rows):
                return RunRows(name, run.config["task"]["name"], run.trained_length, rows)
        return None

    with ThreadPoolExecutor(max_workers=READERS) as readers:
        return [part for part in readers.map(read, folders) if part is not None]


def medians_by_task(root: Path, lines: Sequence[tuple[RunRows, Frame]], along: str, most: int) -> Frame:
    """Return the median, lowest and highest value over the runs of each task, named by the column ``target``.

    A task whose runs have several longest trained lengths N has a line for each N.

    Args:
        root: the folder of the runs, which the column ``run`` then names.
        lines: each run with the rows of its line.
        along: ``length`` or ``step``.
        most: lines that a figure shows at most.

    Raises:
        UsageError: for more lines.
    """
    lengths: dict[str, set[int]] = {}
    for run, _ in lines:
        lengths.setdefault(run.task, set()).add(run.trained)
    groups: dict[str, list[Frame]] = {}
    for run, rows in lines:
        label = run.task if len(lengths[run.task]) == 1 else f"{run.task}, N = {run.trained}"
        groups.setdefault(label, []).append(tidy(rows, run.name, along))
    if len(groups) > most:
        raise UsageError(
            f"the runs of {root} have {len(groups)} tasks and trained lengths, and a figure shows at most {most}; "
            "name a folder with fewer"
        )
    # Lines differ in their task only, whatever else differs between runs.
    alike = {**{name: DEFAULTS[name] for name in SEPARATING}, **{name: DEFAULTS[name] for name in NOT_DRAWN}}
    alike.pop(along, None)
    parts = []
    for label, runs in sorted(groups.items()):
        median = median_of_runs(stack(runs), along)
        parts.append(median.with_columns(**{**alike, "target": label, "run": root.name}))
    return Frame.concat(parts)
