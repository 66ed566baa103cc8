"""Write, read and compact shards: the rows of one measurement at one step of one run.

A shard's name contains its key, the hash of all inputs that its numbers depend on. Its metadata contain the
measurement's ``spec`` (JSON), the ``key``, the ``sha256`` of the checkpoint, the ``run``'s id if the writer gives it,
``written`` (UTC), ``schema_version`` and ``rows``. Of several shards for one measurement and step the newest counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from workbench.core.failures import isolate_errors
from workbench.storage.atomic import remove_leftovers
from workbench.storage.bounded import names_in
from workbench.storage.seal import SealError
from workbench.table.assembly import (
    TablePart,
    assemble,
    manifest_entries,
    shard_header,
    shard_rows,
    strange_rows,
    to_manifest,
)
from workbench.table.errors import TableError
from workbench.table.folder_state import folder_state
from workbench.table.layout import Shard, checkpoint_sha256, parse_shard, shard_path, shards_of, table_path
from workbench.table.parquet import read_file, read_file_metadata, write_file
from workbench.table.reading import settled_metadata, verdict_note
from workbench.table.schema import SCHEMA, to_arrow
from workbench.table.stored_json import StoredError, check_spec_text
from workbench.table.walk import is_run

__all__ = [
    "Shard",
    "audit",
    "compact",
    "compacted_files",
    "read_metadata",
    "read_shard",
    "remove_shard_leftovers",
    "renew",
    "seconds_of",
    "shard_path",
    "shards_of",
    "verify_shard",
    "write_shard",
]

#: metadata that the caller gives
GIVEN = ("spec", "key", "sha256")
#: metadata that is made here
MADE = ("written", "schema_version", "rows")


def write_shard(path: Path, rows: Iterable[Mapping[str, Any]], metadata: Mapping[str, str]) -> None:
    """Write one shard, atomically.

    Args:
        path: from :func:`shard_path`.
        rows: rows as :func:`workbench.table.schema.row` makes them, of the path's measurement and step.
        metadata: ``spec`` (JSON), ``key`` (that of the path) and ``sha256`` (of the checkpoint), and any further
            entries; all values are texts.

    Raises:
        TableError: if the metadata are not complete, or path, metadata and rows contradict each other.
    """
    shard = parse_shard(path)
    _check_metadata(shard, metadata)
    table = to_arrow(rows)
    _check_rows(shard, table)
    write_file(shard.path, table, {**metadata, "written": _written(shard)})


def _check_metadata(shard: Shard, metadata: Mapping[str, str]) -> None:
    lacking = [name for name in GIVEN if name not in metadata]
    if lacking:
        raise TableError(f"the metadata of shard {shard.path} lacks {', '.join(lacking)}")
    made = [name for name in MADE if name in metadata]
    if made:
        raise TableError(f"write_shard makes {', '.join(made)} itself: leave it out of the metadata")
    if metadata["key"] != shard.key:
        raise TableError(f"the name of shard {shard.path} must contain the key of its metadata, {metadata['key']}")
    try:
        check_spec_text(metadata["spec"])
    except (SealError, StoredError) as error:
        raise TableError(f"the spec of shard {shard.path} does not describe a measurement: {error}") from None


def _check_rows(shard: Shard, table: pa.Table) -> None:
    strange = strange_rows(shard, table)
    if strange:
        raise TableError(f"shard {shard.path} cannot contain rows of {strange}; write these rows into their own shard")


def _written(shard: Shard) -> str:
    """The time to write into a shard: now, but later than the times of all existing shards of its measurement and step.

    So a new measurement counts as the newest even if the clock is slow now or was fast before.
    """
    now = datetime.now(UTC)
    for text in _times(shard):
        try:
            time = datetime.fromisoformat(text)
            now = max(now, (time if time.tzinfo else time.replace(tzinfo=UTC)) + timedelta(microseconds=1))
        except (ValueError, OverflowError):  # no time, or the last one that there is
            continue
    return now.astimezone(UTC).isoformat(timespec="microseconds")


def _times(shard: Shard) -> Iterator[str]:
    """The times at which the intact parts of a shard's measurement and step were written, including parts only in the
    table.
    """
    for path in shard.path.parent.glob(f"{shard.step:08d}-*.parquet"):
        with suppress(TableError):
            yield read_file_metadata(path).get("written", "")
    run_path = shard.path.parent.parent.parent
    with suppress(KeyError, ValueError):  # what is wrong with it, assembling says
        for entry in manifest_entries(read_file_metadata(table_path(run_path))):
            if (entry.measurement, entry.step) == (shard.measurement, shard.step):
                yield str(entry.metadata["written"])


def read_shard(path: Path) -> pa.Table:
    """Return the rows of one result file. Raises TableError if it is missing, damaged or of another row format."""
    shard_header(path)
    return shard_rows(parse_shard(path)).cast(SCHEMA)


def read_metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a result file or of a ``table.parquet``, without its rows. Raises the errors of
    :func:`read_shard`.
    """
    return read_file_metadata(path)


