"""Compares the run in a folder with a config: is it the same run or another one?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from workbench.core.canonical import canonical, leaves
from workbench.core.errors import quoted_value
from workbench.core.failures import isolate_errors
from workbench.models.architectures import make_config
from workbench.models.errors import PositionError
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.table.layout import shards_of, table_path
from workbench.table.stored_json import first_problem
from workbench.tasks.registry import same_task
from workbench.tasks.source_code import code_of
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.errors import TrainingError

PARTS: dict[str, Callable[[dict[str, Any]], BaseModel]] = {
    "model": make_config,
    "training": lambda fields: TrainingConfig(**fields),
    "seeds": lambda fields: Seeds(**fields),
}


def settings_problems(run: Run) -> list[str]:
    """Settings in a run's ``run.json`` that this version's models and training do not accept, a sentence each.

    The task is not checked, because its code may be the user's. The training of weights from elsewhere is not checked
    either.
    """
    problems: list[str] = []
    if run.answered:
        return problems
    for part in PARTS if run.trained_here else ("model",):
        place = f"{run.path / 'run.json'}: {part}"

        def report(reason: str, place: str = place) -> None:
            problems.append(f"{place}: {reason}")

        with isolate_errors(report, ""):
            try:
                PARTS[part](run.config[part])
            except ValidationError as error:
                problems.append(f"{place}: {first_problem(error)}")
    return problems


def refuse_another(run: Run, config: RunConfig) -> None:
    """Raise an error if a run differs from the one that ``config`` describes.

    Raises:
        RunError: naming the difference.
    """
    config_json = as_begun(run, config).as_json()
    if not (differing := _differing(run, config_json)):
        return
    held, given = code_of(run.config["task"]), code_of(config_json["task"])
    if differing == ["task"] and held and given and held.sha256 and held.cls == given.cls:
        raise RunError(
            f"{run.path} contains a run of another version of {given.file}: its sha256 was {held.sha256}, now it is "
            f"{given.sha256}; restore the file, or choose another --out"
        )
    parts = f"{' and '.join(differing)} differ{'s' if len(differing) == 1 else ''}"
    first = _first_difference(differing[0], run.config, config_json)
    raise RunError(f"{run.path} contains another run (its {parts}{first}); choose another --out")


def as_begun(run: Run, config: RunConfig) -> RunConfig:
    """The config with which to resume a run: open settings of its task have the values from the start of the run.

    This matters for task parameters that did not exist at that time and now have another default
    (:attr:`workbench.tasks.base.Task.formerly`).
    """
    task = config.task
    stated = task.model_fields_set | set(run.config["task"]["parameters"])
    then = {name: value for name, value in type(task).formerly.items() if name not in stated}
    return config.model_copy(update={"task": task.model_copy(update=then)}) if then else config


def gives_way(run: Run, config: RunConfig) -> bool:
    """Whether a run differs from ``config`` and ended before its first checkpoint, so that it can be replaced.

    Such a run does not block its name: the same config continues it, and another config replaces it.
    """
    kept = run.steps or shards_of(run.path) or table_path(run.path).exists()
    return not kept and bool(_differing(run, as_begun(run, config).as_json()))


def _differing(run: Run, expected: dict[str, Any]) -> list[str]:
    return [] if run.id == expected["id"] else config_differences(run.config, expected)


def config_differences(held: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Return which of task, model, training and seeds differ between two ``run.json`` files.

    A setting may be missing in the older file, because it was added later. It then has its former value.
    """
    task = [] if same_task(held["task"], wanted["task"]) else ["task"]
    return [*task, *(part for part in PARTS if _whole(part, held) != _whole(part, wanted))]


def _whole(part: str, config: dict[str, Any]) -> str:
    return canonical(_stated(part, config))


def _stated(part: str, config: dict[str, Any]) -> dict[str, Any]:
    """One part of a run.json with every setting filled in; unchanged if this version cannot read it."""
    fields: dict[str, Any] = config[part]
    with suppress(ValueError, TypeError, KeyError, TrainingError, PositionError):
        fields = PARTS[part](fields).model_dump(mode="json")
    return fields


def _first_difference(part: str, stored: dict[str, Any], expected: dict[str, Any]) -> str:
    """The first setting of a part in which two run.json differ, with both values; "" if the difference is not in a
    setting.
    """
    there, here = (leaves(config[part] if part == "task" else _stated(part, config)) for config in (stored, expected))
    # What only one of them states may be as it was before there was such a setting.
    for name in sorted({**here, **there}, key=lambda name: name not in there or name not in here):
        if name not in there or name not in here or there[name] != here[name]:
            values = [quoted_value(one[name]) if name in one else "not set" for one in (there, here)]
            return f": {part}.{name} is {values[0]} there, but {values[1]} was requested"
    return ""
