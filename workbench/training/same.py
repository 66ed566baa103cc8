"""Whether a folder holds this very run, or another one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from workbench.models.architectures import make_config
from workbench.models.positions import PositionError
from workbench.runs.folder import Run, RunError, canonical
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.fields import TrainingError

PARTS: dict[str, Callable[[dict[str, Any]], BaseModel]] = {
    "model": make_config,
    "training": lambda fields: TrainingConfig(**fields),
    "seeds": lambda fields: Seeds(**fields),
}


def refuse_another(run: Run, config: RunConfig) -> None:
    """Refuse a run that is not the one ``config`` describes.

    Raises:
        RunError: naming what differs.
    """
    wanted = config.as_json()
    if run.id != wanted["id"] and (differing := differences(run.config, wanted)):
        raise RunError(f"{run.path} holds another run (its {' and '.join(differing)} differ); choose another --out")


def differences(held: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Which of task, model, training and seeds differ between two run.json.

    A setting that the older file does not name, because it was written before there was one, has its default.
    """
    return [part for part in ("task", *PARTS) if _whole(part, held) != _whole(part, wanted)]


def _whole(part: str, config: dict[str, Any]) -> str:
    """One part of a run.json with every setting stated; as it is where it can no longer be read."""
    fields = config[part]
    with suppress(ValueError, TypeError, KeyError, TrainingError, PositionError):
        if part == "task":
            fields = {**fields, "parameters": make_task(fields["name"], **fields["parameters"]).parameters}
        else:
            fields = PARTS[part](fields).model_dump(mode="json")
    return canonical(fields)
