"""``lengthlens measurements``: what can be measured, one line each."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.output.print_tables import (
    CsvOption,
    JsonOption,
    OutputTable,
    print_columns,
    print_tables,
    refuse_both,
)
from workbench.cli.output.table_kinds import MEASUREMENTS


def list_measurements(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="List only measurements that contain this word.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List the measurements, one line each. `lengthlens measure DIR --only NAME` runs one.

    `lengthlens measure DIR` runs all of them except those marked `only by name`. `lengthlens measure --list` prints the
    same list.
    """
    from workbench.cli.declared_quantities import matching, measurement_rows

    refuse_both(as_json, as_csv)
    rows = matching(measurement_rows(), word, ("measurement",), "measurements")
    if print_tables("measurements", [OutputTable(MEASUREMENTS, rows)], as_json, as_csv):
        return
    marks = {"yes": "", "no": "only by name"}
    print_columns(
        ("measurement", "", "what it measures"),
        [(row["measurement"], marks[row["default"]], row["title"]) for row in rows],
    )
