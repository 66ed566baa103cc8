"""Usage errors of a training command that follow from names. No torch is imported, so a typo is refused at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from workbench.cli.errors import UsageError
from workbench.cli.options import ONLY, TRAIN_OPTIONS, length_range
from workbench.cli.train_request import TrainRequest
from workbench.core.declared_fields import declared_fields, plain_fields
from workbench.core.errors import quoted_value
from workbench.core.names import CELLS, CURRICULA, GATES, RUN_PARTS
from workbench.core.stored_model import WITHOUT_ATTENTION
from workbench.core.suggest import nearest
from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS
from workbench.tasks.errors import TaskError
from workbench.tasks.known_tasks import TASKS
from workbench.training.errors import TrainingError
from workbench.training.learning_rate_schedules import RATE_SCHEDULES

PARTS = RUN_PARTS
_CONFIGS = {
    "training": ("workbench.training.config", "TrainingConfig"),
    "seeds": ("workbench.training.config", "Seeds"),
    "architecture": ("workbench.models.base.architecture", "Architecture"),
    "without_attention": ("workbench.models.base.without_attention", "WithoutAttention"),
    "transformer": ("workbench.models.transformer.config", "ModelConfig"),
    "ssm": ("workbench.models.ssm.config", "SSMConfig"),
    "rnn": ("workbench.models.rnn.config", "RNNConfig"),
}
"""Where the settings of each part of a run are declared."""


def refuse_early(request: TrainRequest) -> None:
    """Refuse names, lengths and plain values that no run has; what several together show, the configs refuse later.

    Raises:
        TaskError, PositionError, TrainingError, UsageError: in the words in which the run itself would be refused.
    """
    refuse_no_task(request.task)
    given = {name: value for name, value in request.options.items() if value is not None}
    if isinstance(given.get("positions"), str):
        ENCODINGS.refuse_unknown(given["positions"])
    if isinstance(given.get("ids"), str):
        ID_SAMPLERS.refuse_unknown(given["ids"])
    for name, known in (("architecture", ONLY), ("curriculum", CURRICULA), ("gates", GATES), ("cell", CELLS)):
        if isinstance(given.get(name), str) and given[name] not in known:
            error = UsageError if name == "architecture" else TrainingError
            raise error(f"unknown {name} {quoted_value(given[name])}; {nearest(given[name], known)}")
    if "lengths" in given:
        length_range(str(given["lengths"]))
    stated = [str(value) for path, value in request.settings if list(path) == ["model", "architecture"]]
    architecture = [str(given.get("architecture", "transformer")), *stated][-1]
    plain = [
        (option.settings[0], given[name]) for name, option in TRAIN_OPTIONS.items() if option.plain and name in given
    ]
    as_settings = [(path.split("."), value) for path, value in plain]
    for path, value in [*as_settings, *request.settings]:
        if not (architecture not in ONLY and path[0] == "model"):  # another package's has settings of its own
            _refuse_setting(path, value, architecture)


def refuse_no_task(task: str) -> None:
    """Refuse an unknown task name and the path of a missing file; no code is run.

    Raises:
        TaskError: naming it, and near names.
    """
    if ".py" not in task:
        TASKS.refuse_unknown(task)
        return
    file, colon, _ = task.rpartition(":")
    if colon and file.endswith(".py") and not Path(file).exists():
        raise TaskError(f"there is no file {file}; lengthlens new task {Path(file).stem} writes a task to start from")


def _refuse_setting(path: Sequence[str], value: Any, architecture: str) -> None:
    if path[0] not in PARTS or len(path) < 2:
        known = ", ".join(f"{part}." for part in PARTS)
        raise UsageError(f"--set {'.'.join(path)}: settings start with {known}")
    if path[0] == "task":
        return
    fields = settings_of_part(path[0])
    if path[1] not in fields:
        raise TrainingError(f"{path[0]} has no setting {quoted_value(path[1])}; {nearest(path[1], fields)}")
    if list(path) == ["training", "rate_law"]:
        RATE_SCHEDULES.refuse_unknown(value)
    elif len(path) == 2 and (value or isinstance(value, int | float)):  # nothing: some settings follow from others
        from workbench.core.construct import construct

        plain = _plain(path[0], architecture if path[0] == "model" else "")
        if path[1] in plain.model_fields:
            construct(plain, {path[1]: value}, path[0], TrainingError)


@cache
def _plain(part: str, architecture: str) -> type[Any]:
    """The plain settings of a part of a run; a sweep asks for them ten thousand times."""
    if part != "model":
        return plain_fields(*_CONFIGS[part])
    fields: type[Any] | None = None
    for kind in ("architecture", *(["without_attention"] if architecture in WITHOUT_ATTENTION else []), architecture):
        fields = plain_fields(*_CONFIGS[kind], known=fields)
    assert fields is not None
    return fields


@cache
def settings_of_part(part: str) -> Sequence[str]:
    """The settings of model (of any architecture), training or seeds."""
    if part != "model":
        return declared_fields(*_CONFIGS[part])
    names = [name for kind in ("architecture", *ONLY) for name in declared_fields(*_CONFIGS[kind])]
    return list(dict.fromkeys(["architecture", *names]))
