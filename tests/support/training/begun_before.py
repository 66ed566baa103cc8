"""What tests of several tiers share. Runs that were begun before their task had a parameter go on as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.models import ModelConfig
from workbench.runs.checkpoints import write_config
from workbench.runs.run import run_id
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig


def config(**parameters: Any) -> RunConfig:
    task = make_task("bounded_dyck", **parameters)
    model = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=16)
    law = TrainingConfig(
        steps=4, batch_size=4, curriculum={"law": "uniform", "low": 8, "high": 8}, checkpoints={"log": 0, "linear": 2}
    )
    return RunConfig(task=task, model=model, training=law, seeds=Seeds(init=1, data=2))


def begun_before(folder: Path) -> str:
    """A run.json as it was written when nothing was said of misses; its id."""
    written = config(misses="replaced").as_json()
    del written["task"]["parameters"]["misses"]
    written["id"] = run_id(written)
    write_config(folder, written)
    return str(written["id"])
