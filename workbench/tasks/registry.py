"""Finding tasks by name: the built-in ones, those of other packages, and classes in a file."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from workbench.tasks.base import Task, TaskError

__all__ = ["ENTRY_POINTS", "describe", "find_task", "load_task", "make_task", "task_names"]

ENTRY_POINTS = "lengthlens.tasks"
"""Entry-point group under which other packages announce tasks: ``name = "package.module:Class"``."""

BUILT_IN: Mapping[str, str] = {
    "flip_flop": "workbench.tasks.automata:FlipFlop",
    "parity": "workbench.tasks.automata:Parity",
    "majority": "workbench.tasks.counting:Majority",
    "mod_p_mean": "workbench.tasks.averages:ModPMean",
    "kgram_retrieval": "workbench.tasks.retrieval:KGramRetrieval",
}

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_NOUNS: Mapping[object, str] = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}


def task_names() -> list[str]:
    """Names of all tasks that can be made by name: the built-in ones, then those of other packages."""
    return [*BUILT_IN, *sorted(set(_announced()) - set(BUILT_IN))]


def find_task(name: str) -> type[Task]:
    """The class of the task called ``name``.

    Raises:
        TaskError: if there is none (the nearest names are given), if two packages announce the same
            name, or if what is announced is not a task of that name.
    """
    built_in = [BUILT_IN[name]] if name in BUILT_IN else []
    places = list(dict.fromkeys(built_in + [entry.value for entry in _announced().get(name, [])]))
    if not places:
        raise TaskError(_unknown("task", name, task_names()))
    if len(places) > 1:
        raise TaskError(
            f"the task name {name!r} is taken more than once, by {' and '.join(places)}; uninstall one of the packages"
        )
    return _imported(EntryPoint(name=name, value=places[0], group=ENTRY_POINTS))


def make_task(name: str, **parameters: Any) -> Task:
    """A task with its parameters, by name (``"majority"``) or from a file (``"my_task.py:MyTask"``).

    Example:

        >>> make_task("mod_p_mean", p=5, k=2).parameters
        {'p': 5, 'k': 2, 'tolerance': 0.05}

    Raises:
        TaskError: for an unknown task, an unknown parameter or an impossible value; one sentence that
            names it and what is allowed.
    """
    if ".py" in name:
        return load_task(name, **parameters)
    return _make(find_task(name), parameters)


def load_task(place: str, **parameters: Any) -> Task:
    """A task from a file that belongs to no package, e.g. ``load_task("my_task.py:MyTask", p=3)``.

    The file is run as Python. A file whose text has not changed is run once per process.

    Raises:
        TaskError: if the file or the class is missing, the file does not run, or a parameter is wrong.
    """
    path, colon, class_name = place.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise TaskError(f"cannot read {place!r} as a task; write it as file.py:ClassName")
    found = getattr(_run_file(Path(path)), class_name, None)
    if not _is_task(found):
        raise TaskError(f"{path} has no task class {class_name!r}; a task is a subclass of workbench.tasks.Task")
    return _make(found, parameters)


def describe(task: Task) -> str:
    """One line about a task: name, kind, question, summary, and what a constant answer scores.

    Example:

        >>> describe(make_task("parity"))
        'parity (state): Is the number of ones odd? Summary: whether the number of ones is odd. Chance 0.50.'
    """
    length = task.next_length(64)
    chance = task.chance("matched", length)
    return f"{task.name} ({task.kind}): {task.question} Summary: {task.summary}. Chance {chance:.2f}."


# ---- finding -------------------------------------------------------------------------------------
def _announced() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        found.setdefault(entry.name, []).append(entry)
    return found


def _imported(entry: EntryPoint) -> type[Task]:
    try:
        found = entry.load()
    except Exception as error:
        raise TaskError(f"the task {entry.name!r} ({entry.value}) could not be imported: {error}") from error
    if not _is_task(found):
        raise TaskError(f"{entry.value}, announced as the task {entry.name!r}, is no subclass of workbench.tasks.Task")
    if found.name != entry.name:
        raise TaskError(f"{entry.value} is announced as the task {entry.name!r} but calls itself {found.name!r}")
    return found


def _run_file(path: Path) -> ModuleType:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise TaskError(f"cannot read the task file {path}: {error.strerror}") from error
    digest = hashlib.sha256(str(path.resolve()).encode() + b"\0" + source).hexdigest()[:16]
    name = f"lengthlens_task_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"cannot load the task file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic looks up annotations there while the class is made
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise TaskError(f"the task file {path} does not run: {type(error).__name__}: {error}") from error
    return module


def _is_task(found: object) -> TypeGuard[type[Task]]:
    return isinstance(found, type) and issubclass(found, Task) and found is not Task


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.65)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known) or 'none'}"
    return f"unknown {what} {name!r}; {hint}"


# ---- making --------------------------------------------------------------------------------------
def _make(cls: type[Task], parameters: Mapping[str, Any]) -> Task:
    try:
        return cls(**parameters)
    except ValidationError as error:
        raise TaskError(_sentence(cls, error)) from None


def _sentence(cls: type[Task], error: ValidationError) -> str:
    """The first thing pydantic found wrong, said in one sentence."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # a rule between parameters, which a task's validator words itself
        return f"{cls.name}: {first['ctx']['error']}"
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        known = list(cls.model_fields)
        return f"{cls.name}: {_unknown('parameter', name, known)}"
    if first["type"] == "missing":
        return f"{cls.name} needs the parameter {name}, {_allowed(cls.model_fields[name])}"
    return f"{cls.name}: {name} must be {_allowed(cls.model_fields[name])}, not {first['input']!r}"


def _allowed(field: FieldInfo) -> str:
    noun = _NOUNS.get(field.annotation, f"of type {field.annotation}")
    bounds = [
        f"{words} {getattr(rule, key):g}"
        for rule in field.metadata
        for key, words in _BOUNDS.items()
        if hasattr(rule, key)
    ]
    return " ".join([noun, " and ".join(bounds)]).strip()
