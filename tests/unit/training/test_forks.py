"""Forks: up to the step they have the bits of the run that was split, and from there on data of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.training.training import config, hashes
from workbench.dashboard.state.run_view import Kept, RunView
from workbench.runs import Run, RunError
from workbench.runs.checkpoints import STATE
from workbench.runs.integrity import run_problems
from workbench.runs.log import read_log
from workbench.training.config import RunConfig, Schedule, Seeds, TrainingConfig
from workbench.training.curriculum import curriculum
from workbench.training.errors import TrainingError
from workbench.training.forks import begin_fork, changed_curriculum, fork_config
from workbench.training.resume import NAME
from workbench.training.trainer import Trainer

STEPS = {"log": 0, "linear": 0, "at": [4, 6, 8]}


def with_training(made: RunConfig, **changes: object) -> RunConfig:
    training = TrainingConfig(**{**made.training.model_dump(mode="json"), **changes})
    return RunConfig(task=made.task, model=made.model, training=training, seeds=made.seeds)


def parent_in(folder: Path, **changes: object) -> Run:
    return Trainer(with_training(config(), checkpoints=STEPS, **changes), folder).run()


def forked(parent: Run, folder: Path, step: int = 6, child: int = 1, **changes: object) -> Run:
    made = fork_config(parent, step, child, changed_curriculum(parent, list(changes.items())))
    begin_fork(parent, made, folder)
    return Trainer(made, folder).run()


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that stored the optimizer's state at step 6."""
    return parent_in(tmp_path_factory.mktemp("forks") / "parent", keep_state_at=[6])


def test_a_fork_has_the_parents_weights_up_to_its_step_and_others_after_it(parent: Run, tmp_path: Path) -> None:
    child, other = (forked(parent, tmp_path / str(number), child=number) for number in (1, 2))
    assert child.steps == other.steps == [0, 6, 8, 12]
    own, second, shared = hashes(child), hashes(other), hashes(parent)
    assert [own[step] == shared[step] for step in child.steps] == [True, True, False, False]
    assert own[8] != second[8], "each fork has a stream of its own"
    assert child.config["training"]["fork"] == {"run": parent.id, "step": 6, "sha256": shared[6]}
    assert not [*run_problems(child), *run_problems(other), *run_problems(parent)]
    assert not (child.path / NAME).exists()


def test_repeating_the_steps_before_gives_the_bits_of_the_stored_state(parent: Run, tmp_path: Path) -> None:
    """The same fork three times: from the state, from step 0 beside the parent's checkpoints, and with no parent."""
    first = forked(parent, tmp_path / "from_state")
    made = fork_config(parent, 6, 1)
    begin_fork(parent, made, tmp_path / "repeated")
    (tmp_path / "repeated" / NAME).unlink()
    repeated = Trainer(made, tmp_path / "repeated").run()
    alone = Trainer(made, tmp_path / "alone").run()
    assert hashes(first) == hashes(repeated) == hashes(alone)


def test_a_fork_can_be_killed_and_continued(parent: Run, tmp_path: Path) -> None:
    made = fork_config(parent, 6, 1)
    begin_fork(parent, made, tmp_path / "run")
    trainer = Trainer(made, tmp_path / "run")
    trainer.watcher = lambda step, scores: setattr(trainer, "stopping", step == 9)
    with pytest.raises(Exception, match="stopped at step 9"):
        trainer.run()
    begin_fork(parent, made, tmp_path / "run")
    assert hashes(Trainer(made, tmp_path / "run").run()) == hashes(forked(parent, tmp_path / "whole"))


def test_batches_differ_from_the_step_of_the_fork_on(parent: Run, tmp_path: Path) -> None:
    def batches(made: RunConfig, name: str) -> list[str]:
        trainer = Trainer(made, tmp_path / name)
        return [str(trainer.batch(step)[0].tokens.tolist()) for step in range(12)]

    before = batches(with_training(config(), checkpoints=STEPS), "parent")
    after = batches(fork_config(parent, 6, 1), "child")
    assert [a == b for a, b in zip(before, after, strict=True)] == 6 * [True] + 6 * [False]


def test_the_seed_of_a_fork_depends_on_parent_step_and_number(parent: Run, tmp_path: Path) -> None:
    other = parent_in(tmp_path / "other", learning_rate=2e-3)
    seeds = {
        fork_config(run, step, child).seeds.data_at(step)
        for run in (parent, other)
        for step in (4, 6)
        for child in (1, 2, 3)
    }
    assert len(seeds) == 12
    assert fork_config(parent, 6, 1) == fork_config(Run.open(parent.path), 6, 1)


def test_a_changed_distribution_begins_at_the_fork(parent: Run, tmp_path: Path) -> None:
    child = forked(parent, tmp_path / "child", law="few_long", high=21, short=9, share=0.9)
    training = child.config["training"]
    assert training["trained_length"] == 21
    assert training["curriculum"]["law"] == "switched"
    assert training["curriculum"]["before"] == parent.config["training"]["curriculum"]
    assert hashes(child)[6] == hashes(parent)[6]
    control = forked(parent, tmp_path / "control")
    assert control.config["seeds"] == child.config["seeds"], "a fork and its control are paired by their seed"


