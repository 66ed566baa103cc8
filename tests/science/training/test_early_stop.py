"""Early stopping: on trained lengths only, a pure function of the run, and a run that ended is ended."""

from __future__ import annotations

import pytest

from workbench.models import ModelConfig
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.trainer import Stopped, Trainer

STEPS = 200


def config(stop: dict | None, **training) -> RunConfig:
    task = make_task("majority")
    model = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=32)
    law = TrainingConfig(
        **{
            "steps": STEPS, "batch_size": 16, "learning_rate": 2e-2, "rate_law": "constant", "warmup": 0,
            "curriculum": {"law": "uniform", "low": 1, "high": 9}, "checkpoints": {"log": 3, "linear": 2},
            "early_stop": stop, **training,
        }
    )  # fmt: skip
    return RunConfig(task=task, model=model, training=law, seeds=Seeds(init=1, data=2))


STOP = {"accuracy": 0.7, "every": 6, "patience": 3, "sequences": 64}


class Watched(Trainer):
    """Records at which steps and lengths it looks before deciding."""

    def _accuracy(self, length, sequences, *purpose):
        if purpose[0] == "early stop":
            self.looked = [*getattr(self, "looked", []), (purpose[1], length)]
        return super()._accuracy(length, sequences, *purpose)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Watched, Run]:
    trainer = Watched(config(STOP), tmp_path_factory.mktemp("early") / "run")
    return trainer, trainer.run()


def test_a_run_ends_where_its_own_lengths_are_learned_and_says_so(ended) -> None:
    trainer, run = ended
    last = run.steps[-1]
    assert last < STEPS
    assert last % 6 == 0
    assert run.finished
    assert run.stop_reason == (
        f"accuracy was at least 0.7 at lengths 5, 7, 9 in 3 checks in a row, 6 steps apart, up to step {last}"
    )
    assert "ended" not in run.meta(run.steps[-2])
    assert {n for _, n in trainer.looked} == {5, 7, 9}, "nothing beyond training is looked at"
    assert sorted({step for step, _ in trainer.looked}) == list(range(6, last + 1, 6))


def test_the_table_and_show_tell_of_the_early_end(ended, capsys) -> None:
    from rich.console import Console

    from workbench.cli.show_run import head
    from workbench.table import Table

    _, run = ended
    (row,) = Table.load(run.path).runs().to_dict("records")
    assert (row["steps"], row["last_step"], row["ended"]) == (STEPS, run.steps[-1], run.stop_reason)
    head(Console(width=300), run)
    assert f"ended early: {run.stop_reason}" in capsys.readouterr().out


def test_up_to_its_end_the_run_is_the_one_without_early_stop(ended, tmp_path) -> None:
    _, run = ended
    free = Trainer(config(None), tmp_path / "free").run()
    both = sorted(set(run.steps) & set(free.steps))
    assert len(both) >= 3
    assert all(run.meta(step)["sha256"] == free.meta(step)["sha256"] for step in both)
    assert free.steps[-1] == STEPS
    assert free.stop_reason == ""


@pytest.mark.parametrize("before", [0, 1, 6, 7])
def test_a_killed_run_ends_at_the_same_step(ended, tmp_path, before: int) -> None:
    """Stopped at the step of a check, between two, right before the last one, and again after it."""
    _, run = ended
    last = run.steps[-1]
    for step in sorted({6, last - 12, last - before}):
        trainer = Trainer(config(STOP), tmp_path / "cut")

        def watch(done: int, scores: dict, trainer=trainer, step=step) -> None:
            trainer.stopping |= done >= step

        trainer.watcher = watch
        if step < last:
            with pytest.raises(Stopped):
                trainer.run()
        else:
            trainer.run()
    cut = Trainer(config(STOP), tmp_path / "cut").run()
    assert cut.steps == run.steps
    assert cut.stop_reason == run.stop_reason
    assert cut.meta(last)["sha256"] == run.meta(last)["sha256"]


def test_a_run_that_has_ended_is_not_trained_on(ended) -> None:
    _, run = ended
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()}
    assert Trainer(config(STOP), run.path).run().steps == run.steps
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()} == before


def test_a_goal_that_is_never_reached_ends_nothing(tmp_path) -> None:
    run = Trainer(config({**STOP, "patience": 99}, steps=20), tmp_path / "run").run()
    assert run.steps[-1] == 20
    assert run.stop_reason == ""
    assert run.finished


def test_a_growing_law_is_not_ended_before_it_has_grown(tmp_path) -> None:
    growing = {"law": "growing", "low": 1, "high": 9, "start": 1, "over": 50}
    trainer = Watched(config({**STOP, "accuracy": 0.01}, curriculum=growing), tmp_path / "run")
    run = trainer.run()
    assert run.steps[-1] == 66, "the third check from step 54 on"
    assert {step for step, _ in trainer.looked} == {54, 60, 66}
