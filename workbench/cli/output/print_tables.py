"""Tables of a command as JSON, as CSV or as plain columns."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from workbench.cli.errors import UsageError
from workbench.cli.output.table_kinds import CSV_TABLE, TABLES, TableKind

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON. docs/commands.md lists the keys.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV with a header. docs/commands.md lists the columns.")]


@dataclass(frozen=True)
class OutputTable:
    """The rows of one printed table, each a dict with the keys of this kind of table."""

    kind: TableKind
    rows: Sequence[Mapping[str, Any]]

    def plain_rows(self) -> list[dict[str, Any]]:
        """The rows with Python numbers, None for a missing number and "" for a missing text."""
        return [{field.key: _plain(row.get(field.key), field.type) for field in self.kind.fields} for row in self.rows]

    def json_value(self) -> Any:
        """Return the JSON value that is printed under the name of the table."""
        rows = self.plain_rows()
        return rows[0] if self.kind.single else rows

    def csv_text(self) -> str:
        """Return the table as CSV. Numbers have all their digits."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.kind.keys, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.plain_rows())
        return text.getvalue()


def refuse_both(as_json: bool, as_csv: bool) -> None:
    """Refuse ``--json`` together with ``--csv``, before anything is computed.

    Raises:
        UsageError: if both are set.
    """
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other; give one of them")


def print_tables(command: str, tables: Sequence[OutputTable], as_json: bool, as_csv: bool) -> bool:
    """Print the tables of a command as JSON or CSV; return False, and print nothing, where neither was chosen.

    Args:
        command: name of the command in :data:`TABLES`.
        tables: all tables of the command, in that order.
        as_json, as_csv: whether the options were given.
    """
    refuse_both(as_json, as_csv)
    assert [table.kind for table in tables] == list(TABLES[command])
    if as_json:
        print(json.dumps({table.kind.name: table.json_value() for table in tables}, indent=2, ensure_ascii=False))
    elif as_csv:
        csv_table = next(table for table in tables if table.kind is CSV_TABLE[command])
        sys.stdout.write(csv_table.csv_text())
    return as_json or as_csv


def print_columns(headings: Sequence[str], rows: Sequence[Sequence[str]], into_pipes: bool = False) -> None:
    """Print rows as text, one line each: a terminal cuts the last column at its edge, a pipe does not.

    Args:
        headings: of the columns; a terminal shows them.
        rows: their cells.
        into_pipes: whether the headings are also printed where the output is not a terminal.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    from workbench.cli.table_text import align_columns

    console = Console()
    if not console.is_terminal:
        print("\n".join(align_columns([headings, *rows] if into_pipes else rows)))
        return
    grid = Grid(box=None, pad_edge=False)
    for heading in headings:
        last = heading == headings[-1]
        grid.add_column(heading, no_wrap=True, overflow="ellipsis" if last else "fold", ratio=1 if last else None)
    for row in rows:
        grid.add_row(*map(escape, row))
    console.print(grid)


def _plain(value: Any, type_: str) -> Any:
    """A value as JSON can hold it."""
    missing = value is None or (isinstance(value, float) and not math.isfinite(value))
    if type_ == "text":
        return "" if missing else str(value)
    if missing:
        return None
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if type_ == "whole" else number
