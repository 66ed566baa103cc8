"""``lengthlens check``: the integrity of runs, checkpoints and measurements; needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.runs.folder import Run, RunError, find_runs
from workbench.table import Table


def check_command(folders: Sequence[Path]) -> None:
    """Print what is sound and what is not; raises SystemExit(1) if anything is damaged."""
    problems: list[str] = []
    for folder in folders:
        runs = find_runs(folder)
        if not runs:
            raise RunError(f"{folder} holds no run; lengthlens train TASK --out {folder}/NAME makes one")
        for run in runs:
            found = damage(run)
            problems += found
            print(f"{run.name}: {len(run.steps)} checkpoints, {len(found) or 'no'} problem{'s' * (len(found) != 1)}")
        problems += Table.load(folder).problems
    for problem in problems:
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)


def damage(run: Run) -> list[str]:
    """What is wrong with a run's checkpoints, a sentence each."""
    problems = []
    for step in run.steps:
        try:
            run.verify(step)
        except RunError as error:
            problems.append(str(error))
    return problems or [f"{run.name}: steps {a} and {b} hold equal weights" for a, b in run.equal_steps()]
