"""``lengthlens tasks``: all tasks at a glance, or all about one."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import completing_tasks
from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import TASKS


def tasks(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]",
            help="Describe this task: a name, or `file.py:MyTask`.",
            autocompletion=completing_tasks,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check that the task is valid. Use this for your own task."),
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List all tasks, describe one task, or check your own task.

    *Kind* is what a model must track to answer at every length: a finite **state**, an **average**, an unbounded
    **counter**, or a **pointer** to one position. *Chance* is the accuracy of the best constant answer at length 64 (or
    the next length that the task has). If you pipe the output into another program, it has one task per line.
    """
    from workbench.cli.early_refusal import refuse_no_task

    refuse_both(as_json, as_csv)
    if name is not None and (as_json or as_csv):
        raise UsageError(f"--json and --csv list all tasks; leave out {name}")
    if name is not None:
        refuse_no_task(name)  # before anything that loads torch
    if check:
        if name is None:
            raise UsageError("--check needs a task; run lengthlens tasks --check my_task.py:MyTask")
        check_defaults(name)
    elif name is not None:
        print_task(name)
    else:
        print_all_tasks(as_json, as_csv)


def print_all_tasks(as_json: bool = False, as_csv: bool = False) -> None:
    """Print the table of all tasks; in a pipe, one task per line."""
    from rich.console import Console

    from workbench.cli.table_text import align_columns
    from workbench.cli.task_list import by_family, cells, entry, table
    from workbench.tasks.known_tasks import TITLES
    from workbench.tasks.registry import task_names

    entries = by_family([entry(name) for name in task_names()])
    if as_json or as_csv:
        keys = ("kind", "chance", "theory", "task_state")
        found = [
            {"task": name, "family": group, **dict(zip(keys, cells(task), strict=True))}
            for group, name, task in entries
        ]
        print_tables("tasks", [OutputTable(TASKS, found)], as_json, as_csv)
        return
    console = Console()
    if console.is_terminal:
        console.print(table(entries))
        console.print("Details of one task: [bold]lengthlens tasks NAME[/]. Train it: [bold]lengthlens train NAME[/].")
        return
    rows = [(name, group, *cells(task), TITLES.get(name, "")) for group, name, task in entries]
    print("\n".join(align_columns(rows)))


def print_task(name: str) -> None:
    """All about one task, of ours or of a file."""
    from workbench.cli.task_list import tell
    from workbench.tasks.registry import load_task

    tell(load_task(name) if ".py" in name else name)


def check_defaults(name: str) -> None:
    """Check a task with its default parameters; naming a file trusts its code."""
    from workbench.tasks import make_task
    from workbench.tasks.registry import forbid_exit
    from workbench.tasks.testing import check_task
    from workbench.tasks.testing.kit import CHECK_TITLES

    task = make_task(name)
    with forbid_exit(task):
        check_task(task)
    print(f"{task.name} passes all {len(CHECK_TITLES)} checks: {', '.join(CHECK_TITLES.values())}.")
