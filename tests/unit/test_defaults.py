"""The defaults and limits that a user relies on: options of tasks, models, positions, training and commands.

A failure names the option, its value now and its value in ``held/test_defaults.json``. The settings of measurements are in
``tests/support/measure/frozen_specs.json``. After a change that was meant: ``pytest -n 0 --write-held`` and this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from tests.support.held import Held
from workbench.cli.main import app
from workbench.models.architectures import ARCHITECTURES
from workbench.models.positions import ENCODINGS, ID_SAMPLERS
from workbench.tasks.known_tasks import TASKS
from workbench.training.config import Schedule, Seeds, TrainingConfig
from workbench.training.curriculum import CURRICULA
from workbench.training.early_stop import EarlyStop
from workbench.training.id_schedule import IdSchedule
from workbench.training.task_schedule import TaskSchedule

LIMITS = {
    "minimum": ">=",
    "exclusiveMinimum": ">",
    "maximum": "<=",
    "exclusiveMaximum": "<",
    "minItems": "at least",
    "maxItems": "at most",
}
KINDS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "task": TASKS,
    "positions": ENCODINGS,
    "ids": ID_SAMPLERS,
    "architecture": ARCHITECTURES,
    "curriculum": CURRICULA,
    "training": {
        kind.__name__: kind for kind in (TrainingConfig, Schedule, Seeds, EarlyStop, TaskSchedule, IdSchedule)
    },
}


OPTIONS = {f"{kind} {name}": model for kind, models in KINDS.items() for name, model in models.items()}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", OPTIONS)
def test_defaults_and_limits_of_options(name: str, held: Held) -> None:
    model = OPTIONS[name]
    properties = model.model_json_schema()["properties"]
    suggested = getattr(model, "suggested", {})
    options = {option: described(value) for option, value in properties.items() if "const" not in value}
    held(options | ({"suggested": str(suggested)} if suggested else {}))


def described(option: Mapping[str, Any]) -> str:
    """The default and the limits of an option as its JSON schema states them, e.g. ``3, >= 1, <= 24``."""
    default = repr(option["default"]) if "default" in option else "required"
    limits = [
        f"{sign} {one[limit]}"
        for one in (option, *option.get("anyOf", ()))
        for limit, sign in LIMITS.items()
        if limit in one
    ]
    return ", ".join([default, *limits])


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_of_commands(name: str, held: Held) -> None:
    held(
        {
            option.name: str(option.default)
            for option in COMMANDS[name].params
            if option.default not in (None, False, ())
        }
    )
