"""Does a task keep what :class:`workbench.tasks.Task` promises? A kit for tasks of one's own, run on all of ours.

    from workbench.tasks.testing import check_task
    check_task(MyTask())

Everything is drawn with fixed seeds. A test of a law fails at p < :data:`workbench.tasks.testing.subject.P`, over all
that it looks at together, so that a task that keeps its promises fails about once in a million. Only strings that the
task draws are looked at.
"""

from __future__ import annotations

from workbench.tasks.testing.brief import BRIEF, refuse_unsound
from workbench.tasks.testing.kit import CHECKS, Finding, TaskCheckError, check_task, findings

__all__ = ["BRIEF", "CHECKS", "Finding", "TaskCheckError", "check_task", "findings", "refuse_unsound"]
