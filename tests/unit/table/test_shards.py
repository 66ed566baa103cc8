"""One shard: what goes in comes out, whole or not at all."""

from __future__ import annotations

import io
import json
import os
import random
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.table.making import RunMaker
from workbench.storage.atomic import replacing
from workbench.storage.errors import StorageError
from workbench.storage.seal import BLANK, KEY, seal
from workbench.table import Table, TableError, parquet, shards
from workbench.table.assembly import assemble
from workbench.table.parquet import read_columns, read_file, write_file
from workbench.table.schema import COLUMNS, FIELDS, SCHEMA, SCHEMA_VERSION, row
from workbench.table.shards import (
    audit,
    compact,
    read_metadata,
    read_shard,
    renew,
    seconds_of,
    shard_path,
    shards_of,
    write_shard,
)

META = {"spec": '{"name": "behaviour", "version": 1}', "key": "k1", "sha256": "aa"}


def example(**fields):
    return row(run="r", measurement="behaviour", step=7, quantity="accuracy", **fields)


def test_rows_and_metadata_come_back_as_written(tmp_path):
    rows = [
        example(length=3, value=0.1 + 0.2, low=0.25, high=0.5, n=512, layer=-1, head=3, position=0),
        example(status="undefined", note="Not fitted, žluťoučký", label="soft", setting='{"a":1}'),
    ]
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, rows, {**META, "lengths": "[1,2]"})
    read = read_shard(path)
    assert read.to_pylist() == rows
    assert read.schema.equals(SCHEMA)
    metadata = read_metadata(path)
    assert metadata.pop("written") > "2026"
    assert metadata == {**META, "lengths": "[1,2]", "schema_version": str(SCHEMA_VERSION), "rows": "2"}
    stored = pq.ParquetFile(path).metadata
    assert {stored.row_group(0).column(i).compression for i in range(len(FIELDS))} == {"ZSTD"}
    assert json.loads(stored.metadata[b"spec"])["name"] == "behaviour"
    assert b"ARROW:schema" not in stored.metadata, "it would hold all metadata a second time"
    assert pq.read_schema(path).remove_metadata().equals(SCHEMA), "Parquet's types say all that ours do"


def test_a_measurement_that_does_not_apply_leaves_an_empty_shard(tmp_path):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, [], META)
    assert read_shard(path).num_rows == 0
    assert read_metadata(path)["rows"] == "0"


def test_paths_tell_measurement_step_and_key(tmp_path):
    wanted = [("behaviour", 7, "k1"), ("behaviour", 7, "k2"), ("probes.summary", 123456789, "k1")]
    for measurement, step, key in wanted:
        made = {**META, "key": key}
        write_shard(shard_path(tmp_path, measurement, step, key), [], made)
    (tmp_path / "measurements" / "behaviour" / ".00000007-k1.parquet.99.tmp").touch()
    (tmp_path / "measurements" / "notes.txt").touch()
    found = shards_of(tmp_path)
    assert [(s.measurement, s.step, s.key) for s in found] == wanted
    assert found[0].path == tmp_path / "measurements" / "behaviour" / "00000007-k1.parquet"
    assert shards_of(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("measurement", "step", "key"),
    [("../x", 0, "k"), ("", 0, "k"), ("a", -1, "k"), ("a", 0, "k-1"), ("a", 0, "k/1")],
)
def test_names_that_would_leave_the_folder_are_refused(tmp_path, measurement, step, key):
    with pytest.raises(TableError):
        shard_path(tmp_path, measurement, step, key)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key": "k2"}, "must contain the key of its metadata, k2"),
        ({"rows": "3"}, "rows"),
        ({"spec": "[1]"}, "spec"),
        ({"spec": "{"}, "spec"),
    ],
)
def test_metadata_that_does_not_fit_is_refused(tmp_path, change, said):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    with pytest.raises(TableError, match=said):
        write_shard(path, [], {**META, **change})
    assert not path.exists()


