"""Checks whether a task keeps what :class:`workbench.tasks.Task` promises. All built-in tasks pass these checks.

    from workbench.tasks.testing import check_task
    check_task(MyTask())

Everything is drawn with fixed seeds. A statistical check fails at p < :data:`workbench.tasks.testing.subject.P`, over
all its statistics together, so that a correct task fails about once in a million. The checks look only at sequences
that the task draws.
"""

from __future__ import annotations

from workbench.tasks.testing.brief import BRIEF, refuse_unsound
from workbench.tasks.testing.kit import CHECKS, Finding, TaskCheckError, check_task, findings

__all__ = ["BRIEF", "CHECKS", "Finding", "TaskCheckError", "check_task", "findings", "refuse_unsound"]
