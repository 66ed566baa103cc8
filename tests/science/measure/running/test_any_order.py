"""What a checkpoint's rows say does not depend on which checkpoints were measured before it, in the same process."""

from __future__ import annotations

import shutil
from pathlib import Path

from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.table import Table
from workbench.training.trainer import Trainer


def rows_of_last(folder: Path, steps: list[int]) -> set[str]:
    assert execute(plan(MeasureRequest([folder], steps=steps, lengths=[19, 37], executor="serial"))) == []
    frame = Table.load(folder).frame()
    return {str(r) for r in frame[frame["step"] == max(steps)].drop(columns="run").to_dict("records")}


def test_a_checkpoint_measured_alone_has_the_rows_it_has_after_others(tmp_path: Path) -> None:
    """Learned positions at random offsets: each checkpoint has seen other ids, and step 0 none."""
    options = {
        "lengths": "1-9", "layers": 1, "d_model": 8, "heads": 2, "positions": "learned", "ids": "random_offset",
        "n_ctx": 80, "steps": 24, "batch_size": 8,
    }  # fmt: skip
    Trainer(build(TrainRequest("majority", options)), tmp_path / "alone" / "run").run()
    shutil.copytree(tmp_path / "alone", tmp_path / "after")
    alone, after = rows_of_last(tmp_path / "alone", [24]), rows_of_last(tmp_path / "after", [0, 24])
    assert alone == after
    assert len(alone) > 1000
