"""``lengthlens check``: the integrity of runs, checkpoints and measurements; needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.runs.folder import RunError, find_runs
from workbench.runs.integrity import headless, run_problems


def check_command(folders: Sequence[Path]) -> None:
    """Print what is sound and what is not; raises SystemExit(1) if anything is damaged."""
    problems: list[str] = []
    for folder in folders:
        runs = find_runs(folder, problems)
        problems += [f"{path} holds a run's data and no run.json: restore it" for path in headless(folder)]
        if not runs and not problems:
            raise RunError(f"{folder} holds no run; lengthlens train TASK --out {folder}/NAME makes one")
        for run in runs:
            found = run_problems(run)
            problems += found
            print(f"{run.name}: {len(run.steps)} checkpoints, {len(found) or 'no'} problem{'s' * (len(found) != 1)}")
    for problem in problems:
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)
