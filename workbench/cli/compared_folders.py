"""The runs that ``lengthlens compare`` compares: those that are named, and the measured ones of named folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from workbench.cli.errors import UsageError
from workbench.cli.listed_runs import contains_runs
from workbench.cli.run_tables import is_prompted
from workbench.core.suggest import nearest
from workbench.runs.run import Run, find_runs


def compared_folders(named: Sequence[Path], task: str | None) -> list[Path]:
    """The folders of the runs to compare, each once, in the order of their names.

    Of a folder of runs, runs without measured behaviour and runs that were prompted with their task are left out, and
    a note names them.

    Args:
        named: runs, or folders of runs.
        task: keep only runs of this task; None = all.

    Raises:
        RunError: if a folder does not exist or contains no run.
        UsageError: if no run has the task, or fewer than two runs of a folder are left.
    """
    if task is None and not any(contains_runs(folder) for folder in named):
        return list(named)
    runs: list[tuple[Path, Run, bool]] = []
    for folder in named:
        if contains_runs(folder):
            runs += [(folder / run.name, run, True) for run in find_runs(folder)]
        else:
            runs.append((folder, Run.open(folder), False))
    if task is not None:
        tasks = sorted({str(run.config["task"]["name"]) for _, run, _ in runs})
        if task not in tasks:
            raise UsageError(f"no run here is of task {task!r}; {nearest(task, tasks)}")
        runs = [(path, run, found) for path, run, found in runs if run.config["task"]["name"] == task]
    kept: dict[Path, Path] = {}
    left_out: list[str] = []
    for path, run, found in runs:
        if found and not _is_comparable(run):
            left_out.append(run.name)
        else:
            kept.setdefault(run.path.resolve(), path)
    if left_out:
        print(
            f"note: these runs are left out, because they contain no measured behaviour of a trained model: "
            f"{', '.join(left_out)}",
            file=sys.stderr,
        )
    if len(kept) < 2:
        of_task = "" if task is None else f" of task {task}"
        raise UsageError(
            f"compare takes two or more runs, but {len(kept)} measured {'run' if len(kept) == 1 else 'runs'}{of_task} "
            f"{'is' if len(kept) == 1 else 'are'} here; name another folder or run"
        )
    return list(kept.values())


def _is_comparable(run: Run) -> bool:
    """Whether a run was trained on its task and has measured behaviour."""
    from workbench.table import Table

    return not is_prompted(run) and not Table.load(run.path).frame(measurement="behaviour", quantity="verdict").empty
