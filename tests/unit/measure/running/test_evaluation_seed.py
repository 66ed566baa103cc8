"""Strings of another evaluation seed: measured, kept and read apart from those of the run's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.cli.commands.measure import measure
from workbench.measure import run as measure_in_memory
from workbench.measure.behaviour.measurement import Behaviour
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.models.handmade.transformers import majority
from workbench.runs import Run
from workbench.runs.checkpoints import write_checkpoint, write_config
from workbench.runs.weights import weights_bytes
from workbench.table import Table
from workbench.table.reading import read_run
from workbench.table.shards import compact
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig

TASK = make_task("majority")
MODEL = majority(window=9)
"""Errs beyond 9 tokens on some strings and not on others."""
ASKED: dict[str, Any] = {"only": ["behaviour"], "sequences": 64, "lengths": [9, 33]}


@pytest.fixture
def run(make_run: Any) -> Any:
    return make_run(MODEL, TASK, trained=9, top_id=4095)


def run_of_seed(seed: int, folder: Path) -> Run:
    """The same model in a run whose own evaluation seed is another one."""
    training = TrainingConfig(steps=100, curriculum={"law": "uniform", "low": 1, "high": 9})
    config = RunConfig(task=TASK, model=MODEL.cfg, training=training, seeds=Seeds(evaluation=seed))
    write_config(folder, config.as_json())
    found = Run.open(folder)
    write_checkpoint(found, 100, weights_bytes(MODEL), [[0, 4095]])
    return found


def make(run: Any, seed: int | None = None, **more: Any) -> None:
    assert execute(plan(MeasureRequest([run.path], **{**ASKED, **more}, evaluation_seed=seed, executor="serial"))) == []


def numbers(run: Any, seed: int | None = None) -> list[dict[str, Any]]:
    """The rows, but for what they are called by."""
    rows = read_run(run.path, None, seed).rows.to_pylist()
    return [{k: v for k, v in row.items() if k not in ("run", "setting")} for row in rows]


def test_rows_are_those_of_a_run_whose_own_seed_it_is(run: Any, tmp_path: Path) -> None:
    make(run)
    own = read_run(run.path).rows.to_pylist()
    make(run, 7)
    assert read_run(run.path).rows.to_pylist() == own, "what was measured on its own strings stays what counts"
    twin = run_of_seed(7, tmp_path / "twin")
    make(twin)
    assert numbers(run, 7) == numbers(twin)
    assert numbers(run, 7) != numbers(run)
    (setting,) = {row["setting"] for row in read_run(run.path, None, 7).rows.to_pylist()}
    (usual,) = {row["setting"] for row in own}
    assert json.loads(setting) == {**json.loads(usual), "evaluation_seed": 7}
    assert read_run(run.path, None, 8).rows.num_rows == 0


def test_a_table_holds_one_seed_and_both_stay_through_compaction(run: Any) -> None:
    make(run)
    make(run, 7)
    for _ in range(2):
        own, other = Table.load(run.path), Table.load(run.path, evaluation_seed=7)
        assert len(own.frame(quantity="verdict")) == len(other.frame(quantity="verdict")) == 1
        assert own.frame(quantity="accuracy").setting.nunique() == 1
        assert compact(run.path) == []
    for shard in run.path.glob("measurements/*/*"):
        shard.unlink()
    assert len(Table.load(run.path).frame(quantity="verdict")) == 1, "the compacted table alone tells them apart too"
    assert len(Table.load(run.path, evaluation_seed=7).frame(quantity="verdict")) == 1
    assert read_run(run.path, ("quantity", "value")).rows.num_rows == len(own.sql("SELECT * FROM rows"))


def test_what_is_there_of_a_seed_is_not_made_again_and_does_not_outdate_the_other(run: Any) -> None:
    make(run)
    make(run, 7)
    shards = {path: path.stat().st_mtime_ns for path in run.path.glob("measurements/*/*")}
    assert len(shards) == 2
    for seed in (None, 0, 7):
        assert plan(MeasureRequest([run.path], **ASKED, evaluation_seed=seed)).jobs == []
    assert {path: path.stat().st_mtime_ns for path in run.path.glob("measurements/*/*")} == shards
    assert len(plan(MeasureRequest([run.path], **ASKED, evaluation_seed=8)).jobs) == 1
    make(run, 7, sequences=128)
    assert {row["n"] for row in numbers(run) if row["quantity"] == "loss"} == {64}
    assert {row["n"] for row in numbers(run, 7) if row["quantity"] == "loss"} == {128}
    make(run, 7)
    assert {row["n"] for row in numbers(run, 7) if row["quantity"] == "loss"} == {64}


def test_the_runs_own_seed_by_name_is_no_other(run: Any) -> None:
    make(run)
    before = numbers(run)
    make(run, 0)
    assert numbers(run, 0) == numbers(run) == before
    assert "evaluation_seed" not in read_run(run.path).rows["setting"].to_pylist()[0]


def test_the_command_takes_it(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    measure([run.path], only=["behaviour"], lengths="9", sequences=16, executor="serial", evaluation_seed=3)
    assert "1 of 1 checkpoint measured" in capsys.readouterr().out
    assert numbers(run) == []
    assert {row["length"] for row in numbers(run, 3) if row["quantity"] == "accuracy"} == {3, 5, 9}


def test_in_a_notebook_rows_say_another_seed_than_the_first() -> None:
    rows = {seed: measure_in_memory(Behaviour(), MODEL, TASK, trained=9, lengths=[9, 33], sequences=64, seed=seed)
            for seed in (0, 7)}  # fmt: skip
    settings = {seed: {row["setting"] for row in found.rows} for seed, found in rows.items()}
    assert all("evaluation_seed" not in setting for setting in settings[0])
    assert {json.loads(setting)["evaluation_seed"] for setting in settings[7]} == {7}
