"""Parquet files of claims and of their runs: sealed when they are written, and refused if a byte has changed since."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.claims.errors import ClaimError
from workbench.storage import bounded
from workbench.storage.atomic import write_atomic
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import BLANK, KEY, check_seal, seal
from workbench.table.parquet import read_columns


def write_sealed(folder: Path, name: str, table: pa.Table) -> None:
    """Write a table with its seal, atomically; the same rows give the same bytes."""
    data = io.BytesIO()
    with pq.ParquetWriter(data, table.schema, compression="zstd") as file:
        file.write_table(table)
        file.add_key_value_metadata({KEY: BLANK})
    write_atomic(folder, name, seal(data.getvalue()))


def read_sealed(path: Path, kind: str, columns: Sequence[str]) -> pa.Table | None:
    """Return some columns of a table that :func:`write_sealed` wrote; None if the file does not exist.

    Args:
        path: the file.
        kind: what it should be, for the message: ``table of claims``.
        columns: their names.

    Raises:
        ClaimError: for a file that is not such a table, or that was changed since it was written.
    """
    try:
        data = read_bytes(path, bounded.SHARD)
        check_seal(data)
        return read_columns(data, list(columns))  # not pq.read_table, which loads pandas
    except FileNotFoundError:
        return None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ClaimError(
            f"{path} is not a {kind} that LengthLens wrote ({reason}); restore the file, or move it away and reproduce "
            "again"
        ) from error