@pytest.mark.parametrize("name", ["spec", "key", "sha256"])
def test_metadata_that_lacks_something_is_refused(tmp_path, name):
    lacking = {key: value for key, value in META.items() if key != name}
    with pytest.raises(TableError, match=f"lacks {name}"):
        write_shard(shard_path(tmp_path, "behaviour", 7, "k1"), [], lacking)


def test_rows_of_another_step_or_measurement_are_refused(tmp_path):
    path = shard_path(tmp_path, "behaviour", 8, "k1")
    with pytest.raises(TableError, match="step 7"):
        write_shard(path, [example()], META)
    with pytest.raises(TableError, match="measurement 'behaviour'"):
        write_shard(shard_path(tmp_path, "other", 7, "k1"), [example()], META)


def test_a_crash_before_the_rename_leaves_the_old_shard(tmp_path, monkeypatch):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, [example(value=1.0)], META)
    before = path.read_bytes()

    def crash(*_):
        raise OSError("power cut")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(StorageError, match="power cut"):
        write_shard(path, [example(value=2.0)], META)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_nothing_is_seen_of_a_file_before_it_is_whole_and_synced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = []
    real_sync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), real_sync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("replace"), real_replace(a, b)))
    with replacing(tmp_path, "file") as stream:
        stream.write(b"new")
        assert path.read_bytes() == b"old"
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert temporary.name.startswith(".")
    assert path.read_bytes() == b"new"
    assert done == ["sync", "replace", "sync"]  # the content before the rename, the folder after it


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_files_are_as_readable_as_any_other_file_of_the_user(tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    with replacing(tmp_path, "made") as stream:
        stream.write(b"x")
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def damage_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_text(path: Path) -> None:
    path.write_text("not parquet")


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    meta = pq.ParquetFile(path).metadata.row_group(0).column(list(FIELDS).index("value"))
    data[meta.data_page_offset + meta.total_compressed_size // 2] ^= 0x10  # amid the values
    path.write_bytes(bytes(data))


def rewrite(path: Path, table: pa.Table, **metadata: str) -> None:
    """Another table in the file's place, sealed as the file was."""
    whole = {k.decode(): v.decode() for k, v in pq.read_schema(path).metadata.items()} | metadata | {KEY: BLANK}
    data = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(whole), data)
    path.write_bytes(seal(data.getvalue()))


def damage_unsealed(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata({"schema_version": "1"}), path)


def damage_version(path: Path) -> None:
    rewrite(path, pq.read_table(path), schema_version=str(SCHEMA_VERSION + 1))


def first_format(path: Path) -> None:
    """The file as the first row format had it: without what came later."""
    rewrite(path, pq.read_table(path).drop_columns([c.name for c in COLUMNS if c.since > 1]), schema_version="1")


def damage_claimed_format(path: Path) -> None:
    """The columns of this format under the number of the first."""
    rewrite(path, pq.read_table(path), schema_version="1")


def damage_columns(path: Path) -> None:
    rewrite(path, pq.read_table(path).drop_columns(["note"]))


def damage_types(path: Path) -> None:
    table = pq.read_table(path)
    index = table.schema.get_field_index("value")
    rewrite(path, table.set_column(index, "value", table["value"].cast(pa.float32())))


def damage_step(path: Path) -> None:
    table = pq.read_table(path)
    index = table.schema.get_field_index("step")
    rewrite(path, table.set_column(index, "step", pa.array([8] * len(table), pa.int64())))


DAMAGES = [
    damage_cut,
    damage_text,
    damage_empty,
    damage_bit,
    damage_unsealed,
    damage_version,
    damage_claimed_format,
    damage_columns,
    damage_types,
    damage_step,
]


def test_a_shard_of_the_first_row_format_is_read_with_the_defaults_of_what_came_later(tmp_path):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, [example(length=3, value=0.5, n=512), example(length=4, value=0.25, note="a")], META)
    first_format(path)
    assert "reason" not in pq.read_schema(path).names
    assert read_shard(path).to_pylist() == [
        example(length=3, value=0.5, n=512),
        example(length=4, value=0.25, note="a"),
    ]
    assert read_shard(path).schema.equals(SCHEMA)
    own, _ = read_file(path, ["value", "reason", "distinct"])
    assert own.to_pydict() == {"value": [0.5, 0.25], "distinct": [None, None], "reason": ["", ""]}
    only, _ = read_file(path, ["reason"])
    assert only.to_pydict() == {"reason": ["", ""]}
    renew(path)
    assert read_metadata(path)["schema_version"] == str(SCHEMA_VERSION)
    assert read_shard(path).to_pylist()[1] == example(length=4, value=0.25, note="a")


