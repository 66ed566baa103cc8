"""Branches of the table that few folders walk: other runs' shards, odd metadata, rows in many pieces, folders without names."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.table.making import CONFIG, RunMaker
from workbench.storage.atomic import temporary_name
from workbench.table import Table, TableError, object_store, query
from workbench.table.assembly import TablePart, assemble, from_manifest, pack, shard_header, to_manifest, unpack
from workbench.table.layout import run_folders, shard_path, table_path
from workbench.table.parquet import ENCODED, _checked, read_file, read_header, write_file
from workbench.table.reading import (
    OTHERS,
    STATE,
    TableReading,
    _rows_of,
    former_of,
    newest_versions,
    note,
    read_run,
    without_former,
)
from workbench.table.schema import row, to_arrow
from workbench.table.shards import _kept, audit, compact, remove_shard_leftovers, verify_shard, write_shard
from workbench.table.stored_json import shown
from workbench.table.text_tables import text_cells
from workbench.table.to_xarray import _definition
from workbench.table.walk import meant

GIVEN = {"spec": '{"name": "m", "version": 1}', "key": "k", "sha256": "aa"}
ROWS = [row(run="r", measurement="m", step=1, quantity="q", value=0.5)]


# ---- shards ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("without", "said"), [
    (("spec",), "has no spec in"), (("key",), "has no key in"), (("sha256",), "has no sha256 in"), (("written",), "has no written in"),
    (("spec", "written"), "has no spec, written in"),
])  # fmt: skip
def test_a_shard_without_some_of_its_metadata(without: tuple[str, ...], said: str, tmp_path: Path) -> None:
    path = shard_path(tmp_path, "m", 1, "k")
    metadata = {name: text for name, text in {**GIVEN, "written": "2026"}.items() if name not in without}
    write_file(path, to_arrow(ROWS), metadata)
    with pytest.raises(TableError, match=f"{said} its metadata: measure again"):
        shard_header(path)


@pytest.mark.parametrize(("spec", "fits"), [
    ("{}", True), ("3", False), ("[]", False), ('{"version": -1}', False), ('{"version": "1"}', False), ('{"version": 0}', True), ("{", False),
])  # fmt: skip
def test_a_spec_is_one_of_a_measurement(spec: str, fits: bool, tmp_path: Path) -> None:
    path = shard_path(tmp_path, "m", 1, "k")
    write_file(path, to_arrow(ROWS), {**GIVEN, "spec": spec, "written": "2026"})
    if fits:
        assert shard_header(path)["spec"] == spec
        return
    with pytest.raises(TableError, match="its spec is not a measurement's"):
        shard_header(path)


@pytest.mark.parametrize(("run_id", "own"), [(CONFIG["id"], True), ("another", False), (None, True)])
def test_a_shard_and_a_table_of_another_run(run_id: str | None, own: bool, make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    run.checkpoint(1)
    path = shard_path(run.path, "m", 1, "k")
    write_shard(path, ROWS, {**GIVEN, **({} if run_id is None else {"run": run_id})})
    found = assemble(run.path)
    assert len(found.chosen) == own
    assert found.problems == ([] if own else [f"{path} is of another run: delete it"])
    if own:
        verify_shard(path, CONFIG["id"])
        assert audit(run.path) == []
    else:
        with pytest.raises(TableError, match="is of another run: delete it"):
            verify_shard(path, CONFIG["id"])
        assert audit(run.path) == [f"{path} is of another run: delete it"]
        return
    compact(run.path)
    rows, metadata = read_file(table_path(run.path))
    for name, said in ((CONFIG["id"], []), ("another", ["is of another run"])):
        write_file(table_path(run.path), rows, {**metadata, "run": name})
        problems = assemble(run.path).problems
        assert len(problems) == len(said)
        if said:
            assert f"is of another run (id another, here {CONFIG['id']})" in problems[0]
            assert f"only the shards of {run.path} are used" in problems[0]


def test_a_shard_that_a_clock_without_zone_dated_is_followed(make_run: Callable[..., RunMaker]) -> None:
    """A time without a zone counts as UTC's; one of another zone as the moment that it is."""
    run = make_run()
    for name, zone, ahead in (("a", "", 5), ("b", "+00:00", 5), ("c", "+02:00", 7)):
        later = (datetime.now(UTC) + timedelta(hours=ahead)).replace(tzinfo=None, microsecond=7)
        path = shard_path(run.path, name, 1, "k1")
        rows = [row(run="r", measurement=name, step=1, quantity="q")]
        write_file(path, to_arrow(rows), {**GIVEN, "key": "k1", "written": f"{later.isoformat()}{zone}"})
        write_shard(shard_path(run.path, name, 1, "k2"), rows, {**GIVEN, "key": "k2"})
        written = read_header(shard_path(run.path, name, 1, "k2"))["written"]
        moment = later - timedelta(hours=2 * (name == "c"))
        assert datetime.fromisoformat(written) == moment.replace(tzinfo=UTC) + timedelta(microseconds=1), name
        assert written.endswith("+00:00")


