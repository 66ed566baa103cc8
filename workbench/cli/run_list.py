"""A list of runs in the terminal, one line per run. It imports no figures, so that a long list appears at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from workbench.cli.table_text import count_of
from workbench.core.verdicts import NOT_MEASURED, VERDICTS
from workbench.tasks.known_tasks import task_label

ROLE_COLOURS = {"summary": "blue", "position": "dark_orange", "plain": "default"}
COLOURS = {label: ROLE_COLOURS[kind.role] for label, kind in VERDICTS.items()}
_LEFT = ("run", "task", "verdict")
"""Columns of text; the others contain numbers."""
_GAP = 2
"""Spaces between two columns."""


class Cell(NamedTuple):
    """A text and the style of rich in which it is printed."""

    text: str
    style: str = ""


class RunList(NamedTuple):
    """What a list of runs shows.

    Attributes:
        title: how many runs there are in which folder; "" = print none.
        columns: names of the columns.
        lines: cells by column, one mapping per run.
    """

    title: str
    columns: tuple[str, ...]
    lines: Sequence[Mapping[str, Cell]]

    @property
    def widths(self) -> dict[str, int]:
        """Characters of each column."""
        return {
            name: max([cell_len(name), *(cell_len(line[name].text) for line in self.lines)]) for name in self.columns
        }

    @property
    def width(self) -> int:
        """Characters of a line."""
        return sum(self.widths.values()) + _GAP * (len(self.columns) - 1)


def run_list(root: Path, rows: Sequence[Mapping[str, Any]], width: int = 0) -> RunList:
    """One line per run: task, N, steps, and the verdict at its last measured step.

    Args:
        root: the folder.
        rows: of :func:`workbench.cli.listed_runs.listed_runs`.
        width: width of the terminal in characters. Names of runs are never cut. Instead, tasks lose their name in
            words, then columns are left out. 0 = keep everything.
    """
    columns = ("run", "task", "N", "steps", "verdict", "at step", "to length")
    title = f"{count_of(len(rows), 'run')} below {_printable(str(root))}"
    listed = RunList(title, columns, [dict(zip(columns, _cells(row), strict=True)) for row in rows])
    if width and listed.width > width:
        short = [{**line, "task": Cell(_printable(row["task"]))} for row, line in zip(rows, listed.lines, strict=True)]
        listed = listed._replace(lines=short)
    for column in ("steps", "N", "at step"):
        if width and listed.width > width:
            listed = listed._replace(columns=tuple(name for name in listed.columns if name != column))
    return listed


def print_run_list(console: Console, listed: RunList) -> None:
    """Print a list of runs line by line, because a table of rich takes more than a second for 1,000 rows.

    Lines that are wider than the terminal continue on its next line.
    """
    widths = listed.widths
    if listed.title:
        console.print(Text(listed.title, style="table.title"), soft_wrap=True)
    header = {name: Cell(name, "table.header") for name in listed.columns}
    for line in (header, *listed.lines):
        text = Text()
        for name in listed.columns:
            cell, space = line[name], " " * (widths[name] - cell_len(line[name].text))
            gap = "" if name == listed.columns[0] else " " * _GAP
            text.append(gap + ("" if name in _LEFT else space))
            text.append(cell.text, cell.style or None)
            text.append(space if name in _LEFT else "")
        text.rstrip()
        console.print(text, soft_wrap=True)


def _printable(text: str) -> str:
    """A text in which line ends and other characters without a place in a line are escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    steps = "none" if row["last_step"] is None else f"{row['last_step']:,}"
    run, task = Cell(_printable(row["run"])), Cell(_printable(task_label(row["task"])))
    head = (run, task, Cell(f"{row['trained_length']:,}"), Cell(steps))
    if row["verdict_step"] is None:
        return (*head, Cell(NOT_MEASURED), Cell("–"), Cell("–"))
    tested = row["tested_to"]
    return (
        *head,
        Cell(str(row["verdict"]), COLOURS.get(row["verdict"], "default")),
        Cell(f"{row['verdict_step']:,}"),
        Cell("–" if tested is None else f"{int(tested):,}"),
    )
