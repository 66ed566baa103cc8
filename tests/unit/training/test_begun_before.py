"""Runs that were begun before their task had a parameter go on as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.training.begun_before import begun_before, config
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.runs import Run, RunError
from workbench.training.compare_configs import refuse_another


def test_an_older_run_is_not_taken_for_one_that_says_mixed(tmp_path: Path) -> None:
    begun_before(tmp_path)
    run = Run.open(tmp_path)
    refuse_another(run, config())
    refuse_another(run, config(misses="replaced"))
    said = "contains another run \\(its task differs: task.parameters."
    with pytest.raises(RunError, match=said + "misses is not set there, but 'mixed' was requested"):
        refuse_another(run, config(misses="mixed"))
    with pytest.raises(RunError, match=said + "n is 2 there, but 3 was requested"):
        refuse_another(run, config(n=3))


def test_the_command_line_leaves_open_what_is_not_set(tmp_path: Path) -> None:
    options = {
        "lengths": "8-8", "positions": "none", "ids": "arange", "layers": 1, "d_model": 8, "n_ctx": 16, "heads": 2,
        "architecture": "transformer", "steps": 4, "batch_size": 4, "learning_rate": 1e-3, "curriculum": "uniform", "seed": 0,
    }  # fmt: skip
    assert "misses" not in build(TrainRequest("bounded_dyck", options)).task.model_fields_set
    assert build(TrainRequest("bounded_dyck", options)).as_json()["task"]["parameters"]["misses"] == "mixed"
    assert build(TrainRequest("bounded_dyck", options, [(["task", "misses"], "replaced")])).task.misses == "replaced"
