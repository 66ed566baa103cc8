"""The last verdict of a run comes from the note of its compaction, and never from a note on another state."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.support.places import GALLERY
from workbench.cli.listed_runs import listed_runs
from workbench.runs.run import Run
from workbench.storage.seal import open_json, sealed_json
from workbench.table import Table
from workbench.table import reading as reading_module
from workbench.table.last_verdict import NOTE, VERDICT_QUANTITIES, StoredVerdict, read_note
from workbench.table.layout import table_path
from workbench.table.parquet import read_file, read_file_metadata, write_file
from workbench.table.run_verdicts import last_verdict_of
from workbench.table.shards import compact


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of a run of the gallery, compacted in this place."""
    path = tmp_path / "runs" / "parity_nope"
    shutil.copytree(GALLERY / "parity_nope", path)
    assert compact(path) == []
    return path


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(reading_module, "read_run", refuse)


def from_rows(path: Path) -> dict[str, object]:
    """The expected verdict, from the whole table and without the code that is tested."""
    rows = Table.load(path).frame(quantity=list(VERDICT_QUANTITIES), status="ok")
    row = rows[rows["step"] == rows["step"].max()].iloc[0]
    return {name: row[name] for name in ("measurement", "step", "label", "reason", "note", "length")}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in GALLERY.glob("*/run.json")))
def test_the_verdict_is_that_of_the_rows(name: str, tmp_path: Path) -> None:
    shutil.copytree(GALLERY / name, tmp_path / name)
    compact(tmp_path / name)
    noted = read_note(tmp_path / name)
    assert noted is not None
    assert noted[0] == last_verdict_of(GALLERY / name)
    assert noted[0] is not None
    expected = from_rows(GALLERY / name)
    assert {key: value for key, value in noted[0]._asdict().items() if key in expected} == expected


def test_a_noted_verdict_needs_no_rows(run: Path, no_rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = last_verdict_of(run)
    assert verdict is not None
    assert (verdict.label, verdict.step) == ("not fitted", 600)
    assert Run.open(run).verdict().label == "not fitted"
    monkeypatch.setenv("XDG_CACHE_HOME", str(run.parent.parent / "cache"))
    assert [row["verdict"] for row in listed_runs(run.parent, [])] == ["not fitted"]


def test_a_copy_of_the_folder_keeps_its_note(run: Path, tmp_path: Path, no_rows: None) -> None:
    shutil.copytree(run, tmp_path / "copy")
    assert last_verdict_of(tmp_path / "copy") == last_verdict_of(run)


@pytest.mark.parametrize("change", ["weights", "shard", "run"])
def test_a_note_on_another_state_of_the_folder_is_not_used(run: Path, change: str) -> None:
    assert read_note(run) is not None
    if change == "weights":
        path = run / "steps" / "00000600" / "meta.json"
        path.write_bytes(sealed_json(open_json(path.read_bytes()) | {"sha256": 64 * "0"}))
    elif change == "shard":
        (run / "measurements" / "behaviour").mkdir(parents=True)
        (run / "measurements" / "behaviour" / f"00000600-{16 * 'a'}.parquet").write_bytes(b"damaged")
    else:
        path = run / "run.json"
        path.write_bytes(sealed_json(open_json(path.read_bytes()) | {"note": "changed"}))
    assert read_note(run) is None
    verdict = last_verdict_of(run)
    assert verdict is not None
    # Without the rows at the last checkpoint, which has other weights now, an earlier verdict is the last one.
    assert (verdict.step < 600) == (change == "weights")


def test_a_damaged_note_is_not_used(run: Path) -> None:
    data = table_path(run).read_bytes()
    assert data.count(b'"label": "not fitted"') == 1
    table_path(run).write_bytes(data.replace(b'"label": "not fitted"', b'"label": "not fittef"'))
    assert read_note(run) is None
    assert last_verdict_of(run) is None, "the whole table differs from its seal"


@pytest.mark.parametrize(
    "verdict", [{"label": 3}, {"step": "600"}, {"step": True}, {"unknown": 1}, {"length": 2.5}, [], 3]
)
def test_a_note_with_impossible_values_is_not_used(run: Path, verdict: object) -> None:
    rows, metadata = read_file(table_path(run))
    content = json.loads(metadata[NOTE][metadata[NOTE].index("{") :])
    content["verdict"] = content["verdict"] | verdict if isinstance(verdict, dict) else verdict
    text = json.dumps(content)
    note = f"last verdict {hashlib.sha256(text.encode()).hexdigest()} {len(text)} {text}"
    kept = {name: value for name, value in metadata.items() if name not in ("schema_version", "rows")}
    write_file(table_path(run), rows, kept | {NOTE: note})
    assert read_note(run) is None
    assert isinstance(last_verdict_of(run), StoredVerdict)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"\x01\x00\x00\x00PAR1"])
def test_a_file_that_is_no_table_has_no_note(run: Path, content: bytes) -> None:
    table_path(run).write_bytes(content)
    assert read_note(run) is None
    table_path(run).unlink()
    assert read_note(run) is None
    assert last_verdict_of(run) is None


def test_a_run_without_verdict_has_a_note_that_says_so(tmp_path: Path) -> None:
    shutil.copytree(GALLERY / "parity_nope", tmp_path / "run")
    table_path(tmp_path / "run").unlink()
    compact(tmp_path / "run")
    assert NOTE in read_file_metadata(table_path(tmp_path / "run"))
    assert read_note(tmp_path / "run") == (None,)
    assert last_verdict_of(tmp_path / "run") is None
