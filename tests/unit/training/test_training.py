"""Training: schedules, laws of length, and continuation to the same bits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tests.support.training.training import config, hashes
from workbench.cli.commands.train import train
from workbench.cli.options import assignments
from workbench.cli.progress import steps_done
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.runs import Run, RunError
from workbench.runs.live_log import Live
from workbench.storage.errors import StorageError
from workbench.tasks.random_generator import generator
from workbench.training.checkpoint_steps import planned_steps
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.curriculum import curriculum
from workbench.training.errors import TrainingError
from workbench.training.learning_rate_schedules import RATE_SCHEDULES
from workbench.training.optimizer import learning_rate
from workbench.training.resume import NAME, State
from workbench.training.trainer import Trainer


@pytest.mark.parametrize(("steps", "log", "linear", "expected"), [
    (1000, 4, 2, [0, 1, 10, 100, 500, 1000]),
    (100, 0, 4, [0, 25, 50, 75, 100]),
    (1, 5, 5, [0, 1]),
    (7, 0, 0, [0, 7]),
])  # fmt: skip
def test_checkpoints_are_log_and_evenly_spaced_from_step_0(steps, log, linear, expected) -> None:
    assert planned_steps(steps, log, linear) == expected


def test_checkpoints_can_be_named(tmp_path: Path) -> None:
    """Beside the spaced ones; a run without names is written as it was before there were any, and so keeps its id."""
    assert planned_steps(100, 0, 0, at=(7, 3, 7, 100)) == [0, 3, 7, 100]
    plain = TrainingConfig(steps=9, checkpoints={"log": 0, "linear": 0})
    named = TrainingConfig(steps=9, checkpoints={"log": 0, "linear": 0, "at": [8, 2]})
    assert "at" not in plain.model_dump()["checkpoints"]
    assert named.model_dump(mode="json")["checkpoints"]["at"] == [8, 2]
    assert named.checkpoints.steps(9) == [0, 2, 8, 9]
    with pytest.raises(ValueError, match="step 10"):
        TrainingConfig(steps=9, checkpoints={"at": [10]})
    settings = assignments(
        ["training.checkpoints.log=0", "training.checkpoints.linear=0", "training.checkpoints.at=[2, 3]"]
    )
    options = {"lengths": "1-9", "layers": 1, "d_model": 8, "heads": 2, "batch_size": 8, "steps": 4}
    run = Trainer(build(TrainRequest("majority", options, settings)), tmp_path / "run").run()
    assert run.steps == [0, 2, 3, 4]


def test_learning_rate_laws() -> None:
    def at(step: int, **law) -> float:
        return learning_rate(TrainingConfig(steps=110, warmup=10, learning_rate=1.0, **law), step)

    assert at(0) == pytest.approx(1 / 11), "warm-up does not waste its first step at 0"
    assert at(10, rate_law="cosine") == at(10, rate_law="linear") == at(50, rate_law="constant") == 1.0
    assert at(60, rate_law="cosine") == at(60, rate_law="linear") == pytest.approx(0.5)
    assert at(109, rate_law="linear") == pytest.approx(0.01)
    assert at(89, rate_law="wsd") == 1.0
    assert [at(step, rate_law="wsd") for step in (90, 100, 109)] == pytest.approx([1.0, 0.5, 0.05])


def test_a_learning_rate_schedule_is_one_function_with_a_line_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting takes it, training follows it, and the command's help tells it."""
    assert "training.rate_law=constant|linear|cosine|wsd," in str(train.__doc__)
    with pytest.raises(TrainingError, match="'halving'"):
        TrainingConfig(rate_law="halving")
    monkeypatch.setattr(RATE_SCHEDULES, "_things", dict(RATE_SCHEDULES._things))

    @RATE_SCHEDULES.register
    def halving(done: float) -> float:
        return 0.5 ** (4 * done)

    law = TrainingConfig(steps=8, warmup=0, learning_rate=1.0, rate_law="halving")
    assert learning_rate(law, 4) == pytest.approx(0.25)


def test_generators_are_pure_functions_of_their_parts() -> None:
    def draw(*parts: object) -> float:
        return float(torch.rand((), generator=generator(*parts)))

    assert draw("data", 0, 1) == draw("data", 0, 1)
    assert len({draw("data", seed, step) for seed in range(5) for step in range(20)}) == 100
    assert draw("data", 1, 2) != draw("data", 12, ""), "parts are separated"


def test_batches_are_those_of_their_data_seed_and_step(tmp_path) -> None:
    def batches(init: int, data: int) -> list[list[list[int]]]:
        made = config(high=9).model_copy(update={"seeds": Seeds(init=init, data=data)})
        trainer = Trainer(made, tmp_path / f"{init}_{data}")
        return [trainer.batch(step)[0].tokens.tolist() for step in range(6)]

    first, again, other = batches(1, 2), batches(9, 2), batches(1, 3)
    assert first == again, "whatever the initial weights are drawn from"
    assert all(a != b for a, b in zip(first, other, strict=True))
    assert len({str(batch) for batch in first}) == 6, "each step has its own"


