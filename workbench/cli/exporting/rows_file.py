"""The measured rows of a run as a CSV, Parquet or JSON file."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from workbench.cli.errors import UsageError
from workbench.core.suggest import nearest
from workbench.runs.run import Run
from workbench.storage.atomic import write_named
from workbench.table import Table

FORMATS = ("csv", "parquet", "json")
"""Formats of the file, each also its ending."""


def rows_file(run: Run, out: Path | None, kind: str | None) -> tuple[Path, str]:
    """The file to write and its format, each from the other where only one is given.

    Raises:
        UsageError: for an unknown format, an unknown ending, or a file that exists.
    """
    kind = kind or (out.suffix.lower().removeprefix(".") if out is not None else None)
    if not kind:
        raise UsageError(
            f"{out} has no file ending; name {out}.csv for the measured rows, or give --to {out} for a hub"
        )
    if kind not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS)}, not {str(kind)[:60]!r}; {nearest(str(kind), FORMATS)}")
    file = out or Path(f"{run.name}.{kind}")
    if os.path.lexists(file):
        raise UsageError(f"{file} exists already and is not overwritten; choose another file with -o")
    return file, kind


def export_rows(run: Run, file: Path, kind: str, quantity: str | None, problems: list[str]) -> int:
    """Write the measured rows of a run to a file, and return their number.

    Args:
        run: the run.
        file: the file.
        kind: its format.
        quantity: write only rows of this quantity; None = all.
        problems: receives one sentence for each damaged file of the run.

    Raises:
        UsageError: if nothing is measured, or there are no rows of the quantity.
        StorageError: if the file cannot be written.
    """
    from workbench.dashboard.downloads import to_csv, to_parquet, whole_columns

    table = Table.load(run.path)
    problems += table.problems
    rows = table.to_pandas()
    if rows.empty:
        raise UsageError(f"{run.name} is not measured yet; run lengthlens measure {run.path}")
    if quantity is not None:
        known = sorted({*rows["quantity"].astype(str)})
        rows = rows[rows["quantity"] == quantity].reset_index(drop=True)
        if rows.empty:
            raise UsageError(f"{run.name} has no rows of quantity {quantity[:60]!r}; {nearest(quantity, known)}")
    if kind == "parquet":
        data = to_parquet(rows)
    elif kind == "csv":
        data = to_csv(whole_columns(rows)).encode()
    else:
        records = [{key: _plain(value) for key, value in row.items()} for row in _records(whole_columns(rows))]
        data = (json.dumps(records, ensure_ascii=False, indent=1) + "\n").encode()
    write_named(file, data)
    return len(rows)


def _records(rows: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.astype(object).to_dict("records")
    return found


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; null for a missing one."""
    import pandas as pd

    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value.item() if hasattr(value, "item") else value
