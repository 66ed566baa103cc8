"""The position ids that a task and a model together give to strings of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor

from workbench.models.positions import PositionError

if TYPE_CHECKING:
    from workbench.models.config import Architecture
    from workbench.tasks.base import Task


def evaluation_ids(task: Task, cfg: Architecture, length: int) -> Int[Tensor, "1 pos"]:
    """Ids that evaluation gives to a string of ``length``, checked against the encoding.

    Where the task couples ids and they depend on the string, these are the ids of one drawn string.

    Raises:
        PositionError: if the id law has none for that length, or the encoding cannot read them.
    """
    ids = cfg.ids.evaluation(length + task.bos, cfg.n_ctx, _coupled(task, cfg, length))
    cfg.positions.check(int(ids.max()), cfg.n_ctx)
    return ids


def check_training_ids(task: Task, cfg: Architecture, longest: int) -> None:
    """Refuse a run whose longest training strings cannot be given ids that its encoding can read.

    Raises:
        PositionError: saying what would do.
    """
    coupled, pos = _coupled(task, cfg, longest), longest + task.bos
    cfg.ids.check(pos, cfg.n_ctx)
    ids = cfg.ids.training(1, pos, cfg.n_ctx, torch.Generator().manual_seed(0), coupled)
    cfg.positions.check(int(ids.max()), cfg.n_ctx)


def _coupled(task: Task, cfg: Architecture, length: int) -> Int[Tensor, "1 pos"] | None:
    if not cfg.ids.coupled:
        return None
    ids = task.sample(1, length, torch.Generator().manual_seed(0), "matched").position_ids
    if ids is None:
        others = ", ".join(("arange", "random_offset", "pose", "random_subset"))
        raise PositionError(f"{task.name} couples no position ids, so ids coupled has nothing to read; choose {others}")
    return ids
