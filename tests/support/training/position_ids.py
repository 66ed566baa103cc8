"""What tests of several tiers share. Which ids training sees is recorded for every id sampler, and laws that do not fit a run are refused when it is made."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from workbench.models import ModelConfig
from workbench.tasks.counting.majority import Majority
from workbench.training.config import RunConfig, TrainingConfig


class Pairs(Majority):
    """Majority whose tokens share an id two by two."""

    def coupled_ids(self, strings: Tensor, meta: dict[str, Tensor]) -> Tensor:
        ids = torch.arange(strings.shape[1] + 1)
        return ((ids + 1) // 2).expand(len(strings), -1)


def config(task: Any, high: int = 9, n_ctx: int = 16, steps: int = 30, **model: Any) -> RunConfig:
    sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 1, "d_model": 8, "n_heads": 2}
    law = TrainingConfig(
        steps=steps, batch_size=4, curriculum={"law": "uniform", "low": 1, "high": high},
        checkpoints={"log": 1, "linear": 0},
    )  # fmt: skip
    return RunConfig(task=task, model=ModelConfig(**sizes, n_ctx=n_ctx, **model), training=law)
