"""``lengthlens info``: one run in the terminal, or the list of a folder of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import LENGTHS, RUN, STEPS
from workbench.cli.table_text import on_one_line

if TYPE_CHECKING:
    from workbench.runs.run import Run
    from workbench.table import Table


def info(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Show the run in this folder, or all runs in it.")],
    step: Annotated[
        int | None, typer.Option(min=0, help="Show this checkpoint. Default: the last measured one.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Show a run in the terminal: its verdict, its accuracy over prefix length, and its checkpoints.

    For a folder of runs, print one line per run with its verdict, as `lengthlens list` does. The command is also called
    `show` and `verdict`. With --csv, print the accuracies over prefix length.
    """
    from workbench.cli.commands.list import print_runs
    from workbench.cli.listed_runs import contains_runs
    from workbench.runs.errors import RunError
    from workbench.runs.run import Run
    from workbench.table import Table

    refuse_both(as_json, as_csv)
    if contains_runs(run):
        if step is not None:
            raise RunError(f"--step works only with one run, but {run} is a folder of runs; name one of them")
        print_runs(run, as_json, as_csv)
        return
    opened = Run.open(run)
    table = Table.load(opened.path)
    if as_json or as_csv:
        print_tables("info", tables_of(opened, run, table, step), as_json, as_csv)
    else:
        print_run(opened, run, table, step)


def chosen_step(run: Run, rows: Any, step: int | None) -> int | None:
    """The requested step, or the last measured one; None where nothing is measured.

    Raises:
        RunError: for a step without behaviour.
    """
    from workbench.cli.run_tables import measured_steps
    from workbench.runs.errors import RunError

    steps = measured_steps(rows)
    if not steps:
        return None
    if step is not None and step not in steps:
        have = ", ".join(f"{known:,}" for known in steps)
        raise RunError(f"{run.name} has no behaviour measured at step {step}; choose one of the measured steps: {have}")
    return steps[-1] if step is None else step


def tables_of(run: Run, folder: Path, table: Table, step: int | None) -> list[OutputTable]:
    """The tables of one run."""
    from workbench.cli.run_tables import behaviour_rows, length_rows, run_row, step_rows

    rows = behaviour_rows(run, table)
    chosen = chosen_step(run, rows, step)
    return [
        OutputTable(RUN, [run_row(run, folder, rows, table.frame(measurement="diagnosis"), chosen)]),
        OutputTable(LENGTHS, length_rows(run, rows, chosen)),
        OutputTable(STEPS, step_rows(run, rows)),
    ]


def print_run(opened: Run, folder: Path, table: Table, step: int | None) -> None:
    """Print one run as text."""
    from rich.console import Console

    from workbench.cli.run_tables import behaviour_rows, is_prompted
    from workbench.cli.show_in_context import in_context_curve, in_context_verdict
    from workbench.cli.show_run import behaviour, head, print_verdict_onset, steps, verdict, when_decided, why
    from workbench.core.failures import isolate_errors
    from workbench.table.damage import blaming_damage, damage

    console = Console()
    head(console, opened)
    for problem in table.problems:
        on_one_line(console, f"problem: {problem}", "red")
    rows = behaviour_rows(opened, table)
    chosen = chosen_step(opened, rows, step)
    if chosen is None:
        on_one_line(console, f"Not measured yet: lengthlens measure {folder}")
        return
    problems: list[str] = []
    damaged = blaming_damage(lambda: [(opened.name, damage(table.frame()))])
    with isolate_errors(problems.append, f"{opened.path} cannot be shown"), damaged:
        at_step = rows[rows["step"] == chosen]
        if is_prompted(opened):
            in_context_verdict(console, at_step, None if opened.weightless else opened.path)
            console.print(in_context_curve(at_step))
            return
        verdict(console, at_step, chosen, opened.trained_length, None if opened.weightless else folder)
        print_verdict_onset(console, rows, chosen)
        why(console, table.frame(measurement="diagnosis"), chosen, opened.trained_length)
        when_decided(console, opened, folder)
        console.print(behaviour(at_step, opened.trained_length))
        console.print(steps(rows, opened))
    for problem in problems:
        on_one_line(console, f"problem: {problem}", "red")
