"""``lengthlens compare``: verdicts, settings and accuracies of runs next to those of the first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import COMPARED, DIFFERENCES, SETTINGS
from workbench.core.thresholds import LEVEL_TEXT


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|DIR...", help="Compare these runs, or the measured runs in these folders, with the first one."
        ),
    ],
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare only runs of this task. Default: all tasks.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Compare runs with the first one: verdicts, settings that differ, and accuracy over prefix length.

    A difference of accuracies is significant if its 95 % interval excludes 0. If one run was trained with the change
    that the diagnosis of the first run suggests, the output reports whether the change raised accuracy.
    """
    from workbench.cli.many_runs import refuse_many_below

    refuse_both(as_json, as_csv)
    for folder in runs:
        refuse_many_below(folder, "compare")
    from workbench.cli.compared_folders import compared_folders
    from workbench.cli.run_comparison import difference_rows, open_runs, setting_rows

    compared = open_runs(compared_folders(runs, task))
    first, *others = compared
    settings = [row for other in others for row in setting_rows(first, other)]
    differences = [row for other in others for row in difference_rows(first, other)]
    tables = [
        OutputTable(COMPARED, [one.row() for one in compared]),
        OutputTable(SETTINGS, settings),
        OutputTable(DIFFERENCES, differences),
    ]
    if not print_tables("compare", tables, as_json, as_csv):
        print_comparison(compared, settings, differences)


def print_comparison(compared: list[Any], settings: list[dict[str, Any]], differences: list[dict[str, Any]]) -> None:
    """Print the comparison as text."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    from workbench.cli.run_comparison import prescription_sentence, sentences
    from workbench.cli.run_list import print_run_list, run_list

    console = Console()
    first, *others = compared
    rows = [{**one.row(), "last_step": one.step} for one in compared]
    print_run_list(console, run_list(first.folder, rows, console.width)._replace(title=""))
    for other in others:
        console.print(f"\n[bold]A = {escape(first.name)}, B = {escape(other.name)}[/]", highlight=False)
        for row in (row for row in settings if row["run_b"] == other.name):
            values = [row[key] or "not set" for key in ("value_a", "value_b")]
            console.print(f"  {row['setting']}: {' -> '.join(values)}", highlight=False, markup=False)
        for sentence in [*sentences(first, other), prescription_sentence(first, other)]:
            if sentence:
                console.print(f"  {sentence}", highlight=False, markup=False)
        rows = [row for row in differences if row["run_b"] == other.name]
        table = Grid(box=None, pad_edge=False)
        for name in ("length", "test set", "A", "B", "A - B", f"{LEVEL_TEXT} interval", ""):
            table.add_column(name, justify="left" if name in ("test set", "") else "right", no_wrap=True)
        for row in rows:
            exact = row["low"] is None or row["low"] != row["low"]
            table.add_row(
                f"{row['length']:,.0f}" + ("" if row["length_b"] == row["length"] else f" / {row['length_b']:,.0f}"),
                row["test_set"],
                f"{row['accuracy_a']:.3f}",
                f"{row['accuracy_b']:.3f}",
                f"{row['difference']:+.3f}",
                "" if exact else f"\\[{row['low']:+.2f}, {row['high']:+.2f}]",
                "significant" if row["significant"] == "yes" else "",
            )
        console.print(table)
