"""Runs all checks of a task in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.core.errors import LensError
from workbench.core.failures import isolate_errors
from workbench.tasks.base import Task
from workbench.tasks.testing import check_cost, check_labels, check_laws, check_statement
from workbench.tasks.testing.subject import Check, TaskSubject

CHECKS: Mapping[str, Check] = {
    **check_statement.CHECKS,
    **check_labels.CHECKS,
    **check_laws.CHECKS,
    **check_cost.CHECKS,
}
"""All checks by name, in the order in which they run."""
CHECK_TITLES: Mapping[str, str] = {
    "statement": "class variables",
    "settings": "parameters",
    "lengths": "lengths",
    "shapes": "shapes",
    "oracle": "reference answers",
    "prefixes": "answers of prefixes",
    "automaton": "automaton",
    "neutral tokens": "neutral tokens",
    "seeds": "random seeds",
    "batches": "sequences of a batch",
    "laws": "test sets",
    "prefix-closed": "prefixes of longer sequences",
    "support": "listed sequences",
    "chance": "chance accuracy",
    "shortcuts": "shortcuts",
    "strata": "hard inputs",
    "memory": "memory",
}
"""Check -> its name in messages."""


@dataclass(frozen=True)
class Finding:
    """A promise that a task does not keep.

    Attributes:
        check: name of the check.
        sentence: what is wrong, and what to do.
    """

    check: str
    sentence: str

    def __str__(self) -> str:
        return f"{CHECK_TITLES[self.check]}: {self.sentence}"


class TaskCheckError(LensError, AssertionError):
    """Raised for a task that breaks a rule for tasks; the message has a line for each problem."""


def check_task(task: Task) -> None:
    """Check a task against the rules for tasks, and raise TaskCheckError if it breaks one.

    Raises:
        TaskCheckError: naming each check that fails, what is wrong, and what to do.
    """
    faults = findings(task)
    if faults:
        raise TaskCheckError(f"the task {task.name} fails:\n" + "\n".join(f"  {fault}" for fault in faults))


def findings(task: Task, checks: Sequence[str] = tuple(CHECKS)) -> list[Finding]:
    """Return the promises that a task does not keep; empty if it keeps all.

    Args:
        task: the task.
        checks: the names of the checks to run, of :data:`CHECKS`.
    """
    subject = TaskSubject(task)
    faults: list[Finding] = []
    for name in checks:
        errors: list[str] = []
        with isolate_errors(errors.append, "", foreign=True):
            faults += [Finding(name, sentence) for sentence in CHECKS[name](subject)]
        faults += [
            Finding(name, f"the task raises an error in this check ({error}); correct the code at that line")
            for error in errors
        ]
    return faults
