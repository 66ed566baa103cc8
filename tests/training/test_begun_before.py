"""Runs that were begun before their task had a parameter go on as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.cli.run_config import build
from workbench.models import ModelConfig
from workbench.runs import Run, RunError
from workbench.runs.checkpoints import write_config
from workbench.runs.run import run_id
from workbench.tasks import make_task
from workbench.training.compare_configs import refuse_another
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.trainer import Trainer


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


def hashes(run: Run) -> dict[int, str]:
    return {step: run.meta(step)["sha256"] for step in run.steps}


@pytest.mark.science
def test_an_older_run_goes_on_to_the_same_bits_with_the_same_command(tmp_path: Path) -> None:
    held = begun_before(tmp_path / "old")
    old = Trainer(config(), tmp_path / "old").run()
    assert old.id == held
    assert old.task.misses == "replaced"
    replaced = Trainer(config(misses="replaced"), tmp_path / "replaced").run()
    mixed = Trainer(config(), tmp_path / "mixed").run()
    assert mixed.task.misses == "mixed"
    assert hashes(old) == hashes(replaced)
    assert hashes(old)[0] == hashes(mixed)[0]
    assert hashes(old)[4] != hashes(mixed)[4]


def test_an_older_run_is_not_taken_for_one_that_says_mixed(tmp_path: Path) -> None:
    begun_before(tmp_path)
    run = Run.open(tmp_path)
    refuse_another(run, config())
    refuse_another(run, config(misses="replaced"))
    with pytest.raises(RunError, match=r"holds another run \(its task differ\)"):
        refuse_another(run, config(misses="mixed"))
    with pytest.raises(RunError, match=r"holds another run \(its task differ\)"):
        refuse_another(run, config(n=3))


def test_the_command_line_leaves_open_what_is_not_set(tmp_path: Path) -> None:
    options = {
        "lengths": "8-8", "positions": "none", "ids": "arange", "layers": 1, "d_model": 8, "n_ctx": 16, "heads": 2,
        "architecture": "transformer", "steps": 4, "batch_size": 4, "learning_rate": 1e-3, "curriculum": "uniform", "seed": 0,
    }  # fmt: skip
    assert "misses" not in build("bounded_dyck", options, []).task.model_fields_set
    assert build("bounded_dyck", options, []).as_json()["task"]["parameters"]["misses"] == "mixed"
    assert build("bounded_dyck", options, [(["task", "misses"], "replaced")]).task.misses == "replaced"
