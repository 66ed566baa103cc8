"""What theory predicts for a run: its task, positions and kind of model come from its config."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.theory.prediction.predict import Prediction


def is_run(name: str) -> bool:
    """Whether a name is that of a folder with a run."""
    return (Path(name) / "run.json").is_file()


def prediction_for_run(folder: Path, convention: Any) -> Prediction:
    """Return the prediction for the task and model of a run.

    Args:
        folder: the run.
        convention: how acceptance of a regular language may read the last symbol.

    Raises:
        RunError: if the run cannot be read.
        TheoryError, TaskError: if nothing is predicted for its task.
    """
    from workbench.claims.gate_horizon import gate_horizon_note
    from workbench.core.stored_model import StoredModel
    from workbench.runs.run import Run
    from workbench.tasks.registry import task_of
    from workbench.theory.prediction.predict import Positions, predict

    run = Run.open(folder)
    model = StoredModel(run.config["model"])
    of_transformer = Positions(model.positions, model.ids, model.position_settings)
    about = of_transformer if model.family is None else model.kind
    found = predict(task_of(run.config["task"]), about, convention)
    note = gate_horizon_note(model.part, run.config["training"])
    return replace(found, notes=(*found.notes, note)) if note is not None else found
