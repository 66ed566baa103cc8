"""A run's task under other parameters: measured, kept and read apart from what was measured under its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.cli.commands.measure import measure
from workbench.cli.errors import UsageError
from workbench.cli.options import task_parameters
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.measure.settings import MeasurementError
from workbench.models import HookedTransformer, ModelConfig
from workbench.table import Table
from workbench.table.reading import read_run
from workbench.table.shards import compact
from workbench.tasks import make_task

ASKED: dict[str, Any] = {"only": ["behaviour"], "sequences": 64, "lengths": [9, 33]}
ONE = {"k": 2, "least": 2}
"""Strings with two small numbers, where the run's own have up to three."""
TASK = make_task("sparse_parity", k=3)


def small(task: Any) -> HookedTransformer:
    cfg = ModelConfig(
        n_layers=1, d_model=16, n_heads=2, n_ctx=80, d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out,
        positions="learned",
    )  # fmt: skip
    return HookedTransformer(cfg, seed=3)


MODEL = small(TASK)


@pytest.fixture
def run(make_run: Any) -> Any:
    return make_run(MODEL, TASK, trained=9, top_id=4095)


def make(run: Any, parameters: dict[str, Any] | None = None, **more: Any) -> None:
    assert (
        execute(plan(MeasureRequest([run.path], **{**ASKED, **more}, task_parameters=parameters, executor="serial")))
        == []
    )


def numbers(run: Any, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows, but for what they are called by."""
    rows = read_run(run.path, None, None, parameters).rows.to_pylist()
    return [{k: v for k, v in row.items() if k not in ("run", "setting")} for row in rows]


def test_rows_are_those_of_a_run_whose_own_task_it_is(run: Any, make_run: Any) -> None:
    make(run)
    own = read_run(run.path).rows.to_pylist()
    make(run, ONE)
    assert read_run(run.path).rows.to_pylist() == own, "what was measured under its own parameters stays what counts"
    twin = make_run(MODEL, TASK.model_copy(update=ONE), trained=9, name="twin", top_id=4095)
    make(twin)
    assert numbers(run, ONE) == numbers(twin) != numbers(run)
    (setting,) = {row["setting"] for row in read_run(run.path, None, None, ONE).rows.to_pylist()}
    (usual,) = {row["setting"] for row in own}
    assert json.loads(setting) == {**json.loads(usual), "task_parameters": ONE}
    assert read_run(run.path, None, None, {"k": 2}).rows.num_rows == 0


def test_rows_of_other_parameters_never_enter_the_verdict(run: Any) -> None:
    make(run, ONE)
    assert Table.load(run.path).frame(quantity="verdict").empty, "nothing is known of the run's own task"
    make(run)
    for _ in range(2):
        own, other = Table.load(run.path), Table.load(run.path, task_parameters=ONE)
        assert len(own.frame(quantity="verdict")) == len(other.frame(quantity="verdict")) == 1
        assert own.frame(quantity="accuracy").setting.nunique() == 1
        assert compact(run.path) == []
    for shard in run.path.glob("measurements/*/*"):
        shard.unlink()
    assert len(Table.load(run.path).frame(quantity="verdict")) == 1, "the compacted table alone tells them apart too"
    assert len(Table.load(run.path, task_parameters=ONE).frame(quantity="verdict")) == 1


def test_what_is_there_is_not_made_again_whoever_asks_in_whatever_order(run: Any) -> None:
    make(run)
    make(run, ONE)
    for parameters in (None, {"k": 3}, ONE, {"least": 2, "k": 2}):
        assert plan(MeasureRequest([run.path], **ASKED, task_parameters=parameters)).jobs == [], parameters
    for seed in (None, 7):
        (item,) = plan(MeasureRequest([run.path], **ASKED, task_parameters={"k": 2}, evaluation_seed=seed)).jobs
        assert item.strings.setting == {"task_parameters": {"k": 2}} | ({} if seed is None else {"evaluation_seed": 7})
    assert len(plan(MeasureRequest([run.path], **ASKED, task_parameters=ONE, evaluation_seed=7)).jobs) == 1, (
        "both are others there"
    )


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"lest": 2}, "sparse_parity"),
        ({"k": "many"}, "sparse_parity"),
        ({"k": 1, "least": 2}, "sparse_parity"),
    ],
)
def test_what_a_task_cannot_be_is_said_before_any_work(run: Any, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        plan(MeasureRequest([run.path], **ASKED, task_parameters=parameters))


def test_other_answers_than_the_model_has_are_refused(make_run: Any) -> None:
    task = make_task("mod_count", m=2)
    run = make_run(small(task), task, trained=9)
    with pytest.raises(MeasurementError, match="mod_count"):
        plan(MeasureRequest([run.path], **ASKED, task_parameters={"m": 3}))


def test_the_command_takes_it(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    measure([run.path], only=["behaviour"], lengths="9", sequences=16, executor="serial", task=["k=2,least=2"])
    assert "1 of 1 checkpoint measured" in capsys.readouterr().out
    assert numbers(run) == []
    assert {row["length"] for row in numbers(run, ONE) if row["quantity"] == "accuracy"}


def test_parameters_are_read_from_what_is_typed() -> None:
    assert task_parameters([]) == {}
    assert task_parameters(["k=12,least=12", "half=second"]) == {"k": 12, "least": 12, "half": "second"}
    assert task_parameters(["parts=[1, 2], k=3"]) == {"parts": [1, 2], "k": 3}
    for typed, said in (
        ("k", "PARAMETER=VALUE"),
        ("=3", "PARAMETER=VALUE"),
        ("a.b=3", "a.b=3"),
        ("k=1,k=2", "k twice"),
    ):
        with pytest.raises(UsageError, match=said):
            task_parameters([typed])


def test_a_table_compacted_while_only_seeds_could_differ_is_still_told_apart(run: Any, tmp_path: Path) -> None:
    """Its metadata has the strings under a former name."""
    import pyarrow.parquet as pq

    make(run)
    make(run, ONE)
    path = run.path / "table.parquet"
    table = pq.read_table(path)
    former = {
        b"evaluation_seeds" if key == b"other_strings" else key: value for key, value in table.schema.metadata.items()
    }
    assert b"evaluation_seeds" in former
    pq.write_table(table.replace_schema_metadata(former), path)
    assert len(Table.load(run.path).frame(quantity="verdict")) == 1
