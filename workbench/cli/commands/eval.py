"""``lengthlens eval``: accuracy of the last checkpoint of a run at the prefix lengths that you name."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import TrustCode, integers
from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import LENGTHS
from workbench.cli.table_text import on_one_line
from workbench.core.thresholds import LEVEL_TEXT

if TYPE_CHECKING:
    from workbench.runs.run import Run


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Evaluate the last checkpoint of this run.")],
    lengths: Annotated[
        str | None,
        typer.Option(
            "--lengths",
            "--length",
            help="Evaluate at these prefix lengths in tokens, e.g. 64,128,512. Default: the lengths of "
            "`lengthlens measure`.",
        ),
    ] = None,
    trust_code: TrustCode = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Print the accuracy of the last checkpoint at prefix lengths that you name, with 95 % intervals.

    Measured lengths are read from the table of the run. If a length is missing, all named lengths are measured now.
    This changes nothing in the run. `lengthlens measure RUN --only behaviour --lengths ...` stores such results, and
    the verdict then refers to these lengths. The command is also called `evaluate` and `test`.
    """
    from workbench.runs.run import Run

    refuse_both(as_json, as_csv)
    opened = Run.open(run)
    requested = None if lengths is None else sorted({*integers(lengths, "--lengths")})
    rows = measured_rows(opened, requested)
    if not rows:
        refuse_unmeasurable(opened, run)
        with redirect_stdout(sys.stderr):
            rows = rows_measured_now(opened, requested, trust_code)
    if print_tables("eval", [OutputTable(LENGTHS, rows)], as_json, as_csv):
        return
    from rich.console import Console

    console = Console()
    on_one_line(console, f"{opened.name} at step {opened.steps[-1]:,}, N = {opened.trained_length:,}")
    print_lengths(console, rows)


def measured_rows(run: Run, requested: list[int] | None) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.LENGTHS` of the last checkpoint at the requested lengths.

    Args:
        run: the run.
        requested: prefix lengths; None = all measured ones.

    Returns:
        no rows if one of the lengths is not measured.
    """
    from workbench.cli.run_tables import behaviour_rows, length_rows

    if not run.steps:
        return []
    found = length_rows(run, behaviour_rows(run), run.steps[-1])
    if requested is None:
        return found
    measured = {int(row["length"]) for row in found}
    return [row for row in found if int(row["length"]) in requested] if {*requested} <= measured else []


def refuse_unmeasurable(run: Run, folder: Path) -> None:
    """Refuse a run that cannot be measured here.

    Raises:
        UsageError: for a run without checkpoints or without weights, or with a model that was prompted with its task.
    """
    from workbench.cli.run_tables import is_prompted

    if not run.steps:
        raise UsageError(f"{folder} has no checkpoint to evaluate yet; train it first, or name another run")
    if run.weightless:
        raise UsageError(f"{folder} cannot be evaluated here: {run.weightless}; name another run")
    if is_prompted(run):
        raise UsageError(
            f"{folder} was prompted with its task; run lengthlens measure {folder} --only behaviour.in_context"
        )


def rows_measured_now(run: Run, requested: list[int] | None, trust_code: list[Path] | None) -> list[dict[str, Any]]:
    """The rows at the requested lengths, measured on a copy of the last checkpoint in a temporary folder."""
    import tempfile

    from workbench.cli.commands.measure import measure
    from workbench.runs.run import Run
    from workbench.storage import bounded
    from workbench.storage.atomic import make_folder
    from workbench.storage.below import copy_file

    step = run.step_path(run.steps[-1]).relative_to(run.path)
    with tempfile.TemporaryDirectory(prefix="lengthlens-eval-") as temporary:
        copy = Path(temporary) / run.path.name
        make_folder(copy, step)
        copy_file(run.path, copy, "run.json", bounded.RUN_JSON)
        for name, limit in (("meta.json", bounded.META_JSON), ("model.safetensors", bounded.WEIGHTS)):
            copy_file(run.path, copy, step / name, limit)
        lengths = None if requested is None else ",".join(map(str, requested))
        measure([copy], only=["behaviour"], steps="last", lengths=lengths, workers=1, trust_code=trust_code)
        return measured_rows(Run.open(copy), requested)


def print_lengths(console: Any, rows: list[dict[str, Any]]) -> None:
    """Print accuracies as text, one line per length and test set."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    for name in ("length", "test set", "accuracy", f"{LEVEL_TEXT} interval", "n", "baseline"):
        grid.add_column(name, justify="left" if name == "test set" else "right", no_wrap=True)
    for row in rows:
        exact = row["low"] is None or row["low"] != row["low"]
        grid.add_row(
            f"{row['length']:,.0f}",
            str(row["test_set"]),
            f"{row['accuracy']:.3f}",
            "all sequences" if exact else f"\\[{row['low']:.2f}, {row['high']:.2f}]",
            f"{row['n']:,.0f}",
            "–" if row["baseline"] is None else f"{row['baseline']:.2f}",
        )
    console.print(grid)
