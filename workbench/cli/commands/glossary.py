"""``lengthlens glossary``: what a word, a verdict, a measurement or a quantity means."""

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
from workbench.cli.output.table_kinds import GLOSSARY

FEW = 5
"""Up to so many terms are printed in full."""


def define(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="Define this word, or all terms that contain it.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Define a word, a verdict, a measurement or a quantity. Without a word, list all terms, one line each."""
    import textwrap

    from workbench.cli.declared_quantities import matching, term_rows

    refuse_both(as_json, as_csv)
    rows = matching(term_rows(), word, ("term",), "glossary")
    if print_tables("glossary", [OutputTable(GLOSSARY, rows)], as_json, as_csv):
        return
    if len(rows) > FEW:
        print_columns(("term", "kind", "meaning"), [(row["term"], row["kind"], row["meaning"]) for row in rows])
        return
    for row in rows:
        print(f"{row['term']} ({row['kind']})")
        print(textwrap.fill(row["meaning"], 100, initial_indent="  ", subsequent_indent="  "))
