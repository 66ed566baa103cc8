"""Branches of the table that few folders walk: other runs' shards, odd metadata, rows in many pieces, folders without names."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.held import Held
from tests.support.table.making import CONFIG, RunMaker
from workbench.storage.atomic import temporary_name
from workbench.table import Table, TableError, object_store, query
from workbench.table.assembly import (
    TablePart,
    assemble,
    from_manifest,
    newest_specs,
    pack,
    shard_header,
    to_manifest,
    unpack,
)
from workbench.table.folder_state import folder_state
from workbench.table.layout import (
    checkpoint_steps,
    parse_shard,
    require_folder,
    run_folders,
    shard_path,
    shards_of,
    table_path,
)
from workbench.table.parquet import ENCODED, _checked, read_file, read_file_metadata, write_file
from workbench.table.reading import (
    OTHERS,
    STATE,
    TableReading,
    _rows_of,
    former_of,
    merged_specs,
    newest_among,
    newest_versions,
    read_run,
    settled_metadata,
    without_former,
)
from workbench.table.schema import FIELDS, SCHEMA, SCHEMA_VERSION, row, to_arrow
from workbench.table.shards import (
    _kept,
    audit,
    compact,
    compacted_files,
    remove_shard_leftovers,
    seconds_of,
    verify_shard,
    write_shard,
)
from workbench.table.stored_json import short_value
from workbench.table.text_tables import latex, markdown, text_cells
from workbench.table.to_xarray import to_dataset
from workbench.table.walk import near_folders

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
    with pytest.raises(TableError, match=f"{said}"):
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
    with pytest.raises(TableError, match="spec"):
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
        with pytest.raises(TableError, match="delete"):
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
        written = read_file_metadata(shard_path(run.path, name, 1, "k2"))["written"]
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
            with pytest.raises(ValueError, match="refers"):
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
    (None, "version"), ({"x": "y"}, "format"), ({"schema_version": "9"}, "version"),
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
    metadata = read_file_metadata(table_path(run.path))
    assert len(json.loads(metadata[OTHERS])) == 3


def test_what_is_noted_of_a_settled_folder(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    run.checkpoint(100)
    run.shard()
    noted = settled_metadata(assemble(run.path), "state")
    assert noted[STATE] == "state"
    assert OTHERS not in noted
    run.checkpoint(200, "bb")
    run.shard(step=200)
    assert settled_metadata(assemble(run.path), "state") == {}


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
    assert short_value("x" * length) == text


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
    assert near_folders(Path()) == ""
    assert near_folders(Path("ru")) == "; did you mean run?"


@pytest.mark.parametrize(("specs", "found"), [
    ({}, {}), ({"m": {}}, {}), ({"m": {"quantities": [{"name": "p"}]}}, {}), ({"m": {"quantities": [{"name": "q"}]}}, {}),
    ({"m": {"quantities": [{"name": "p", "unit": "a"}, {"name": "q", "unit": "b"}]}}, {"unit": "b"}),
    ({"m": {"quantities": [{"name": "q", "definition": 3, "formula": "x"}]}, "n": {"quantities": [{"name": "q", "unit": "b"}]}}, {"definition": "3"}),
])  # fmt: skip
def test_what_a_quantity_is(specs: dict[str, Any], found: dict[str, str]) -> None:
    frame = pd.DataFrame([row(**ROW, value=0.5)], columns=list(FIELDS))
    assert to_dataset(frame, "q", ["step"], specs).attrs == {"quantity": "q", **found}


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


ROW = {"run": "r", "measurement": "m", "step": 1, "quantity": "q"}


@pytest.mark.parametrize(("name", "step"), [
    ("00000000", 0), ("00000100", 100), ("99999999", 99_999_999), ("100000000", 10**8), ("9999999999999999", 10**16 - 1), ("0000000", None), ("000000000", None), ("012345678", None),
    ("10000000000000000", None), ("1000000a", None), ("\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661", None), ("12345678 ", None),
])  # fmt: skip
def test_names_of_steps(name: str, step: int | None, tmp_path: Path) -> None:
    (tmp_path / "steps" / name).mkdir(parents=True)
    assert checkpoint_steps(tmp_path) == ([] if step is None else [step])
    path = tmp_path / "measurements" / "m" / f"{name}-k1.parquet"
    path.parent.mkdir(parents=True)
    path.touch()
    assert [shard.step for shard in shards_of(tmp_path)] == ([] if step is None else [step])
    if step is not None:
        assert shard_path(tmp_path, "m", step, "k1") == path


@pytest.mark.parametrize(("measurement", "step", "key", "fits"), [
    ("m", 0, "k", True), ("a.b:c-d_1", 0, "A_1", True), (".m", 0, "k", False), ("-m", 0, "k", False), ("m/n", 0, "k", False), ("", 0, "k", False), ("m", 0, "", False), ("m", 0, "k-1", False), ("m", -1, "k", False), ("\u00e4", 0, "k", False),
])  # fmt: skip
def test_what_names_a_shard(measurement: str, step: int, key: str, fits: bool, tmp_path: Path) -> None:
    if not fits:
        with pytest.raises(TableError):
            shard_path(tmp_path, measurement, step, key)
        return
    path = shard_path(tmp_path, measurement, step, key)
    assert parse_shard(path) == (measurement, step, key, path)


def test_folders_that_hold_no_runs_are_told_apart(tmp_path: Path, make_run: Callable[..., RunMaker]) -> None:
    assert run_folders(tmp_path) == []
    for harmless in ("README.md", "readme", ".gitignore"):
        (tmp_path / harmless).touch()
    (tmp_path / "empty").mkdir()
    assert run_folders(tmp_path) == []
    (tmp_path / "notes.txt").touch()
    with pytest.raises(TableError, match="contains no run"):
        run_folders(tmp_path)
    make_run("one")
    assert [name for name, _ in run_folders(tmp_path)] == ["data/one"]
    for path, says in (
        (tmp_path / "notes.txt", "is a file: name a folder"),
        (tmp_path / "dat", r"did you mean .*data\?"),
        (tmp_path / "zzz", "makes a run there"),
        (Path("s3://b/c"), "lengthlens fetch s3://b/c --out DIR"),
    ):
        with pytest.raises(TableError, match=says):
            require_folder(path)
    (tmp_path / "broken").symlink_to(tmp_path / "nothing")
    with pytest.raises(TableError, match="folder"):
        require_folder(tmp_path / "broken")


def test_columns_that_are_wanted_come_in_the_order_of_the_format(tmp_path: Path) -> None:
    rows = [row(**ROW, value=0.5, label="x", n=3), row(**ROW)]
    write_file(tmp_path / "file.parquet", to_arrow(rows), {"a": "b"})
    whole, metadata = read_file(tmp_path / "file.parquet")
    assert metadata == {"a": "b", "schema_version": str(SCHEMA_VERSION), "rows": "2"}
    assert whole.column_names == SCHEMA.names
    some, _ = read_file(tmp_path / "file.parquet", ["value", "run", "distinct", "label"])
    assert some.column_names == ["run", "value", "label", "distinct"]
    assert some.to_pylist() == [{name: one[name] for name in some.column_names} for one in rows]
    assert pa.types.is_dictionary(some.schema.field("run").type)


def test_specs_and_versions_of_several_runs() -> None:
    def reading(**aged: tuple[str, int]) -> TableReading:
        empty = pa.table({})
        return TableReading(
            empty, {name: (age, json.dumps({"version": version})) for name, (age, version) in aged.items()}, []
        )

    readings = [reading(a=("2026-01", 2), b=("2026-03", 1)), reading(a=("2026-02", 1), c=("2026-01", 5))]
    assert merged_specs(readings) == {"a": {"version": 1}, "b": {"version": 1}, "c": {"version": 5}}
    assert list(merged_specs(readings)) == ["a", "b", "c"]
    newest = newest_among([{"a": {"version": 2}}, {"a": {"version": 1}, "b": {}}])
    assert newest == {"a": 2, "b": 0}
    assert former_of({"b": {}, "a": {"version": 1}}, newest) == ("a",)
    assert former_of({"a": {"version": 2}}, newest) == ()


def test_packed_text_comes_back_and_a_manifest_accounts_for_every_row(make_run: Callable[..., RunMaker]) -> None:
    text = json.dumps([1, 2, 3] * 200)
    assert unpack(pack(text)) == text
    assert len(pack(text)) < len(text) / 2
    with pytest.raises(ValueError, match=r"."):
        unpack("no base64!")
    run = make_run()
    run.checkpoint(100)
    run.shard(values=[0.1, 0.2], version=2)
    run.shard("other", values=[0.3])
    made = assemble(run.path)
    manifest = to_manifest(made)
    assert json.loads(manifest["specs"]) == newest_specs(made.chosen)
    assert manifest["run"] == CONFIG["id"]
    parts = from_manifest(manifest, made.rows)
    assert [(part.identity, part.rows.num_rows) for part in parts] == [
        (("behaviour", 100, "k1"), 2),
        (("other", 100, "k1"), 1),
    ]  # type: ignore[union-attr]
    assert parts == made.chosen
    for rows in (made.rows.slice(0, 2), pa.concat_tables([made.rows, made.rows])):
        with pytest.raises(ValueError, match="match its rows"):
            from_manifest(manifest, rows)
    for spec in (-1, 2):
        entries = json.loads(unpack(manifest["shards"]))
        entries[0]["metadata"]["spec"] = spec
        with pytest.raises(ValueError, match=f"{spec}"):
            from_manifest({**manifest, "shards": pack(json.dumps(entries))}, made.rows)
    for lacking in ("key", "sha256", "written", "rows"):
        entries = json.loads(unpack(manifest["shards"]))
        del entries[1]["metadata"][lacking]
        with pytest.raises(ValueError, match=f"{lacking}"):
            from_manifest({**manifest, "shards": pack(json.dumps(entries))}, made.rows)


def test_a_study_as_it_is_read_before_and_after_compaction(make_run: Callable[..., RunMaker], held: Held) -> None:
    """Superseded shards, other seeds, other weights, missing checkpoints and two versions: what counts is the same."""
    run = make_run()
    for step in (0, 100, 200):
        run.checkpoint(step)
    run.shard(step=0, values=[0.1])
    run.shard(step=100, values=[0.2, 0.3], key="old")
    run.shard(step=100, values=[0.4, 0.5, 0.6], key="new")
    run.shard(step=200, values=[0.7], sha256="cc")
    run.shard(step=300, values=[0.8])
    run.shard("other", step=0, values=[0.9], version=1)
    run.shard("other", step=100, values=[1.0], version=2)
    seeded = shard_path(run.path, "behaviour", 100, "seeded")
    write_shard(
        seeded,
        run.rows("behaviour", 100, [0.25]),
        {
            "spec": '{"name": "behaviour", "version": 1}',
            "key": "seeded",
            "sha256": "aa",
            "evaluation_seed": "9",
            "seconds": "2.5",
        },
    )

    def found() -> list[Any]:
        made = assemble(run.path)
        return [
            [[part.measurement, part.step, part.key, part.strings.text] for part in made.chosen], sorted([part.measurement, part.step, part.key] for part in made.others),
            [problem.replace(str(run.path), "RUN") for problem in made.problems], made.rows["value"].to_pylist(), made.run,
            read_run(run.path).rows["value"].to_pylist(), read_run(run.path, None, 9).rows["value"].to_pylist(), read_run(run.path, None, 3).rows["value"].to_pylist(), read_run(run.path, None, 8).rows.num_rows,
            sorted(read_run(run.path).specs), read_run(run.path, None, 9, {"p": 0.5}).rows.num_rows, read_run(run.path, None, 9, {"p": 0.1}).rows.num_rows,
        ]  # fmt: skip

    before = found()
    state = folder_state(run.path)
    problems = compact(run.path)
    assert [problem.replace(str(run.path), "RUN") for problem in problems] == before[2]
    assert found() == before
    assert folder_state(run.path) == state, "a table is no part of it"
    assert set(compacted_files(run.path)) == {tuple(one[:3]) for one in before[0]}
    assert seconds_of(run.path) == {100: 2.5}
    held(before)


@pytest.mark.parametrize(("rows", "names", "cells"), [
    ([{"a": 1, "b": 2.0}, {"a": 1, "b": 3.5}], ["a", "b"], [["b"], ["2"], ["3.5"]]), ([{"a": 1, "b": "x"}], ["a", "b"], [["a", "b"], ["1", "x"]]), ([{"value": 0.123456, "low": None, "quantity": "q"}], ["quantity", "value", "low"], [["quantity", "value"], ["q", "0.1235"]]),
    ([{"a": float("nan"), "b": 1}, {"a": None, "b": 2}], ["a", "b"], [["b"], ["1"], ["2"]]), ([{"a": " x\n y "}, {"a": 12345.6}], ["a"], [["a"], ["x y"], ["1.235e+04"]]), ([{"a": pd.NA}, {"a": True}], ["a"], [["a"], [""], ["True"]]), ([], ["a"], [["a"]]),
    ([{"value": 1, "high": 2, "x": 0}] * 2, ["x", "value", "high"], [["value", "high"], ["1", "2"], ["1", "2"]]),
])  # fmt: skip
def test_cells_of_text(rows: list[dict[str, Any]], names: list[str], cells: list[list[str]]) -> None:
    assert text_cells(rows, names) == cells


def test_tables_in_markdown_and_latex() -> None:
    assert markdown([["a", "b|c"], ["<x>", "1"]]) == "| a | b\\|c |\n| --- | --- |\n| &lt;x> | 1 |"
    made = latex([["a_b", "c"], ["10 %", "\\~^{}$#&"]]).split("\n")
    assert made == [
        "\\begin{tabular}{ll}",
        "\\toprule",
        "a\\_b & c \\\\",
        "\\midrule",
        "10 \\% & \\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\{\\}\\$\\#\\& \\\\",
        "\\bottomrule",
        "\\end{tabular}",
    ]
