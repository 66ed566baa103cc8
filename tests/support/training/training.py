"""What tests of several tiers share. Training: schedules, laws of length, and continuation to the same bits."""

from __future__ import annotations

from workbench.models import ModelConfig
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig


def config(steps: int = 12, positions: str = "none", ids: str = "arange", high: int = 9, **training) -> RunConfig:
    task = make_task("majority")
    model = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=16,
        positions=positions, ids=ids,
    )  # fmt: skip
    law = TrainingConfig(
        steps=steps, batch_size=4, curriculum={"law": "uniform", "low": 1, "high": high},
        checkpoints={"log": 3, "linear": 2}, **training,
    )  # fmt: skip
    return RunConfig(task=task, model=model, training=law, seeds=Seeds(init=1, data=2))


def hashes(run: Run) -> dict[int, str]:
    return {step: run.meta(step)["sha256"] for step in run.steps}
