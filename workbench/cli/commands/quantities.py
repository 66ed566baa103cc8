"""``lengthlens quantities``: every quantity with its definition, one line each."""

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
from workbench.cli.output.table_kinds import QUANTITIES


def list_quantities(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="List only quantities that contain this word.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List the quantities with their measurement, unit and definition, one line each.

    `lengthlens plot RUN QUANTITY` plots one. `lengthlens glossary QUANTITY` prints its whole definition.
    """
    from workbench.cli.declared_quantities import matching, quantity_rows

    refuse_both(as_json, as_csv)
    rows = matching(quantity_rows(), word, ("quantity",), "quantities")
    if print_tables("quantities", [OutputTable(QUANTITIES, rows)], as_json, as_csv):
        return
    keys = ("quantity", "measurement", "unit", "definition")
    print_columns(keys, [[row[key] for key in keys] for row in rows])
