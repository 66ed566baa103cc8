"""Regularizers: their values in closed form, and that they reach the gradient."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
import torch

from tests.support.training.regularizers import MAJORITY, config
from workbench.tasks.random_generator import generator
from workbench.training.regularizers import REGULARIZERS, outputs_and_penalty
from workbench.training.trainer import Trainer


@pytest.mark.parametrize("name", REGULARIZERS)
def test_in_training_it_changes_the_weights_and_zero_changes_nothing(tmp_path, name: str) -> None:
    runs = {c: Trainer(config({name: c} if c is not None else {}), tmp_path / str(c)).run() for c in (None, 0.0, 0.1)}
    shas = {c: [run.meta(step)["sha256"] for step in run.steps] for c, run in runs.items()}
    assert shas[0.0] == shas[None]
    assert runs[0.0].id == runs[None].id
    assert shas[0.1][0] == shas[None][0]
    assert shas[0.1][1] != shas[None][1], "from the first update on"
    log = pq.read_table(runs[0.1].step_path(3) / "log.parquet").to_pydict()
    assert all(x > 0 for x in log["penalty"])
    assert pq.read_table(runs[None].step_path(3) / "log.parquet").to_pydict()["penalty"][-1] is None


@pytest.mark.parametrize("name", REGULARIZERS)
def test_training_with_it_makes_the_penalty_smaller(tmp_path, name: str) -> None:
    batch = MAJORITY.sample(32, 11, generator("fresh"))
    found = {}
    for coefficient in (0.0, 0.3):
        run = Trainer(config({name: coefficient}, steps=60, learning_rate=1e-2), tmp_path / f"{coefficient}").run()
        _, penalty = outputs_and_penalty(run.load(60), batch, torch.arange(12)[None], {name: 1.0})
        found[coefficient] = float(penalty)
    assert found[0.3] < 0.7 * found[0.0]
