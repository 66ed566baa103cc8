"""Finds tasks by name: built-in tasks, those of other packages, and classes in a file."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from workbench.core.errors import LensError, quoted_value
from workbench.core.failures import TASK_MODULE, log_failure
from workbench.core.suggest import nearest
from workbench.tasks.base import Task, TaskError
from workbench.tasks.known_tasks import BUILT_IN, ENTRY_POINTS, TASKS
from workbench.tasks.source_code import TaskCode, code_of, find_code, read_code, sha256_of, trust

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "allowed_values",
    "describe",
    "find_task",
    "is_built_in",
    "load_task",
    "make_task",
    "same_task",
    "stored_task",
    "task_names",
    "task_of",
]

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_NOUNS: Mapping[object, str] = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a string",
    tuple[int, ...]: "a list of integers",
    tuple[float, ...]: "a list of numbers",
    tuple[str, ...]: "a list of strings",
    dict[str, Any]: "a JSON object",
}


def task_names() -> list[str]:
    """Return the names of all tasks: built-in tasks first, then those of other packages."""
    return list(TASKS)


def is_built_in(task: Task) -> bool:
    """Whether a task is one of LengthLens itself, not of a file or of another package."""
    return type(task).__module__.startswith("workbench.")


def find_task(name: str) -> type[Task]:
    """Return the class of the task called ``name``.

    Raises:
        TaskError: if there is no such task; the message suggests the nearest names. Also if two packages announce the
            name, or if the announced object is not a task of that name.
    """
    return TASKS.find(name)


def make_task(name: str, /, **parameters: Any) -> Task:
    """Return a task with its parameters, by name (``"majority"``) or from a file (``"my_task.py:MyTask"``).

    The caller who names a file trusts its code. Do not pass names that come from stored data; see :func:`task_of`.

    Example:

        >>> make_task("mod_p_mean", p=5, k=2).parameters
        {'p': 5, 'k': 2, 'tolerance': 0.05}

    Raises:
        TaskError: for an unknown task, an unknown parameter or an impossible value. The message names it and what is
            allowed.
    """
    if ".py" in name:
        return load_task(name, **parameters)
    return _make(find_task(name), parameters)


def load_task(place: str, /, **parameters: Any) -> Task:
    """Return a task from a file that belongs to no package, e.g. ``load_task("my_task.py:MyTask", p=3)``.

    The file is run as Python, and trusted from then on. A file whose text has not changed is run once per process.

    Raises:
        TaskError: if the file or the class is missing, the file does not run, or a parameter is wrong.
    """
    path, colon, class_name = place.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise TaskError(f"cannot read {place!r} as a task; write it as file.py:ClassName")
    source = read_code(trust(path))
    return _made_of(_run(Path(path).resolve(), source), class_name, parameters)


def task_of(spec: Mapping[str, Any]) -> Task:
    """Return the task of a stored run. Code of a file runs only if somebody has trusted that file.

    A run stored before a parameter existed does not name it. The parameter is then set to what the task did at that
    time (:attr:`workbench.tasks.base.Task.formerly`), or to its default.

    Args:
        spec: the part ``task`` of a ``run.json``.

    Example:

        >>> make_task("bounded_dyck", n=3).parameters
        {'ask': 'member', 'misses': 'mixed', 'n': 3}
        >>> task_of({"name": "bounded_dyck", "parameters": {"n": 3}}).parameters
        {'ask': 'member', 'misses': 'replaced', 'n': 3}

    Raises:
        UntrustedCode: if its code is a file that was not trusted here, or has changed; the message gives the command to
            use.
        TaskError: for a task, a class or a parameter that does not exist.
    """
    if PRESENTED in spec:
        return _presented(spec)
    code, parameters = code_of(spec), spec["parameters"]
    if code is None:
        return _make(find_task(spec["name"]), parameters, stored=True)
    # Code that has run in this process needs no file: the file may have been edited since a training began.
    run = _RUN.get(code.sha256)
    return _made_of(run or _run(*find_code(code)), code.cls, parameters, stored=True)


PRESENTED = "presented"
"""Key of the part that describes how a task is written in tokens of a pretrained model."""


def _presented(spec: Mapping[str, Any]) -> Task:
    fields = spec[PRESENTED]
    inner = task_of({name: value for name, value in spec.items() if name != PRESENTED})
    if not isinstance(fields, Mapping):
        raise TaskError(f"the presentation of {inner.name} is not a JSON object")
    return present(inner, fields)


def present(inner: Task, fields: Mapping[str, Any]) -> Task:
    """Return a task written in tokens of a model with another vocabulary.

    Args:
        inner: the task.
        fields: the other fields of :class:`workbench.tasks.presented.presented_task.Presented`, as objects or as JSON
            data.

    Raises:
        TaskError: if the task cannot be written so; the message gives the reason.
    """
    from workbench.tasks.presented.presented_task import Presented

    return _make(Presented, {**fields, "inner": inner})


def stored_task(task: Task) -> dict[str, Any]:
    """Return the part ``task`` of ``run.json``: ``name``, ``parameters``, and ``source`` if its code is a file.

    A task that is given to a pretrained model also has ``presented``.
    """
    if task.presented:
        fields = task.model_dump(mode="json", exclude={"inner"})
        return {**stored_task(task.inner), PRESENTED: fields}  # type: ignore[attr-defined]  # all that are presented have one
    code = _CODE.get(type(task))
    part = {"name": task.name, "parameters": task.parameters}
    return part if code is None else {**part, "source": code.as_source}


def same_task(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether two stored runs have the same task.

    Parameters that the older run does not name are filled in as in :func:`task_of`. Two files are the same if their
    hashes are equal, in any folder. For runs made before hashes were stored, their paths are compared.
    """
    first, second = code_of(held), code_of(wanted)
    if first is None or second is None:
        same = first is second and held["name"] == wanted["name"]
    elif first.sha256 and second.sha256:
        same = (first.cls, first.sha256) == (second.cls, second.sha256)
    else:
        same = (first.cls, first.file) == (second.cls, second.file)
    return same and _filled(held) == _filled(wanted) and held.get(PRESENTED) == wanted.get(PRESENTED)


