"""``lengthlens plot``: any quantity over prefix length or over training, in the terminal or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.errors import UsageError
from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import POINTS

if TYPE_CHECKING:
    from workbench.figures.panels.lines_of_runs import Axis, LinesOfRuns

BAR = 30
"""Characters of the longest bar in the terminal."""


def plot(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|DIR",
            help="Plot this run, or the runs of this folder. With up to eight runs, each run gets a line. With more, "
            "the plot shows the median and range for each task.",
        ),
    ],
    quantity: Annotated[
        str, typer.Argument(metavar="QUANTITY", help="Plot this quantity. `lengthlens quantities` lists all.")
    ] = "accuracy",
    over: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="Plot over `length` (prefix length) or `step` (training). Default: length, if the quantity "
            "depends on it.",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(min=0, help="Use the checkpoint at this training step in a plot over length. Default: the last."),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Use this prefix length in tokens in a plot over steps. Default: about twice the longest trained "
            "length.",
        ),
    ] = None,
    measurement: Annotated[
        str | None,
        typer.Option(
            help="Choose this measurement if several measurements have a quantity of the given name. "
            "Default: the first of them."
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Draw a figure of the Run page instead of a quantity. Give the name that it has in notebooks, such "
            "as `event_order`. Needs --out, --json or --csv. Default: the figure of the quantity.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the figure to this file: .svg, .pdf, .png or .html."),
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Plot a quantity with its 95 % intervals, as the dashboard draws it.

    For more than eight runs, it plots the median over the runs of each task. The lowest and the highest run then
    replace the interval. Without --out, it prints the values as bars in the terminal. --json and --csv print exactly
    the plotted values.
    """
    from workbench.cli.many_runs import refuse_many_below

    refuse_both(as_json, as_csv)
    axis = _axis(over)
    refuse_many_below(run, "plot")
    if out is not None:
        from workbench.figures.export.titled_figure import refuse_ending

        refuse_ending(out)
    from workbench.figures.export.titled_figure import save

    if figure is not None:
        _draw_figure(run, figure, step, length, out, as_json, as_csv)
        return
    from workbench.cli.plotted import plot_runs

    drawn = plot_runs(run, quantity, measurement, axis, step, length)
    if out is not None:
        save(drawn.figure, out)
        if not (as_json or as_csv):
            print(f"{out}: {drawn.about}.")
            return
    if not print_tables("plot", [OutputTable(POINTS, points(drawn))], as_json, as_csv):
        print_bars(drawn)


def _draw_figure(
    run: Path, name: str, step: int | None, length: int | None, out: Path | None, as_json: bool, as_csv: bool
) -> None:
    """Write a figure by its name, or print exactly its rows."""
    from workbench.cli.plotted_figure import named_figure
    from workbench.figures.export.titled_figure import save

    if out is None and not (as_json or as_csv):
        raise UsageError("--figure needs a file for the picture: add --out FILE, or --csv or --json for its rows")
    drawn = named_figure(run, name, step, length)
    if out is not None:
        save(drawn.figure, out)
        if not (as_json or as_csv):
            print(f"{out}: {drawn.about}.")
            return
    rows: list[dict[str, Any]] = drawn.rows.to_dict("records")
    print_tables(
        "plot", [OutputTable(POINTS, [{**row, "line": row.get("series", "")} for row in rows])], as_json, as_csv
    )


def _axis(over: str | None) -> Axis | None:
    names: dict[str, Axis] = {
        "length": "length",
        "lengths": "length",
        "step": "step",
        "steps": "step",
        "training": "step",
    }
    if over is not None and over not in names:
        raise UsageError(f"--over takes length or step, not {over[:60]!r}")
    return None if over is None else names[over]


def points(drawn: LinesOfRuns) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.POINTS`."""
    rows: list[dict[str, Any]] = drawn.rows.to_dict("records")
    return [{**row, "line": row.get("series", "")} for row in rows]


def print_bars(drawn: LinesOfRuns) -> None:
    """Print the values of each line, with a bar from the lowest value (or 0) to the highest (or 1)."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    rows = points(drawn)
    values = [float(row["value"]) for row in rows if row["value"] == row["value"]]
    low, high = min([0.0, *values]), max([*values], default=1.0)
    high = 1.0 if low >= 0 and 0.2 < high <= 1 else high
    grid = Grid(box=None, pad_edge=False, title_justify="left", title=escape(drawn.about))
    for name in ("line", drawn.axis, "value", drawn.interval, ""):
        grid.add_column(name, justify="left" if name in ("line", "") else "right", no_wrap=True)
    last = None
    for row in rows:
        exact = row["low"] is None or row["low"] != row["low"]
        share = (float(row["value"]) - low) / ((high - low) or 1.0) if row["value"] == row["value"] else 0.0
        place = row.get(drawn.axis)
        grid.add_row(
            "" if row["line"] == last else escape(str(row["line"])),
            "" if place is None or place != place else f"{place:,.0f}",
            f"{row['value']:.4g}",
            "" if exact else f"\\[{row['low']:.3g}, {row['high']:.3g}]",
            "\u2588" * round(share * BAR),
        )
        last = row["line"]
    Console().print(grid)
