"""Id samplers over training: which one each update has, and which schedules are refused."""

from __future__ import annotations

import json

import pytest
import torch

from tests.support.training.optimizers import config as run_config
from workbench.models.errors import PositionError
from workbench.models.positions import id_sampler
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.id_schedule import IdSchedule
from workbench.training.trainer import Stopped, Trainer

LATE_POSE = {"values": ["arange"], "over": 8}


def with_ids(ids: str, **training) -> RunConfig:
    """The small run with an id sampler of its own."""
    config = run_config(**training)
    return RunConfig(
        task=config.task, model=config.model.model_copy(update={"ids": id_sampler(ids)}),
        training=config.training, seeds=config.seeds,
    )  # fmt: skip


def test_each_sampler_has_an_equal_share_and_the_models_own_the_rest() -> None:
    schedule, own = IdSchedule(values=["arange", {"name": "pose", "chunks": 3}], over=10), id_sampler("pose")
    found = [schedule.sampler(own, step) for step in (0, 4, 5, 9, 10, 99)]
    assert [(ids.name, getattr(ids, "chunks", 0)) for ids in found] == [
        ("arange", 0), ("arange", 0), ("pose", 3), ("pose", 3), ("pose", 2), ("pose", 2),
    ]  # fmt: skip


def test_ids_are_consecutive_before_and_those_of_pose_afterwards(tmp_path) -> None:
    """From step ``over`` on, batches and ids are the bits of a run with PoSE from scratch; before, strings alone are."""
    late = Trainer(with_ids("pose", id_schedule=LATE_POSE), tmp_path / "late")
    always = Trainer(with_ids("pose"), tmp_path / "always")
    for step in range(12):
        (batch, ids), (other, pose) = late.batch(step), always.batch(step)
        assert torch.equal(batch.tokens, other.tokens)
        assert torch.equal(ids, torch.arange(ids.shape[1])[None] if step < 8 else pose)
    assert late.training.constant_from == 8


def test_a_run_with_a_schedule_is_written_down_and_continued_to_the_same_bits(tmp_path) -> None:
    config = with_ids("pose", id_schedule=LATE_POSE)
    whole = Trainer(config, tmp_path / "whole").run()
    assert json.loads((whole.path / "run.json").read_text())["training"]["id_schedule"] == {
        "values": [{"name": "arange"}], "over": 8,
    }  # fmt: skip
    halted = Trainer(config, tmp_path / "halted")
    halted.watcher = lambda step, scores: setattr(halted, "stopping", step == 6)
    with pytest.raises(Stopped):
        halted.run()
    continued = Trainer(config, tmp_path / "halted")
    again = continued.run()
    assert again.id == whole.id
    assert again.verify(again.steps[-1]) == whole.verify(whole.steps[-1])
    assert continued.state.seen[0][0] == 0, "arange has id 0, and PoSE has none"


def test_a_run_without_one_is_what_it_was_before_there_were_schedules() -> None:
    assert "id_schedule" not in TrainingConfig().model_dump(mode="json")


def test_a_schedule_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(PositionError, match="ids"):
        with_ids("arange", id_schedule={"values": ["coupled"], "over": 5})
    with pytest.raises(TrainingError, match="ids"):
        with_ids("arange", id_schedule={"values": ["predicted"], "over": 5})
    with pytest.raises(PositionError, match="unknown id"):
        with_ids("arange", id_schedule={"values": ["possess"], "over": 5})
