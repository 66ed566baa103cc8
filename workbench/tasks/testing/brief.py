"""A task of one's own, checked in brief before each training."""

from __future__ import annotations

import json
import shlex

from workbench.tasks.base import Task
from workbench.tasks.registry import is_built_in, stored
from workbench.tasks.testing.kit import TaskCheckError, findings

BRIEF = ("statement", "settings", "shapes", "oracle", "laws", "chance", "shortcuts")
"""The checks made before a training; together some tenths of a second. ``lengthlens tasks --check`` makes all."""

_SOUND: set[tuple[type[Task], str]] = set()
"""Tasks that passed in this process, with their parameters: a sweep trains one task many times."""


def refuse_unsound(task: Task) -> None:
    """Refuse to train a task that fails a check of :data:`BRIEF`; built-in tasks are tried by our tests.

    Raises:
        TaskCheckError: one sentence with the first finding, its check and the way out.
    """
    if is_built_in(task):
        return
    key = type(task), json.dumps(task.parameters, sort_keys=True)
    if key in _SOUND:
        return
    found = findings(task, BRIEF)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        given = ", ".join(f"{name} {value}" for name, value in task.parameters.items())
        raise TaskCheckError(
            f"the task {task.name}{f' ({given})' if given else ''} is not trained, as it fails the check "
            f"{found[0]}{more}; see lengthlens tasks --check {_place(task)}"
        )
    _SOUND.add(key)


def _place(task: Task) -> str:
    """What names a task on the command line."""
    source = stored(task).get("source")
    return shlex.quote(f"{source['file']}:{source['class']}") if source else task.name
