"""Every task trains, is saved, loaded and measured by every measurement; so does every position scheme."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.measure.batch import execute, plan
from workbench.models import ModelConfig
from workbench.table import Table
from workbench.tasks import make_task
from workbench.tasks.registry import task_names
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.trainer import Trainer

pytestmark = pytest.mark.e2e

SCHEMES = [("none", "arange"), ("learned", "arange"), ("learned", "random_offset"), ("rotary", "arange")]
PAIRS = [(name, *SCHEMES[0]) for name in task_names()] + [("majority", *scheme) for scheme in SCHEMES[1:]]


@pytest.mark.parametrize(("name", "positions", "ids"), PAIRS)
def test_the_whole_road(tmp_path: Path, name: str, positions: str, ids: str) -> None:
    task = make_task(name)
    model = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=2, d_model=8, n_heads=2, n_ctx=40,
        positions=positions, ids=ids,
    )  # fmt: skip
    law = TrainingConfig(
        steps=3, batch_size=8, curriculum={"law": "uniform", "low": 1, "high": 12}, checkpoints={"log": 2, "linear": 1}
    )
    run = Trainer(RunConfig(task=task, model=model, training=law), tmp_path / "run").run()
    todo = plan([run.path], steps=[0, 3], sequences=48)
    assert execute(todo, "serial") == []
    table = Table.load(run.path)
    assert table.problems == []
    assert set(table.frame(step=3)["measurement"]) == {
        "behaviour", "probes.summary", "probes.position", "circuits.hardmax",
    }  # fmt: skip
    accuracy = table.frame(step=3, quantity="accuracy")
    assert accuracy["value"].between(0, 1).all()
    assert set(accuracy["law"]) == {"matched", "challenge"}
    longest = accuracy["length"].max()
    assert longest < 40 if positions == "learned" else longest >= 8 * run.trained_length
    statuses = set(accuracy[accuracy["length"] > run.trained_length]["status"])
    assert statuses == ({"unseen_position"} if (positions, ids) == ("learned", "arange") else {"ok"})
    odd = table.sql("select * from rows where status = 'ok' and value is null and label = ''")
    assert odd.empty, odd
