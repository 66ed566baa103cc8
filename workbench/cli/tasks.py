"""``lengthlens tasks``."""

from __future__ import annotations

from workbench.tasks.registry import describe, find_task, task_names


def tasks_command() -> None:
    for name in task_names():
        print(describe(find_task(name)()))
