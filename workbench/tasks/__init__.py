"""Tasks: scale-invariant sequence maps with the laws their strings are drawn from."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.tasks.base import BOS, EVALUATION_LAWS, Batch, Law, Task, TaskError
    from workbench.tasks.registry import describe, find_task, load_task, make_task, task_names

_PLACES = {
    **dict.fromkeys(("BOS", "EVALUATION_LAWS", "Batch", "Law", "Task", "TaskError"), "workbench.tasks.base"),
    **dict.fromkeys(("describe", "find_task", "load_task", "make_task", "task_names"), "workbench.tasks.registry"),
}

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


def __getattr__(name: str) -> Any:
    """Import on first use, so that importing this package costs nothing and needs no torch."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