def _filled(spec: Mapping[str, Any]) -> Any:
    """Return all parameters of a run's task, or the stored ones if the task cannot be made."""
    try:
        return task_of(spec).parameters
    except (TaskError, KeyError, TypeError):
        return spec.get("parameters")


@contextmanager
def forbid_exit(task: Task) -> Iterator[None]:
    """Raise a TaskError if the code in the ``with`` block tries to exit, e.g. by ``sys.exit``. Ctrl-C still ends the
    program.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = f"the code of the task {task.name} fails"
        raise TaskError(f"{what}: {log_failure(error, what, foreign=True)}") from error


def describe(task: Task) -> str:
    """Return one line about a task: name, kind, question, task state, and the score of a constant answer.

    Example:

        >>> describe(make_task("parity")).partition("?")[0]
        'parity (state): Is the number of ones odd'
    """
    length = task.next_length(64)
    chance = task.chance("matched", length)
    return f"{task.name} ({task.kind}): {task.question} Summary: {task.summary}. Chance {chance:.2f}."


# ---- tasks of files ------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Run:
    """A file whose code has run in this process."""

    path: Path
    sha256: str
    module: ModuleType


_RUN: dict[str, _Run] = {}
"""The files that have run, by SHA-256."""
_CODE: dict[type[Task], TaskCode] = {}
"""The file of each class that was loaded from a file."""


def _run(path: Path, source: bytes) -> _Run:
    """Run exactly these bytes. The file is not read again, and no compiled copy next to it is used."""
    sha256 = sha256_of(source)
    name = f"{TASK_MODULE}{hashlib.sha256(str(path).encode() + source).hexdigest()[:16]}"
    if name in sys.modules:
        return _Run(path, sha256, sys.modules[name])
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # pydantic looks up annotations there while the class is made
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        what = f"the task file {path} does not run"
        raise TaskError(f"{what}: {log_failure(error, what, foreign=True)}") from error
    run = _Run(path, sha256, module)
    _RUN.setdefault(sha256, run)
    return run


def _made_of(run: _Run, class_name: str, parameters: Mapping[str, Any], stored: bool = False) -> Task:
    """Return a task of a class in a file that has run. Any error of its code becomes a TaskError of the file."""
    cls = getattr(run.module, class_name, None)
    if not _is_task(cls):
        raise TaskError(f"{run.path} has no task class {class_name!r}; a task is a subclass of workbench.tasks.Task")
    missing = [name for name in ("name", "question", "kind", "summary") if not isinstance(getattr(cls, name, 0), str)]
    if missing:
        raise TaskError(f"the task class {class_name} in {run.path} does not state its {' and its '.join(missing)}")
    if unwritten := sorted(cls.__abstractmethods__):
        raise TaskError(
            f"the task class {class_name} in {run.path} does not write {' and '.join(unwritten)}; "
            "help(workbench.tasks.Task) describes them, and lengthlens new task NAME writes an example"
        )
    if not _installed(cls):
        _CODE[cls] = TaskCode(str(run.path), class_name, run.sha256)
    try:
        return _make(cls, parameters, stored)
    except (LensError, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = f"the task class {class_name} in {run.path} makes no task"
        raise TaskError(f"{what}: {log_failure(error, what, foreign=True)}") from error


def _installed(found: type[Task]) -> bool:
    """Whether a class that a file imports is also available by its name."""
    try:
        return find_task(found.name) is found
    except TaskError:
        return False


def _is_task(found: object) -> TypeGuard[type[Task]]:
    return isinstance(found, type) and issubclass(found, Task) and found is not Task


# ---- making --------------------------------------------------------------------------------------
def _make(cls: type[Task], parameters: Mapping[str, Any], stored: bool = False) -> Task:
    try:
        return cls(**{**(cls.formerly if stored else {}), **parameters})
    except ValidationError as error:
        raise TaskError(_sentence(cls, error)) from None
    except UnicodeEncodeError:  # pydantic writes as UTF-8 what a validator says
        raise TaskError(f"{cls.name}: a parameter contains half of a character (a lone surrogate): remove it") from None


def _sentence(cls: type[Task], error: ValidationError) -> str:
    """Return the first error of pydantic as one sentence."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # a rule between parameters, which a task's validator words itself
        return str(first["ctx"]["error"]) if cls.presented else f"{cls.name}: {first['ctx']['error']}"
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        known = list(cls.model_fields)
        return f"{cls.name}: unknown parameter {name!r}; {nearest(name, known)}"
    if first["type"] == "missing":
        return f"{cls.name} needs the parameter {name}, {allowed_values(cls.model_fields[name])}"
    return f"{cls.name}: {name} must be {allowed_values(cls.model_fields[name])}, not {quoted_value(first['input'])}"


def allowed_values(field: FieldInfo) -> str:
    """Return the values that a parameter takes, in words, e.g. ``an integer at least 1``."""
    noun = _noun(field.annotation)
    bounds = [
        f"{words} {getattr(rule, key):g}"
        for rule in field.metadata
        for key, words in _BOUNDS.items()
        if hasattr(rule, key)
    ]
    return " ".join([noun, " and ".join(bounds)]).strip()


def _noun(annotation: Any) -> str:
    """Return the kind of value, in words. ``| None`` is not mentioned."""
    if get_origin(annotation) is Literal:
        return " or ".join(map(repr, get_args(annotation)))
    types = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) in (Union, UnionType) and len(types) == 1:
        return _noun(types[0])
    return _NOUNS.get(annotation, f"of type {annotation}")
