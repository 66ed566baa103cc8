"""Batches with several lengths: their groups, their summed gradient, what is logged, and continuation."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError

from tests.support.training.training import hashes
from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.models.architectures import make_model
from workbench.tasks.random_generator import generator
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.length_groups import group_sizes
from workbench.training.optimizer import make_optimizer
from workbench.training.trainer import Stopped, Trainer


def config(groups: int | None, *more: str, task: str = "majority", **options: Any) -> RunConfig:
    """A run of 8 updates of 10 sequences, of lengths 3 to 9."""
    small = {"lengths": "3-9", "layers": 1, "d_model": 8, "heads": 2, "batch_size": 10, "steps": 8, "seed": 4}
    stated = [] if groups is None else [f"training.lengths_per_batch={groups}"]
    return build(TrainRequest(task, {**small, **options}, assignments([*stated, *more])))


def trainer_with_gradients(config: RunConfig, folder: Path, dtype: torch.dtype = torch.float64) -> Trainer:
    """A trainer at step 0 that has a model and a watcher."""
    trainer = Trainer(config, folder, lambda step, scores: None)
    trainer.model = make_model(config.model, seed=config.seeds.init).to(dtype)
    trainer.optimizer = make_optimizer(trainer.model, config.training)
    return trainer


# ---- the groups ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("sequences", "groups", "sizes"),
    [(10, 1, [10]), (10, 4, [3, 3, 2, 2]), (8, 4, [2, 2, 2, 2]), (3, 3, [1, 1, 1]), (7, 2, [4, 3])],
)
def test_groups_are_as_equal_as_possible(sequences: int, groups: int, sizes: list[int]) -> None:
    assert group_sizes(sequences, groups) == sizes


def test_each_group_draws_its_own_length(tmp_path: Path) -> None:
    trainer = Trainer(config(4), tmp_path / "run")
    lengths = []
    for step in range(100):
        groups = trainer.groups(step)
        assert [len(batch) for batch, _ in groups] == [3, 3, 2, 2]
        assert all(ids.shape[1] == batch.tokens.shape[1] for batch, ids in groups)
        lengths.append([batch.tokens.shape[1] - 1 for batch, _ in groups])
    assert {n for each in lengths for n in each} == {3, 5, 7, 9}, "those of majority"
    # Independent draws: one group in four has the length of the one before it, 75 of 300.
    same = sum(a == b for each in lengths for a, b in pairwise(each))
    assert 40 < same < 110


def test_one_group_is_the_batch_of_one_length(tmp_path: Path) -> None:
    plain, one = config(None), config(1)
    assert plain.as_json()["id"] == one.as_json()["id"]
    assert "lengths_per_batch" not in plain.as_json()["training"]
    assert config(2).as_json()["training"]["lengths_per_batch"] == 2
    assert TrainingConfig(**config(2).as_json()["training"]).lengths_per_batch == 2
    assert config(2).as_json()["id"] != plain.as_json()["id"]
    trainer = Trainer(one, tmp_path / "run")
    for step in range(4):
        g = generator("data", 4, step)
        length = one.training.curriculum.length(one.task, step, g)
        (group,) = trainer.groups(step)
        assert torch.equal(group[0].tokens, one.task.sample(10, length, g, "training").tokens)


def test_the_run_states_its_groups() -> None:
    assert config(None).as_json()["facts"]["lengths"] == "lengths uniform on 3 to 9"
    stated = config(4).as_json()["facts"]["lengths"]
    assert stated == "lengths uniform on 3 to 9; each batch has 4 groups, and each group draws its own length"


# ---- the gradient --------------------------------------------------------------------------------
@pytest.mark.parametrize("queries", ["every", "last"])
@pytest.mark.parametrize("groups", [1, 2, 4, 10])
def test_the_gradient_is_that_of_the_mean_over_sequences(groups: int, queries: str, tmp_path: Path) -> None:
    """In float64, against each sequence by itself: the mean of its own mean loss, and its gradient."""
    made = config(groups, f"task.queries={queries}")
    trainer = trainer_with_gradients(made, tmp_path / "run")
    step, model, task = 3, trainer.model, made.task
    update = trainer._gradients(step, 0.1, trainer.groups(step))
    found = {name: p.grad.clone() for name, p in model.named_parameters()}

    model.zero_grad()
    losses, right = [], []
    for batch, ids in trainer.groups(step):
        for row in range(len(batch)):
            one = batch.take(torch.tensor([row]))
            outputs = model(one.tokens, ids if len(ids) == 1 else ids[row : row + 1])
            losses.append(task.losses(outputs, one)[one.mask].mean())
            right += (outputs.argmax(-1) == one.targets)[one.mask].tolist()
    expected = torch.stack(losses).mean()
    expected.backward()
    assert len(losses) == 10
    assert float(update.loss) == pytest.approx(expected.item(), abs=1e-12)
    assert float(update.whole) == pytest.approx(expected.item(), abs=1e-12)
    assert update.right is not None
    assert float(update.right) == pytest.approx(sum(right) / len(right), abs=1e-12)
    for name, parameter in model.named_parameters():
        assert torch.allclose(found[name], parameter.grad, rtol=1e-9, atol=1e-12), name


def test_groups_of_unequal_size_count_by_their_sequences(tmp_path: Path) -> None:
    """Three groups of 10: 4, 3 and 3 sequences. The loss is not the mean of the three losses."""
    made = config(3, "task.queries=last")
    trainer = trainer_with_gradients(made, tmp_path / "run")
    groups = trainer.groups(5)
    with torch.no_grad():
        losses = [float(made.task.loss(trainer.model(batch.tokens, ids), batch)) for batch, ids in groups]
    found = float(trainer._gradients(5, 0.1, groups).loss)
    assert found == pytest.approx(sum(n * loss for n, loss in zip([4, 3, 3], losses, strict=True)) / 10, abs=1e-12)
    assert abs(found - sum(losses) / 3) > 1e-6


def test_one_group_gives_the_bits_of_a_plain_backward_pass(tmp_path: Path) -> None:
    made = config(None)
    trainer = trainer_with_gradients(made, tmp_path / "run", torch.float32)
    (batch, ids), model = trainer.batch(2), trainer.model
    update = trainer._gradients(2, 0.1, trainer.groups(2))
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad(set_to_none=True)
    loss = made.task.loss(model.supervised_outputs(batch.tokens, ids, batch.mask), batch)
    loss.backward()
    assert torch.equal(update.loss, loss.detach())
    assert all(torch.equal(a, p.grad) for a, p in zip(found, model.parameters(), strict=True))


def test_penalties_count_once(tmp_path: Path) -> None:
    """One that reads only weights is the same for any number of groups; the loss with penalties is their sum."""
    penalties = {}
    for groups in (1, 4):
        made = config(groups, "training.regularizers.positional=0.5", positions="learned")
        trainer = trainer_with_gradients(made, tmp_path / f"{groups}")
        update = trainer._gradients(0, 0.1, trainer.groups(0))
        assert update.penalty is not None
        assert float(update.whole) == pytest.approx(float(update.loss + update.penalty), abs=1e-12)
        penalties[groups] = float(update.penalty)
    assert penalties[4] == pytest.approx(penalties[1], rel=1e-12)


# ---- whole runs ----------------------------------------------------------------------------------
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "fixed sequences": {"more": ["training.strings=20"]},
    "ids": {"positions": "learned", "ids": "random_offset", "n_ctx": 40},
    "id schedule": {
        "positions": "rotary", "ids": "pose", "n_ctx": 40,
        "more": ['training.id_schedule={"values": ["arange"], "over": 4}'],
    },
    "task schedule": {
        "task": "mod_p_mean", "more": ["task.p=3", 'training.task_schedule=[{"parameter": "p", "values": [2], "over": 4}]'],
    },
    "penalties": {"more": ["training.regularizers.attention_entropy=0.1", "training.optimizer=sgd"]},
    "predicted ids": {"task": "addition", "lengths": "4-16", "positions": "learned", "ids": "predicted", "n_ctx": 60},
    "growing": {"curriculum": "growing", "more": ["training.curriculum.start=3", "training.curriculum.over=6"]},
    "state-space": {"architecture": "ssm", "positions": None, "heads": None},
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_stopped_anywhere_it_continues_to_the_same_bits(name: str, tmp_path: Path) -> None:
    options = dict(SETTINGS[name])
    more = options.pop("more", [])
    made = config(3, *more, **options)
    whole = Trainer(made, tmp_path / "whole").run()
    trainer = Trainer(made, tmp_path / "cut")

    def watch(step: int, scores: dict[str, Any]) -> None:
        trainer.stopping |= step >= 5
        assert 0 <= scores["accuracy"] <= 1

    trainer.watcher = watch
    with pytest.raises(Stopped, match="5"):
        trainer.run()
    assert hashes(Trainer(made, tmp_path / "cut").run()) == hashes(whole)
    plain = Trainer(config(None, *more, **options), tmp_path / "plain").run()
    assert hashes(plain) != hashes(whole)


def test_all_groups_are_from_the_fixed_sequences(tmp_path: Path) -> None:
    trainer = Trainer(config(4, "training.strings=14"), tmp_path / "run")
    assert trainer.pool is not None
    rows = {tuple(row) for step in range(200) for batch, _ in trainer.groups(step) for row in batch.tokens.tolist()}
    pool = {tuple(row) for n in (3, 5, 7, 9) for row in trainer.pool.of_length(n).tokens.tolist()}
    assert rows == pool


def test_all_ids_of_a_batch_count_as_trained(tmp_path: Path) -> None:
    """One update, in which the lengths of the groups differ: the ids of the longest are recorded."""
    made = config(10, steps=1, positions="learned", n_ctx=40, seed=3)
    trainer = Trainer(made, tmp_path / "run")
    widths = [batch.tokens.shape[1] for batch, _ in trainer.groups(0)]
    longest = max(widths)
    assert widths[0] < longest > widths[-1], "neither the first group nor the last is the longest"
    run = trainer.run()
    assert run.meta(run.steps[-1])["trained_ids"] == [[0, longest - 1]]


def test_the_log_has_the_loss_of_all_groups(tmp_path: Path) -> None:
    made = config(4, steps=1)
    run = Trainer(made, tmp_path / "run").run()
    logged = pq.read_table(run.step_path(1) / "log.parquet").to_pylist()[-1]["loss"]
    trainer = trainer_with_gradients(made, tmp_path / "again", torch.float32)
    assert logged == pytest.approx(float(trainer._gradients(0, 0.1, trainer.groups(0)).loss), rel=1e-6)


# ---- what is refused -----------------------------------------------------------------------------
def test_more_groups_than_sequences_are_refused() -> None:
    config(10)
    with pytest.raises(Exception, match=r"lengths_per_batch=11 is more than the 10 sequences"):
        config(11)
    with pytest.raises(ValidationError):
        TrainingConfig(lengths_per_batch=0)


def test_a_batch_of_several_lengths_is_read_by_its_groups(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="lengths_per_batch=4"):
        Trainer(config(4), tmp_path / "run").batch(0)


def test_groups_need_several_lengths() -> None:
    with pytest.raises(TrainingError, match=r"lengths_per_batch=2 .* length 9"):
        config(2, curriculum="fixed")
    config(1, curriculum="fixed")
