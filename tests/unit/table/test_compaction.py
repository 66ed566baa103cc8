"""Which rows count, before and after compaction: one law, checked against a model in plain Python."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.table.compaction import held
from workbench.storage.atomic import temporary_name
from workbench.storage.errors import LinkError, StorageError
from workbench.table import Table, TableError, shards
from workbench.table.assembly import unpack, version_of
from workbench.table.layout import parse_shard, table_path
from workbench.table.schema import SCHEMA
from workbench.table.shards import compact, read_metadata, renew, shards_of


def test_compaction_is_the_union_of_the_shards(make_run):
    run = make_run()
    wanted = []
    for step in (0, 100, 200):
        run.checkpoint(step)
        for measurement in ("behaviour", "circuits.hardmax"):
            values = [step + len(measurement) + 0.5, 0.25]
            run.shard(measurement, step, values)
            wanted += [(measurement, step, 1, values[0]), (measurement, step, 2, values[1])]
    before = held(run)
    assert compact(run.path) == []
    assert before == held(run) == sorted(wanted)
    shutil.rmtree(run.path / "measurements")
    assert held(run) == sorted(wanted)


def test_a_shard_newer_than_the_table_is_seen(make_run):
    run = make_run()
    run.shard(step=100, values=[0.1])
    compact(run.path)
    run.shard(step=200, values=[0.2])
    assert held(run) == [("behaviour", 100, 1, 0.1), ("behaviour", 200, 1, 0.2)]
    run.shard(step=100, values=[0.3], key="k2")
    assert held(run) == [("behaviour", 100, 1, 0.3), ("behaviour", 200, 1, 0.2)]


def test_the_newest_key_counts_and_an_old_one_can_be_renewed(make_run):
    run = make_run()
    old = run.shard(values=[0.1], key="zz")
    run.shard(values=[0.2], key="aa")
    assert held(run) == [("behaviour", 100, 1, 0.2)]
    compact(run.path)
    renew(old)
    assert held(run) == [("behaviour", 100, 1, 0.1)]
    assert len(shards_of(run.path)) == 2


def test_a_shard_written_again_under_its_key_replaces_what_the_table_holds(make_run):
    run = make_run()
    run.shard(values=[0.1])
    compact(run.path)
    run.shard(values=[0.2])
    assert held(run) == [("behaviour", 100, 1, 0.2)]


def test_rows_of_other_weights_are_left_out_and_named(make_run):
    run = make_run()
    run.checkpoint(100, "new")
    run.checkpoint(200, "same")
    run.shard(step=100, values=[0.1], sha256="old")
    run.shard(step=200, values=[0.2], sha256="same")
    (said,) = compact(run.path)
    assert "behaviour" in said
    assert "step 100" in said
    assert f"lengthlens measure {run.path}" in said
    assert held(run) == [("behaviour", 200, 1, 0.2)]
    assert len(shards_of(run.path)) == 2


def test_a_checkpoint_made_anew_makes_the_table_stale_too(make_run):
    run = make_run()
    run.checkpoint(100, "old")
    run.shard(values=[0.1], sha256="old")
    compact(run.path)
    run.checkpoint(100, "new")
    table = Table.load(run.path)
    assert len(table) == 0
    assert len(table.problems) == 1
    run.shard(values=[0.2], sha256="new", key="k2")
    table = Table.load(run.path)
    assert table.frame().value.tolist() == [0.2]
    assert table.problems == []  # nothing is missing any more


def test_a_stale_shard_does_not_hide_an_older_one_of_the_right_weights(make_run):
    run = make_run()
    run.checkpoint(100, "right")
    run.shard(values=[0.1], sha256="right", key="k1")
    run.shard(values=[0.2], sha256="wrong", key="k2")
    assert held(run) == [("behaviour", 100, 1, 0.1)]


def test_rows_stay_where_the_weights_were_not_kept(make_run):
    run = make_run()
    run.shard(values=[0.1], sha256="gone")
    assert compact(run.path) == []
    assert held(run) == [("behaviour", 100, 1, 0.1)]


@pytest.mark.parametrize("text", ["{", "[]", '{"step": 100}'])
def test_a_checkpoint_that_tells_no_hash_is_named(make_run, text):
    run = make_run()
    run.checkpoint(100)
    meta = run.path / "steps" / "00000100" / "meta.json"
    meta.write_text(text)
    run.shard("behaviour")
    run.shard("circuits.hardmax")
    (said,) = compact(run.path)
    assert str(meta) in said
    assert held(run) == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize("compacted", [False, True])
def test_a_damaged_shard_is_named_and_an_older_sound_one_counts(make_run, compacted):
    run = make_run()
    run.shard(values=[0.1], key="k1")
    if compacted:
        compact(run.path)
    broken = run.shard(values=[0.2], key="k2")
    cut(broken)
    (said,) = compact(run.path)
    assert str(broken) in said
    table = Table.load(run.path)
    assert table.frame().value.tolist() == [0.1]
    assert len(table.problems) == 1
    assert broken.exists()


def test_damage_inside_the_pages_is_found_when_rows_are_read(make_run):
    run = make_run()
    run.shard(values=[0.1], key="k1")
    path = run.shard(values=[k / 7 for k in range(30)], key="k2")
    column = pq.ParquetFile(path).metadata.row_group(0).column(SCHEMA.get_field_index("value"))
    data = bytearray(path.read_bytes())
    data[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    path.write_bytes(bytes(data))
    table = Table.load(run.path)
    assert table.frame().value.tolist() == [0.1]
    assert len(table.problems) == 1
    assert str(path) in table.problems[0]


def test_a_damaged_table_is_named_and_the_shards_stand_in(make_run):
    run = make_run()
    run.shard(values=[0.1])
    compact(run.path)
    cut(run.path / "table.parquet")
    table = Table.load(run.path)
    assert table.frame().value.tolist() == [0.1]
    assert len(table.problems) == 1
    assert "table.parquet" in table.problems[0]
    compact(run.path)
    assert Table.load(run.path).problems == []


def test_a_crash_during_compaction_leaves_the_old_table(make_run, monkeypatch):
    run = make_run()
    run.shard(step=100)
    compact(run.path)
    before = (run.path / "table.parquet").read_bytes()
    run.shard(step=200)

    def crash(*_):
        raise OSError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(StorageError, match="power cut"):
            compact(run.path)
    assert (run.path / "table.parquet").read_bytes() == before
    assert [step for _, step, _, _ in held(run)] == [100, 200]


def test_compacting_twice_changes_nothing(make_run):
    run = make_run()
    run.checkpoint(100)
    run.shard(values=[0.1])
    run.shard(values=[0.2], key="k2")
    compact(run.path)
    before = (run.path / "table.parquet").stat()
    assert compact(run.path) == []
    after = (run.path / "table.parquet").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_compaction_never_loses_rows_that_only_the_table_held(make_run):
    run = make_run()
    run.shard(values=[0.1], key="k1", version=1)
    compact(run.path)
    shutil.rmtree(run.path / "measurements")
    run.shard(values=[0.2], key="k2", version=2)
    compact(run.path)
    assert held(run) == [("behaviour", 100, 1, 0.2)]
    (kept,) = (shard.path for shard in shards_of(run.path) if shard.key == "k1")
    assert '"version": 1' in read_metadata(kept)["spec"]
    renew(kept)
    assert held(run) == [("behaviour", 100, 1, 0.1)]


def test_a_compacted_run_is_read_without_opening_its_shards(make_run, monkeypatch):
    run = make_run()
    run.shard(values=[0.1], key="k1")
    run.shard(values=[0.2], key="k2")
    compact(run.path)

    def opened(path):
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr("workbench.table.assembly.shard_header", opened)
    assert held(run) == [("behaviour", 100, 1, 0.2)]
    assert Table.load(run.path).problems == []


def test_a_shard_that_was_changed_and_dated_back_is_named(make_run):
    run = make_run()
    paths = [run.shard(values=[0.1], key="k1"), run.shard(values=[0.2], key="k2")]
    compact(run.path)
    for path in paths:
        before = path.stat().st_mtime_ns
        data = path.read_bytes()
        path.write_bytes(data[:-9] + b"x" + data[-8:])
        os.utime(path, ns=(before, before))
    assert len(Table.load(run.path).problems) == 2
    assert held(run) == [("behaviour", 100, 1, 0.2)]


def test_versions_of_a_measurement_are_never_mixed_within_a_run(make_run):
    run = make_run()
    run.shard(step=100, version=1, values=[0.1])
    run.shard("dynamics", step=100, version=1, values=[0.7])
    run.shard(step=200, version=2, values=[0.2])
    assert held(run) == [("behaviour", 200, 1, 0.2), ("dynamics", 100, 1, 0.7)]
    (said,) = compact(run.path)
    assert "versions 1, 2 at different steps, and version 2 alone is shown" in said
    assert f"`lengthlens measure {run.path}` makes them alike" in said
    assert held(run) == [("behaviour", 200, 1, 0.2), ("dynamics", 100, 1, 0.7)], "compacted"
    assert len(shards_of(run.path)) == 3, "nothing that was measured is lost"
    run.shard(step=100, version=2, key="k2", values=[0.3])
    assert compact(run.path) == []
    assert held(run) == [("behaviour", 100, 1, 0.3), ("behaviour", 200, 1, 0.2), ("dynamics", 100, 1, 0.7)]


def test_versions_ten_and_nine_are_numbers(make_run):
    run = make_run()
    run.shard(step=100, version=9, values=[0.1])
    run.shard(step=200, version=10, values=[0.2])
    assert held(run) == [("behaviour", 200, 1, 0.2)]


def test_versions_of_a_measurement_are_never_mixed_between_runs(make_run):
    old, new = make_run("old"), make_run("new")
    old.shard(version=3, values=[0.1])
    old.shard("dynamics", version=1, values=[0.7])
    new.shard(version=4, values=[0.2])
    for run in (old, new):
        compact(run.path)
    table = Table.load(old.path.parent)
    frame = table.frame()
    assert sorted(zip(frame.run, frame.measurement, frame.value, strict=True)) == [
        ("new", "behaviour", 0.2),
        ("old", "dynamics", 0.7),
    ]
    (said,) = table.problems
    assert f"behaviour of {old.path} was made by version 3, that of other runs by version 4, and is left out" in said
    assert table.specs["behaviour"]["version"] == 4
    assert Table.load(old.path).frame(measurement="behaviour")["value"].tolist() == [0.1], "alone it is not mixed"


def test_the_table_tells_specs_and_shards(make_run):
    run = make_run()
    run.shard("behaviour", version=3)
    run.shard("circuits.hardmax", version=5)
    compact(run.path)
    metadata = read_metadata(run.path / "table.parquet")
    assert '"behaviour": {"name": "behaviour", "version": 3' in metadata["specs"]
    specs = Table.load(run.path).specs
    assert {name: spec["version"] for name, spec in specs.items()} == {"behaviour": 3, "circuits.hardmax": 5}
    assert unpack(metadata["shards"]).count('"key": "k1", "held": true') == 2


def test_only_runs_are_compacted(tmp_path):
    with pytest.raises(TableError, match=f"{tmp_path}"):
        compact(tmp_path)


def test_a_compactor_that_another_overtakes_loses_nothing(make_run, monkeypatch):
    """Between its reading and its writing another one measures, supersedes and compacts; its table then comes last."""
    run = make_run()
    run.shard(step=100, values=[0.1])
    run.shard("circuits.hardmax", step=100, values=[0.5])
    compact(run.path)
    shutil.rmtree(run.path / "measurements")  # what ships: the table holds these rows alone
    run.shard(step=200, values=[0.2])
    plain, writing = shards.write_file, []

    def overtaken(path: Path, rows: object, metadata: object) -> None:
        if not writing:
            writing.append(path)
            run.shard(step=100, values=[0.3], key="k2")
            run.shard(step=300, values=[0.4])
            compact(run.path)
        plain(path, rows, metadata)

    monkeypatch.setattr(shards, "write_file", overtaken)
    assert compact(run.path) == []
    wanted = [
        ("behaviour", 100, 1, 0.3),
        ("behaviour", 200, 1, 0.2),
        ("behaviour", 300, 1, 0.4),
        ("circuits.hardmax", 100, 1, 0.5),
    ]
    assert writing
    assert held(run) == wanted
    assert compact(run.path) == []
    shutil.rmtree(run.path / "measurements")
    assert held(run) == wanted


def test_several_compactors_beside_a_writer_lose_nothing(make_run):
    """In processes of their own; a reader beside them sees each row that was there when it began."""
    run = make_run()
    compactors = []
    for _ in range(2):
        pid = os.fork()
        if pid:
            compactors.append(pid)
            continue
        status = 1
        try:
            while not (run.path / "over").exists():
                assert compact(run.path) == []
            status = 0
        finally:
            os._exit(status)  # before it forks one of its own, for which nobody would wait
    wanted = []
    try:
        for step in range(40):
            run.shard(step=step, values=[step / 64])
            wanted.append(("behaviour", step, 1, step / 64))
            if step % 8 == 0:
                assert held(run) == wanted
    finally:
        (run.path / "over").touch()
        ended = [os.waitpid(pid, 0)[1] for pid in compactors]
    assert ended == [0, 0]
    compact(run.path)
    shutil.rmtree(run.path / "measurements")
    assert held(run) == wanted


def test_temporary_files_of_a_killed_compaction_are_removed_by_the_next(make_run):
    run = make_run()
    shard = run.shard()
    compact(run.path)
    left = [temporary_name(table_path(run.path)), temporary_name(shard)]
    for path in left:
        path.write_bytes(b"half")
    compact(run.path)
    assert not any(path.exists() for path in left)


def test_nothing_is_written_through_a_link_into_another_run(make_run, tmp_path):
    run, other = make_run(), tmp_path / "other"
    run.shard()
    other.mkdir()
    (run.path / "measurements" / "linked").symlink_to(other)
    with pytest.raises(LinkError, match="link"):
        run.shard(measurement="linked")
    (run.path / "table.parquet").symlink_to(other / "table.parquet")
    with pytest.raises(LinkError, match=r"table\.parquet"):
        compact(run.path)
    assert list(other.iterdir()) == []


def test_shards_and_steps_come_in_order_and_others_are_passed_over(tmp_path: Path) -> None:
    for name in (
        "b/00000002-k.parquet",
        "a/100000000-k.parquet",
        "a/00000003-z.parquet",
        "a/00000003-b.parquet",
        "a/00000003.parquet",
        ".c/00000001-k.parquet",
        "a/.00000001-k.parquet",
    ):
        path = tmp_path / "measurements" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [shard[:3] for shard in shards_of(tmp_path)] == [
        ("a", 3, "b"),
        ("a", 3, "z"),
        ("a", 10**8, "k"),
        ("b", 2, "k"),
    ]
    with pytest.raises(TableError, match="shard"):
        parse_shard(tmp_path / "a" / "00000003.parquet")


@pytest.mark.parametrize(
    ("spec", "version"),
    [({"version": 3}, 3), ({"version": 0}, 0), ({}, 0), ({"version": "3"}, 0), ({"version": None}, 0)],
)
def test_versions_of_specs(spec: dict[str, Any], version: int) -> None:
    assert version_of(spec) == version
