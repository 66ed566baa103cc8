"""``lengthlens show``: a run, or a folder of runs, in the terminal."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.table_text import on_one_line

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.runs.run import Run


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Show the run in this folder, or all runs in it.")],
    step: Annotated[
        int | None, typer.Option(min=0, help="Show this checkpoint. Default: the last measured one.")
    ] = None,
) -> None:
    """Show a run in the terminal: its verdict, its accuracy over prefix length, and its checkpoints.

    For a folder of runs, print one line per run with its verdict.
    """
    from rich.console import Console

    from workbench.cli.show_in_context import MEASUREMENT, in_context_curve, in_context_verdict
    from workbench.cli.show_run import behaviour, beside, head, steps, verdict, verdicts, why
    from workbench.core.failures import isolated
    from workbench.runs.errors import RunError
    from workbench.runs.run import Run
    from workbench.table import Table
    from workbench.table.damage import blaming_damage, damage

    console = Console()
    if several := _below(console, run):
        if step is not None:
            raise RunError(f"--step works only with one run, but {run} contains {len(several)} runs; name one of them")
        console.print(verdicts(run, several, console.width))
        on_one_line(console, f"\nMore about one: lengthlens show {run / several[0].name}")
        return
    opened = Run.open(run)
    head(console, opened)
    table = Table.load(opened.path)
    for problem in table.problems:
        on_one_line(console, f"problem: {problem}", "red")
    presented = opened.referenced or "presented" in opened.config["task"]
    kind = MEASUREMENT if presented else "behaviour"
    rows = table.frame(measurement=kind, mode=["teacher_forced", ""])
    if rows.empty:
        on_one_line(console, f"Not measured yet: lengthlens measure {run}")
        return
    measured = sorted(rows["step"].unique())
    chosen = measured[-1] if step is None else step
    if chosen not in measured:
        have = ", ".join(f"{s:,}" for s in measured)
        raise RunError(
            f"{opened.name} has no behaviour measured at step {step}; choose one of the measured steps: {have}"
        )
    said: list[str] = []
    damaged = blaming_damage(lambda: [(opened.name, damage(table.frame()))])
    with isolated(said.append, f"{opened.path} cannot be shown"), damaged:
        if presented:
            in_context_verdict(console, rows[rows["step"] == chosen], None if opened.weightless else opened.path)
            console.print(in_context_curve(rows[rows["step"] == chosen]))
            return
        verdict(console, rows[rows["step"] == chosen], int(chosen), opened.trained_length)
        beside(console, rows, int(chosen))
        why(console, table.frame(measurement="diagnosis"), int(chosen), opened.trained_length)
        console.print(behaviour(rows[rows["step"] == chosen], opened.trained_length))
        console.print(steps(rows, opened))
    for problem in said:
        on_one_line(console, f"problem: {problem}", "red")


def _below(console: Console, folder: Path) -> list[Run]:
    """The runs below a folder that is none itself; those that cannot be opened are named."""
    from workbench.runs.errors import RunError
    from workbench.runs.run import find_runs

    if (folder / "run.json").exists():
        return []
    problems: list[str] = []
    with suppress(RunError):  # there is none: it is opened as a run, which says what that is
        found = find_runs(folder, problems)
        for problem in problems:
            on_one_line(console, f"problem: {problem}", "red")
        return found
    return []
