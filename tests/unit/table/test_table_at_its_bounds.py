"""The table function by function: every field, name, limit and branch once just so and once just not, and what a study reads held."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.held import Held, digest
from tests.support.table.making import CONFIG, RunMaker
from workbench.storage.seal import sealed_json
from workbench.table import Table, TableError, parquet, walk
from workbench.table import object_store as store
from workbench.table.assembly import assemble, from_manifest, newest_specs, pack, to_manifest, unpack, version_of
from workbench.table.layout import (
    checkpoint_steps,
    parse_shard,
    read_config,
    require_folder,
    run_folders,
    shard_path,
    shards_of,
)
from workbench.table.other_strings import OWN_STRINGS, OtherStrings, other_strings
from workbench.table.parquet import read_columns, read_file, write_file
from workbench.table.query import _condition, run_state, to_pandas
from workbench.table.reading import TableReading, folder_state, former_of, merged_specs, newest_among, read_run
from workbench.table.runs_view import describe
from workbench.table.schema import FIELDS, REASONS, SCHEMA, SINCE, STATUSES, row, to_arrow
from workbench.table.shards import audit, compact, compacted, seconds_of, write_shard
from workbench.table.text_tables import latex, markdown, text_cells
from workbench.table.walk import meant

ROW = {"run": "r", "measurement": "m", "step": 1, "quantity": "q"}


# ---- rows -------------------------------------------------------------------------------------------------------
def test_the_row_format_held(held: Held) -> None:
    held(
        [{name: [str(kind), default, said] for name, (kind, default, said) in FIELDS.items()}, SINCE, REASONS, STATUSES]
    )


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("reason", ["", *REASONS])
def test_rows_of_every_status_and_reason(status: str, reason: str) -> None:
    made = row(**ROW, status=status, reason=reason, value=0.5)
    assert to_arrow([made]).to_pylist() == [made]
    assert (made["status"], made["reason"], made["low"], made["setting"]) == (status, reason, None, "{}")


@pytest.mark.parametrize(("fields", "error", "says"), [
    ({"status": "fine"}, ValueError, "unknown status 'fine'"), ({"reason": "so"}, ValueError, "unknown reason 'so'"), ({"value": float("nan")}, ValueError, "q is NaN"), ({"valeu": 1}, KeyError, "no field 'valeu'"),
    ({"status": ""}, ValueError, "unknown status"),
])  # fmt: skip
def test_rows_that_cannot_be(fields: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        row(**{**ROW, **fields})


def test_values_that_a_row_may_have() -> None:
    assert [row(**ROW, value=value)["value"] for value in (None, 0.0, float("inf"))] == [None, 0.0, float("inf")]


# ---- names and places ----------------------------------------------------------------------------------------------
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
    with pytest.raises(TableError, match="is not named like a shard"):
        parse_shard(tmp_path / "a" / "00000003.parquet")


# ---- folders ----------------------------------------------------------------------------------------------------------
def test_folders_that_hold_no_runs_are_told_apart(tmp_path: Path, make_run: Callable[..., RunMaker]) -> None:
    assert run_folders(tmp_path) == []
    for harmless in ("README.md", "readme", ".gitignore"):
        (tmp_path / harmless).touch()
    (tmp_path / "empty").mkdir()
    assert run_folders(tmp_path) == []
    (tmp_path / "notes.txt").touch()
    with pytest.raises(TableError, match="holds no run"):
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
    with pytest.raises(TableError, match="is no folder: name a folder"):
        require_folder(tmp_path / "broken")


def test_what_was_meant_by_a_folder(tmp_path: Path) -> None:
    for name in ("study_a", "study_b", "study_c", "study_d", "other", ".study"):
        (tmp_path / name / "run").mkdir(parents=True)
        (tmp_path / name / "run" / "run.json").touch()
    (tmp_path / "study_empty").mkdir()
    assert meant(tmp_path / "study") == f"; did you mean {' or '.join(str(tmp_path / f'study_{c}') for c in 'abc')}?"
    assert meant(tmp_path / "othr") == f"; did you mean {tmp_path / 'other'}?"
    assert meant(tmp_path / "xyz") == meant(tmp_path / "none" / "other") == ""


def test_a_walk_looks_at_so_many_folders_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "run").mkdir(parents=True)
        (tmp_path / name / "run" / "run.json").touch()
    monkeypatch.setattr(walk, "MOST_FOLDERS", 5)
    found = walk.walk(tmp_path)
    assert [name for name, _ in found.runs] == ["a/run", "b/run"]
    assert found.problems == []
    monkeypatch.setattr(walk, "MOST_FOLDERS", 4)
    found = walk.walk(tmp_path)
    assert [name for name, _ in found.runs] == ["a/run"]
    assert found.problems == [
        f"{tmp_path} holds more than 4 folders, and the others were not looked at: name a folder nearer to the runs"
    ]
    assert walk._short("x" * 200) == "x" * 200
    assert walk._short("y" * 150 + "x" * 11 + "z" * 40) == "y" * 150 + "..." + "z" * 40


def test_a_folder_that_is_not_there_holds_nothing_and_one_that_went_away_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = walk.walk(tmp_path / "none")
    assert (found.runs, found.headless, found.problems) == ([], [], [])
    (tmp_path / "file").touch()
    assert walk.walk(tmp_path / "file").problems == [f"{tmp_path / 'file'} cannot be looked at: Not a directory"]
    (tmp_path / "inner").mkdir()
    scan = os.scandir

    def gone(path: str) -> Any:
        if path.endswith("inner"):
            raise FileNotFoundError(2, "No such file or directory")
        return scan(path)

    monkeypatch.setattr(walk.os, "scandir", gone)
    assert walk.walk(tmp_path).problems == [f"{tmp_path / 'inner'} cannot be looked at: No such file or directory"]


# ---- strings of another kind ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("seed", "parameters", "found"), [
    (None, None, OWN_STRINGS), (3, None, OWN_STRINGS), (0, None, OtherStrings(0)), (4, {"p": 0.5}, OtherStrings(4)), (None, {"p": 0.25}, OtherStrings(None, '{"p":0.25}')), (3, {"bos": True, "p": 0.25, "new": 1}, OtherStrings(None, '{"new":1,"p":0.25}')),
    (4, {"p": 1}, OtherStrings(4, '{"p":1}')), (None, {}, OWN_STRINGS),
])  # fmt: skip
def test_what_of_strings_is_not_a_runs_own(
    seed: int | None, parameters: dict[str, Any] | None, found: OtherStrings
) -> None:
    made = other_strings(CONFIG, seed, parameters)
    assert made == found
    assert bool(made) == (found != OWN_STRINGS)
    assert OtherStrings.of(made.metadata) == made
    assert made.text == ("" if not made else json.dumps(made.setting, sort_keys=True, separators=(",", ":")))
    assert made.parameters == (json.loads(found.task) if found.task else {})
    assert set(made.metadata) == {
        name for name, there in (("evaluation_seed", found.seed is not None), ("task_parameters", found.task)) if there
    }


# ---- Parquet -------------------------------------------------------------------------------------------------------------------
def test_files_of_exactly_so_many_rows_bytes_and_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    table = pa.table({"x": pa.array(np.arange(6))})
    pq.write_table(table, data, row_group_size=2, compression="zstd")
    content = data.getvalue()
    metadata = pq.ParquetFile(pa.BufferReader(content)).metadata
    size = sum(metadata.row_group(g).column(0).total_uncompressed_size for g in range(3))
    assert read_columns(content, ["x"], 6)["x"].to_pylist() == list(range(6))
    with pytest.raises(ValueError, match="declares 6 rows, and 5 are the most"):
        read_columns(content, ["x"], 5)
    for name, limit, says in (
        ("MOST_GROUPS", 3, "3 row groups, and 2 are"),
        ("MOST_UNPACKED", size, f"unpacks to {size:,} bytes"),
    ):
        monkeypatch.setattr(parquet, name, limit)
        read_columns(content, ["x"], 6)
        monkeypatch.setattr(parquet, name, limit - 1)
        with pytest.raises(ValueError, match=says):
            read_columns(content, ["x"], 6)
        monkeypatch.undo()


def test_columns_that_are_wanted_come_in_the_order_of_the_format(tmp_path: Path) -> None:
    rows = [row(**ROW, value=0.5, label="x", n=3), row(**ROW)]
    write_file(tmp_path / "file.parquet", to_arrow(rows), {"a": "b"})
    whole, metadata = read_file(tmp_path / "file.parquet")
    assert metadata == {"a": "b", "schema_version": "2", "rows": "2"}
    assert whole.column_names == SCHEMA.names
    some, _ = read_file(tmp_path / "file.parquet", ["value", "run", "distinct", "label"])
    assert some.column_names == ["run", "value", "label", "distinct"]
    assert some.to_pylist() == [{name: one[name] for name in some.column_names} for one in rows]
    assert pa.types.is_dictionary(some.schema.field("run").type)


# ---- what counts ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spec", "version"),
    [({"version": 3}, 3), ({"version": 0}, 0), ({}, 0), ({"version": "3"}, 0), ({"version": None}, 0)],
)
def test_versions_of_specs(spec: dict[str, Any], version: int) -> None:
    assert version_of(spec) == version


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
        with pytest.raises(ValueError, match="does not account for its rows"):
            from_manifest(manifest, rows)
    for spec in (-1, 2):
        entries = json.loads(unpack(manifest["shards"]))
        entries[0]["metadata"]["spec"] = spec
        with pytest.raises(ValueError, match=f"refers to a spec {spec} that"):
            from_manifest({**manifest, "shards": pack(json.dumps(entries))}, made.rows)
    for lacking in ("key", "sha256", "written", "rows"):
        entries = json.loads(unpack(manifest["shards"]))
        del entries[1]["metadata"][lacking]
        with pytest.raises(ValueError, match=f"its manifest lacks {lacking}"):
            from_manifest({**manifest, "shards": pack(json.dumps(entries))}, made.rows)


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
    assert set(compacted(run.path)) == {tuple(one[:3]) for one in before[0]}
    assert seconds_of(run.path) == {100: 2.5}
    held(before)


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
    first = parquet.read_header(run.shard(key="a"))["written"]
    second = parquet.read_header(run.shard(key="b"))["written"]
    assert first < second
    assert datetime.fromisoformat(second).tzinfo is not None
    assert abs((datetime.now(UTC) - datetime.fromisoformat(second)).total_seconds()) < 60


# ---- asking ---------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("wanted", "condition", "values"), [
    (3, '("x" IN (?))', [3]), ("ab", '("x" IN (?))', ["ab"]), ([1, 2], '("x" IN (?, ?))', [1, 2]), (None, '("x" IS NULL)', []), ([1, None], '("x" IN (?) OR "x" IS NULL)', [1]), ([], "(false)", []), (np.int64(3), '("x" IN (?))', [3]),
    (np.array([1.5]), '("x" IN (?))', [1.5]), ([None, None], '("x" IS NULL)', []),
])  # fmt: skip
def test_conditions_on_a_column(wanted: Any, condition: str, values: list[Any]) -> None:
    assert _condition("x", wanted) == (condition, values)


def test_numbers_come_as_pandas_reads_them() -> None:
    table = pa.table(
        {
            "a": pa.array([1, 2], pa.int16()),
            "b": pa.array([1, None], pa.int32()),
            "c": pa.array([1, 2], pa.int64()),
            "d": pa.array([1, 2], pa.decimal128(38, 0)),
            "e": pa.array(["x", None]),
            "f": pa.array([True, False]),
        }
    )
    found = to_pandas(table)
    assert [str(kind) for kind in found.dtypes[["a", "b", "c", "d", "f"]]] == [
        "int64",
        "float64",
        "int64",
        "float64",
        "bool",
    ]
    assert found["b"].isna().tolist() == [False, True]
    assert found.to_numpy().tolist()[0] == [1, 1.0, 1, 1.0, "x", True]


def test_the_state_of_a_run_is_of_names_sizes_and_times(make_run: Callable[..., RunMaker]) -> None:
    run = make_run()
    lines = run_state(run.path).split("\n")
    assert [line.split()[0] for line in lines] == ["run.json", "table.parquet", "steps"]
    assert [line.split()[1] for line in lines][1:] == ["-", "-"]
    assert int(lines[0].split()[1]) == (run.path / "run.json").stat().st_size
    run.checkpoint(1)
    run.checkpoint(2)
    run.shard("b")
    run.shard("a")
    compact(run.path)
    lines = run_state(run.path).split("\n")
    assert [line.split()[0] for line in lines] == ["run.json", "table.parquet", "steps", "a", "b"]
    assert [line.split()[1] for line in lines][2:] == ["2", "1", "1"]


def test_what_runs_tell_of_themselves(make_run: Callable[..., RunMaker], held: Held) -> None:
    run = make_run()
    run.checkpoint(100)
    run.checkpoint(20)
    configs: list[dict[str, Any]] = [
        read_config(run.path), {}, {"task": 3, "model": {"positions": {"name": "limit", "period": 2}, "ids": 3, "n_layers": True}, "seeds": {"init": 1.0}},
        {"training": {"early_stop": {"x": 1}, "curriculum": {"low": 2, "high": 9}, "learning_rate": 1}}, {"training": {"trained_length": 7, "curriculum": {"high": 9}, "learning_rate": True}},
    ]  # fmt: skip
    found = [{**describe("name", run.path, config), "path": ""} for config in configs]
    found.append({**describe("name", run.path.parent, {}), "path": ""})
    (run.path / "steps" / "00000100" / "meta.json").write_bytes(
        sealed_json({"step": 100, "sha256": "", "ended": "it was right"})
    )
    assert describe("name", run.path, configs[3])["ended"] == "it was right"
    assert describe("name", run.path, configs[0])["ended"] == "", "it was not to end early"
    held(found)


def test_a_dataset_of_one_quantity_by_step_and_length(make_run: Callable[..., RunMaker], held: Held) -> None:
    run = make_run()
    for step in (1, 2):
        run.checkpoint(step)
        run.shard(step=step, rows=run.rows("behaviour", step, [0.1 * step, 0.2], low=0.05, high=0.9, n=7)[: 3 - step])
    made = Table.load(run.path).xarray("accuracy")
    held(
        [
            list(made.sizes.items()),
            made.attrs,
            digest(made["value"].to_numpy()),
            digest(made["n"].to_numpy()),
            made["status"].to_numpy().ravel().tolist(),
        ]
    )


# ---- tables of text --------------------------------------------------------------------------------------------------------------------
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


# ---- object stores ------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("place", "found"), [
    ("run.json", (".", "RUN_JSON")), ("a/b/run.json", ("a/b", "RUN_JSON")), ("a/live.jsonl", ("a", "LIVE")), ("a/table.parquet", ("a", "TABLE")), ("a/steps/00000001/meta.json", ("a", "META_JSON")), ("steps/00000001/log.parquet", (".", "LOG")),
    ("a/measurements/m.x/00000001-k.parquet", ("a", "SHARD")), ("a/steps/00000001/model.safetensors", None), ("a/steps/0000001/meta.json", None), ("a/steps/00000001/x/meta.json", None), ("", None), ("/run.json", None), ("../run.json", None),
    ("a/measurements/-m/00000001-k.parquet", None), ("a/run.json.bak", None),
])  # fmt: skip
def test_what_is_fetched_of_a_run(place: str, found: tuple[str, str] | None) -> None:
    from workbench.storage import bounded

    assert store._kind(place) == (None if found is None else (found[0], getattr(bounded, found[1])))


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("bucket/a/run.json", True),
        ("/bucket/a", True),
        ("bucket//a", False),
        ("bucket/./a", False),
        ("bucket/../a", False),
        ("bucket/a\\b", False),
        ("bucket/a\0", False),
    ],
)
def test_plain_names_of_objects(path: str, plain: bool) -> None:
    assert store._is_plain(path) == plain


def test_a_folder_is_fetched_counted_and_kept_up_to_date(
    make_run: Callable[..., RunMaker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    run.checkpoint(100)
    run.shard()
    (run.path / "steps" / "00000100" / "model.safetensors").write_bytes(b"weights")
    url, out, told = f"file://{run.path.parent}", tmp_path / "out", []
    first = store.fetch(url, out, lambda done, of: told.append((done, of)))
    size = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file() and path.suffix != ".safetensors")
    assert first == store.Fetched(1, 3, 0, 0, size, ())
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert store.fetch(url, out) == store.Fetched(1, 0, 3, 0, 0, ())
    next((run.path / "measurements").rglob("*.parquet")).unlink()
    (out / "one" / "run.json").unlink()
    again = store.fetch(url, out)
    assert (again.runs, again.new, again.kept, again.gone) == (1, 1, 1, 1)
    assert not list((out / "one").rglob("*.parquet"))
    with pytest.raises(TableError, match="was fetched from"):
        store.fetch(f"file://{run.path}", out)
    with pytest.raises(TableError, match="holds something that was not fetched"):
        store.fetch(url, run.path)
    listed = sum(1 for _ in run.path.parent.rglob("*"))
    monkeypatch.setattr(store, "MOST_OBJECTS", listed)
    store.fetch(url, out)
    monkeypatch.setattr(store, "MOST_OBJECTS", listed - 1)
    with pytest.raises(TableError, match=f"holds more than {listed - 1} objects"):
        store.fetch(url, out)
    monkeypatch.undo()
    monkeypatch.setattr(store, "KINDS", [(pattern, 10) for pattern, _ in store.KINDS])
    limited = store.fetch(url, tmp_path / "limited")
    assert (limited.new, len(limited.problems)) == (0, 2)
    assert all("has more than 10 bytes" in one for one in limited.problems)


@pytest.mark.parametrize(
    ("text", "said"), [("one.", "one"), ("one. Detail: x", "one"), ("one\ntwo", "one"), ("x" * 400, "x" * 300)]
)
def test_the_first_sentence_of_what_a_store_says(text: str, said: str) -> None:
    assert store._said(OSError(text)) == said
