"""``lengthlens check``: the integrity of runs, checkpoints and measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import CHECKED, PROBLEMS

if TYPE_CHECKING:
    from workbench.runs.run import Run


def check(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Check these runs, or all runs in these folders.")
    ],
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Check that checkpoints, settings and measurements are intact. The exit status is 1 if any is damaged."""
    from workbench.runs.errors import RunError
    from workbench.runs.run import find_runs
    from workbench.table.walk import walk

    refuse_both(as_json, as_csv)
    problems: list[str] = []
    rows: list[dict[str, object]] = []
    for folder in folders:
        runs = find_runs(folder, problems)
        problems += [
            f"{path} contains the data of a run but no run.json: restore that file" for path in walk(folder).headless
        ]
        if not runs and not problems:
            raise RunError(f"{folder} contains no run; lengthlens train TASK --out {folder}/NAME makes one")
        for run in runs:
            found = _problems(run)
            problems += found
            rows.append({"run": run.name, "path": str(run.path), "checkpoints": len(run.steps), "problems": len(found)})
            if as_json or as_csv:
                continue
            wrong = f"{len(found) or 'no'} problem{'s' * (len(found) != 1)}"
            without_weights = f"; {run.weightless}" if run.rows_only else ""
            print(f"{run.name}: {len(run.steps)} checkpoint{'s' * (len(run.steps) != 1)}, {wrong}{without_weights}")
    each_problem = [{"problem": problem} for problem in dict.fromkeys(problems)]
    if not print_tables("check", [OutputTable(CHECKED, rows), OutputTable(PROBLEMS, each_problem)], as_json, as_csv):
        for one in each_problem:
            print(f"problem: {one['problem']}")
    if problems:
        raise SystemExit(1)


def _problems(run: Run) -> list[str]:
    """What is wrong with a run's files, and with its settings, which only their own classes know all about."""
    from workbench.core.failures import isolate_errors
    from workbench.runs.integrity import run_problems
    from workbench.training.compare_configs import settings_problems

    found: list[str] = []
    for look in (run_problems, settings_problems, _rows_problems):
        with isolate_errors(found.append, f"{run.path} could not be checked"):
            found += look(run)
    return found


def _rows_problems(run: Run) -> list[str]:
    """What of a run's rows no measurement writes."""
    from workbench.table import Table
    from workbench.table.damage import damage, damage_sentence

    problem = damage(Table.load(run.path).frame())
    return [] if problem is None else [damage_sentence(run.name, problem)]
