"""What tests of several tiers share. Regularizers: their values in closed form, and that they reach the gradient."""

from __future__ import annotations

from workbench.models import ModelConfig
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig

MAJORITY = make_task("majority")


def model_config(positions="learned", n_ctx: int = 12, **more) -> ModelConfig:
    return ModelConfig(
        d_vocab=MAJORITY.d_vocab, d_vocab_out=MAJORITY.d_vocab_out, n_layers=2, d_model=8, n_heads=2, n_ctx=n_ctx,
        positions=positions, initializer_range=0.5, **more,
    )  # fmt: skip


def config(coefficients: dict[str, float], positions="learned", **training) -> RunConfig:
    law = TrainingConfig(
        **{"steps": 3, "warmup": 0, "batch_size": 8, "curriculum": {"law": "uniform", "low": 5, "high": 11}, **training},
        regularizers=coefficients,
    )  # fmt: skip
    return RunConfig(task=MAJORITY, model=model_config(positions), training=law, seeds=Seeds(init=1, data=2))
