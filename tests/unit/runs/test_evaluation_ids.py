"""The position ids that a task and a model together give to strings of one length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.runs.adopt import TASK
from workbench.models.positions import PositionError
from workbench.models.transformer.config import ModelConfig
from workbench.runs.evaluation_ids import check_training_ids, evaluation_ids
from workbench.tasks import make_task


def test_ids_that_a_task_and_a_model_give_together() -> None:
    def cfg(n_ctx: int, **options: Any) -> ModelConfig:
        return ModelConfig(d_vocab=TASK.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=n_ctx, **options)

    assert evaluation_ids(TASK, cfg(9), 4).tolist() == [list(range(TASK.positions(4)))]
    last = TASK.positions(8)
    assert evaluation_ids(TASK, cfg(last, positions="learned"), 8).shape == (1, last)
    check_training_ids(TASK, cfg(last, positions="learned"), 8)
    for ask in (evaluation_ids, check_training_ids):
        with pytest.raises(PositionError, match="n_ctx"):
            ask(TASK, cfg(last - 1, positions="learned"), 8)
    check_training_ids(TASK, cfg(last, ids="random_offset"), 8)
    with pytest.raises(PositionError, match="random_offset"):
        check_training_ids(TASK, cfg(last - 1, ids="random_offset"), 8)
    for ids in ("coupled", "predicted"):
        with pytest.raises(PositionError, match=f"ids {ids}"):
            evaluation_ids(TASK, cfg(9, ids=ids), 5)
    coupling = make_task("addition")
    found = evaluation_ids(
        coupling, ModelConfig(d_vocab=coupling.d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=99, ids="coupled"), 9
    )
    assert found.shape == (1, coupling.positions(9))
    assert len(np.unique(found.numpy())) < found.shape[1], "some are shared"