def looked_at(folder, monkeypatch, **seeds: int) -> tuple[Trainer, dict[tuple[int, int, int], list[list[int]]]]:
    """A short run on one long length, and the strings that it was scored on, by step, length and how many."""
    stop = {"every": 1, "patience": 2, "sequences": 16, "accuracy": 1.0}
    made = config(steps=3, high=201, early_stop=stop)
    long = made.training.model_copy(update={"curriculum": curriculum({"law": "uniform", "low": 201, "high": 201})})
    made = made.model_copy(update={"training": long, "seeds": Seeds(**{"init": 1, "data": 2, "evaluation": 3} | seeds)})
    trainer, seen = Trainer(made, folder), {}
    sample = type(trainer.task).sample

    def spy(self, batch, length, generator, law="training", **more):
        found = sample(self, batch, length, generator, law, **more)
        if law != "training":
            seen[trainer.state.step, length, batch] = found.tokens.tolist()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(type(trainer.task), "sample", spy)
        trainer.run()
    return trainer, seen


def test_strings_that_are_watched_or_end_training_are_never_those_of_training(tmp_path, monkeypatch) -> None:
    """At length 201 no string is drawn twice by accident."""
    trainer, seen = looked_at(tmp_path / "run", monkeypatch)
    drawn = {tuple(row) for step in range(4) for row in trainer.batch(step)[0].tokens.tolist()}
    assert len(drawn) == 16
    assert not {tuple(row) for rows in seen.values() for row in rows} & drawn
    stops = [seen[step, 201, 16] for step in (1, 2)]
    watched = next(rows for (_, length, many), rows in seen.items() if length == 201 and many > 16)
    assert stops[0] != stops[1]
    assert not {tuple(row) for rows in stops for row in rows} & {tuple(row) for row in watched}
    assert any(length > 402 for _, length, _ in seen), "what lies beyond training is watched too"


def test_strings_that_are_watched_or_end_training_are_those_of_the_evaluation_seed(tmp_path, monkeypatch) -> None:
    _, seen = looked_at(tmp_path / "a", monkeypatch)
    _, of_other_training = looked_at(tmp_path / "b", monkeypatch, data=9)
    _, others = looked_at(tmp_path / "c", monkeypatch, evaluation=9)
    assert seen == of_other_training
    assert all(seen[key] != others[key] for key in seen)


def test_seen_ids_merge_into_intervals() -> None:
    state = State()
    for start, width in ((5, 3), (0, 2), (20, 1), (2, 3)):
        state.see(torch.arange(start, start + width)[None])
    assert state.seen == [[0, 7], [20, 20]]


def test_lengths_that_positions_cannot_read_are_refused_before_training() -> None:
    from workbench.models.positions import PositionError

    with pytest.raises(PositionError, match="n_ctx"):
        config(positions="learned", high=21)
    with pytest.raises(PositionError, match="random_offset"):
        config(ids="random_offset", high=21)


def test_a_pipe_in_place_of_the_live_log_is_refused_and_not_waited_for(tmp_path) -> None:
    os.mkfifo(tmp_path / "live.jsonl")
    with pytest.raises(StorageError, match=f"{tmp_path}"):
        Live(tmp_path).restart()
    assert steps_done(tmp_path) == 0, "nor is it read by whoever watches"


# ---- a run that ended before its first checkpoint ---------------------------------------------------
def begun(folder, made: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a run that ends before its first checkpoint."""
    from workbench.training import trainer

    def fails(*_: object, **facts: object) -> None:
        raise StorageError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(trainer, "write_checkpoint", fails)
        with pytest.raises(StorageError):
            Trainer(made, folder).run()
    assert (folder / "run.json").exists()
    assert (folder / NAME).exists()
    assert not Run.open(folder).steps


def test_the_same_run_goes_on_that_ended_before_its_first_checkpoint(tmp_path, monkeypatch) -> None:
    begun(tmp_path / "a", config(), monkeypatch)
    assert hashes(Trainer(config(), tmp_path / "a").run()) == hashes(Trainer(config(), tmp_path / "b").run())


def test_another_run_takes_the_place_of_one_that_ended_before_its_first_checkpoint(tmp_path, monkeypatch) -> None:
    begun(tmp_path / "a", config(steps=20), monkeypatch)
    run = Trainer(config(), tmp_path / "a").run()
    assert run.id == config().as_json()["id"] == Run.open(tmp_path / "a").id
    assert hashes(run) == hashes(Trainer(config(), tmp_path / "b").run())


def test_a_run_with_a_checkpoint_or_with_measurements_keeps_its_place(tmp_path, monkeypatch) -> None:
    for name in ("a", "b"):
        begun(tmp_path / name, config(steps=20), monkeypatch)
    (tmp_path / "a" / "table.parquet").write_bytes(b"measured")
    (tmp_path / "b" / "steps" / "00000000").mkdir(parents=True)
    for name in ("a", "b"):
        with pytest.raises(RunError, match="contains another run"):
            Trainer(config(), tmp_path / name).run()
        assert Run.open(tmp_path / name).config["training"]["steps"] == 20


# ---- memory -----------------------------------------------------------------------------------------
def test_a_run_that_memory_cannot_hold_is_refused_before_it_is_built(tmp_path, monkeypatch) -> None:
    from workbench.training import trainer

    made = config()
    weights = made.model.least_numbers
    monkeypatch.setattr(trainer, "make_model", None)  # whoever calls it fails
    monkeypatch.setattr(trainer, "available_memory", lambda: 16 * weights - 1)
    with pytest.raises(TrainingError, match="gradients"):
        Trainer(made, tmp_path / "a").run()
    monkeypatch.setattr(trainer, "available_memory", lambda: max(16 * weights, 4 * 10 * (8 + 4 * 10) - 1))
    large = config(high=15, steps=3).model_copy()
    large = RunConfig(
        task=large.task, model=large.model, training=large.training.model_copy(update={"batch_size": 10**6})
    )
    with pytest.raises(TrainingError, match="batch_size"):
        Trainer(large, tmp_path / "b").run()
