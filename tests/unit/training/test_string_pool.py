"""Training on a fixed number of strings: which they are, that no others are seen, and continuation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.training.training import hashes
from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.errors import TrainingError
from workbench.training.string_pool import StringPool
from workbench.training.trainer import Stopped, Trainer

LENGTHS = [20, 21, 22]


def config(strings: int | None, *more: str, task: str = "parity", **options: Any) -> RunConfig:
    """A run of 12 updates of 8 strings, of three lengths at which no string is drawn twice by accident."""
    small = {"lengths": "20-22", "layers": 1, "d_model": 8, "heads": 2, "batch_size": 8, "steps": 12, "seed": 4}
    given = [] if strings is None else [f"training.strings={strings}"]
    return build(TrainRequest(task, {**small, **options}, assignments([*given, *more])))


def seen(trainer: Trainer, steps: int = 200) -> Counter[tuple[int, ...]]:
    """The strings of so many batches, and how often each comes."""
    return Counter(tuple(row) for step in range(steps) for row in trainer.batch(step)[0].tokens.tolist())


# ---- the strings ---------------------------------------------------------------------------------
@pytest.mark.parametrize("strings", [3, 11, 30])
def test_only_so_many_strings_are_seen_and_all_of_them(strings: int, tmp_path: Path) -> None:
    found = seen(Trainer(config(strings), tmp_path / "run"))
    assert len(found) == strings
    by_length = Counter(len(row) - 1 for row in found)
    assert sorted(by_length.values(), reverse=True) == [by_length[n] for n in LENGTHS], "shorter ones have the rest"
    assert max(by_length.values()) - min(by_length.values()) <= 1
    # Each string of a length comes equally often: 1,600 draws over three lengths.
    share = found.most_common(1)[0][1] / found.most_common()[-1][1]
    assert share < 2.5


def test_the_strings_are_those_of_the_data_seed_and_length_alone(tmp_path: Path) -> None:
    here, again = (set(seen(Trainer(config(9), tmp_path / name))) for name in "ab")
    assert here == again
    assert set(seen(Trainer(config(9, steps=600, batch_size=4), tmp_path / "longer"))) == here
    assert not here & set(seen(Trainer(config(9, seed=5), tmp_path / "c")))
    assert not here & set(seen(Trainer(config(None), tmp_path / "d"), 12))


def test_strings_are_drawn_in_another_order_at_each_step_and_ids_anew(tmp_path: Path) -> None:
    trainer = Trainer(config(3, positions="learned", ids="random_offset", n_ctx=200), tmp_path / "run")
    batches = [trainer.batch(step) for step in range(6)]
    assert all(torch.equal(trainer.batch(step)[1], ids) for step, (_, ids) in enumerate(batches))
    assert len({ids[0, 0].item() for _, ids in batches}) > 3
    for batch, _ in batches:
        assert torch.equal(batch.tokens, batch.tokens[:1].expand_as(batch.tokens)), "one string of each length"
        labelled = trainer.task.label(batch.tokens[:, 1:])
        assert torch.equal(labelled.targets, batch.targets)


def test_coupled_ids_go_with_their_strings(tmp_path: Path) -> None:
    more = {"task": "parity_scratchpad", "lengths": "5-9", "positions": "learned", "ids": "coupled", "n_ctx": 40}
    trainer = Trainer(config(6, **more), tmp_path / "run")
    for step in range(6):
        batch, ids = trainer.batch(step)
        assert ids.shape == batch.tokens.shape
        assert torch.equal(trainer.task.label(batch.tokens[:, 1:]).targets, batch.targets)


def test_a_batch_is_drawn_uniformly_from_the_strings_there_are() -> None:
    pool = StringPool(make_task("parity"), LENGTHS, 12, 0)
    assert pool.counts == {20: 4, 21: 4, 22: 4}
    held = [tuple(row) for row in pool.of_length(21).tokens.tolist()]
    counts = Counter(tuple(row) for row in pool.batch(4000, 21, generator("draws")).tokens.tolist())
    assert set(counts) == set(held)
    assert all(abs(counts[row] - 1000) < 150 for row in held)


# ---- training ------------------------------------------------------------------------------------
def test_stopped_anywhere_it_continues_to_the_same_bits(tmp_path: Path) -> None:
    whole = Trainer(config(7), tmp_path / "whole").run()
    for step in (2, 7):
        trainer = Trainer(config(7), tmp_path / "cut")

        def watch(done: int, scores: dict[str, Any], trainer: Trainer = trainer, step: int = step) -> None:
            trainer.stopping |= done >= step

        trainer.watcher = watch
        with pytest.raises(Stopped, match=f"{step}"):
            trainer.run()
    assert hashes(Trainer(config(7), tmp_path / "cut").run()) == hashes(whole)
    fresh = Trainer(config(None), tmp_path / "fresh").run()
    assert hashes(fresh) != hashes(whole)


def test_without_a_number_a_run_is_what_it_was(tmp_path: Path) -> None:
    plain, none = config(None), config(0)
    assert plain.as_json()["id"] == none.as_json()["id"]
    assert "strings" not in plain.as_json()["training"]
    assert config(7).as_json()["training"]["strings"] == 7
    assert config(7).as_json()["id"] != plain.as_json()["id"]
    assert TrainingConfig(**config(7).as_json()["training"]).strings == 7
    trainer = Trainer(none, tmp_path / "run")
    for step in range(4):
        g = generator("data", 4, step)
        length = none.training.curriculum.length(none.task, step, g)
        assert torch.equal(trainer.batch(step)[0].tokens, none.task.sample(8, length, g, "training").tokens)


def test_what_does_not_go_with_it_is_refused() -> None:
    with pytest.raises(TrainingError, match="strings=2"):
        config(2)
    schedule = 'training.task_schedule=[{"parameter": "k", "values": [1], "over": 6}]'
    with pytest.raises(TrainingError, match="schedule"):
        config(9, schedule, task="sparse_parity", lengths="21-25")
