"""``lengthlens steps``: the checkpoints of a run with their verdicts, accuracies and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import CHECKPOINTS
from workbench.cli.table_text import on_one_line

if TYPE_CHECKING:
    from workbench.runs.run import Run


def list_steps(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="List the checkpoints of this run.")],
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List the checkpoints of a run: training step, verdict, accuracies on the matched test set, and size.

    The command is also called `checkpoints`. `lengthlens info RUN --step STEP` prints one checkpoint in full.
    """
    from workbench.runs.run import Run

    refuse_both(as_json, as_csv)
    opened = Run.open(run)
    rows, longest = checkpoint_rows(opened, run)
    if print_tables("steps", [OutputTable(CHECKPOINTS, rows)], as_json, as_csv):
        return
    from rich.console import Console

    console = Console()
    if not rows:
        on_one_line(console, f"{opened.name} has no checkpoint yet.")
        return
    print_steps(console, opened, rows, longest)
    measured = [row["step"] for row in rows if row["accuracy_trained"] is not None]
    on_one_line(console, f"\nNext: lengthlens {f'info {run} --step {measured[-1]}' if measured else f'measure {run}'}")


def checkpoint_rows(run: Run, folder: Path) -> tuple[list[dict[str, Any]], int | None]:
    """Rows of :data:`~workbench.cli.output.table_kinds.CHECKPOINTS`, and the longest measured length.

    Args:
        run: the run.
        folder: its folder as the user typed it.
    """
    from workbench.cli.run_tables import behaviour_rows, step_rows

    rows = behaviour_rows(run)
    found = []
    for row in step_rows(run, rows):
        weights = run.step_path(row["step"]) / "model.safetensors"
        size = weights.stat().st_size if weights.is_file() else None
        found.append({**row, "bytes": size, "path": str(folder / "steps" / f"{row['step']:08d}")})
    longest = rows["length"].max()
    return found, None if longest != longest else int(longest)


def print_steps(console: Any, run: Run, rows: list[dict[str, Any]], longest: int | None) -> None:
    """Print the checkpoints as text."""
    from rich.markup import escape
    from rich.table import Table as Grid

    from workbench.cli.table_text import count_of

    on_one_line(console, f"{count_of(len(rows), 'checkpoint')} of {run.name}, accuracies on the matched test set")
    grid = Grid(box=None, pad_edge=False)
    far = "longest" if longest is None else f"at {longest:,}"
    for name in ("step", "verdict", f"accuracy at {run.trained_length:,}", far, "size"):
        grid.add_column(name, justify="left" if name == "verdict" else "right")
    for row in rows:
        values = [row["accuracy_trained"], row["accuracy_longest"]]
        verdict = f"{row['verdict']}, {row['reason']}" if row["reason"] else str(row["verdict"])
        cells = ["–" if value is None else f"{value:.2f}" for value in values]
        size = "–" if row["bytes"] is None else f"{row['bytes'] / 1e3:,.0f} kB"
        grid.add_row(f"{row['step']:,}", escape(verdict), *cells, size)
    console.print(grid)
