"""``lengthlens train``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from workbench.cli.errors import Stopping, UsageError
from workbench.cli.options import assignments, length_range, put
from workbench.cli.progress import TrainingProgress
from workbench.models.config import ModelConfig
from workbench.models.positions import encoding, id_law
from workbench.table.errors import nearest
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.trainer import Stopped, Trainer

PARTS: dict[str, type[BaseModel]] = {"model": ModelConfig, "training": TrainingConfig, "seeds": Seeds}


def build(task: str, options: Mapping[str, Any], settings: Sequence[str]) -> RunConfig:
    """The run that a ``train`` command line describes.

    Args:
        task: task name or ``file.py:Class``.
        options: the named options of the command.
        settings: ``PATH=VALUE`` pairs, which win over the options.

    Raises:
        TaskError, PositionError, UsageError, ValidationError: for whatever does not exist or fit.
    """
    low, high = length_range(options["lengths"])
    encoding(options["positions"])
    id_law(options["ids"])
    tree: dict[str, Any] = {
        "task": {},
        "model": {
            "positions": options["positions"],
            "ids": options["ids"],
            "n_layers": options["layers"],
            "d_model": options["d_model"],
            "n_heads": options["heads"],
            "n_ctx": options["n_ctx"],
        },
        "training": {
            "steps": options["steps"],
            "batch_size": options["batch_size"],
            "learning_rate": options["learning_rate"],
            "curriculum": {"law": "uniform", "low": low, "high": high},
        },
        "seeds": {"init": options["seed"], "data": options["seed"]},
    }
    for path, value in assignments(settings):
        if path[0] not in tree or len(path) < 2:
            known = ("task", "model", "training", "seeds")
            raise UsageError(f"--set {'.'.join(path)}: settings start with {', '.join(k + '.' for k in known)}")
        put(tree, path, value)
    made = make_task(task, **tree["task"])
    sizes = {"d_vocab": made.d_vocab, "d_vocab_out": made.d_vocab_out}
    return RunConfig(
        task=made,
        task_source=task if ":" in task else "",
        model=_part("model", {**tree["model"], **sizes}),
        training=_part("training", tree["training"]),
        seeds=_part("seeds", tree["seeds"]),
    )


def _part(name: str, fields: dict[str, Any]) -> Any:
    """A config from its fields, with a sentence of our own for a field that does not exist."""
    try:
        return PARTS[name](**fields)
    except ValidationError as error:
        for problem in error.errors():
            if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
                wrong = str(problem["loc"][0])
                hint = nearest(wrong, PARTS[name].model_fields)
                raise UsageError(f"{name} has no setting {wrong!r}; {hint}") from None
        raise


def train_command(task: str, out: Path | None, options: Mapping[str, Any], settings: Sequence[str]) -> None:
    config = build(task, options, settings)
    name = Path(task.rpartition(":")[2] if ":" in task else task).name
    folder = out or Path("checkpoints") / f"{name}-{config.model.positions.name}-s{config.seeds.init}"
    if ":" in task:
        config = config.model_copy(update={"task_source": _absolute(task)})
    with TrainingProgress(config.training.steps, folder.name) as progress:
        try:
            run = Trainer(config, folder, progress).run()
        except Stopped as stopped:
            progress.close()
            raise Stopping(f"{folder}: {stopped}.") from None
    print(f"{folder}: {len(run.steps)} checkpoints, last at step {run.steps[-1]:,}.")
    print(f"Next: lengthlens measure {folder}")


def _absolute(task: str) -> str:
    """``file.py:Class`` with an absolute path, so that the run can be opened from anywhere."""
    file, _, cls = task.rpartition(":")
    return f"{Path(file).resolve()}:{cls}"