def test_distinct_strings_and_reasons_come_back_and_other_reasons_are_refused(tmp_path):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    rows = [example(label="undecided", reason="at the bar"), example(value=1.0, n=512, distinct=4)]
    write_shard(path, rows, META)
    assert read_shard(path).to_pylist() == rows
    with pytest.raises(ValueError, match="'because'"):
        example(label="undecided", reason="because")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_shard_is_named_and_not_read(tmp_path, damage):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    # Random values do not compress, so that only a checksum can tell that one of them was changed.
    values = random.Random(0).sample(range(2**53), 500)
    write_shard(path, [example(length=n, value=value / 2**53) for n, value in enumerate(values)], META)
    damage(path)
    with pytest.raises(TableError) as caught:
        read_shard(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "measure again" in str(caught.value) or damage is damage_step


def test_a_missing_shard_is_said_to_be_missing(tmp_path):
    with pytest.raises(TableError, match="no file"):
        read_shard(tmp_path / "00000007-k1.parquet")


def test_a_renamed_shard_is_found_out(tmp_path):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, [], META)
    other = path.rename(shard_path(tmp_path, "behaviour", 7, "k2"))
    with pytest.raises(TableError, match=r"00000007-k2\.parquet does not contain its key k1"):
        read_shard(other)


def test_renew_changes_the_time_only(tmp_path):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, [example(value=1.0)], META)
    before, rows = read_metadata(path), read_shard(path)
    renew(path)
    after = read_metadata(path)
    assert read_shard(path).equals(rows)
    assert after.pop("written") > before.pop("written")
    assert after == before


class Clock:
    """A clock that stands where it is put."""

    def __init__(self, now):
        self.at = now

    def now(self, zone):
        return self.at

    fromisoformat = staticmethod(datetime.fromisoformat)


@pytest.mark.parametrize("in_table", [False, True], ids=["shards", "only the table"])
def test_what_is_measured_while_the_clock_stands_behind_counts(tmp_path, monkeypatch, in_table):
    made = RunMaker(tmp_path / "run")
    made.checkpoint(7)
    first, second = (shard_path(made.path, "behaviour", 7, key) for key in ("k1", "k2"))
    clock = Clock(datetime(2030, 1, 1, tzinfo=UTC))
    monkeypatch.setattr(shards, "datetime", clock)
    write_shard(first, [example(value=0.25)], META)
    shards.compact(made.path)
    if in_table:
        first.unlink()
    clock.at = datetime(2026, 1, 1, tzinfo=UTC)
    write_shard(second, [example(value=0.75)], {**META, "key": "k2"})
    assert read_metadata(second)["written"] == "2030-01-01T00:00:00.000001+00:00"
    shards.compact(made.path)
    assert Table.load(made.path).frame()["value"].tolist() == [0.75]
    if not in_table:
        renew(first)
        assert read_metadata(first)["written"] == "2030-01-01T00:00:00.000002+00:00"
    other = shard_path(made.path, "behaviour", 8, "k1")
    write_shard(other, [], META)
    assert read_metadata(other)["written"] == "2026-01-01T00:00:00.000000+00:00"


