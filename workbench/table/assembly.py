"""Combines the compacted table and the shards of a run, and selects the rows that count.

For each (measurement, step) the newest intact shard counts. It must be of this run, and its checkpoint must still have
the weights that were measured. Rows measured on other sequences than the run's own (another evaluation seed or other
task parameters) are kept apart, and the newest of each kind counts. The compacted table has a manifest of every shard
that existed when it was written. A shard in the manifest that has not changed since is not opened again.
"""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workbench.core.failures import clause, isolate_errors
from workbench.storage.bounded import unzip
from workbench.storage.seal import SealError
from workbench.table.errors import TableError
from workbench.table.layout import (
    Shard,
    checkpoint_sha256,
    parse_shard,
    read_config,
    shard_path,
    shards_of,
    table_path,
)
from workbench.table.other_strings import OtherStrings
from workbench.table.parquet import ENCODED, StoredRows, read_file, read_file_metadata
from workbench.table.stored_json import StoredError, check_spec_text


@dataclass(frozen=True)
class TablePart:
    """The path, metadata and file time of a result file, without its rows.

    Attributes:
        measurement, step, key: as in the shard's path.
        metadata: the shard's own metadata: spec (JSON), key, sha256, run (id), written (UTC, ISO 8601), rows ...
        modified: time of the last change to the shard's file in ns (its ctime, which users cannot set back). None if
            the file no longer exists.
        rows: its rows (ENCODED), if the compacted table has them.
    """

    measurement: str
    step: int
    key: str
    metadata: Mapping[str, str]
    modified: int | None
    rows: pa.Table | None = field(default=None, compare=False)

    @property
    def identity(self) -> tuple[str, int, str]:
        """Measurement, step and key: the parts of a shard's path."""
        return self.measurement, self.step, self.key

    @cached_property
    def strings(self) -> OtherStrings:
        """Return how the evaluated sequences differ from the run's own."""
        return OtherStrings.of(self.metadata)

    @cached_property
    def place(self) -> tuple[str, int, str]:
        """Measurement, step and kind of sequences. Of several parts with equal values the newest counts."""
        return self.measurement, self.step, self.strings.text

    @property
    def age(self) -> tuple[str, str]:
        """Sorts parts of one measurement, step and kind of sequences from oldest to newest."""
        return self.metadata["written"], self.key


class ShardEntry(BaseModel):
    """An entry of a compacted table's manifest; ``spec`` in the metadata is an index into the manifest's specs."""

    model_config = ConfigDict(strict=True)

    measurement: str
    step: int = Field(ge=0, lt=10**16)
    key: str
    held: bool
    modified: int | None
    metadata: dict[str, str | int]


_Entries: TypeAdapter[list[ShardEntry]] = TypeAdapter(list[ShardEntry])
_Texts: TypeAdapter[list[str]] = TypeAdapter(list[str])


@dataclass(frozen=True)
class Assembly:
    """The rows of a run that count.

    Attributes:
        rows: all of them, ordered by measurement and step, as ENCODED.
        chosen: the parts that they come from, in the same order.
        others: known parts that do not count: superseded, stale, or of another run.
        problems: one sentence for each part that is damaged and left out.
        run: the run's id, or "" if its run.json cannot be read.
    """

    rows: pa.Table
    chosen: list[TablePart]
    others: list[TablePart]
    problems: list[str]
    run: str


def assemble(run_path: Path, table: StoredRows | None = None) -> Assembly:
    """Combine a run's table and shards into the rows that count. Damaged parts are reported and never used.

    Args:
        run_path: the run.
        table: its compacted table, if it is open already.
    """
    problems: list[str] = []
    stored, recorded = _compacted(run_path, problems, table)
    parts = sorted(_known(run_path, recorded, problems).values(), key=lambda part: (part.place, part.age))
    chosen: list[TablePart] = []
    fresh = _Freshness(run_path, problems)
    for _, group in groupby(parts, key=lambda part: part.place):
        part = _newest_sound(run_path, [part for part in group if fresh(part)], problems)
        if part is not None:
            chosen.append(part)
            fresh.record_part(part)
    chosen, outdated = _of_newest_versions(run_path, chosen)
    problems += fresh.missing() + outdated
    taken = {part.identity for part in chosen}
    return Assembly(
        rows=_rows_of(chosen, recorded, stored),
        chosen=chosen,
        others=[part for part in parts if part.identity not in taken],
        problems=problems,
        run=fresh.run,
    )


