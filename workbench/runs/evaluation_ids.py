"""The position ids that a task and a model together give to sequences of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor

from workbench.models.errors import PositionError
from workbench.models.positions.registry import ID_SAMPLERS

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Task


def evaluation_ids(task: Task, cfg: Architecture, length: int) -> Int[Tensor, "1 pos"]:
    """Position ids [1, pos] that evaluation gives to a sequence of ``length``, checked against the encoding.

    If the task couples ids and they depend on the sequence, these are the ids of one drawn sequence.

    Raises:
        PositionError: if the id sampler has none for that length, or the encoding cannot read them.
    """
    ids = cfg.ids.evaluation(task.positions(length), cfg.n_ctx, _coupled(task, cfg, length))
    cfg.positions.check(ids, cfg.n_ctx)
    return ids


def check_training_ids(task: Task, cfg: Architecture, longest: int) -> None:
    """Refuse a run if its encoding cannot read any position ids for its longest training sequences.

    Raises:
        PositionError: with a setting that works.
    """
    coupled, pos = _coupled(task, cfg, longest), task.positions(longest)
    cfg.ids.check(pos, cfg.n_ctx)
    ids = cfg.ids.training(1, pos, cfg.n_ctx, torch.Generator().manual_seed(0), coupled)
    cfg.positions.check(ids, cfg.n_ctx)


def _coupled(task: Task, cfg: Architecture, length: int) -> Int[Tensor, "1 pos"] | None:
    if not cfg.ids.coupled:
        return None
    batch = task.sample(1, length, torch.Generator().manual_seed(0), "matched")
    if batch.position_ids is None:
        laws = ", ".join(name for name, law in ID_SAMPLERS.items() if not law.coupled)
        what = "predict" if cfg.ids.predicted else "read"
        raise PositionError(
            f"{task.name} couples no position ids, so ids {cfg.ids.name} has nothing to {what}; choose {laws}, or a "
            f"task that couples them: {', '.join(_coupling_tasks())}"
        )
    if cfg.ids.predicted and batch.prompt is None:
        raise PositionError(
            f"the answers of {task.name} are not part of the sequence, so there is no next id to predict; choose ids "
            "coupled"
        )
    return batch.position_ids


def _coupling_tasks() -> list[str]:
    """Names of the tasks that couple position ids."""
    from workbench.tasks.base import Task
    from workbench.tasks.registry import find_task, task_names

    return [name for name in task_names() if find_task(name).coupled_ids is not Task.coupled_ids]
