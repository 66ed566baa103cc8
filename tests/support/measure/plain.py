"""Strings for measurements of models in memory."""

from __future__ import annotations

import torch

from workbench.tasks.base import Batch, Task


def drawn(task: Task, length: int, count: int = 16) -> Batch:
    """Matched strings, always the same."""
    return task.sample(count, length, torch.Generator().manual_seed(0), "matched")
