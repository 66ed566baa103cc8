"""``lengthlens status``: which runs of a folder are being trained, stopped, finished and measured."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import STATES
from workbench.cli.table_text import on_one_line

if TYPE_CHECKING:
    from workbench.runs.run import Run

IN_TRAINING, STOPPED, FINISHED, NOT_TRAINED = "training", "stopped", "finished", "not trained here"


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Show the runs in this folder.")] = Path("checkpoints"),
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Show the state of each run of a folder: whether its training is running, stopped or finished, and how far it is
    measured.

    A run counts as training if it wrote its training log within the last 15 seconds. If results were written just now,
    a measurement is in progress. `lengthlens list` prints the verdicts.
    """
    import sys

    from workbench.core.failures import isolate_errors
    from workbench.runs.run import find_runs

    refuse_both(as_json, as_csv)
    problems: list[str] = []
    rows = []
    for run in find_runs(folder, problems):
        with isolate_errors(problems.append, f"{run.path} cannot be shown"):
            rows.append(state_row(run, folder))
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    if not print_tables("status", [OutputTable(STATES, rows)], as_json, as_csv):
        print_states(rows, folder)


def state_row(run: Run, folder: Path) -> dict[str, Any]:
    """The row of :data:`~workbench.cli.output.table_kinds.STATES` of a run."""
    from workbench.dashboard.state.store import is_live
    from workbench.runs.log import pace
    from workbench.table import Table
    from workbench.table.layout import shards_of

    training, steps = run.config["training"], run.steps
    step, left = steps[-1] if steps else None, None
    if not run.trained_here:
        state, planned = NOT_TRAINED, None
    else:
        planned = int(training["steps"])
        state = FINISHED if run.finished else IN_TRAINING if is_live(run.path) else STOPPED
    if state == IN_TRAINING and planned is not None:
        now = pace(run)
        step = max(now.step, step or 0)
        left = None if now.seconds is None else now.seconds * max(0, planned - step)
    measured = Table.load(run.path).sql("SELECT count(DISTINCT step) AS steps FROM rows")["steps"].iloc[0]
    written = [shard.path.stat().st_mtime for shard in shards_of(run.path)]
    return {
        "run": run.name,
        "path": str(folder / run.name) if run.path.resolve() != folder.resolve() else str(folder),
        "state": state,
        "step": step,
        "planned_steps": planned,
        "seconds_left": left,
        "checkpoints": len(steps),
        "measured": int(measured),
        "seconds_since_result": max(0.0, time.time() - max(written)) if written else None,
    }


def print_states(rows: list[dict[str, Any]], folder: Path) -> None:
    """Print the states as text."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    from workbench.figures.labels import time_left

    console = Console()
    grid = Grid(box=None, pad_edge=False)
    written = any(row["seconds_since_result"] is not None for row in rows)
    for name in ("run", "state", "step", "measured", "last result")[: 5 if written else 4]:
        grid.add_column(name, justify="left" if name in ("run", "state") else "right", overflow="fold")
    for row in rows:
        left = row["seconds_left"]
        step = "–" if row["step"] is None else f"{row['step']:,}"
        cells = [
            escape(row["run"]),
            row["state"] + (f", {time_left(left)}" if left is not None else ""),
            step if row["planned_steps"] is None else f"{step} of {row['planned_steps']:,}",
            f"{row['measured']} of {row['checkpoints']}",
            _ago(row["seconds_since_result"]),
        ]
        grid.add_row(*cells[: len(grid.columns)])
    console.print(grid)
    counts = {state: sum(row["state"] == state for row in rows) for state in (IN_TRAINING, STOPPED, FINISHED)}
    on_one_line(console, f"\n{', '.join(f'{count} {state}' for state, count in counts.items())} below {folder}.")
    stopped = next((row["path"] for row in rows if row["state"] == STOPPED), None)
    if stopped is not None:
        on_one_line(console, f"Continue a stopped run: lengthlens train --resume {stopped}")
    unmeasured = any(row["measured"] < row["checkpoints"] for row in rows)
    on_one_line(console, f"Next: lengthlens {'measure' if unmeasured else 'list'} {folder}")


def _ago(seconds: float | None) -> str:
    """How long ago something was written."""
    if seconds is None:
        return "–"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
