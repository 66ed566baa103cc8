"""Tasks: scale-invariant sequence maps with the distributions of their sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.tasks.base import BOS, EVALUATION_LAWS, Batch, Law, Task, TaskError
    from workbench.tasks.registry import describe, find_task, load_task, make_task, task_names

__all__ = [
    "BOS",
    "EVALUATION_LAWS",
    "Batch",
    "Law",
    "Task",
    "TaskError",
    "describe",
    "find_task",
    "load_task",
    "make_task",
    "task_names",
]

__getattr__, __dir__ = face(
    __name__,
    {
        "BOS": "base",
        "Batch": "base",
        "EVALUATION_LAWS": "base",
        "Law": "base",
        "Task": "base",
        "TaskError": "base",
        "describe": "registry",
        "find_task": "registry",
        "load_task": "registry",
        "make_task": "registry",
        "task_names": "registry",
    },
)
