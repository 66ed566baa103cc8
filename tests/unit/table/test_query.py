"""Reading: folders, names, the three ways to ask, and what is said where something is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.support.table.making import CONFIG, RunMaker
from workbench.storage.seal import sealed_json
from workbench.table import Table, TableError
from workbench.table.folder_state import run_state
from workbench.table.query import to_pandas
from workbench.table.schema import SCHEMA, row
from workbench.table.shards import compact


@pytest.fixture
def two(make_run, tmp_path) -> Path:
    """Two runs, one in a group, with rows of two laws, layers and null positions."""
    for name, shift in (("solo", 0.0), ("group/s1", 0.5)):
        run = make_run(name)
        for step in (0, 100):
            run.checkpoint(step)
            rows = [
                row(
                    run="as measured",
                    measurement="behaviour",
                    quantity="accuracy",
                    step=step,
                    law=law,
                    length=length,
                    value=shift + step / 1000 + length / 100,
                    n=512,
                )
                for law in ("matched", "challenge")
                for length in (8, 16)
            ]
            rows.append(
                row(
                    run="as measured",
                    measurement="behaviour",
                    quantity="verdict",
                    step=step,
                    length=16,
                    label="undecided",
                    status="undefined",
                    note="too short",
                )
            )
            run.shard(step=step, rows=rows)
        compact(run.path)
    return tmp_path / "data"


def test_a_run_is_named_by_its_path_below_the_folder_given(two):
    assert sorted(set(Table.load(two).frame().run)) == ["group/s1", "solo"]
    assert set(Table.load(two / "group").frame().run) == {"s1"}
    assert set(Table.load(two / "group" / "s1").frame().run) == {"s1"}
    assert sorted(set(Table.load(two / "group", two / "solo").frame().run)) == ["s1", "solo"]


def test_a_run_given_twice_counts_once(two):
    assert len(Table.load(two, two / "solo", str(two) + "/")) == len(Table.load(two)) == 20


def test_two_runs_of_one_name_are_refused(make_run):
    first, second = make_run("a/x"), make_run("b/x")
    with pytest.raises(TableError, match="'x'"):
        Table.load(first.path.parent, second.path.parent)


def test_runs_are_not_sought_in_hidden_folders_or_inside_runs(make_run):
    outer = make_run("one")
    make_run("one/inner")
    make_run(".trash/two")
    assert Table.load(outer.path.parent).runs().run.tolist() == ["one"]


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege elsewhere")
def test_linked_runs_are_found_and_circles_end(make_run, tmp_path):
    make_run("one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "here").symlink_to(tmp_path / "data" / "one")
    (elsewhere / "circle").symlink_to(elsewhere)
    assert Table.load(elsewhere).runs().run.tolist() == ["here"]


def test_sql_and_frame_agree(two):
    table = Table.load(two)
    pd.testing.assert_frame_equal(table.sql("SELECT * FROM rows"), table.frame())
    by_sql = table.sql("SELECT * FROM rows WHERE law = ? AND length IN (8, 16) AND run = 'solo'", ["challenge"])
    by_frame = table.frame(law="challenge", length=[8, 16], run="solo")
    pd.testing.assert_frame_equal(by_sql, by_frame)
    every = table.frame()
    by_hand = every[(every.law == "challenge") & (every.run == "solo")].reset_index(drop=True)
    pd.testing.assert_frame_equal(by_frame, by_hand, check_dtype=False)
    assert len(by_frame) == 4


def test_frame_selects_by_value_list_null_and_numpy(two):
    table = Table.load(two)
    assert len(table.frame(length=16)) == len(table.frame(length=np.int64(16))) == 12
    assert len(table.frame(step=np.array([0, 100]))) == 20
    assert len(table.frame(value=None)) == 4
    assert len(table.frame(n=[None, 512])) == 20
    assert len(table.frame(length=[])) == 0
    assert table.frame(law="no such law").columns.tolist() == SCHEMA.names


def test_integers_are_plain_and_nulls_are_nan(two):
    frame = Table.load(two).frame()
    assert frame.length.dtype == np.int64
    assert frame.n.dtype == np.float64
    assert int(frame.n.isna().sum()) == 4
    assert frame.layer.isna().all()
    assert frame.value.dtype == np.float64


def test_unknown_columns_are_named_with_the_nearest(two):
    table = Table.load(two)
    with pytest.raises(TableError, match=r"'lenght'.*length"):
        table.frame(lenght=3)
    with pytest.raises(TableError, match="'task'"):
        table.frame(task="majority")
    with pytest.raises(TableError, match="step='many'"):
        table.frame(step="many")


def test_joined_rows_carry_their_run_and_filter_by_it(two):
    joined = Table.load(two).frame_with_runs(task="majority", law="matched", step=100, run="solo")
    assert joined.value.tolist() == pytest.approx([0.18, 0.26])
    assert joined.trained_high.tolist() == [50, 50]
    assert joined.high.isna().all()  # the interval's, not the run's
    assert joined.positions.unique().tolist() == ["rotary"]
    assert not joined.columns.duplicated().any()


@pytest.mark.parametrize(
    "query", ["DROP TABLE rows", "DROP VIEW rows", "DELETE FROM rows", "CREATE TABLE more AS SELECT 1 AS a"]
)
def test_queries_cannot_change_the_table(two, query):
    table = Table.load(two)
    with contextlib.suppress(duckdb.Error):  # some are refused, some touch only what is theirs
        table.sql(query)
    assert len(table.frame()) == len(table) == 20
    assert table.sql("SELECT count(*) AS n FROM information_schema.tables").n.tolist() == [3]


def test_sums_and_counts_are_numbers(two):
    (made,) = Table.load(two).sql("SELECT sum(n) AS s, count(*) AS k, avg(n) AS m FROM rows").to_dict("records")
    assert made == {"s": 16 * 512, "k": 20, "m": 512}
    assert isinstance(made["s"], float)


def test_python_variables_are_not_tables(two):
    equals = pd.DataFrame({"a": [1]})
    with pytest.raises(duckdb.Error, match="equals"):
        Table.load(two).sql("SELECT * FROM equals")
    assert len(equals) == 1


def test_many_threads_ask_at_once(two):
    table = Table.load(two)
    answers: dict[int, list[float]] = {}
    start = threading.Barrier(4)

    def ask(length: int) -> None:
        start.wait()
        answers[length] = [float(table.frame(length=length).value.sum()) for _ in range(8)]

    threads = [threading.Thread(target=ask, args=(length,)) for length in (8, 16, 32, 64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # per run and law: shift + step / 1000 + length / 100, summed over two steps
    sums = {length: 2 * sum(2 * shift + 0.1 + 2 * length / 100 for shift in (0.0, 0.5)) for length in (8, 16)}
    for length in (8, 16, 32, 64):
        assert answers[length] == pytest.approx([sums.get(length, 0.0)] * 8)


def test_runs_tell_their_configuration(make_run):
    run = make_run()
    run.checkpoint(0)
    run.checkpoint(700)
    (run.path / "steps" / ".00001000.tmp").mkdir()
    (only,) = Table.load(run.path.parent).runs().to_dict("records")
    assert json.loads(only.pop("parameters")) == {"p": 0.5, "bos": True}
    assert only == {
        "run": "one",
        "id": "0123456789abcdef",
        "task": "majority",
        "positions": "rotary",
        "ids": "arange",
        "n_layers": 2,
        "n_heads": 4,
        "d_model": 64,
        "n_ctx": 512,
        "steps": 3000,
        "last_step": 700,
        "n_checkpoints": 2,
        "ended": "",
        "low": 1,
        "high": 50,
        "batch_size": 64,
        "learning_rate": 0.001,
        "init_seed": 1,
        "data_seed": 2,
        "evaluation_seed": 3,
        "created": "2026-01-02T03:04:05+00:00",
        "path": str(run.path),
    }


def test_a_run_that_ended_early_says_why(make_run):
    run = make_run(training={**CONFIG["training"], "early_stop": {"accuracy": 0.99}})
    run.checkpoint(0)
    run.checkpoint(250)
    meta = {"step": 500, "sha256": "bb", "trained_ids": None, "ended": "it was right"}
    (run.path / "steps" / "00000500").mkdir()
    (run.path / "steps" / "00000500" / "meta.json").write_bytes(sealed_json(meta))
    (only,) = Table.load(run.path.parent).runs().to_dict("records")
    assert (only["steps"], only["last_step"], only["ended"]) == (3000, 500, "it was right")


def test_runs_of_other_shapes_have_nulls_and_names(make_run):
    model = {
        "positions": {"name": "alibi", "slope": 1.0},
        "ids": {"name": "random_offset"},
        "n_layers": 1,
        "n_heads": 1,
    }
    training = {"curriculum": {"law": "staged"}, "trained_length": 40, "steps": 7}
    make_run(model=model, training=training, seeds={"evaluation": 0, "probe": 0})
    (only,) = Table.load(make_run("two").path.parent).runs().query("run == 'one'").to_dict("records")
    assert (only["positions"], only["ids"], only["high"]) == ("alibi", "random_offset", 40)
    for name in ("d_model", "low", "last_step", "learning_rate", "init_seed"):
        assert pd.isna(only[name]), name
    assert only["n_checkpoints"] == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2}', "{}"])
def test_a_damaged_run_is_named_and_the_others_load(two, text):
    (two / "solo" / "run.json").write_text(text)
    table = Table.load(two)
    assert table.runs().run.tolist() == ["group/s1"]
    assert len(table.problems) == 1
    assert str(two / "solo" / "run.json") in table.problems[0]


def test_an_empty_folder_is_an_empty_table(tmp_path):
    (tmp_path / ".gitignore").touch()
    (tmp_path / "README.md").touch()
    (tmp_path / "gallery").mkdir()
    table = Table.load(tmp_path)
    assert len(table) == len(table.frame()) == len(table.runs()) == len(table.frame_with_runs()) == 0
    assert table.frame().columns.tolist() == SCHEMA.names
    assert (table.problems, table.specs) == ([], {})


def test_a_folder_that_cannot_hold_runs_is_named_with_the_way_out(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(TableError, match="--out"):
        Table.load(missing)
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(TableError, match=f"{tmp_path}"):
        Table.load(tmp_path)
    with pytest.raises(TableError, match="file"):
        Table.load(tmp_path / "photo.jpg")
    with pytest.raises(TableError, match="folder"):
        Table.load()


def test_the_signature_changes_exactly_when_something_came_or_went(make_run):
    run = make_run()
    data = run.path.parent
    seen = [Table.signature(data)]

    def changed() -> bool:
        seen.append(Table.signature(data))
        return seen[-1] != seen[-2]

    assert not changed()
    (run.path / "live.jsonl").write_text("{}")  # only a view of a running training
    assert not changed()
    run.checkpoint(100)
    assert changed()
    run.shard("behaviour")
    assert changed()
    run.shard("behaviour", step=200)
    assert changed()
    compact(run.path)
    assert changed()
    compact(run.path)
    assert not changed()
    make_run("two")
    assert changed()
    assert Table.load(data).stamp == seen[-1]


def test_xarray_lays_a_quantity_out(two):
    pytest.importorskip("xarray")
    table = Table.load(two)
    cube = table.xarray("accuracy", law="matched")
    assert dict(cube.sizes) == {"run": 2, "step": 2, "length": 2}
    assert float(cube.value.sel(run="group/s1", step=100, length=8)) == pytest.approx(0.68)
    assert int(cube.n.sel(run="solo", step=0, length=16)) == 512
    assert cube.attrs == {"quantity": "accuracy", "definition": "share of right answers", "unit": "share"}
    verdict = table.xarray("verdict", dims=("run", "step"))
    assert verdict.value.isnull().all()
    assert set(verdict.status.values.ravel()) == {"undefined"}


def test_xarray_marks_places_without_a_row(make_run):
    pytest.importorskip("xarray")
    run = make_run()
    run.shard(step=0, values=[0.1, 0.2])
    run.shard(step=100, values=[0.3])
    cube = Table.load(run.path).xarray("accuracy", dims=("step", "length"))
    assert np.isnan(cube.value.sel(step=100, length=2))
    assert cube.status.sel(step=100, length=2) == ""
    assert cube.status.sel(step=0, length=2) == "ok"


def test_xarray_says_what_to_fix(two):
    pytest.importorskip("xarray")
    table = Table.load(two)
    with pytest.raises(TableError, match="'challenge'"):
        table.xarray("accuracy")
    with pytest.raises(TableError, match=r"'acuracy'.*accuracy"):
        table.xarray("acuracy")
    with pytest.raises(TableError, match="with law='other'"):
        table.xarray("accuracy", law="other")
    with pytest.raises(TableError, match="layer"):
        table.xarray("accuracy", dims=("run", "layer"))
    with pytest.raises(TableError, match="'value'"):
        table.xarray("accuracy", dims=("value",))


def test_without_xarray_the_way_to_install_it_is_said(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(TableError, match="install"):
        Table.load(two).xarray("accuracy", law="matched")


def test_the_table_and_the_jobs_need_no_torch():
    code = (
        "import sys; from workbench.table import Table, TableError; import workbench.table.shards;"
        "import workbench.jobs.executors, workbench.jobs.processes;"
        "found = {'torch', 'transformer_lens', 'xarray'} & set(sys.modules);"
        "sys.exit(f'imported {found}' if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("column", "wanted", "numbers"), [
    ("length", 3, [3]), ("label", "ab", [1, 2]), ("length", [1, 2], [1, 2]), ("length", None, [4]), ("length", [1, None], [1, 4]),
    ("length", [], []), ("length", np.int64(3), [3]), ("value", np.array([1.5]), [1, 3]), ("length", [None, None], [4]),
])  # fmt: skip
def test_conditions_on_a_column(
    column: str, wanted: Any, numbers: list[int], make_run: Callable[..., RunMaker]
) -> None:
    fields = ((1, "ab", 1.5), (2, "ab", 2.0), (3, "a", 1.5), (None, "b", 0.0))
    rows = [
        row(measurement="behaviour", quantity="q", step=1, length=length, label=label, value=value, n=number)
        for number, (length, label, value) in enumerate(fields, start=1)
    ]
    run = make_run()
    run.checkpoint(1)
    run.shard(step=1, rows=rows)
    assert sorted(Table.load(run.path).frame(**{column: wanted})["n"]) == numbers


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
