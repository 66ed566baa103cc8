"""Reading what counts of a run, at once where its folder is as the compacted table left it.

Bringing shards together (:mod:`workbench.table.assembly`) looks at every one of them. When compaction
ends it notes the state of the folder; while that stays, the table alone is all there is to read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from workbench.storage.bounded import names_in
from workbench.table.assembly import Assembly, TablePart, assemble, version_of
from workbench.table.errors import TableError
from workbench.table.layout import read_config, table_path
from workbench.table.other_strings import OWN_STRINGS, OtherStrings, other_strings
from workbench.table.parquet import ENCODED, read_file
from workbench.table.stored_json import check_spec_text

STATE, NEWEST, OTHERS = "state", "newest", "other_strings"
"""Metadata of a compacted table: the folder's state, the newest spec of each measurement with its age, and the strings
beside the run's own that it has rows of, if any."""
FORMER_OTHERS = "evaluation_seeds"
"""What the last of these was called while only the seed of strings could be another one."""
READERS = 2
"""Threads that read runs: half of its time one is in Arrow, which leaves the interpreter free. More would only wait."""

_Newest: TypeAdapter[dict[str, tuple[str, str]]] = TypeAdapter(dict[str, tuple[str, str]])


@dataclass(frozen=True)
class TableReading:
    """What counts of a run.

    Attributes:
        rows: all rows, as ENCODED.
        specs: measurement -> (age of its newest part, its spec as JSON).
        problems: one sentence for each thing that is wrong and left out.
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
    """The rows of a run that count; what is damaged is named, never used.

    Args:
        run_path: the run.
        columns: those that are wanted, None = all; rows that have to be brought together first have all of them.
        evaluation_seed: those measured on strings of this seed, None = of the run's own.
        task_parameters: those measured on its task under these parameters, None = under its own. Rows of two kinds of
            strings are never given together.
    """
    strings = _strings(run_path, evaluation_seed, task_parameters)
    settled = None if strings else _settled(run_path, columns)
    if settled is not None:
        return settled
    assembly = assemble(run_path)
    parts = [part for part in assembly.chosen if part.strings == strings]
    rows = assembly.rows if parts == assembly.chosen else _rows_of(parts)
    return TableReading(rows, newest(parts), assembly.problems)


def _strings(run_path: Path, seed: int | None, parameters: Mapping[str, Any] | None) -> OtherStrings:
    """The strings that are asked for, as shards name them."""
    if seed is None and not parameters:
        return OWN_STRINGS
    try:
        config = read_config(run_path)
    except TableError:
        config = {}
    return other_strings(config, seed, parameters)


def _rows_of(parts: Iterable[TablePart]) -> pa.Table:
    return pa.concat_tables([ENCODED.empty_table(), *(part.rows for part in parts if part.rows is not None)])


def note(assembly: Assembly, state: str) -> dict[str, str]:
    """Metadata by which :func:`read_run` knows a settled folder; none where there is anything to tell of it."""
    if assembly.problems:
        return {}
    others = {part.strings.text for part in assembly.chosen if part.strings}
    own = newest(part for part in assembly.chosen if not part.strings)
    return {STATE: state, NEWEST: json.dumps(own)} | ({OTHERS: json.dumps(sorted(others))} if others else {})


def newest(parts: Iterable[TablePart]) -> dict[str, tuple[str, str]]:
    """measurement -> (age, spec) of its newest part."""
    ordered = sorted(parts, key=lambda part: part.age)
    return {part.measurement: (part.age[0], part.metadata["spec"]) for part in ordered}


def merged_specs(readings: Iterable[TableReading]) -> dict[str, Any]:
    """measurement -> spec, as the newest part of all runs has it."""
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
    """The measurements that a run has of an older version than the newest."""
    return tuple(name for name, spec in sorted(specs.items()) if version_of(spec) < newest[name])


def without_former(reading: TableReading, newest: Mapping[str, int], run_path: Path) -> TableReading:
    """A run's rows without those of measurements that other runs have of a newer version; each is named.

    A new version means other numbers: those of two are never shown beside each other.
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


def folder_state(run_path: Path) -> str:
    """A hash of names, sizes and times of a run's configuration, checkpoints' ``meta.json`` and shards."""
    lines = [*_states(run_path, ("run.json",))]
    for step in names_in(run_path / "steps"):
        lines += _states(run_path / "steps" / step, ("meta.json",))
    for measurement in names_in(run_path / "measurements"):
        lines += _states(run_path / "measurements" / measurement, None)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _settled(run_path: Path, columns: Sequence[str] | None) -> TableReading | None:
    """The table alone, where it was made of exactly this folder."""
    try:
        rows, metadata = read_file(table_path(run_path), columns)
        # A table of several kinds of strings is brought together part by part: what is whose stands with the parts.
        if metadata.get(STATE) != folder_state(run_path) or {OTHERS, FORMER_OTHERS} & {*metadata}:
            return None
        specs = _Newest.validate_json(metadata[NEWEST])
        for _, spec in specs.values():
            check_spec_text(spec)
    except (OSError, ValueError, KeyError):
        return None  # what is wrong with it, assembling says
    return TableReading(rows, specs, [])


def _states(folder: Path, names: tuple[str, ...] | None) -> Iterator[str]:
    """``path size time`` of the named files of a folder, or of all. There are thousands: no Path for each."""
    path, own = str(folder), folder.name
    for name in names_in(folder) if names is None else names:
        try:
            state = os.stat(f"{path}/{name}")
        except OSError:
            continue
        yield f"{own}/{name} {state.st_size} {state.st_ctime_ns}"
