"""What tests of several tiers share. Optimizers: they do what their formula says, continue to the same bits, and old run files keep their meaning."""

from __future__ import annotations

from workbench.models import ModelConfig
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig

SGD = {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.1}
PLAIN = {"optimizer": "sgd", "momentum": 0.0, "learning_rate": 0.1}


def config(**training) -> RunConfig:
    task = make_task("majority")
    model = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=16)
    law = TrainingConfig(
        **{"steps": 12, "batch_size": 4, "curriculum": {"law": "uniform", "low": 1, "high": 9},
           "checkpoints": {"log": 3, "linear": 2}, **training}
    )  # fmt: skip
    return RunConfig(task=task, model=model, training=law, seeds=Seeds(init=1, data=2))


def older(run_config: RunConfig) -> dict:
    """The same run as an earlier version would have written it: without the settings that came later."""
    content = run_config.as_json()
    later = ("optimizer", "momentum", "regularizers", "task_schedule", "early_stop")
    training = {k: v for k, v in content["training"].items() if k not in later}
    return {**content, "training": training, "id": "0123456789abcdef"}
