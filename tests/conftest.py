"""Fixtures shared by all areas: one torch thread, and runs made of given models without training."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Any]:
    """``make_run(model, task, trained, name=..., steps=...)``: a run folder that holds the given model."""

    def make(
        model: Any,
        task: Any,
        trained: int,
        name: str = "handmade",
        steps: tuple[int, ...] = (100,),
        top_id: int | None = None,
    ) -> Any:
        from workbench.runs import Run
        from workbench.runs.folder import sha256_of
        from workbench.runs.load import weights_bytes
        from workbench.training.config import RunConfig, Seeds, TrainingConfig

        training = TrainingConfig(steps=max(steps) or 1, curriculum={"law": "uniform", "low": 1, "high": trained})
        config = RunConfig(task=task, model=model.cfg, training=training, seeds=Seeds())
        folder = tmp_path / name
        for step in steps:
            place = folder / "steps" / f"{step:08d}"
            place.mkdir(parents=True)
            (place / "model.safetensors").write_bytes(weights_bytes(model))
            meta = {
                "step": step,
                "sha256": sha256_of(place / "model.safetensors"),
                "trained_ids": [[0, trained if top_id is None else top_id]],
            }
            (place / "meta.json").write_text(json.dumps(meta))
        (folder / "run.json").write_text(json.dumps(config.as_json()))
        return Run.open(folder)

    return make
