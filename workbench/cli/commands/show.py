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
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or one of several runs.")],
    step: Annotated[int | None, typer.Option(min=0, help="Checkpoint; default the last measured.")] = None,
) -> None:
    """Show a run in the terminal: its verdict, its behaviour over prefix length, and its steps.

    Of a folder of runs, their verdicts, a line a run.
    """
    from rich.console import Console

    from workbench.cli.in_context_in_terminal import MEASUREMENT, in_context_curve, in_context_verdict
    from workbench.cli.run_in_terminal import behaviour, beside, head, steps, verdict, verdicts, why
    from workbench.core.apart import apart
    from workbench.runs.errors import RunError
    from workbench.runs.run import Run
    from workbench.table import Table

    console = Console()
    if several := _below(console, run):
        if step is not None:
            raise RunError(f"--step is about one run, and {run} holds {len(several)}; name one of them")
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
        raise RunError(f"{opened.name} has no behaviour measured at step {step}; measured: {have}")
    said: list[str] = []
    with apart(said.append, f"the rows of {opened.path} are not what {kind} measures"):
        if presented:
            in_context_verdict(console, rows[rows["step"] == chosen])
            console.print(in_context_curve(rows[rows["step"] == chosen]))
            return
        verdict(console, rows[rows["step"] == chosen], int(chosen))
        beside(console, rows, int(chosen))
        why(console, table.frame(measurement="diagnosis"), int(chosen), opened.trained_length)
        console.print(behaviour(rows[rows["step"] == chosen], opened.trained_length))
        console.print(steps(rows, opened))
    for problem in said:
        on_one_line(console, f"problem: {problem}; `lengthlens measure {opened.path}`", "red")


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
