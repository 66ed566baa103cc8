"""Foreign checkpoints become a run with the same outputs, or one sentence says why not."""

from __future__ import annotations

from pathlib import Path

from tests.support.runs.adopt import (
    foreign,
    own,
    take,
    theirs,  # noqa: F401 - fixtures
)
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.table import Table


def test_an_adopted_run_is_measured_like_any_other(tmp_path: Path) -> None:
    run = take(foreign(tmp_path / "theirs", {"model_5.pt": own()}), tmp_path / "run")
    assert execute(plan(MeasureRequest([run.path], only=["behaviour"], sequences=32, executor="serial"))) == []
    table = Table.load(run.path)
    assert table.problems == []
    unseen = table.frame(quantity="accuracy").set_index("length")["status"]
    assert set(unseen[unseen.index > 9]) == {"unseen_position"}
    assert set(unseen[unseen.index <= 9]) == {"ok"}
