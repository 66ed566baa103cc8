"""The brief check of a user's own task before each training."""

from __future__ import annotations

import json
import shlex

from workbench.tasks.base import Task
from workbench.tasks.registry import is_built_in, stored_task
from workbench.tasks.testing.kit import TaskCheckError, findings

BRIEF = ("statement", "settings", "shapes", "oracle", "laws", "chance", "shortcuts")
"""The checks before a training; together they take some tenths of a second. ``lengthlens tasks --check`` runs all."""

_SOUND: set[tuple[type[Task], str]] = set()
"""Tasks that passed in this process, with their parameters, because a sweep trains one task many times."""


def refuse_unsound(task: Task) -> None:
    """Raise TaskCheckError for a task that fails a check of :data:`BRIEF`. Built-in tasks are not checked here.

    Raises:
        TaskCheckError: with the first finding, its check and what to do.
    """
    if is_built_in(task):
        return
    key = type(task), json.dumps(task.parameters, sort_keys=True)
    if key in _SOUND:
        return
    faults = findings(task, BRIEF)
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        parameters = ", ".join(f"{name} {value}" for name, value in task.parameters.items())
        raise TaskCheckError(
            f"the task {task.name}{f' ({parameters})' if parameters else ''} is not trained, because it fails the "
            f"check {faults[0]}{more}; run lengthlens tasks --check {_place(task)} for all findings"
        )
    _SOUND.add(key)


def _place(task: Task) -> str:
    """Return the argument that names a task on the command line."""
    source = stored_task(task).get("source")
    return shlex.quote(f"{source['file']}:{source['class']}") if source else task.name
