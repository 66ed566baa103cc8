"""The kit itself: every check in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.core.errors import LensError
from workbench.core.failures import isolated
from workbench.tasks.base import Task
from workbench.tasks.testing import check_cost, check_labels, check_laws, check_statement
from workbench.tasks.testing.subject import Check, TaskSubject

CHECKS: Mapping[str, Check] = {
    **check_statement.CHECKS,
    **check_labels.CHECKS,
    **check_laws.CHECKS,
    **check_cost.CHECKS,
}
"""All checks by name, in the order in which they are made."""


@dataclass(frozen=True)
class Finding:
    """What a task does not keep.

    Attributes:
        check: name of the check.
        sentence: what is wrong, and the way out.
    """

    check: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.check}: {self.sentence}"


class TaskCheckError(LensError, AssertionError):
    """A task does not keep what a task promises; a line for each finding."""


def check_task(task: Task) -> None:
    """Refuse a task that does not keep what a task promises.

    Raises:
        TaskCheckError: naming each check that fails, what is wrong, and the way out.
    """
    found = findings(task)
    if found:
        raise TaskCheckError(f"the task {task.name} fails:\n" + "\n".join(f"  {one}" for one in found))


def findings(task: Task, checks: Sequence[str] = tuple(CHECKS)) -> list[Finding]:
    """What a task does not keep; empty where it keeps everything.

    Args:
        task: the task.
        checks: the names of the checks to be made, of :data:`CHECKS`.
    """
    subject = TaskSubject(task)
    found: list[Finding] = []
    for name in checks:
        errors: list[str] = []
        with isolated(errors.append, "", foreign=True):
            found += [Finding(name, sentence) for sentence in CHECKS[name](subject)]
        found += [Finding(name, f"the task raises an error where it should answer ({error})") for error in errors]
    return found