def _rows_of(chosen: Sequence[TablePart], recorded: Sequence[TablePart], stored: pa.Table) -> pa.Table:
    """The rows of the chosen parts: the stored table itself, if it consists of exactly these parts."""
    slices = [part.rows for part in recorded if part.rows is not None]
    if len(slices) == len(chosen) and all(part.rows is rows for part, rows in zip(chosen, slices, strict=True)):
        return stored
    return pa.concat_tables([ENCODED.empty_table(), *(part.rows for part in chosen)])


def _known(
    run_path: Path, recorded_parts: Sequence[TablePart], problems: list[str]
) -> dict[tuple[str, int, str], TablePart]:
    """Every part of a run: from the manifest where it is still right, and else from the shard itself."""
    recorded = {part.identity: part for part in recorded_parts}
    parts = {identity: replace(part, modified=None) for identity, part in recorded.items() if part.rows is not None}
    for shard in shards_of(run_path):
        identity = shard[:3]
        old = recorded.get(identity)
        with isolate_errors(problems.append, f"{shard.path} cannot be read"):
            modified = file_state(shard.path).st_ctime_ns
            if old is not None and old.modified == modified:
                parts[identity] = old
                continue
            metadata = shard_header(shard.path)
            # A copied or cloned folder has new times and the same shards: their rows need no second reading.
            rows = old.rows if old is not None and old.metadata == metadata else None
            parts[identity] = TablePart(*identity, metadata, modified, rows)
    return parts


def file_state(path: Path) -> os.stat_result:
    """The system's information on a shard's file. Raises TableError if the file cannot be reached, e.g. through a
    broken link.
    """
    try:
        return path.stat()
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror or error}): delete it and measure again") from None


def shard_header(path: Path) -> dict[str, str]:
    """A shard's metadata. Raises TableError if the file is damaged, or its metadata contradict its name."""
    metadata = read_file_metadata(path)
    lacking = [name for name in ("spec", "key", "sha256", "written") if name not in metadata]
    if lacking:
        raise TableError(f"{path} has no {', '.join(lacking)} in its metadata: measure again")
    if metadata["key"] != parse_shard(path).key:
        raise TableError(f"the name of {path} does not contain its key {metadata['key']}: rename it or delete it")
    try:
        check_spec_text(metadata["spec"])
    except (SealError, StoredError) as error:
        raise TableError(
            f"{path} is damaged (its spec does not describe a measurement: {error}): measure again"
        ) from None
    return metadata


def shard_rows(shard: Shard) -> pa.Table:
    """A shard's rows, as ENCODED. Raises TableError if the file is damaged, or its rows contradict its path."""
    rows, _ = read_file(shard.path)
    strange = strange_rows(shard, rows)
    if strange:
        raise TableError(f"{shard.path} contains rows of {strange}: rename it or delete it")
    return rows


def strange_rows(shard: Shard, rows: pa.Table) -> str:
    """The first measurement or step in the rows that differs from the shard's own, or ""."""
    for column, own in (("measurement", shard.measurement), ("step", shard.step)):
        others = set(rows[column].unique().to_pylist()) - {own}
        if others:
            return f"{column} {others.pop()!r}"
    return ""


def _newest_sound(run_path: Path, candidates: list[TablePart], problems: list[str]) -> TablePart | None:
    """The newest candidate whose rows can be read, with its rows. Candidates are sorted from old to new."""
    for part in reversed(candidates):
        if part.rows is not None:
            return part
        path = shard_path(run_path, *part.identity)
        with isolate_errors(problems.append, f"{path} cannot be read"):
            return replace(part, rows=shard_rows(Shard(*part.identity, path)))
    return None


