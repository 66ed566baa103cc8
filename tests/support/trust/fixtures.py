"""Runs whose task is a class in a file, as somebody else may hand them over: the file tells when it is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from workbench.models.handmade.transformers import majority
from workbench.runs import Run
from workbench.runs.checkpoints import write_checkpoint, write_config
from workbench.runs.run import run_id
from workbench.runs.weights import weights_bytes
from workbench.tasks import make_task, registry, source_code
from workbench.training.config import RunConfig, TrainingConfig

CODE = """
from pathlib import Path
from workbench.tasks.counting.majority import Majority

with open({marker!r}, "a") as file:
    file.write("run\\n")

class Mine(Majority):
    name = "mine"
"""


def forget() -> None:
    """What a process knows that has just been started."""
    source_code._trusted.clear()
    registry._RUN.clear()
    registry._CODE.clear()
    for name in [name for name in sys.modules if name.startswith("lengthlens_task_")]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def as_if_just_started() -> Iterator[None]:
    forget()
    yield
    forget()


@dataclass(frozen=True)
class Custom:
    """A run of a task in a file.

    Attributes:
        run: the run.
        file: with the code.
        marker: a file with a line for each time that the code was run.
    """

    run: Run
    file: Path
    marker: Path

    @property
    def times(self) -> int:
        """How often the code has run."""
        return len(self.marker.read_text().splitlines()) if self.marker.exists() else 0


@pytest.fixture
def custom(tmp_path: Path) -> Callable[..., Custom]:
    """``custom(form, measured=...)``: a run whose run.json has a ``source``, or the name that runs had ``before``."""

    def make(form: str = "source", measured: bool = False, folder: str = "runs/mine") -> Custom:
        from workbench.measure.request import MeasureRequest
        from workbench.measure.running.plan import execute, plan

        marker, file = tmp_path / "was-run", tmp_path / "code" / "mine.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(CODE.format(marker=str(marker)))
        model, task = majority(), make_task(f"{file}:Mine")
        training = TrainingConfig(steps=100, curriculum={"law": "uniform", "low": 1, "high": 9})
        config = RunConfig(task=task, model=model.cfg, training=training).as_json()
        if form == "before":
            config["task"] = {"name": f"{file.resolve()}:Mine", "parameters": config["task"]["parameters"]}
            config["id"] = run_id(config)
        write_config(tmp_path / folder, config)
        run = Run.open(tmp_path / folder)
        write_checkpoint(run, 100, weights_bytes(model), [[0, 9]])
        if measured:
            assert (
                execute(
                    plan(
                        MeasureRequest(
                            [run.path], only=["behaviour"], sequences=16, lengths=[19, 37, 73], executor="serial"
                        )
                    )
                )
                == []
            )
        forget()
        marker.unlink()
        return Custom(run, file, marker)

    return make
