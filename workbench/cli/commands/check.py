"""``lengthlens check``: the integrity of runs, checkpoints and measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workbench.runs.run import Run


def check(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
) -> None:
    """Check that checkpoints are whole and are what they say; the exit status is 1 if one is not."""
    from workbench.runs.errors import RunError
    from workbench.runs.run import find_runs
    from workbench.table.walk import walk

    problems: list[str] = []
    for folder in folders:
        runs = find_runs(folder, problems)
        problems += [f"{path} holds a run's data and no run.json: restore it" for path in walk(folder).headless]
        if not runs and not problems:
            raise RunError(f"{folder} holds no run; lengthlens train TASK --out {folder}/NAME makes one")
        for run in runs:
            found = _problems(run)
            problems += found
            wrong = f"{len(found) or 'no'} problem{'s' * (len(found) != 1)}"
            rows = f"; {run.weightless}" if run.rows_only else ""
            print(f"{run.name}: {len(run.steps)} checkpoint{'s' * (len(run.steps) != 1)}, {wrong}{rows}")
    for problem in dict.fromkeys(problems):
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)


def _problems(run: Run) -> list[str]:
    """What is wrong with a run's files, and with its settings, which only their own classes know all about."""
    from workbench.core.apart import apart
    from workbench.runs.integrity import run_problems
    from workbench.training.compare_configs import settings_problems

    found: list[str] = []
    for look in (run_problems, settings_problems):
        with apart(found.append, f"{run.path} could not be checked"):
            found += look(run)
    return found
