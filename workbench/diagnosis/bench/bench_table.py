"""The table of the bench: one Parquet file with a row per member, rewritten as members are completed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.core.errors import LensError
from workbench.diagnosis.bench.members import VERSION, Member
from workbench.storage import bounded
from workbench.storage.atomic import replacing
from workbench.storage.bounded import read_bytes
from workbench.table.parquet import read_columns

FILE = "members.parquet"
_TEXTS = ("kind", "group", "numbers", "planted", "thrown_out", "entry", "grade", "by", "note", "site", "rows")
_NUMBERS = ("wanted", "at_trained", "loss", "unplanted", "measured_loss", "share", "low", "high", "seconds")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.float64()) for name in _NUMBERS),
        *((name, pa.int64()) for name in ("version", "index", "layer", "head")),
        ("unplanted_each", pa.list_(pa.float64())),
    ]
)
"""``numbers`` (the whole model), ``planted`` (its flaw) and ``rows`` (the diagnosis) are JSON."""
Rows = dict[Member, Mapping[str, Any]]


class BenchError(LensError, ValueError):
    """A file that is not a table of the bench; the message names the command to run."""


def read_members(folder: Path) -> Rows:
    """Return the stored rows by member; {} if there is no table yet. Rows of another version are left out.

    Raises:
        BenchError: for a file that is not a table of the bench.
    """
    path = folder / FILE
    try:
        rows = read_columns(read_bytes(path, bounded.SHARD), SCHEMA.names).to_pylist()
    except FileNotFoundError:
        return {}
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise BenchError(
            f"{path} is not a table of the bench ({reason}); move it away and run the bench again"
        ) from error
    return {Member(row["kind"], row["index"]): row for row in rows if row["version"] == VERSION}


def write_members(folder: Path, rows: Rows) -> None:
    """Write all rows, sorted by kind and number."""
    listed = [dict(rows[member]) for member in sorted(rows, key=lambda member: (member.kind, member.index))]
    with replacing(folder, FILE) as stream:
        pq.write_table(pa.Table.from_pylist(listed, schema=SCHEMA), stream, compression="zstd")