def verify_shard(path: Path, run: str) -> None:
    """Read a shard in full and check it.

    Args:
        path: the shard.
        run: id of the run that it should belong to.

    Raises:
        TableError: if it is missing, damaged, contradicts its path, or belongs to another run.
    """
    metadata = shard_header(path)
    shard_rows(parse_shard(path))
    if metadata.get("run", run) != run:
        raise TableError(f"{path} is of another run: delete it")


def compacted_files(run_path: Path) -> dict[tuple[str, int, str], int]:
    """Return (measurement, step, key) and file time in ns of the result files whose rows are in an intact
    ``table.parquet``.
    """
    try:
        entries = manifest_entries(read_file_metadata(table_path(run_path)))
        return {(e.measurement, e.step, e.key): e.modified or 0 for e in entries if e.held}
    except (KeyError, ValueError):  # what is wrong with it, assembling says
        return {}


def seconds_of(run_path: Path) -> dict[int, float]:
    """Return the seconds that the measurements of each step took, if this is recorded, from an intact
    ``table.parquet``.

    A shard records the time since the measurement of its checkpoint began. The shards of one step share forward passes,
    so the last one contains the total.
    """
    seconds_by_step: dict[int, float] = {}
    with suppress(KeyError, ValueError):  # what is wrong with it, assembling says
        for entry in manifest_entries(read_file_metadata(table_path(run_path))):
            seconds = float(entry.metadata.get("seconds", "nan"))
            if 0 <= seconds < math.inf:
                seconds_by_step[entry.step] = max(seconds_by_step.get(entry.step, 0.0), seconds)
    return seconds_by_step


def audit(run_path: Path) -> list[str]:
    """Read every stored row of a run and return its problems, a sentence each; nothing is changed.

    In addition to the problems that :func:`compact` reports, this finds damage in superseded shards, and in shards
    whose rows are already in the table. It also finds shards of other weights or runs.
    """
    assembly = assemble(run_path)
    problems = list(assembly.problems)
    for shard in shards_of(run_path):
        with isolate_errors(problems.append, f"{shard.path} cannot be read"):
            verify_shard(shard.path, assembly.run)
            sha256 = checkpoint_sha256(run_path, shard.step)
            if sha256 not in (None, shard_header(shard.path)["sha256"]):
                problems.append(f"{shard.path} is of other weights than the checkpoint there now: delete it")
    return list(dict.fromkeys(problems))


def renew(path: Path) -> None:
    """Make an existing shard the newest of its measurement and step.

    Used if a measurement is requested again and its shard exists already. Its rows are kept, and from now on they
    count.
    """
    rows, metadata = read_file(path)
    write_file(path, rows, {**metadata, "written": _written(parse_shard(path))})


def remove_shard_leftovers(run_path: Path) -> None:
    """Remove temporary files that killed writers of shards and tables left; those of running writers stay."""
    root = Path(run_path) / "measurements"
    remove_leftovers(Path(run_path))
    for name in () if root.is_symlink() else names_in(root):
        if not (root / name).is_symlink():
            remove_leftovers(root / name)


def compact(run_path: Path) -> list[str]:
    """Merge the rows of a run's shards that count into its ``table.parquet``; return the problems, a sentence each.

    Shards stay where they are. Rows that only the table contains and that no longer count are written back as shards
    first, so that compaction never deletes a measurement.

    Raises:
        TableError: if ``run_path`` is not a run folder.
    """
    run_path = Path(run_path)
    if not is_run(run_path):
        raise TableError(f"{run_path} is not the folder of a run: `lengthlens train TASK --out {run_path}` makes one")
    remove_shard_leftovers(run_path)
    state = folder_state(run_path)  # before it is read: what comes meanwhile is not in the table
    assembly = assemble(run_path)
    others = [_kept(run_path, part) for part in assembly.others]
    manifest = to_manifest(replace(assembly, others=others)) | settled_metadata(assembly, state)
    manifest |= verdict_note(run_path, assembly, state)
    if not _is_current(table_path(run_path), manifest):
        write_file(table_path(run_path), assembly.rows, manifest)
    return assembly.problems


def _is_current(path: Path, manifest: Mapping[str, str]) -> bool:
    """Whether an intact table has this manifest already, so that readers need not load it again."""
    try:
        metadata = read_file_metadata(path)
    except TableError:
        return False
    return all(metadata.get(name) == text for name, text in manifest.items())


def _kept(run_path: Path, part: TablePart) -> TablePart:
    """A part that does not count, with its own shard on disk."""
    if part.modified is not None or part.rows is None:
        return part
    path = shard_path(run_path, *part.identity)
    write_file(path, part.rows, part.metadata)
    return replace(part, modified=path.stat().st_ctime_ns)
