"""Strings of a hard kind, drawn by rejection from a task's law."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tasks.batch import Batch

if TYPE_CHECKING:
    import torch

    from workbench.tasks.base import Task

MOST_TOKENS = 2**25
"""Tokens drawn in search of one stratum; where they do not give enough strings of it, it is too rare."""
TOKENS_AT_ONCE = 2**16


def by_rejection(
    task: Task, name: str, batch: int, length: int, generator: torch.Generator, law: str, window: int | None
) -> Batch | None:
    """The first ``batch`` strings of a task's law that are of a stratum; None where they are too rare.

    Args:
        task: its :meth:`~workbench.tasks.base.Task.strata` says which strings are.
        name: the stratum.
        batch, length, generator, law, window: as for :meth:`~workbench.tasks.base.Task.sample`.
    """
    rows, found, kept = max(1, TOKENS_AT_ONCE // length), 0, list[Batch]()
    for _ in range(MOST_TOKENS // (rows * length)):
        drawn = task.sample(rows, length, generator, law, window)
        chosen = task.strata(drawn)[name].nonzero()[: batch - found, 0]
        if len(chosen):
            kept.append(drawn.take(chosen))
            found += len(chosen)
        if found == batch:
            return Batch.join(kept)
    return None