@pytest.mark.parametrize("written", ["9999-12-31T23:59:59.999999+00:00", "soon", ""])
def test_a_time_that_none_can_follow_stops_no_measurement(tmp_path, written):
    path = shard_path(tmp_path, "behaviour", 7, "k1")
    write_shard(path, [], META)
    rows, metadata = read_file(path)
    write_file(path, rows, {**metadata, "written": written})
    write_shard(shard_path(tmp_path, "behaviour", 7, "k2"), [], {**META, "key": "k2"})
    assert "2026" < read_metadata(shard_path(tmp_path, "behaviour", 7, "k2"))["written"] < "2100"


def test_files_of_exactly_so_many_rows_bytes_and_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    table = pa.table({"x": pa.array(np.arange(6))})
    pq.write_table(table, data, row_group_size=2, compression="zstd")
    content = data.getvalue()
    metadata = pq.ParquetFile(pa.BufferReader(content)).metadata
    size = sum(metadata.row_group(g).column(0).total_uncompressed_size for g in range(3))
    assert read_columns(content, ["x"], 6)["x"].to_pylist() == list(range(6))
    with pytest.raises(ValueError, match="6 rows"):
        read_columns(content, ["x"], 5)
    for name, limit, says in (
        ("MOST_GROUPS", 3, "3 row groups, at most 2 are"),
        ("MOST_UNPACKED", size, f"unpacks to {size:,} bytes"),
    ):
        monkeypatch.setattr(parquet, name, limit)
        read_columns(content, ["x"], 6)
        monkeypatch.setattr(parquet, name, limit - 1)
        with pytest.raises(ValueError, match=says):
            read_columns(content, ["x"], 6)
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([1], "at step 1 is"),
        ([1, 2], "at steps 1, 2 is"),
        ([1, 2, 3, 4, 5], "at steps 1, 2, 3, 4, 5 is"),
        ([1, 2, 3, 4, 5, 6, 7], "at steps 1, 2, 3, 4, 5 and 2 more is"),
    ],
)
def test_steps_of_other_weights_are_named_in_short(
    steps: list[int], said: str, make_run: Callable[..., RunMaker]
) -> None:
    run = make_run()
    for step in steps:
        run.checkpoint(step, "bb")
        run.shard(step=step, sha256="aa")
    run.checkpoint(50)
    run.shard(step=50)
    found = assemble(run.path)
    assert len(found.problems) == 1
    assert f"behaviour of {run.path} {said} of other weights than the checkpoint there now" in found.problems[0]
    assert [part.step for part in found.chosen] == [50]
    assert len(found.others) == len(steps)
    assert len(audit(run.path)) == 1 + len(steps)


@pytest.mark.parametrize(
    ("seconds", "found"), [("2.5", {100: 2.5}), ("0", {100: 0.0}), ("-1", {}), ("inf", {}), ("nan", {})]
)
def test_seconds_that_a_step_took(seconds: str, found: dict[int, float], make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    for key, said in (("k1", "1.5"), ("k2", seconds)):
        name = "a" if key == "k1" else "b"
        path = shard_path(run.path, name, 100, key)
        write_shard(
            path,
            run.rows(name, 100, [0.5]),
            {
                "spec": "{}",
                "key": key,
                "sha256": "aa",
                **({"seconds": said} if name == "b" or found == {100: 2.5} else {}),
            },
        )
    assert seconds_of(run.path) == {}
    compact(run.path)
    assert seconds_of(run.path) == found


def test_a_later_shard_is_written_later_than_all_there_are(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    first = parquet.read_file_metadata(run.shard(key="a"))["written"]
    second = parquet.read_file_metadata(run.shard(key="b"))["written"]
    assert first < second
    assert datetime.fromisoformat(second).tzinfo is not None
    assert abs((datetime.now(UTC) - datetime.fromisoformat(second)).total_seconds()) < 60
