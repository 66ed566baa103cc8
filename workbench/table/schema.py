"""The one row format in which every measurement is stored, with its explicit Arrow schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from workbench.core.thresholds import LEVEL_TEXT
from workbench.core.verdicts import REASONS

STATUSES = ("ok", "undefined", "unseen_position", "censored", "not_applicable", "sampled")

LAST = 99
"""Rank of an identifying column by which a figure separates lines only after all other columns."""


class Column(NamedTuple):
    """One column of the result tables. To add a column, add one entry to :data:`COLUMNS`; all other lists follow from
    it.

    Attributes:
        name: the name of the column.
        type: its Arrow type.
        default: the value if a measurement gives none.
        doc: the meaning of the column.
        identifies: whether rows that differ in it are different measurements, whatever else they share.
        separates: rank among the columns that separate the lines of a figure, the most informative first. None for
            columns that do not identify, and for columns that a figure fixes or uses as an axis.
        since: the version of the row format that added it. Older files are read with its default.
        least: the smallest number that a measurement writes; None if the column is not a count or an index.
    """

    name: str
    type: pa.DataType
    default: Any
    doc: str
    identifies: bool = False
    separates: int | None = LAST
    since: int = 1
    least: int | None = None


COLUMNS = (
    Column("run", pa.string(), None, "name of the run: its path below the data root", True, None),
    Column("step", pa.int64(), None, "training step of the checkpoint", True, None, least=0),
    Column("law", pa.string(), "", "law of the strings: matched or challenge; empty where none applies", True, 4),
    Column("length", pa.int32(), None, "prefix length: task tokens up to and including the query", True, None, least=1),
    Column("position", pa.int32(), None, "index of a query, where the row is about one", True, least=0),
    Column("site", pa.string(), "", "hook name, where the row is about one", True, 5),
    Column("layer", pa.int16(), None, "block; -1 is the embedding, before any block", True, 6, least=-1),
    Column("head", pa.int16(), None, "attention head within the block", True, 7, least=0),
    Column("measurement", pa.string(), None, "the measurement that made the row", True, None),
    Column("quantity", pa.string(), None, "the quantity, as its measurement's spec defines it", True, None),
    Column("target", pa.string(), "", "what the quantity is about, e.g. the concept a probe reads", True, 2),
    Column("mode", pa.string(), "", "how it was taken, e.g. transfer, recalibrated, refit", True, 3),
    Column("control", pa.string(), "", "the control this row is, or empty for the quantity itself", True, 1),
    Column("setting", pa.string(), "{}", "the measurement's settings as canonical JSON", True, None),
    Column("value", pa.float64(), None, "the value, or null"),
    Column("label", pa.string(), "", "the value of a categorical quantity"),
    Column("low", pa.float64(), None, f"lower end of the {LEVEL_TEXT} interval"),
    Column("high", pa.float64(), None, f"upper end of the {LEVEL_TEXT} interval"),
    Column("n", pa.int32(), None, "number of sequences behind the value", least=0),
    Column("status", pa.string(), "ok", f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"),
    Column("note", pa.string(), "", "one clause of explanation, e.g. why a value is undefined"),
    Column(
        "distinct", pa.int32(), None, "number of distinct strings among the draws behind the value", since=2, least=0
    ),
    Column("reason", pa.string(), "", f"why a label says that something is not known: {', '.join(REASONS)}", since=2),
)
"""Every column of a row, in the order of files."""

SCHEMA_VERSION = max(column.since for column in COLUMNS)
"""Version of the row format. It rises when a column is added, and is the largest ``since``."""
FIELDS: dict[str, Column] = {column.name: column for column in COLUMNS}
SCHEMA = pa.schema([pa.field(column.name, column.type) for column in COLUMNS])
IDENTIFYING = tuple(column.name for column in COLUMNS if column.identifies)
"""Rows that are equal in these columns are the same measurement."""
SEPARATING = tuple(
    column.name
    for column in sorted(COLUMNS, key=lambda column: column.separates or 0)
    if column.identifies and column.separates is not None
)
"""Identifying columns that separate the lines of a figure, the most informative first."""
TEXTS = tuple(column.name for column in COLUMNS if column.type == pa.string())
"""Columns of text."""
WHOLE = tuple(column.name for column in COLUMNS if pa.types.is_integer(column.type))
"""Columns of whole numbers."""

Row = dict[str, Any]
DEFAULTS: Row = {column.name: column.default for column in COLUMNS}


def row(**fields: Any) -> Row:
    """Return a result row with every column; missing fields have the default of their column.

    Raises:
        KeyError: for a field that the schema does not have.
        ValueError: for an unknown status or reason, or a value that is NaN.
    """
    fields_of_row = DEFAULTS | fields
    if len(fields_of_row) > len(DEFAULTS):
        raise KeyError(f"rows have no field {next(name for name in fields if name not in DEFAULTS)!r}")
    if fields_of_row["status"] not in STATUSES:
        raise ValueError(f"unknown status {fields_of_row['status']!r}; known: {', '.join(STATUSES)}")
    if fields_of_row["reason"] not in ("", *REASONS):
        raise ValueError(f"unknown reason {fields_of_row['reason']!r}; known: {', '.join(REASONS)}")
    value = fields_of_row["value"]
    if value is not None and value != value:
        raise ValueError(f"{fields_of_row['quantity']} is NaN: leave the value out and give a status with the reason")
    return fields_of_row


def to_arrow(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows as an Arrow table of :data:`SCHEMA`. Integers and floats are converted to the column's type."""
    listed = list(rows)
    columns = [pa.array([r[column.name] for r in listed], type=column.type) for column in COLUMNS]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