def newest_specs(parts: Iterable[TablePart]) -> dict[str, Any]:
    """measurement -> spec, from the newest part of the measurement."""
    texts = {part.measurement: part.metadata["spec"] for part in sorted(parts, key=lambda part: part.age)}
    return {measurement: json.loads(text) for measurement, text in sorted(texts.items())}


class _Freshness:
    """Checks whether a part was made from the current weights of its checkpoint, and records which measurements are
    missing.

    If a part's metadata name another run, the part does not count, even if the two checkpoints are equal. If a
    checkpoint does not exist (weights are large, and not always kept), its measurements count.
    """

    def __init__(self, run_path: Path, problems: list[str]) -> None:
        self.run_path = run_path
        self.problems = problems
        self.run = _run_id(run_path)
        self.sha256: dict[int, str | None] = {}
        self.stale: set[tuple[str, int]] = set()

    def __call__(self, part: TablePart) -> bool:
        if part.metadata.get("run", self.run) != self.run:
            self.problems.append(f"{shard_path(self.run_path, *part.identity)} is of another run: delete it")
            return False
        if part.step not in self.sha256:
            try:
                self.sha256[part.step] = checkpoint_sha256(self.run_path, part.step)
            except TableError as error:
                self.problems.append(f"{error}; what was measured there is left out")
                self.sha256[part.step] = ""
        sha256 = self.sha256[part.step]
        if sha256 is None or sha256 == part.metadata["sha256"]:
            return True
        if sha256:
            self.stale.add((part.measurement, part.step))
        return False

    def record_part(self, part: TablePart) -> None:
        """Record that an intact part exists after all, so that its measurement is not missing."""
        self.stale.discard((part.measurement, part.step))

    def missing(self) -> list[str]:
        """One sentence per measurement that is left out because its checkpoint has changed."""
        return [
            f"{measurement} of {self.run_path} at {_steps(group)} is of other weights than the checkpoint "
            f"there now, and left out: `lengthlens measure {self.run_path}`"
            for measurement, group in groupby(sorted(self.stale), key=lambda pair: pair[0])
        ]


def _run_id(run_path: Path) -> str:
    try:
        return str(read_config(run_path).get("id", ""))
    except TableError:
        return ""  # whoever reads the run names its run.json


def _steps(pairs: Iterator[tuple[str, int]]) -> str:
    steps = [str(step) for _, step in pairs]
    shown = ", ".join(steps[:5]) + (f" and {len(steps) - 5} more" if len(steps) > 5 else "")
    return f"step{'s' if len(steps) > 1 else ''} {shown}"


def version_of(spec: Mapping[str, Any]) -> int:
    """Return the version of a measurement from its description; 0 if the description has none."""
    version = spec.get("version")
    return version if isinstance(version, int) else 0


@lru_cache(maxsize=256)
def _version_in(spec_text: str) -> int:
    """The version in a description as JSON. Many parts of a table share one description."""
    return version_of(json.loads(spec_text))


def _of_newest_versions(run_path: Path, chosen: list[TablePart]) -> tuple[list[TablePart], list[str]]:
    """The parts made by the newest version of their measurement, and a sentence for each measurement with older parts.

    A new version of a measurement gives other numbers, so that rows of two versions are never compared.
    """
    versions: dict[tuple[str, OtherStrings], set[int]] = {}
    for part in chosen:
        versions.setdefault((part.measurement, part.strings), set()).add(_version_in(part.metadata["spec"]))
    newest = {place: max(numbers) for place, numbers in versions.items()}
    current = [part for part in chosen if _version_in(part.metadata["spec"]) == newest[part.measurement, part.strings]]
    problems = [
        f"{measurement} of {run_path} was made by versions {', '.join(map(str, sorted(numbers)))} at different steps, "
        f"and version {max(numbers)} alone is shown: `lengthlens measure {run_path}` makes them alike"
        for (measurement, _), numbers in versions.items()
        if len(numbers) > 1
    ]
    return current, problems


