"""``lengthlens list``: the runs of a folder with their verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import RUNS
from workbench.cli.table_text import on_one_line


def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="List all runs in this folder.")] = Path("checkpoints"),
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List the runs of a folder: task, longest trained length, steps, and last verdict.

    The command is also called `ls` and `runs`. `lengthlens measure` notes the last verdict and reach of each run in its
    table, so that a folder of 1,000 runs is listed within 2 seconds. For runs that an older version measured, the first
    call takes longer.
    """
    refuse_both(as_json, as_csv)
    print_runs(folder, as_json, as_csv)


def print_runs(folder: Path, as_json: bool, as_csv: bool) -> None:
    """Print the runs of a folder as text, JSON or CSV.

    Raises:
        RunError: if the folder does not exist, or contains files but no run.
    """
    import sys

    from workbench.cli.listed_runs import listed_runs

    problems: list[str] = []
    rows = listed_runs(folder, problems)
    if print_tables("list", [OutputTable(RUNS, rows)], as_json, as_csv):
        for problem in problems:
            print(f"problem: {problem}", file=sys.stderr)
        return
    from rich.console import Console

    from workbench.cli.run_list import print_run_list, run_list

    console = Console()
    for problem in problems:
        on_one_line(console, f"problem: {problem}", "red")
    print_run_list(console, run_list(folder, rows, console.width))
    if rows:
        on_one_line(console, f"\nDetails of one run: lengthlens info {folder / rows[0]['run']}")
    else:
        on_one_line(console, f"\nNo run is here yet: lengthlens train TASK --out {folder / 'my_run'}")
