"""The command line of ``lengthlens train`` that makes a run, found from its ``run.json``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from workbench.cli.early_refusal import PARTS
from workbench.cli.errors import UsageError
from workbench.cli.options import DEFAULTS, TRAIN_OPTIONS
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.core.stored_model import component_name
from workbench.diagnosis.prescription import Prescription

DERIVED = {("model", "d_vocab"), ("model", "d_vocab_out"), ("training", "trained_length")}
"""Fields that follow from the task and from others."""
LAW = ("law", "low", "high")
"""What the options say of a curriculum; it may need more, without which it cannot be built."""
Path = tuple[str, ...]


def no_command(run: Mapping[str, Any]) -> str:
    """Why a run has no command line, as the beginning of a sentence; "" where it has one."""
    if run["task"].get("source"):
        return "No command is printed, because the task of this run is defined in a Python file"
    if "learning_rate" not in run["training"]:
        return "No command is printed, because it is not known how this run was trained"
    return ""


def options_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """The named options of ``lengthlens train`` for a run."""
    architecture = run["model"].get("architecture", DEFAULTS["architecture"])
    law = run["training"]["curriculum"]
    options = {"architecture": architecture, "lengths": f"{law['low']}-{law['high']}"}
    for name, option in TRAIN_OPTIONS.items():
        if name not in options and option.only in ("", architecture):
            value = reduce(getitem, option.settings[0].split("."), run)
            options[name] = component_name(value)
    return options


def settings_of_run(run: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The values for ``--set`` that complete the options, by path.

    Raises:
        UsageError: for a run that no command line makes, as one whose training is not known.
    """
    found: dict[str, Any] = {f"task.{name}": value for name, value in run["task"]["parameters"].items()}
    law = run["training"]["curriculum"]
    found |= {f"training.curriculum.{name}": value for name, value in law.items() if name not in LAW}
    # What an option implies is known only once it is built; a second look finds nothing where all is said.
    for _ in range(3):
        built = build(_request(run, options, found)).as_json()
        more = {
            ".".join((part, *path)): value
            for part in PARTS[1:]
            for path, value in _differences(built[part], run[part])
            if (part, *path) not in DERIVED
        }
        if not more:
            return _needed(run["task"]["name"], options, found)
        found |= more
    raise UsageError(
        f"no command line can train this run, as {', '.join(more)} cannot be set; train it from Python with "
        "workbench.training.trainer.Trainer"
    )


def _request(run: Mapping[str, Any], options: Mapping[str, Any], settings: Mapping[str, Any]) -> TrainRequest:
    """The request with the task of a run and settings by path."""
    return TrainRequest(run["task"]["name"], options, [(path.split("."), value) for path, value in settings.items()])


def _needed(task: str, options: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without the task's parameters that are its defaults."""
    from workbench.tasks.registry import make_task

    plain = make_task(task).parameters
    return {k: v for k, v in settings.items() if not (k.startswith("task.") and plain.get(k[5:]) == v)}


def _differences(built: Any, wanted: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Leaves in which ``built`` differs from ``wanted``."""
    if isinstance(built, Mapping) and isinstance(wanted, Mapping):
        for key in wanted:
            yield from _differences(built.get(key), wanted[key], (*path, key))
    elif built != wanted:
        yield path, wanted


def with_change(run: Mapping[str, Any], change: Prescription) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the named options and the further settings of a run, after a change of its training.

    Raises:
        UsageError, TaskError, PositionError, TrainingError: where no run can be built so.
    """
    options = options_of(run)
    settings = settings_of_run(run, options)
    if "curriculum" in change.options:  # what another one needs means nothing to it
        settings = {path: value for path, value in settings.items() if not path.startswith("training.curriculum.")}
    settings |= change.settings
    options |= change.options
    build(_request(run, options, settings))
    return options, settings


def command_line(task: str, options: Mapping[str, Any], settings: Mapping[str, Any], out: str) -> str:
    """The command, in lines that a shell joins; options that the task suggests, or that are defaults, are left out.

    Args:
        task: its name.
        options: by name.
        settings: by path.
        out: folder of the run.
    """
    from workbench.cli.options import suggestions
    from workbench.tasks.registry import make_task

    usual = {**DEFAULTS, **suggestions(make_task(task), {})}
    told = {name: value for name, value in options.items() if value != usual.get(name)}
    lines = [f"lengthlens train {shlex.quote(task)}", *words(told, settings), f"--out {shlex.quote(out)}"]
    return " \\\n    ".join(lines)


def words(options: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Options and settings in the form of a command line, one by one."""
    found = [f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in options.items()]
    for path, value in settings.items():
        text = value if isinstance(value, str) else json.dumps(value)
        found.append(f"--set {shlex.quote(f'{path}={text}')}")
    return found