def test_a_fork_of_a_fork_keeps_the_first_stream(parent: Run, tmp_path: Path) -> None:
    child = forked(parent, tmp_path / "child")
    grandchild = forked(child, tmp_path / "grandchild", step=8)
    pairs = grandchild.config["seeds"]["data_from"]
    assert [step for step, _ in pairs] == [6, 8]
    assert pairs[0] == child.config["seeds"]["data_from"][0]
    assert hashes(grandchild)[8] == hashes(child)[8]


def test_a_fork_is_no_seed_of_its_parents_configuration(parent: Run, tmp_path: Path) -> None:
    """Runs are grouped by everything but their seeds."""
    children = [forked(parent, tmp_path / str(number), child=number) for number in (1, 2)]
    elsewhere = forked(parent, tmp_path / "4", step=4)
    brief: Any = None
    views = [
        RunView(run, tmp_path, "", tuple(run.steps), brief, False, "", Kept()) for run in (parent, *children, elsewhere)
    ]
    family = [view.family for view in views]
    assert family[1] == family[2], "forks of one step belong together"
    assert len(set(family)) == 3


def test_the_log_of_a_fork_begins_at_step_0(parent: Run, tmp_path: Path) -> None:
    log, before = read_log(forked(parent, tmp_path / "run").path), read_log(parent.path)
    assert log["step"].tolist() == list(range(13))
    assert log["loss"][:6].tolist() == before["loss"][:6].tolist(), "a line holds the loss of the update that follows"


def test_settings_that_are_not_used_leave_ids_as_they_are() -> None:
    plain = config().as_json()
    assert "data_from" not in plain["seeds"]
    assert not {"fork", "keep_state_at"} & set(plain["training"])


@pytest.mark.parametrize(("step", "reason"), [
    (5, "no checkpoint at step 5 to fork from; the nearest are 4, 6, 8, 12. .*checkpoints.at=.5."),
    (0, "no checkpoint at step 0"),
    (12, "ended at step 12, so nothing is left"),
])  # fmt: skip
def test_steps_at_which_no_fork_is_possible_are_refused(parent: Run, step: int, reason: str) -> None:
    with pytest.raises(TrainingError, match=reason):
        fork_config(parent, step, 1)


def test_a_fixed_set_of_sequences_forks_but_keeps_its_lengths(tmp_path: Path) -> None:
    run = parent_in(tmp_path / "run", strings=90)
    assert hashes(forked(run, tmp_path / "child"))[6] == hashes(run)[6]
    with pytest.raises(TrainingError, match="fixed set of training sequences"):
        forked(run, tmp_path / "changed", high=8)


def test_weights_of_another_run_are_repeated_only_from_a_stored_state(parent: Run, tmp_path: Path) -> None:
    from workbench.training.starting_weights import StartingWeights

    start = StartingWeights.of(parent, 12)
    for keep in ([], [6]):
        folder = tmp_path / f"run{len(keep)}"
        made = with_training(config(), checkpoints=STEPS, start=start.start, keep_state_at=keep)
        run = Trainer(made, folder, start=start).run()
        if keep:
            assert hashes(forked(run, tmp_path / "child"))[6] == hashes(run)[6]
        else:
            with pytest.raises(TrainingError, match=r"keep_state_at=\[6\]"):
                forked(run, tmp_path / "refused")


def test_damaged_states_and_foreign_trunks_are_refused(tmp_path: Path) -> None:
    run = parent_in(tmp_path / "run", keep_state_at=[6])
    made = fork_config(run, 6, 1)
    assert made.training.fork is not None
    foreign = made.training.fork.model_copy(update={"sha256": 64 * "0"})
    wrong = made.model_copy(update={"training": made.training.model_copy(update={"fork": foreign})})
    with pytest.raises(RunError, match="gives other weights at step 6"):
        Trainer(wrong, tmp_path / "wrong").run()
    state = run.step_path(6) / STATE
    data = bytearray(state.read_bytes())
    data[-3] ^= 1
    state.write_bytes(data)
    assert any(STATE in problem for problem in run_problems(run))
    with pytest.raises(RunError, match=f"{STATE} is damaged"):
        begin_fork(run, made, tmp_path / "child")


def test_runs_from_elsewhere_are_refused(parent: Run) -> None:
    adopted = replace(parent, config={**parent.config, "training": {"adopted": True, "trained_length": 9}})
    with pytest.raises(TrainingError, match="not trained by lengthlens train"):
        fork_config(adopted, 6, 1)


def test_seeds_and_states_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="ascending steps"):
        Seeds(data_from=((6, 1), (4, 2)))
    with pytest.raises(ValueError, match=r"checkpoints.at=\[5\]"):
        TrainingConfig(steps=9, checkpoints=Schedule(log=0, linear=0), keep_state_at=(5,))
    with pytest.raises(TrainingError, match="exceeds the bounds"):
        curriculum({"law": "switched", "low": 2, "high": 5, "at": 3, "before": {"low": 1, "high": 4}, "after": {
            "law": "uniform", "low": 2, "high": 5}})  # fmt: skip


def test_the_stored_state_holds_the_moments_of_the_optimizer(parent: Run) -> None:
    from safetensors.torch import load_file

    tensors = load_file(parent.step_path(6) / STATE)
    assert {name.split(".")[1] for name in tensors if name.startswith("optimizer.")} >= {"exp_avg", "exp_avg_sq"}
    assert all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values())
    assert not (parent.step_path(8) / STATE).exists()