def _compacted(run_path: Path, problems: list[str], table: StoredRows | None) -> tuple[pa.Table, list[TablePart]]:
    """The compacted table, and the parts that it knows. Parts whose rows it contains come with these rows.

    ``table`` is the file if it is open already.
    """
    path = table_path(run_path)
    if not os.path.lexists(path):
        return ENCODED.empty_table(), []
    with isolate_errors(
        lambda said: problems.append(f"{said}; only the shards of {run_path} are used"), f"{path} is damaged"
    ):
        rows, metadata = read_file(path) if table is None else (table.rows(), table.metadata)
        own = _run_id(run_path)
        if metadata.get("run", own) != own:
            raise TableError(f"{path} is of another run (id {metadata['run']}, here {own}): measure again")
        try:
            return rows, from_manifest(metadata, rows)
        except ValidationError:  # has a sentence of its own
            raise
        except (KeyError, ValueError, TypeError) as error:
            raise TableError(f"its list of shards is not what LengthLens writes ({clause(error)})") from error
    return ENCODED.empty_table(), []


def to_manifest(assembly: Assembly) -> dict[str, str]:
    """Metadata of the compacted table: the run's id, the specs, and all parts in the order of their rows.

    A spec is long and shared by many parts, so each part refers to a list of distinct specs.
    """
    texts = sorted({part.metadata["spec"] for part in (*assembly.chosen, *assembly.others)})

    def entry(part: TablePart, held: bool) -> dict[str, Any]:
        metadata = {**part.metadata, "spec": texts.index(part.metadata["spec"])}
        return {
            "measurement": part.measurement,
            "step": part.step,
            "key": part.key,
            "held": held,
            "modified": part.modified,
            "metadata": metadata,
        }

    shards = [entry(part, True) for part in assembly.chosen]
    shards += [entry(part, False) for part in assembly.others]
    specs = newest_specs(assembly.chosen)
    return {
        "run": assembly.run,
        "specs": json.dumps(specs),
        "spec_texts": json.dumps(texts),
        "shards": pack(json.dumps(shards)),
    }


def pack(text: str) -> str:
    """A long text in compressed form. Parquet's readers copy all metadata several times before the first row."""
    return b64encode(zlib.compress(text.encode())).decode()


def unpack(packed: str) -> str:
    """The text that :func:`pack` compressed. Raises ValueError for anything else, and for a text that would be too
    long.
    """
    return unzip(b64decode(packed, validate=True)).decode()


def manifest_entries(metadata: Mapping[str, str]) -> list[ShardEntry]:
    """The manifest in a compacted table's metadata. Raises ValueError or KeyError if it is not valid."""
    return _Entries.validate_json(unpack(metadata["shards"]))


def from_manifest(metadata: Mapping[str, str], rows: pa.Table) -> list[TablePart]:
    """The parts that :func:`to_manifest` recorded. Each part whose rows the table contains has its slice of ``rows``.

    Raises:
        KeyError, ValueError, TypeError: for metadata that :func:`to_manifest` does not write.
    """
    texts = _Texts.validate_json(metadata["spec_texts"])
    for text in texts:
        check_spec_text(text)
    parts = []
    start = 0
    for entry in manifest_entries(metadata):
        spec = entry.metadata["spec"]
        if not isinstance(spec, int) or not 0 <= spec < len(texts):
            raise ValueError(f"its manifest refers to a spec {spec!r:.40} that it does not have")
        part_metadata = {**{name: str(text) for name, text in entry.metadata.items()}, "spec": texts[spec]}
        lacking = [name for name in ("key", "sha256", "written", "rows") if name not in part_metadata]
        if lacking:
            raise ValueError(f"its manifest lacks {', '.join(lacking)}")
        held = None
        if entry.held:
            held = rows.slice(start, int(part_metadata["rows"]))
            start += int(part_metadata["rows"])
        parts.append(TablePart(entry.measurement, entry.step, entry.key, part_metadata, entry.modified, held))
    if start != rows.num_rows:
        raise ValueError("its manifest does not match its rows")
    return parts
