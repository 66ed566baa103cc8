"""Reads and writes the Parquet tables of the study."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.storage.atomic import write_atomic


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table; a missing file has none."""
    file = folder / name
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist() if file.exists() else []
    return rows


def write_rows(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    """Write the rows of a table."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), file, compression="zstd")
    write_atomic(folder, name, file.getvalue())
