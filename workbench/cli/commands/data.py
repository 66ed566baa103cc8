"""``lengthlens data``: the published tables and the gallery, as folders with cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.output.print_tables import (
    CsvOption,
    JsonOption,
    OutputTable,
    print_columns,
    print_tables,
    refuse_both,
)
from workbench.cli.output.table_kinds import DATA
from workbench.core.errors import quoted_value
from workbench.core.suggest import nearest

GALLERY = "gallery"
ABOUT_GALLERY = "Runs of the gallery, with model cards"


def data(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Write this dataset. Default: list all datasets.")
    ] = None,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the dataset to this new folder.")] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """List the published datasets, or write one to a folder with a card.

    A card lists the columns with their units, how the table was made, its licence, and how to load it. `gallery` writes
    the runs of the gallery, each with a model card. In Python, `lengthlens.datasets.load_dataset(NAME)` loads a table.
    """
    from workbench.datasets.known_datasets import dataset_names
    from workbench.datasets.loading import write_dataset

    refuse_both(as_json, as_csv)
    if name is None:
        if to is not None:
            raise UsageError("--to needs the name of a dataset; run lengthlens data to list the names")
        _list(as_json, as_csv)
        return
    if name not in (*dataset_names(), GALLERY):
        raise UsageError(f"there is no dataset {quoted_value(name)}; {nearest(name, [*dataset_names(), GALLERY])}")
    if as_json or as_csv:
        raise UsageError("--json and --csv print the list of datasets; leave the name out")
    if to is None:
        raise UsageError(f"name the new folder; add --to {name}")
    if name == GALLERY:
        from workbench.cli.exporting.gallery_cards import write_gallery

        print(f"{to}: {write_gallery(to)} runs, each with a model card (README.md)")
        return
    print(f"{write_dataset(name, to)}: {name}.parquet and its card README.md")


def _list(as_json: bool, as_csv: bool) -> None:
    from workbench.datasets.known_datasets import DATASETS, dataset_names
    from workbench.datasets.loading import dataset_bytes, table_of

    rows: list[dict[str, object]] = []
    for name in dataset_names():
        dataset = DATASETS[name]
        table = table_of(dataset, dataset_bytes(dataset))
        columns = table.num_columns
        rows.append({"dataset": name, "title": dataset.title, "rows": table.num_rows, "columns": columns})
    rows.append({"dataset": GALLERY, "title": ABOUT_GALLERY, "rows": None, "columns": None})
    if print_tables("data", [OutputTable(DATA, rows)], as_json, as_csv):
        return
    print_columns(
        ("dataset", "rows", "content"),
        [(str(row["dataset"]), f"{row['rows']:,}" if row["rows"] else "", str(row["title"])) for row in rows],
    )
    print("Next: lengthlens data NAME --to DIR")
