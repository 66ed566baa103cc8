"""Which ids training sees is recorded for every id sampler, and laws that do not fit a run are refused when it is made."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.models import ModelConfig
from workbench.models.positions import PositionError
from workbench.tasks.counting.majority import Majority
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.resume import State, intervals
from workbench.training.trainer import Trainer


class Pairs(Majority):
    """Majority whose tokens share an id two by two."""

    def coupled_ids(self, strings: Tensor, meta: dict[str, Tensor]) -> Tensor:
        ids = torch.arange(strings.shape[1] + 1)
        return ((ids + 1) // 2).expand(len(strings), -1)


class Below(Pairs):
    """The same, counted from -1."""

    def coupled_ids(self, strings: Tensor, meta: dict[str, Tensor]) -> Tensor:
        return super().coupled_ids(strings, meta) - 1


def config(task: Any, high: int = 9, n_ctx: int = 16, steps: int = 30, **model: Any) -> RunConfig:
    sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 1, "d_model": 8, "n_heads": 2}
    law = TrainingConfig(
        steps=steps, batch_size=4, curriculum={"law": "uniform", "low": 1, "high": high},
        checkpoints={"log": 1, "linear": 0},
    )  # fmt: skip
    return RunConfig(task=task, model=ModelConfig(**sizes, n_ctx=n_ctx, **model), training=law)


def test_seen_ids_are_those_of_a_plain_set() -> None:
    rng, state, plain = random.Random(0), State(), set()
    for _ in range(60):
        batch = [sorted(rng.sample(range(80), 5)) for _ in range(2)]
        state.see(torch.tensor(batch))
        plain |= {i for row in batch for i in row}
        assert {i for first, last in state.seen for i in range(first, last + 1)} == plain
        assert all(a[1] + 1 < b[0] for a, b in zip(state.seen, state.seen[1:], strict=False)), "neighbours are joined"
    assert state.seen == [[0, 79]]


def test_intervals_of_one_id_and_of_gaps() -> None:
    assert intervals(torch.tensor([[7]])) == [[7, 7]]
    assert intervals(torch.tensor([[9, 2, 3], [3, 5, 4]])) == [[2, 5], [9, 9]]


@pytest.mark.parametrize(("ids", "expected"), [
    ("arange", [[0, 9]]), ("random_offset", [[0, 15]]), ("pose", [[1, 15]]), ("random_subset", [[0, 15]]),
])  # fmt: skip
@pytest.mark.science
def test_every_law_records_the_ids_it_trained(tmp_path, ids: str, expected: list[list[int]]) -> None:
    run = Trainer(config(Majority(), positions="learned", ids=ids, steps=60), tmp_path / "run").run()
    assert run.meta(0)["trained_ids"] == []
    assert run.meta(60)["trained_ids"] == expected


@pytest.mark.science
def test_coupled_ids_are_trained_shifted_and_watched_unshifted(tmp_path) -> None:
    trainer = Trainer(config(Pairs(), positions="learned", ids="coupled", steps=60), tmp_path / "run")
    batch, ids = trainer.batch(3)
    offsets = ids[:, 1] - 1
    assert torch.equal(ids[:, 1:], batch.position_ids[:, 1:] + offsets[:, None])
    assert not ids[:, 0].any()
    assert len(offsets.unique()) > 1
    run = trainer.run()
    assert run.meta(60)["trained_ids"] == [[0, 15]]


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"task": Majority(), "ids": "coupled"}, "majority couples no position ids, so ids coupled has nothing to read"),
    ({"task": Pairs(), "ids": "coupled", "high": 31}, "coupled needs n_ctx of at least 17, but it is 16"),
    ({"task": Below(), "ids": "coupled"}, "position ids count from 0, but one is -1; shift all of them by 1 or more"),
    ({"task": Majority(), "ids": "pose", "high": 15}, "pose needs n_ctx of at least 17, but it is 16"),
    ({"task": Majority(), "ids": "random_subset", "high": 17}, "random_subset needs n_ctx of at least 18"),
    ({"task": Majority(), "positions": "learned", "high": 17}, "learned positions can read ids up to 15"),
])  # fmt: skip
def test_ids_that_do_not_fit_are_refused_when_the_run_is_made(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PositionError, match=sentence):
        config(**fields)


def test_what_just_fits_is_taken() -> None:
    config(Pairs(), ids="coupled", positions="learned", high=29)
    config(Majority(), ids="pose", positions="learned", high=13)
    config(Majority(), ids="arange", positions="sinusoidal", high=99)
