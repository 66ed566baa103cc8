"""Which ids training sees is recorded for every id sampler, and laws that do not fit a run are refused when it is made."""

from __future__ import annotations

import pytest
import torch

from tests.support.training.position_ids import Pairs, config
from workbench.tasks.counting.majority import Majority
from workbench.training.trainer import Trainer


@pytest.mark.parametrize(("ids", "expected"), [
    ("arange", [[0, 9]]), ("random_offset", [[0, 15]]), ("pose", [[1, 15]]), ("random_subset", [[0, 15]]),
])  # fmt: skip
def test_every_law_records_the_ids_it_trained(tmp_path, ids: str, expected: list[list[int]]) -> None:
    run = Trainer(config(Majority(), positions="learned", ids=ids, steps=60), tmp_path / "run").run()
    assert run.meta(0)["trained_ids"] == []
    assert run.meta(60)["trained_ids"] == expected


def test_coupled_ids_are_trained_shifted_and_watched_unshifted(tmp_path) -> None:
    trainer = Trainer(config(Pairs(), positions="learned", ids="coupled", steps=60), tmp_path / "run")
    batch, ids = trainer.batch(3)
    offsets = ids[:, 1] - 1
    assert torch.equal(ids[:, 1:], batch.position_ids[:, 1:] + offsets[:, None])
    assert not ids[:, 0].any()
    assert len(offsets.unique()) > 1
    run = trainer.run()
    assert run.meta(60)["trained_ids"] == [[0, 15]]
