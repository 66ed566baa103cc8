"""The last verdict of a run, and its reach. Compaction notes both in the table's metadata, so that a list of runs reads
no rows.

The note has a hash of its own, because reading it must not require hashing the whole file. It also states the folder's
state, so that a note older than the folder's content is not used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.reach import Reach, checked_reach
from workbench.storage import bounded
from workbench.storage.bounded import open_regular
from workbench.table.folder_state import copied_state, folder_state
from workbench.table.layout import table_path

if TYPE_CHECKING:
    import pyarrow as pa

NOTE = "last_verdict"
"""The key of the note in a compacted table's metadata."""
VERDICT_QUANTITIES = ("verdict", "in_context_verdict")
"""Quantities whose label is one of :data:`workbench.core.verdicts.VERDICTS`."""
COLUMNS = ("measurement", "quantity", "step", "status", "label", "note", "length", "reason")
"""Columns of rows that :func:`last_verdict` reads."""
MOST_FOOTER = 64 << 20
_MARK = re.compile(rb"last verdict ([0-9a-f]{64}) (\d{1,6}) ")
_MAGIC = b"PAR1"


class StoredVerdict(NamedTuple):
    """A verdict row without its position in the table.

    Attributes:
        measurement, version: the measurement that wrote the row, and its version.
        step, label, reason, note: columns of the row.
        length: the longest tested length; None if the row has none.
    """

    measurement: str
    version: int
    step: int
    label: str
    reason: str
    note: str
    length: int | None


def verdict_rows(rows: pa.Table, quantities: Sequence[str] = VERDICT_QUANTITIES) -> list[dict[str, Any]]:
    """The rows with a verdict, by step; rows that state why there is none are left out.

    Args:
        rows: as :data:`workbench.table.parquet.ENCODED`, with at least ``quantity``, ``status`` and ``step``.
        quantities: which quantities are verdicts.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    masks = []
    for chunk in rows["quantity"].chunks:  # by codes, because there may be a million texts
        codes = [code for code, text in enumerate(chunk.dictionary.to_pylist()) if text in quantities]
        masks.append(pc.is_in(chunk.indices, value_set=pa.array(codes, chunk.indices.type)))
    mask = pa.chunked_array(masks, pa.bool_())
    return sorted(
        (row for row in rows.filter(mask).to_pylist() if row["status"] == "ok"), key=lambda row: int(row["step"])
    )


def verdicts_by_step(rows: pa.Table, specs: Mapping[str, tuple[str, str]]) -> dict[int, StoredVerdict]:
    """step -> verdict, ascending. Of several verdicts at one step, the first row counts.

    Args:
        rows: with :data:`COLUMNS`, as :data:`workbench.table.parquet.ENCODED`.
        specs: measurement -> (age, spec as JSON), as :attr:`workbench.table.reading.TableReading.specs`.
    """
    verdicts: dict[int, StoredVerdict] = {}
    for row in verdict_rows(rows):
        spec = json.loads(specs.get(row["measurement"], ("", "{}"))[1])
        version = spec.get("version", 0)
        verdict = StoredVerdict(
            row["measurement"],
            version if isinstance(version, int) else 0,
            row["step"],
            row["label"],
            row["reason"],
            row["note"],
            row["length"],
        )
        verdicts.setdefault(verdict.step, verdict)
    return verdicts


def last_verdict(rows: pa.Table, specs: Mapping[str, tuple[str, str]]) -> StoredVerdict | None:
    """The verdict at the last step that has one; None without one. Arguments are those of :func:`verdicts_by_step`."""
    verdicts = verdicts_by_step(rows, specs)
    return verdicts[max(verdicts)] if verdicts else None


def note_of(run_path: Path, verdict: StoredVerdict | None, reach: Reach | None, state: str) -> dict[str, str]:
    """The note as metadata of a compacted table; empty if the folder cannot be read.

    Args:
        run_path: the run.
        verdict: its last verdict.
        reach: reach at the step of this verdict; None without accuracies.
        state: :func:`~workbench.table.folder_state.folder_state` before the rows were read.
    """
    try:
        copied = copied_state(run_path)
    except OSError:
        return {}
    content = {"state": state, "copied_state": copied, "verdict": None if verdict is None else verdict._asdict()}
    content["reach"] = None if reach is None else reach._asdict()
    text = json.dumps(content)
    return {NOTE: f"last verdict {hashlib.sha256(text.encode()).hexdigest()} {len(text)} {text}"}


def read_note(run_path: Path) -> tuple[StoredVerdict | None] | None:
    """The noted verdict of a run in a tuple; None if there is no intact note on the present state of the folder."""
    note = read_whole_note(run_path)
    return None if note is None else (note.verdict,)


class Note(NamedTuple):
    """What compaction noted about a run.

    Attributes:
        verdict: its last verdict; None without one.
        reach: in a tuple, reach at the step of this verdict; None if an older version, which knew no reach, wrote the
            note.
    """

    verdict: StoredVerdict | None
    reach: tuple[Reach | None] | None


def read_whole_note(run_path: Path) -> Note | None:
    """The note on a run; None if there is no intact note on the present state of the folder."""
    try:
        content = _content(_footer(table_path(run_path)))
        if content is None:
            return None
        if content["state"] != folder_state(run_path) and content["copied_state"] != copied_state(run_path):
            return None
        verdict = None if content["verdict"] is None else StoredVerdict(**content["verdict"])
        if verdict is not None and not _is_plain(verdict):
            return None
        return Note(verdict, _noted_reach(content))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # what is wrong with it, reading the table says


def _noted_reach(content: Mapping[str, Any]) -> tuple[Reach | None] | None:
    """Reach in a note; raises TypeError or ValueError for values that no reach has."""
    if "reach" not in content:
        return None
    if content["reach"] is None:
        return (None,)
    return (checked_reach(content["reach"]),)


def _is_plain(verdict: StoredVerdict) -> bool:
    texts = (verdict.measurement, verdict.label, verdict.reason, verdict.note)
    numbers = (verdict.version, verdict.step, 0 if verdict.length is None else verdict.length)
    return all(isinstance(text, str) for text in texts) and all(type(number) is int for number in numbers)


def _footer(path: Path) -> bytes:
    """The last part of a Parquet file, which contains its metadata; empty if the file does not end with one."""
    with open_regular(path, bounded.TABLE) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or not 0 < length <= min(size - 8, MOST_FOOTER):
            return b""
        file.seek(size - 8 - length)
        return file.read(length)


def _content(footer: bytes) -> dict[str, Any] | None:
    """The content of the one note in a footer; None if there is none, or if its bytes differ from its hash."""
    marks = list(_MARK.finditer(footer))
    if len(marks) != 1:
        return None
    start = marks[0].end()
    text = footer[start : start + int(marks[0][2])]
    if hashlib.sha256(text).hexdigest().encode() != marks[0][1]:
        return None
    content: dict[str, Any] = json.loads(text)
    return content
