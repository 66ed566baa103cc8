"""The one row format in which every measurement is stored, with its explicit Arrow schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 2

SINCE = {"distinct": 2, "reason": 2}
"""The version of the row format that brought a column, where not the first. Older files are read with its default."""

REASONS = ("too few strings", "at the bar", "between the bars", "undefined", "horizon")
"""Why a label is what it is, where it says that something is not known."""

STATUSES = ("ok", "undefined", "unseen_position", "censored", "not_applicable", "sampled")

#: field -> (Arrow type, default, what it is)
FIELDS: dict[str, tuple[pa.DataType, Any, str]] = {
    "run": (pa.string(), None, "name of the run: its path below the data root"),
    "step": (pa.int64(), None, "training step of the checkpoint"),
    "law": (pa.string(), "", "law of the strings: matched or challenge; empty where none applies"),
    "length": (pa.int32(), None, "prefix length: task tokens up to and including the query"),
    "position": (pa.int32(), None, "index of a query, where the row is about one"),
    "site": (pa.string(), "", "hook name, where the row is about one"),
    "layer": (pa.int16(), None, "block; -1 is the embedding, before any block"),
    "head": (pa.int16(), None, "attention head within the block"),
    "measurement": (pa.string(), None, "the measurement that made the row"),
    "quantity": (pa.string(), None, "the quantity, as its measurement's spec defines it"),
    "target": (pa.string(), "", "what the quantity is about, e.g. the concept a probe reads"),
    "mode": (pa.string(), "", "how it was taken, e.g. transfer, recalibrated, refit"),
    "control": (pa.string(), "", "the control this row is, or empty for the quantity itself"),
    "setting": (pa.string(), "{}", "the measurement's settings as canonical JSON"),
    "value": (pa.float64(), None, "the value, or null"),
    "label": (pa.string(), "", "the value of a categorical quantity"),
    "low": (pa.float64(), None, "lower end of the 95 % interval"),
    "high": (pa.float64(), None, "upper end of the 95 % interval"),
    "n": (pa.int32(), None, "number of sequences behind the value"),
    "status": (pa.string(), "ok", "ok, undefined, unseen_position, censored, not_applicable or sampled"),
    "note": (pa.string(), "", "one clause of explanation, e.g. why a value is undefined"),
    "distinct": (pa.int32(), None, "number of distinct strings among the draws behind the value"),
    "reason": (pa.string(), "", f"why a label says that something is not known: {', '.join(REASONS)}"),
}

SCHEMA = pa.schema([pa.field(name, kind) for name, (kind, _, _) in FIELDS.items()])

Row = dict[str, Any]
DEFAULTS: Row = {name: default for name, (_, default, _) in FIELDS.items()}


def row(**fields: Any) -> Row:
    """A row with every field, defaults filled in.

    Raises:
        KeyError: for a field the schema does not have.
        ValueError: for an unknown status or reason, or a value that is NaN.
    """
    made = DEFAULTS | fields
    if len(made) > len(DEFAULTS):
        raise KeyError(f"rows have no field {next(name for name in fields if name not in DEFAULTS)!r}")
    if made["status"] not in STATUSES:
        raise ValueError(f"unknown status {made['status']!r}; known: {', '.join(STATUSES)}")
    if made["reason"] not in ("", *REASONS):
        raise ValueError(f"unknown reason {made['reason']!r}; known: {', '.join(REASONS)}")
    value = made["value"]
    if value is not None and value != value:
        raise ValueError(f"{made['quantity']} is NaN: give it a status that says why, and no value")
    return made


def to_arrow(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table of :data:`SCHEMA`; integers and floats are converted, not guessed."""
    listed = list(rows)
    columns = [pa.array([r[name] for r in listed], type=kind) for name, (kind, _, _) in FIELDS.items()]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
