"""Reads the rows of a run that count; fast if the folder has not changed since compaction.

Combining the shards (:mod:`workbench.table.assembly`) opens every one of them. Compaction records the state of the
folder when it ends. While the state stays the same, only the table is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from workbench.core.reach import Reach
from workbench.table.assembly import Assembly, TablePart, assemble, version_of
from workbench.table.errors import TableError
from workbench.table.folder_state import folder_state
from workbench.table.last_verdict import StoredVerdict, last_verdict, note_of
from workbench.table.layout import read_config, table_path
from workbench.table.other_strings import OWN_STRINGS, OtherStrings, other_strings
from workbench.table.parquet import ENCODED, StoredRows
from workbench.table.stored_json import check_spec_text
from workbench.table.stored_reach import COLUMNS, reach_by_step, reach_rows

STATE, NEWEST, OTHERS = "state", "newest", "other_strings"
"""Metadata of a compacted table: the folder's state, and the newest spec of each measurement with its age. Also the
kinds of sequences that it has rows of, other than the run's own, if any.
"""
FORMER_OTHERS = "evaluation_seeds"
"""The former name of :data:`OTHERS`, from versions in which only the evaluation seed could differ."""
READERS = 2
"""Threads that read runs. Half of the time a reader is in Arrow, which releases the interpreter. More would only wait.
"""

_Newest: TypeAdapter[dict[str, tuple[str, str]]] = TypeAdapter(dict[str, tuple[str, str]])


@dataclass(frozen=True)
class TableReading:
    """The rows of a run that count.

    Attributes:
        rows: all rows, as ENCODED.
        specs: measurement -> (age of its newest part, its spec as JSON).
        problems: one sentence for each part that is damaged and left out.
    """

    rows: pa.Table
    specs: Mapping[str, tuple[str, str]]
    problems: list[str]


def read_run(
    run_path: Path,
    columns: Sequence[str] | None = None,
    evaluation_seed: int | None = None,
    task_parameters: Mapping[str, Any] | None = None,
) -> TableReading:
    """The rows of a run that count. Damaged files are reported and never used.

    Args:
        run_path: the run.
        columns: the required columns, None = all. Rows that must be combined from shards first have all columns.
        evaluation_seed: rows measured on sequences of this seed; None = of the run's own.
        task_parameters: rows measured on its task with these parameters; None = with its own. Rows of two kinds of
            sequences are never returned together.
    """
    strings = _strings(run_path, evaluation_seed, task_parameters)
    table = None
    with suppress(OSError, ValueError):  # what is wrong with it, assembling says
        table = StoredRows(table_path(run_path))
    settled = None if strings or table is None else _settled(run_path, table, columns)
    if settled is not None:
        return settled
    assembly = assemble(run_path, table)
    parts = [part for part in assembly.chosen if part.strings == strings]
    rows = assembly.rows if parts == assembly.chosen else _rows_of(parts)
    return TableReading(rows, newest(parts), assembly.problems)


def _strings(run_path: Path, seed: int | None, parameters: Mapping[str, Any] | None) -> OtherStrings:
    """The requested kind of sequences, as shards describe it."""
    if seed is None and not parameters:
        return OWN_STRINGS
    try:
        config = read_config(run_path)
    except TableError:
        config = {}
    return other_strings(config, seed, parameters)


def _rows_of(parts: Iterable[TablePart]) -> pa.Table:
    return pa.concat_tables([ENCODED.empty_table(), *(part.rows for part in parts if part.rows is not None)])


def settled_metadata(assembly: Assembly, state: str) -> dict[str, str]:
    """Metadata by which :func:`read_run` recognizes a settled folder; empty if the folder has problems to report."""
    if assembly.problems:
        return {}
    others = {part.strings.text for part in assembly.chosen if part.strings}
    own = newest(part for part in assembly.chosen if not part.strings)
    return {STATE: state, NEWEST: json.dumps(own)} | ({OTHERS: json.dumps(sorted(others))} if others else {})


def verdict_note(run_path: Path, assembly: Assembly, state: str) -> dict[str, str]:
    """The last verdict as metadata of a compacted table; empty if the folder has problems to report."""
    if assembly.problems:
        return {}
    own = [part for part in assembly.chosen if not part.strings]
    rows = _rows_of(own)
    verdict = last_verdict(rows, newest(own))
    return note_of(run_path, verdict, _reach_at(run_path, rows, verdict), state)


def _reach_at(run_path: Path, rows: pa.Table, verdict: StoredVerdict | None) -> Reach | None:
    """Reach at the step of a verdict; None without accuracies."""
    try:
        trained = int(read_config(run_path)["training"]["trained_length"])
    except (TableError, KeyError):
        return None
    return None if verdict is None else reach_by_step(reach_rows(rows), trained).get(verdict.step)


def last_reach(run_path: Path, verdict: StoredVerdict) -> Reach | None:
    """Reach of a run at the step of a verdict, from its rows; None without accuracies."""
    return _reach_at(run_path, read_run(run_path, COLUMNS).rows, verdict)


def newest(parts: Iterable[TablePart]) -> dict[str, tuple[str, str]]:
    """Return (age, spec) of the newest part of each measurement."""
    ordered = sorted(parts, key=lambda part: part.age)
    return {part.measurement: (part.age[0], part.metadata["spec"]) for part in ordered}


def merged_specs(readings: Iterable[TableReading]) -> dict[str, Any]:
    """Return the description of each measurement, from the newest part among all runs."""
    found: dict[str, tuple[str, str]] = {}
    for reading in readings:
        for measurement, aged in reading.specs.items():
            found[measurement] = max(found.get(measurement, aged), aged)
    return {measurement: json.loads(spec) for measurement, (_, spec) in sorted(found.items())}


def newest_versions(readings: Iterable[TableReading]) -> dict[str, int]:
    """measurement -> the highest version that any run was measured with."""
    return newest_among(merged_specs([reading]) for reading in readings)


def newest_among(specs: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """measurement -> the highest version in the specs (measurement -> spec) of some runs."""
    found: dict[str, int] = {}
    for own in specs:
        for measurement, spec in own.items():
            found[measurement] = max(found.get(measurement, 0), version_of(spec))
    return found


def former_of(specs: Mapping[str, Any], newest: Mapping[str, int]) -> tuple[str, ...]:
    """Return the measurements of a run whose version is older than the newest one in the table."""
    return tuple(name for name, spec in sorted(specs.items()) if version_of(spec) < newest[name])


def without_former(reading: TableReading, newest: Mapping[str, int], run_path: Path) -> TableReading:
    """Return a run's rows without measurements that other runs have in a newer version. The problems name these
    measurements.

    A new version of a measurement gives other numbers, so that rows of two versions are never compared.
    """
    specs = merged_specs([reading])
    former = former_of(specs, newest)
    if not former:
        return reading
    rows = reading.rows.filter(~pc.field("measurement").isin(former))
    problems = [
        f"{measurement} of {run_path} was made by version {version_of(specs[measurement])}, that of other runs by "
        f"version {newest[measurement]}, and is left out: `lengthlens measure {run_path}` makes them alike"
        for measurement in former
    ]
    return replace(reading, rows=rows, problems=[*reading.problems, *problems])


def _settled(run_path: Path, table: StoredRows, columns: Sequence[str] | None) -> TableReading | None:
    """Only the table, if it was made from exactly this state of the folder; else None."""
    metadata = table.metadata
    try:
        # A table of several kinds of strings is brought together part by part: what is whose stands with the parts.
        if metadata.get(STATE) != folder_state(run_path) or {OTHERS, FORMER_OTHERS} & {*metadata}:
            return None
        specs = _Newest.validate_json(metadata[NEWEST])
        for _, spec in specs.values():
            check_spec_text(spec)
        return TableReading(table.rows(columns), specs, [])
    except (OSError, ValueError, KeyError):
        return None  # what is wrong with it, assembling says