def test_what_a_manifest_cannot_refer_to(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    run.shard(values=[0.1, 0.2])
    made = assemble(run.path)
    manifest = to_manifest(made)
    for spec, fits in ((0, True), ("0", False), (1, False), (-1, False)):
        entries = json.loads(unpack(manifest["shards"]))
        entries[0]["metadata"]["spec"] = spec
        changed = {**manifest, "shards": pack(json.dumps(entries))}
        if fits:
            assert len(from_manifest(changed, made.rows)) == 1
        else:
            with pytest.raises(ValueError, match="refers to a spec"):
                from_manifest(changed, made.rows)


def test_parts_that_are_kept_as_they_are(tmp_path: Path) -> None:
    rows = to_arrow(ROWS)
    for modified, held, written in ((5, None, False), (5, rows, False), (None, None, False), (None, rows, True)):
        part = TablePart("m", 1, "k", {**GIVEN, "written": "2026"}, modified, held)
        kept = _kept(tmp_path, part)
        path = shard_path(tmp_path, "m", 1, "k")
        assert path.exists() == written
        assert kept.modified == (path.stat().st_ctime_ns if written else modified)


def test_leftovers_of_a_run_and_of_its_measurements_are_removed(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    shard = run.shard()
    left = [temporary_name(table_path(run.path)), temporary_name(shard)]
    for path in left:
        path.touch()
    remove_shard_leftovers(run.path)
    assert not any(path.exists() for path in left)
    assert shard.exists()


@pytest.mark.parametrize(("metadata", "said"), [
    (None, "has no row format, this version reads"), ({"x": "y"}, "has no row format"), ({"schema_version": "9"}, "has row format 9, this version reads"),
])  # fmt: skip
def test_files_of_no_row_format(metadata: dict[str, str] | None, said: str, tmp_path: Path) -> None:
    pq.write_table(to_arrow(ROWS).replace_schema_metadata(metadata), tmp_path / "file.parquet")
    with pytest.raises(TableError, match=said):
        _checked(tmp_path / "file.parquet", pq.ParquetFile(tmp_path / "file.parquet"))


# ---- what is read --------------------------------------------------------------------------------------------------------
def test_own_rows_and_those_of_other_strings_apart(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    run.checkpoint(100)
    run.shard(values=[0.1])
    for key, more, value in (
        ("s", {"evaluation_seed": "9"}, 0.2), ("t", {"task_parameters": '{"p":0.25}'}, 0.3),
        ("u", {"evaluation_seed": "9", "task_parameters": '{"p":0.25}'}, 0.4),
    ):  # fmt: skip
        path = shard_path(run.path, "behaviour", 100, key)
        write_shard(path, run.rows("behaviour", 100, [value]), {**GIVEN, "key": key, **more})
    asked: list[tuple[int | None, dict[str, Any] | None, list[float]]] = [
        (None, None, [0.1]), (None, {}, [0.1]), (3, None, [0.1]), (9, None, [0.2]), (None, {"p": 0.25}, [0.3]), (9, {"p": 0.25}, [0.4]),
        (3, {"p": 0.25}, [0.3]), (9, {"p": 0.5}, [0.2]), (8, None, []), (None, {"p": 0.75}, []),
    ]  # fmt: skip
    for _ in range(2):
        for seed, parameters, values in asked:
            assert read_run(run.path, None, seed, parameters).rows["value"].to_pylist() == values, (seed, parameters)
        assert read_run(run.path).problems == []
        compact(run.path)
    metadata = read_header(table_path(run.path))
    assert len(json.loads(metadata[OTHERS])) == 3


def test_what_is_noted_of_a_settled_folder(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    run.checkpoint(100)
    run.shard()
    noted = note(assemble(run.path), "state")
    assert noted[STATE] == "state"
    assert OTHERS not in noted
    run.checkpoint(200, "bb")
    run.shard(step=200)
    assert note(assemble(run.path), "state") == {}


def test_rows_of_parts_that_have_some() -> None:
    rows = to_arrow(ROWS)
    none, one = (TablePart("m", 1, "k", {}, None, held) for held in (None, rows.cast(ENCODED)))
    assert [_rows_of(parts).num_rows for parts in ([], [none], [none, one], [one, none, one])] == [0, 0, 1, 2]


def test_measurements_of_an_older_version_than_others_are_left_out(tmp_path: Path) -> None:
    rows = pa.table({"measurement": ["a", "b", "a"], "value": [1, 2, 3]})
    reading = TableReading(rows, {"a": ("2026", '{"version": 1}'), "b": ("2026", '{"version": 2}')}, ["so"])
    assert without_former(reading, {"a": 1, "b": 2}, tmp_path) is reading
    found = without_former(reading, {"a": 3, "b": 2}, tmp_path)
    assert found.rows["value"].to_pylist() == [2]
    assert found.problems[0] == "so"
    assert "a of" in found.problems[1]
    assert "was made by version 1, that of other runs by version 3" in found.problems[1]
    assert newest_versions([reading, found]) == {"a": 1, "b": 2}
    assert former_of({"a": {"version": 2}, "b": {"version": 2}}, {"a": 3, "b": 2}) == ("a",)


# ---- what is asked -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("pieces", "most", "left"), [(3, 3, 3), (3, 2, 1), (1, 1, 1)])
def test_rows_in_many_pieces_are_put_together(
    pieces: int, most: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "MOST_PIECES", most)
    rows = pa.concat_tables([pa.table({"value": [float(k)]}) for k in range(pieces)])
    table = Table(rows, pa.table({"run": ["r"]}), specs={}, problems=["x", "y"], stamp="")
    assert table._rows.column(0).num_chunks == left
    assert table._rows["value"].to_pylist() == [float(k) for k in range(pieces)]
    assert repr(table) == f"Table(1 runs, {pieces} rows, 2 problems)"
    assert len(Table(pa.table({}), pa.table({"run": ["r"]}), specs={}, problems=[], stamp="")) == 0


@pytest.mark.parametrize(("length", "text"), [(58, "'" + "x" * 58 + "'"), (59, "'" + "x" * 49 + "...")])
def test_values_as_sentences_hold_them(length: int, text: str) -> None:
    assert shown("x" * length) == text


def test_a_folder_that_cannot_be_looked_at_is_not_said_to_hold_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.table import walk

    (tmp_path / "notes.txt").touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.setattr(walk, "MOST_FOLDERS", 1)
    problems: list[str] = []
    assert run_folders(tmp_path, problems) == []
    assert "holds more than 1 folders" in problems[0]


def test_a_folder_without_a_name_means_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    monkeypatch.chdir(tmp_path)
    assert meant(Path()) == ""
    assert meant(Path("ru")) == "; did you mean run?"


@pytest.mark.parametrize(("specs", "found"), [
    ({}, {}), ({"m": {}}, {}), ({"m": {"quantities": [{"name": "p"}]}}, {}), ({"m": {"quantities": [{"name": "q"}]}}, {}),
    ({"m": {"quantities": [{"name": "p", "unit": "a"}, {"name": "q", "unit": "b"}]}}, {"unit": "b"}),
    ({"m": {"quantities": [{"name": "q", "definition": 3, "formula": "x"}]}, "n": {"quantities": [{"name": "q", "unit": "b"}]}}, {"definition": "3"}),
])  # fmt: skip
def test_what_a_quantity_is(specs: dict[str, Any], found: dict[str, str]) -> None:
    assert _definition("q", specs) == found


@pytest.mark.parametrize(("value", "text"), [(0, "0"), ("", ""), (0.0, "0"), (None, "")])
def test_columns_that_always_show_do_so_where_they_say_anything(value: object, text: str) -> None:
    cells = text_cells([{"value": value, "x": 1}, {"value": value, "x": 2}], ["value", "x"])
    assert cells == ([["value", "x"], [text, "1"], [text, "2"]] if text else [["x"], ["1"], ["2"]])


# ---- object stores ---------------------------------------------------------------------------------------------------------
def test_what_lies_in_no_run_is_not_fetched_and_files_have_their_limit(
    make_run: Callable[..., RunMaker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    other = run.path.parent / "other" / "table.parquet"
    other.parent.mkdir()
    other.write_bytes(b"rows")
    size = (run.path / "run.json").stat().st_size
    for limit, new in ((size, 1), (size - 1, 0)):
        monkeypatch.setattr(object_store, "KINDS", [(pattern, limit) for pattern, _ in object_store.KINDS])
        found = object_store.fetch(f"file://{run.path.parent}", tmp_path / f"out{limit}")
        assert (found.new, len(found.problems)) == (new, 1 - new)
        assert not list((tmp_path / f"out{limit}").rglob("table.parquet"))
